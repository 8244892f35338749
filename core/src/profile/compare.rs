//! Compares two profiles: which parts are slower, and which are faster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Profile, Row, Times};

/// The number of runs below which nothing counts as slower or faster: too few for a meaningful interquartile range.
const FEWEST: usize = 5;

/// The changes between two profiles.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
pub struct Changes {
    /// The first model.
    pub before: String,
    /// The second model.
    pub after: String,
    /// Whether their runs alternated, so that the state of the machine was the same for both.
    pub in_turn: bool,
    /// Whole runs.
    pub total: Change,
    /// By operator; the largest change first, as in all lists.
    pub operators: Vec<Change>,
    /// By module, each with the modules inside it.
    pub modules: Vec<Change>,
    /// By line of the user's code.
    pub lines: Vec<Change>,
}

/// A change of the time of some nodes, in microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
pub struct Change {
    /// Their common property; `None` for unattributed nodes.
    pub key: Option<String>,
    /// The times before, if there are such nodes.
    pub before: Option<Times>,
    /// The times after, if there are such nodes.
    pub after: Option<Times>,
    /// The difference of the medians.
    pub difference: f64,
    /// Whether it is more than noise.
    pub verdict: Verdict,
}

/// Whether a change is more than noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Three quarters of the runs take longer than three quarters of those before.
    Slower,
    /// Three quarters of the runs take less time than three quarters of those before.
    Faster,
    /// The runs of both overlap.
    Noise,
    /// There are too few runs to say.
    Open,
}

/// Returns the changes from `before` to `after`; `in_turn` says whether their runs alternated.
pub fn compare(before: &Profile, after: &Profile, in_turn: bool) -> Changes {
    let enough = before.runs >= FEWEST && after.runs >= FEWEST;
    let rows = |a: &[Row], b: &[Row]| changes(a, b, enough);
    Changes {
        before: before.model.clone(),
        after: after.model.clone(),
        in_turn,
        total: change(None, Some(before.total), Some(after.total), enough),
        operators: rows(&before.operators, &after.operators),
        modules: rows(&before.modules, &after.modules),
        lines: rows(&before.lines, &after.lines),
    }
}

fn changes(before: &[Row], after: &[Row], enough: bool) -> Vec<Change> {
    let mut all: BTreeMap<&Option<String>, (Option<Times>, Option<Times>)> = BTreeMap::new();
    for row in before {
        all.entry(&row.key).or_default().0 = Some(row.times);
    }
    for row in after {
        all.entry(&row.key).or_default().1 = Some(row.times);
    }
    let mut all: Vec<Change> =
        all.into_iter().map(|(key, (a, b))| change(key.clone(), a, b, enough)).collect();
    all.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    all
}

fn change(key: Option<String>, before: Option<Times>, after: Option<Times>, enough: bool) -> Change {
    // A missing node takes no time, in every run.
    let (a, b) = (before.unwrap_or_default(), after.unwrap_or_default());
    let verdict = match () {
        () if !enough => Verdict::Open,
        () if b.low > a.high => Verdict::Slower,
        () if b.high < a.low => Verdict::Faster,
        () => Verdict::Noise,
    };
    Change { key, before, after, difference: b.median - a.median, verdict }
}
