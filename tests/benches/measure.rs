//! Runs a command as a process of its own and reads what it cost from the operating system.
//!
//! The bench starts itself with [`WRAPPER`], which starts the command and asks getrusage(2) for its children: CPU time is
//! that of the command and of everything it waited for; the peak is the largest single process among them.

use std::{
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};

/// First argument of the wrapper.
pub(crate) const WRAPPER: &str = "--measure";

/// What one run of a command cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// From its start to its end.
    pub(crate) wall: Duration,
    /// User and system time.
    pub(crate) cpu: Duration,
    /// Resident memory of its largest process, in KiB.
    pub(crate) peak_kib: i64,
}

/// Runs the command that a wrapper was started for, and prints what it cost.
pub(crate) fn wrap(words: &[String]) -> ExitCode {
    let Some((program, args)) = words.split_first() else {
        return ExitCode::from(2);
    };
    let start = Instant::now();
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let wall = start.elapsed();
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return ExitCode::FAILURE;
    };
    let cpu = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    println!("{} {cpu} {}", wall.as_micros(), usage.max_rss());
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Runs a wrapper and reads what it printed.
pub(crate) fn run(wrapper: &mut Command) -> Run {
    let output = wrapper.output().expect("the bench can start itself");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{wrapper:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut figures = said.split_whitespace().map(|word| {
        let figure: u64 = word.parse().expect("the wrapper prints numbers");
        figure
    });
    let mut next = || figures.next().expect("the wrapper prints three numbers");
    Run {
        wall: Duration::from_micros(next()),
        cpu: Duration::from_micros(next()),
        peak_kib: i64::try_from(next()).expect("less than 8 EiB"),
    }
}
