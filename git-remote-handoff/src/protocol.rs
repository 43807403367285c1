//! What Git and the remote helper say to each other, line by line: `gitremote-helpers(7)`.

use std::io::{self, BufRead, Read};

use gix::bstr::{BString, ByteSlice};

/// Longest line that Git sends, in bytes.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// A command of Git to the helper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// `capabilities`: what can the helper do?
    Capabilities,
    /// `option <name> <value>`
    Option {
        /// Name of the option.
        name: String,
        /// Its value; what was quoted in C style is unquoted.
        value: BString,
    },
    /// `list`, or `list for-push`.
    List {
        /// The refs are to be pushed to.
        for_push: bool,
    },
    /// `fetch <id> <name>`: one line of a batch.
    Fetch,
    /// `push [+]<src>:<dst>`: one line of a batch.
    Push(PushLine),
    /// `connect <service>`
    Connect(String),
    /// `stateless-connect <service>`
    StatelessConnect(String),
    /// An empty line: ends a batch, or all.
    End,
}

/// What one `push` line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PushLine {
    /// The update may go aside.
    pub is_forced: bool,
    /// Ref or id to push; empty where the ref is deleted.
    pub source: BString,
    /// The ref at the remote.
    pub destination: BString,
}

/// Says what is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The command is none of `gitremote-helpers(7)`.
    #[error("git sent the unknown command `{0}`")]
    Unknown(String),
    /// The command cannot be understood.
    #[error("git sent the broken command `{0}`")]
    Broken(String),
    /// The command was not announced, or comes at the wrong time.
    #[error("git sent `{0}`, which this remote cannot do")]
    Unexpected(String),
    /// The line is too long.
    #[error("git sent a line over {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// The line has no end.
    #[error("git went away in the middle of a command")]
    Truncated,
    /// The stream broke.
    #[error("git cannot be read from")]
    Io(#[source] io::Error),
}

impl ProtocolError {
    /// Says that a line comes at the wrong time.
    pub(crate) fn unexpected(line: &[u8]) -> Self {
        ProtocolError::Unexpected(shown(line))
    }
}

/// Reads one line without its end, or `None` where Git has gone away.
///
/// # Errors
///
/// Where the line is too long, has no end, or the stream breaks.
pub fn read_line(stream: &mut impl BufRead) -> Result<Option<Vec<u8>>, ProtocolError> {
    let mut line = Vec::new();
    let read = stream
        .by_ref()
        .take(MAX_LINE_BYTES)
        .read_until(b'\n', &mut line)
        .map_err(ProtocolError::Io)?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if read as u64 == MAX_LINE_BYTES => Err(ProtocolError::TooLong),
        Some(_) => Err(ProtocolError::Truncated),
    }
}

impl Command {
    /// Parses one line.
    ///
    /// # Errors
    ///
    /// Where it is no command.
    pub fn parse(line: &[u8]) -> Result<Self, ProtocolError> {
        let broken = || ProtocolError::Broken(shown(line));
        let (name, argument) = match line.split_once_str(" ") {
            Some((name, argument)) => (name, Some(argument)),
            None => (line, None),
        };
        match (name, argument) {
            (b"", None) => Ok(Command::End),
            (b"capabilities", None) => Ok(Command::Capabilities),
            (b"list", None) => Ok(Command::List { for_push: false }),
            (b"list", Some(b"for-push")) => Ok(Command::List { for_push: true }),
            (b"option", Some(option)) => parse_option(option).ok_or_else(broken),
            (b"connect", Some(service)) => Ok(Command::Connect(text(service).ok_or_else(broken)?)),
            (b"stateless-connect", Some(service)) => {
                Ok(Command::StatelessConnect(text(service).ok_or_else(broken)?))
            }
            (b"fetch", Some(argument)) if !argument.is_empty() => Ok(Command::Fetch),
            (b"push", Some(refspec)) => PushLine::parse(refspec)
                .map(Command::Push)
                .ok_or_else(broken),
            (
                b"capabilities" | b"list" | b"option" | b"connect" | b"stateless-connect"
                | b"fetch" | b"push",
                _,
            ) => Err(broken()),
            _ => Err(ProtocolError::Unknown(shown(line))),
        }
    }
}

