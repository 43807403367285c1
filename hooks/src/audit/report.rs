//! What the log says of a time: what was refused, or would have been, and how long judgements took.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufRead, BufReader, Read},
};

use serde::{Deserialize, Serialize};
use store::timestamp::Timestamp;

use super::Log;

/// Longest line that is read; ours are shorter.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// Counts by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Every rule was kept.
    pub good: u64,
    /// A rule in shadow was broken.
    pub would_refuse: u64,
    /// A rule was broken.
    pub refused: u64,
    /// Another ref of the push was refused.
    pub held: u64,
    /// Refs that have moved.
    pub taken: u64,
    /// Refs that the operator has moved or deleted.
    pub purged: u64,
    /// Pushes of other people's records.
    pub relayed: u64,
}

/// What was refused, or would have been, under one code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ByCode {
    /// The code.
    pub code: String,
    /// How often it would have been refused.
    pub would_refuse: u64,
    /// How often it was.
    pub refused: u64,
    /// In which refs.
    pub refs: Vec<String>,
}

/// What was refused, or would have been, of one ref.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ByScope {
    /// The ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// How often it would have been refused.
    pub would_refuse: u64,
    /// How often it was.
    pub refused: u64,
    /// Under which codes.
    pub codes: Vec<String>,
}

/// How long judgements took, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// Half took no longer.
    pub median_ms: f64,
    /// 95 in a hundred took no longer.
    pub p95_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// What the log says of a time.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Where it begins.
    pub since: Timestamp,
    /// The oldest line that counted.
    pub first: Option<String>,
    /// The newest line that counted.
    pub last: Option<String>,
    /// How many refs were judged.
    pub scopes: u64,
    /// By outcome.
    pub counts: Counts,
    /// By code, the most frequent first.
    pub codes: Vec<ByCode>,
    /// By ref, the most frequent first.
    pub refusals: Vec<ByScope>,
    /// How long judgements took.
    pub latency: Latency,
    /// Lines that could not be read.
    pub unreadable: u64,
}

/// What is read of a line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    time: Timestamp,
    #[serde(rename = "ref")]
    name: String,
    #[serde(default)]
    relayed: bool,
    outcome: String,
    code: Option<String>,
    duration_ms: Option<f64>,
}

#[derive(Default)]
struct Tally {
    would_refuse: u64,
    refused: u64,
    others: BTreeSet<String>,
}

#[derive(Default)]
struct Sums {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    counts: Counts,
    scopes: BTreeSet<String>,
    codes: BTreeMap<String, Tally>,
    refs: BTreeMap<String, Tally>,
    durations: Vec<f64>,
    unreadable: u64,
}

impl Log<'_> {
    /// Sums up all lines from `since` on.
    ///
    /// # Errors
    ///
    /// Where a log cannot be read; lines that make no sense are counted and passed over.
    pub fn report(&self, since: Timestamp) -> io::Result<Report> {
        let mut sums = Sums::default();
        for file in self.open()? {
            let mut reader = BufReader::new(file);
            let mut line = Vec::new();
            while reader
                .by_ref()
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut line)?
                > 0
            {
                sums.add(&line, since);
                line.clear();
            }
        }
        Ok(sums.report(since))
    }
}

