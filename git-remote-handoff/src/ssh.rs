//! Which ssh program is run, and with which options: `GIT_SSH_COMMAND` in `git(1)`, `ssh.variant` in `git-config(1)`.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::{Command, Stdio},
};

use gix::bstr::BStr;

use crate::{
    connect::ask_for_version,
    environment::Environment,
    process::{os, shell_command, without_local_variables},
    settings::Settings,
    url::SshUrl,
};

/// The families of ssh programs, by the options they take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Variant {
    /// To be found out by `-G`, which OpenSSH alone knows.
    Auto,
    /// OpenSSH.
    Ssh,
    Plink,
    Putty,
    TortoisePlink,
    /// Takes host and command, no options.
    Simple,
}

/// Says why an ssh program cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SshError {
    /// The program has no option for a port.
    #[error("ssh variant `simple` does not support a port")]
    Port,
}

/// The ssh program, and whether a shell is to run it.
struct Program<'a> {
    text: &'a OsStr,
    in_shell: bool,
}

/// Prepares the command that runs `line` at the host of `url`.
///
/// # Errors
///
/// Where the program cannot be told a port that the URL names.
pub(crate) fn command(
    url: &SshUrl,
    line: &BStr,
    version: u8,
    settings: &Settings,
    environment: &Environment,
) -> Result<Command, SshError> {
    let program = Program::find(settings, environment);
    let mut variant = program.variant(settings, environment);
    if variant == Variant::Auto {
        let mut args = vec!["-G".into()];
        args.extend(options(Variant::Ssh, url, version)?);
        args.push(os(&url.host).into());
        variant = if program.succeeds(&args) {
            Variant::Ssh
        } else {
            Variant::Simple
        };
    }
    let mut args = options(variant, url, version)?;
    args.push(os(&url.host).into());
    args.push(os(line).into());
    let mut command = program.command(&args);
    // Only OpenSSH can carry the variable to the host.
    let version = if variant == Variant::Ssh { version } else { 0 };
    ask_for_version(&mut command, version);
    Ok(command)
}

impl<'a> Program<'a> {
    fn find(settings: &'a Settings, environment: &'a Environment) -> Self {
        let configured = || settings.value("core.sshcommand").map(|line| os(line));
        let in_shell = environment.ssh_command.as_deref().or_else(configured);
        Program {
            text: in_shell
                .or(environment.ssh.as_deref())
                .unwrap_or(OsStr::new("ssh")),
            in_shell: in_shell.is_some(),
        }
    }

    fn variant(&self, settings: &Settings, environment: &Environment) -> Variant {
        let configured = || settings.value("ssh.variant").map(ToString::to_string);
        let named = environment.ssh_variant.clone().or_else(configured);
        match named.as_deref() {
            Some("auto") => return Variant::Auto,
            Some("plink") => return Variant::Plink,
            Some("putty") => return Variant::Putty,
            Some("tortoiseplink") => return Variant::TortoisePlink,
            Some("simple") => return Variant::Simple,
            Some(_) => return Variant::Ssh,
            None => {}
        }
        let first = if self.in_shell {
            first_word(self.text)
        } else {
            self.text.to_owned()
        };
        let name = Path::new(&first).file_name().unwrap_or_default();
        match name.to_ascii_lowercase().to_str() {
            Some("ssh" | "ssh.exe") => Variant::Ssh,
            Some("plink" | "plink.exe") => Variant::Plink,
            Some("tortoiseplink" | "tortoiseplink.exe") => Variant::TortoisePlink,
            _ => Variant::Auto,
        }
    }

    fn command(&self, args: &[OsString]) -> Command {
        if self.in_shell {
            return shell_command(self.text, args);
        }
        let mut command = Command::new(self.text);
        command.args(args);
        command
    }

    fn succeeds(&self, args: &[OsString]) -> bool {
        let mut command = self.command(args);
        without_local_variables(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

fn options(variant: Variant, url: &SshUrl, version: u8) -> Result<Vec<OsString>, SshError> {
    let mut options: Vec<OsString> = Vec::new();
    if variant == Variant::Ssh && version > 0 {
        options.extend(["-o".into(), "SendEnv=GIT_PROTOCOL".into()]);
    }
    if variant == Variant::TortoisePlink {
        options.push("-batch".into());
    }
    if let Some(port) = &url.port {
        let option = match variant {
            Variant::Simple => return Err(SshError::Port),
            Variant::Ssh | Variant::Auto => "-p",
            Variant::Plink | Variant::Putty | Variant::TortoisePlink => "-P",
        };
        options.extend([option.into(), port.into()]);
    }
    Ok(options)
}

/// Returns the first word of a shell command, of which only quotes and backslashes are understood, as in Git.
fn first_word(line: &OsStr) -> OsString {
    let mut word = Vec::new();
    let mut quote = None;
    let mut bytes = line.as_encoded_bytes().trim_ascii_start().iter();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, b' ' | b'\t' | b'\n' | b'\r') => break,
            (None, b'\'' | b'"') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            (None | Some(b'"'), b'\\') => word.extend(bytes.next()),
            _ => word.push(*byte),
        }
    }
    os(&word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(command: &str) -> Variant {
        let environment = Environment {
            ssh_command: Some(command.into()),
            ..Environment::default()
        };
        let settings = Settings::default();
        Program::find(&settings, &environment).variant(&settings, &environment)
    }

    #[test]
    fn the_variant_is_read_from_the_name_of_the_program() {
        assert_eq!(variant("ssh -v"), Variant::Ssh);
        assert_eq!(variant("'/opt/my tools/SSH.exe' -v"), Variant::Ssh);
        assert_eq!(variant(r"/opt/my\ tools/plink"), Variant::Plink);
        assert_eq!(variant("TortoisePlink.exe"), Variant::TortoisePlink);
        assert_eq!(variant("env ssh"), Variant::Auto);
        assert_eq!(variant(""), Variant::Auto);
    }
}