impl PushLine {
    /// Parses `[+]<src>:<dst>`.
    fn parse(refspec: &[u8]) -> Option<Self> {
        let (is_forced, refspec) = match refspec.strip_prefix(b"+") {
            Some(refspec) => (true, refspec),
            None => (false, refspec),
        };
        let (source, destination) = refspec.rsplit_once_str(":")?;
        (!destination.is_empty()).then(|| PushLine {
            is_forced,
            source: source.into(),
            destination: destination.into(),
        })
    }
}

fn parse_option(option: &[u8]) -> Option<Command> {
    let (name, value) = option.split_once_str(" ").unwrap_or((option, b""));
    let value = match value {
        [b'"', ..] => unquoted(value)?,
        value => value.into(),
    };
    Some(Command::Option {
        name: text(name)?,
        value,
    })
}

/// Undoes Git's C style of quoting; `None` where the text is not quoted.
pub(crate) fn unquoted(quoted: &[u8]) -> Option<BString> {
    let mut bytes = quoted.strip_prefix(b"\"")?.iter();
    let mut text = BString::default();
    loop {
        let byte = match *bytes.next()? {
            b'"' => return bytes.as_slice().is_empty().then_some(text),
            b'\\' => match *bytes.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                byte @ (b'"' | b'\\') => byte,
                high @ b'0'..=b'3' => {
                    let digit = |byte: &u8| char::from(*byte).to_digit(8);
                    let (middle, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
                    let value = u32::from(high - b'0') * 64 + middle * 8 + low;
                    u8::try_from(value).ok()?
                }
                _ => return None,
            },
            byte => byte,
        };
        text.push(byte);
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    let is_word = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_graphic);
    is_word.then(|| bytes.to_str_lossy().into_owned())
}

fn shown(line: &[u8]) -> String {
    line.escape_ascii().to_string().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(line: &str) -> Result<Command, ProtocolError> {
        Command::parse(line.as_bytes())
    }

    #[test]
    fn the_commands_of_git_are_understood() {
        assert_eq!(parse("").unwrap(), Command::End);
        assert_eq!(
            parse("list for-push").unwrap(),
            Command::List { for_push: true }
        );
        assert_eq!(
            parse("connect git-upload-pack").unwrap(),
            Command::Connect("git-upload-pack".into())
        );
        let push = |is_forced, source: &str, destination: &str| {
            Command::Push(PushLine {
                is_forced,
                source: source.into(),
                destination: destination.into(),
            })
        };
        assert_eq!(
            parse("push +refs/handoff/a:refs/handoff/b").unwrap(),
            push(true, "refs/handoff/a", "refs/handoff/b")
        );
        assert_eq!(
            parse("push :refs/handoff/b").unwrap(),
            push(false, "", "refs/handoff/b")
        );
    }

    #[test]
    fn option_values_are_unquoted() {
        let value = |line: &str| match parse(line).unwrap() {
            Command::Option { value, .. } => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value("option depth 1"), "1");
        assert_eq!(value("option servpath /a b"), "/a b");
        assert_eq!(value(r#"option servpath "a\t\"\303\244""#), "a\t\"ä");
        for line in [
            r#"option a ""#,
            r#"option a "\"#,
            r#"option a "x"y"#,
            r#"option a "\9""#,
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_no_command_is_named() {
        let message = |line: &str| parse(line).unwrap_err().to_string();
        assert_eq!(
            message("frobnicate x"),
            "git sent the unknown command `frobnicate x`"
        );
        assert_eq!(message("push a"), "git sent the broken command `push a`");
        assert_eq!(message("push a:"), "git sent the broken command `push a:`");
        assert_eq!(
            message("connect "),
            "git sent the broken command `connect `"
        );
        assert_eq!(
            message("list all"),
            "git sent the broken command `list all`"
        );
    }

    #[test]
    fn a_line_must_end() {
        assert!(matches!(read_line(&mut "".as_bytes()), Ok(None)));
        assert_eq!(read_line(&mut "\nx".as_bytes()).unwrap(), Some(Vec::new()));
        let error = read_line(&mut "list".as_bytes()).unwrap_err();
        assert!(matches!(error, ProtocolError::Truncated));
        let long = vec![b'a'; MAX_LINE_BYTES as usize + 1];
        let error = read_line(&mut long.as_slice()).unwrap_err();
        assert!(matches!(error, ProtocolError::TooLong));
    }

    proptest! {
        #[test]
        fn arbitrary_lines_never_panic(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Command::parse(&line);
            let mut option = b"option a \"".to_vec();
            option.extend_from_slice(&line);
            let _ = Command::parse(&option);
        }
    }
}
