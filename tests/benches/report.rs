//! The report, in Markdown.

use std::{fmt::Write, fs, process::Command};

use crate::rows::{Goal, Row, milliseconds};

/// Rows that belong together.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) rows: Vec<Row>,
    pub(crate) notes: Vec<String>,
}

/// Returns the whole report; groups that were not measured now stay as `before` has them.
pub(crate) fn markdown(groups: &[Group], before: &str) -> String {
    let mut sections: Vec<String> = before.split(SECTION).skip(1).map(String::from).collect();
    for group in groups {
        let title = format!("{}\n", group.title);
        let found = sections
            .iter()
            .position(|section| section.starts_with(&title));
        let made = section(group);
        match found {
            Some(at) => sections[at] = made,
            None => sections.push(made),
        }
    }
    let mut text = String::from(HEAD);
    text.push_str(&machine());
    for section in sections {
        text.push_str(SECTION);
        text.push_str(&section);
    }
    text
}

const SECTION: &str = "\n## ";

fn section(group: &Group) -> String {
    let mut text = format!("{}\n\n{}\n\n", group.title, group.about);
    table(&mut text, &group.rows);
    for note in &group.notes {
        let _ = write!(text, "\n{note}\n");
    }
    text
}

const HEAD: &str = "\
# Performance

Each figure stands beside that of the Git command which does the same work, on the same repository, in the same run.
This report is written by

```sh
cargo bench -p git-handoff --bench report -- --write docs/performance.md
```

or group by group, with `--only capture`, `transfer`, `hook`, `reading`, `storage` or `growth`.

Runs alternate: ours, the peer's, the peer's, ours. A time is the median of the runs, with the least and the greatest; a ratio is the
median of the ratios of one round each. CPU time is that of all processes, the server's over a path among them; the peak is
the resident memory of the largest one.

";

fn machine() -> String {
    let first = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or("unknown".into(), |(_, value)| value.trim().to_owned())
    };
    let says = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output();
        let output = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        output.unwrap_or_else(|_| "unknown".into())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "Measured with git-handoff {}, {}, {} on {cores} cores ({}), {} of memory, Linux {}.\n",
        env!("CARGO_PKG_VERSION"),
        says("git", "--version"),
        says("rustc", "--version"),
        first("/proc/cpuinfo", "model name"),
        first("/proc/meminfo", "MemTotal"),
        says("uname", "-r"),
    )
}

fn table(text: &mut String, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let compared = rows.iter().any(|row| row.peer.is_some());
    text.push_str(match compared {
        true => {
            "| work | peer | ours, ms | peer's, ms | time | CPU | peak, MiB | goal | holds |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        }
        false => {
            "| work | wall, ms | CPU, ms | peak, MiB |\n\
             | --- | --- | --- | --- |\n"
        }
    });
    for row in rows {
        text.push_str(&match compared {
            true => beside_peer(row),
            false => alone(row),
        });
    }
}

fn beside_peer(row: &Row) -> String {
    let time = |runs| spread(Row::spread(runs, |run| milliseconds(run.wall)));
    let times = |ratio: Option<f64>| ratio.map_or("–".into(), |ratio| format!("{ratio:.2} ×"));
    let (time_figure, goal) = match row.goal {
        Goal::Over(limit) => (
            row.over()
                .map_or("–".into(), |over| format!("{over:+.1} ms")),
            format!("≤ +{} ms", limit.as_millis()),
        ),
        Goal::Times(limit) => (
            times(row.ratio(|run| milliseconds(run.wall))),
            format!("≤ {limit:.2} ×"),
        ),
        Goal::Shown => (times(row.ratio(|run| milliseconds(run.wall))), "–".into()),
    };
    let theirs = match row.theirs.is_empty() {
        true => "–".into(),
        false => time(&row.theirs),
    };
    format!(
        "| {} | {} | {} | {theirs} | {time_figure} | {} | {} | {goal} | {} |\n",
        row.work,
        row.peer.as_deref().unwrap_or("–"),
        time(&row.ours),
        times(row.ratio(|run| milliseconds(run.cpu))),
        peak(row),
        match row.holds() {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "–",
        },
    )
}

fn alone(row: &Row) -> String {
    format!(
        "| {} | {} | {} | {} |\n",
        row.work,
        spread(Row::spread(&row.ours, |run| milliseconds(run.wall))),
        spread(Row::spread(&row.ours, |run| milliseconds(run.cpu))),
        peak(row),
    )
}

fn peak(row: &Row) -> String {
    let [_, middle, _] = Row::spread(&row.ours, |run| run.peak_kib as f64 / 1024.0);
    format!("{middle:.0}")
}

fn spread([least, middle, greatest]: [f64; 3]) -> String {
    format!("{middle:.1} ({least:.1}–{greatest:.1})")
}
