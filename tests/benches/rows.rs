//! One row of the report: a piece of work, who else does it, and what both cost.

use std::{process::Command, time::Duration};

use crate::measure::{self, Run};

/// What a piece of work may cost, beside its peer's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// At most so many times the peer's time.
    Times(f64),
    /// At most so much more than the peer's time.
    Over(Duration),
    /// There is no goal: the figure is shown for comparison.
    Shown,
}

/// A piece of work, measured.
pub(crate) struct Row {
    /// What is done.
    pub(crate) work: String,
    /// Who else does it, if anybody.
    pub(crate) peer: Option<String>,
    pub(crate) goal: Goal,
    pub(crate) ours: Vec<Run>,
    pub(crate) theirs: Vec<Run>,
}

/// Prepares one round of a piece of work, and returns the command to be measured.
pub(crate) type Prepare<'a> = Box<dyn FnMut(usize) -> Command + 'a>;

/// A piece of work beside its peer, in turn, the order changing from round to round.
pub(crate) fn pair<'a>(
    work: &str,
    goal: Goal,
    rounds: usize,
    mut ours: Prepare<'a>,
    peer: (&str, Prepare<'a>),
) -> Row {
    let (peer, mut theirs) = peer;
    let mut row = Row {
        work: work.to_owned(),
        peer: Some(peer.to_owned()),
        goal,
        ours: Vec::new(),
        theirs: Vec::new(),
    };
    eprintln!("  {work} against {peer}");
    // The first round warms the caches of both.
    for round in 0..=rounds {
        for first in [round % 2 == 0, round % 2 != 0] {
            let (side, runs) = match first {
                true => (&mut ours, &mut row.ours),
                false => (&mut theirs, &mut row.theirs),
            };
            let run = measure::run(&mut side(round));
            if round > 0 {
                runs.push(run);
            }
        }
    }
    row
}

/// A piece of work that nobody else does.
pub(crate) fn alone(work: &str, rounds: usize, mut ours: Prepare<'_>) -> Row {
    eprintln!("  {work}");
    let mut runs = Vec::new();
    for round in 0..=rounds {
        let run = measure::run(&mut ours(round));
        if round > 0 {
            runs.push(run);
        }
    }
    Row {
        work: work.to_owned(),
        peer: None,
        goal: Goal::Shown,
        ours: runs,
        theirs: Vec::new(),
    }
}

impl Row {
    /// Returns the median of a figure over the runs, with its least and greatest value.
    pub(crate) fn spread(runs: &[Run], figure: impl Fn(&Run) -> f64) -> [f64; 3] {
        let mut values: Vec<f64> = runs.iter().map(figure).collect();
        values.sort_by(f64::total_cmp);
        match (values.first(), values.last()) {
            (Some(least), Some(greatest)) => [*least, middle(&values), *greatest],
            _ => [0.0; 3],
        }
    }

    /// Returns the median of our figure by the peer's, round by round.
    pub(crate) fn ratio(&self, figure: impl Fn(&Run) -> f64) -> Option<f64> {
        let pairs = self.ours.iter().zip(&self.theirs);
        let mut ratios: Vec<f64> = pairs.map(|(a, b)| figure(a) / figure(b)).collect();
        ratios.sort_by(f64::total_cmp);
        (!ratios.is_empty()).then(|| middle(&ratios))
    }

    /// Returns the median of what our run took longer than the peer's, round by round, in milliseconds.
    pub(crate) fn over(&self) -> Option<f64> {
        let pairs = self.ours.iter().zip(&self.theirs);
        let mut over: Vec<f64> = pairs
            .map(|(a, b)| milliseconds(a.wall) - milliseconds(b.wall))
            .collect();
        over.sort_by(f64::total_cmp);
        (!over.is_empty()).then(|| middle(&over))
    }

    /// Tells whether the goal is met; `None` where there is none.
    pub(crate) fn holds(&self) -> Option<bool> {
        match self.goal {
            Goal::Times(limit) => Some(self.ratio(|run| milliseconds(run.wall))? <= limit),
            Goal::Over(limit) => Some(self.over()? <= milliseconds(limit)),
            Goal::Shown => None,
        }
    }
}

/// Returns a time in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[half - 1] + sorted[half]) / 2.0,
        _ => sorted[half],
    }
}