impl Sums {
    fn add(&mut self, line: &[u8], since: Timestamp) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let Ok(line) = serde_json::from_slice::<Line>(line) else {
            self.unreadable += 1;
            return;
        };
        if line.time < since {
            return;
        }
        self.first = Some(self.first.map_or(line.time, |first| first.min(line.time)));
        self.last = self.last.max(Some(line.time));
        let counts = &mut self.counts;
        counts.relayed += u64::from(line.relayed);
        let count = match line.outcome.as_str() {
            "good" => &mut counts.good,
            "held" => &mut counts.held,
            "would-refuse" => &mut counts.would_refuse,
            "refused" => &mut counts.refused,
            "taken" => &mut counts.taken,
            "purged" => &mut counts.purged,
            _ => return,
        };
        *count += 1;
        self.durations
            .extend(line.duration_ms.filter(|ms| ms.is_finite()));
        if line.duration_ms.is_some() {
            self.scopes.insert(line.name.clone());
        }
        let (would_refuse, refused) = match line.outcome.as_str() {
            "would-refuse" => (1, 0),
            "refused" => (0, 1),
            _ => return,
        };
        let code = line.code.unwrap_or_default();
        for (tally, other) in [
            (self.codes.entry(code.clone()).or_default(), &line.name),
            (self.refs.entry(line.name.clone()).or_default(), &code),
        ] {
            tally.would_refuse += would_refuse;
            tally.refused += refused;
            tally.others.insert(other.clone());
        }
    }

    fn report(mut self, since: Timestamp) -> Report {
        self.durations.sort_by(f64::total_cmp);
        let codes = by_frequency(self.codes).into_iter();
        let refs = by_frequency(self.refs).into_iter();
        Report {
            since,
            first: self.first.map(|time| time.to_string()),
            last: self.last.map(|time| time.to_string()),
            scopes: self.scopes.len() as u64,
            counts: self.counts,
            codes: codes
                .map(|(code, tally)| ByCode {
                    code,
                    would_refuse: tally.would_refuse,
                    refused: tally.refused,
                    refs: tally.others.into_iter().collect(),
                })
                .collect(),
            refusals: refs
                .map(|(name, tally)| ByScope {
                    name,
                    would_refuse: tally.would_refuse,
                    refused: tally.refused,
                    codes: tally.others.into_iter().collect(),
                })
                .collect(),
            latency: Latency {
                median_ms: share(&self.durations, 50),
                p95_ms: share(&self.durations, 95),
                max_ms: share(&self.durations, 100),
            },
            unreadable: self.unreadable,
        }
    }
}

fn by_frequency(tallies: BTreeMap<String, Tally>) -> Vec<(String, Tally)> {
    let mut sorted: Vec<(String, Tally)> = tallies.into_iter().collect();
    sorted.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.would_refuse + tally.refused));
    sorted
}

/// Returns the smallest of sorted values that `percent` in a hundred of them do not exceed; 0 where there are none.
fn share(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    let found = sorted.get(rank.saturating_sub(1));
    found.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_smallest_value_that_so_many_do_not_exceed() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(share(&values, 50), 10.0);
        assert_eq!(share(&values, 95), 19.0);
        assert_eq!(share(&values, 100), 20.0);
        assert_eq!(share(&values[..1], 50), 1.0);
        assert_eq!(share(&[], 50), 0.0);
    }

    #[test]
    fn lines_before_the_time_and_lines_that_make_no_sense_do_not_count() {
        let line = |time: &str, outcome: &str, code: &str, ms: &str| {
            format!(
                r#"{{"time":"{time}","ref":"refs/handoff/x","outcome":"{outcome}","code":{code},"durationMs":{ms}}}"#
            )
        };
        let mut sums = Sums::default();
        let since: Timestamp = "2026-11-16T00:00:00Z".parse().unwrap();
        for line in [
            line("2026-11-15T23:59:59Z", "refused", "\"CLOCK\"", "1.0"),
            line("2026-11-16T00:00:00Z", "would-refuse", "\"CLOCK\"", "3.0"),
            line("2026-11-17T00:00:00Z", "refused", "\"CLOCK\"", "5.0"),
            line("2026-11-17T00:00:01Z", "refused", "\"NOT_OWNER\"", "4.0"),
            line("2026-11-17T00:00:02Z", "good", "null", "1.0"),
            line("2026-11-17T00:00:02Z", "taken", "null", "null"),
            String::new(),
            "{\"time\":".into(),
        ] {
            sums.add(line.as_bytes(), since);
        }
        let report = sums.report(since);
        assert_eq!(
            report.counts,
            Counts {
                good: 1,
                would_refuse: 1,
                refused: 2,
                taken: 1,
                ..Counts::default()
            }
        );
        assert_eq!((report.unreadable, report.scopes), (1, 1));
        let clock = &report.codes[0];
        assert_eq!(
            (clock.code.as_str(), clock.would_refuse, clock.refused),
            ("CLOCK", 1, 1)
        );
        assert_eq!(clock.refs, ["refs/handoff/x"]);
        assert_eq!(report.refusals[0].codes, ["CLOCK", "NOT_OWNER"]);
        assert_eq!(report.latency.median_ms, 3.0);
        assert_eq!(report.latency.max_ms, 5.0);
        assert_eq!(report.first.as_deref(), Some("2026-11-16T00:00:00Z"));
    }
}
