//! What is slower and what is faster in one profile than in another.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Profile, Row, Times};

/// With fewer runs nothing is said to be slower or faster: their middle half is no measure of how they differ.
const FEWEST: usize = 5;

/// What differs between two profiles.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
pub struct Changes {
    /// The model that came first.
    pub before: String,
    /// The other one.
    pub after: String,
    /// Whether both were run in turn, so that the machine was the same for both.
    pub in_turn: bool,
    /// Whole runs.
    pub total: Change,
    /// By operator; the largest change first, as in all lists.
    pub operators: Vec<Change>,
    /// By module, each with what is inside of it.
    pub modules: Vec<Change>,
    /// By line of the user's code.
    pub lines: Vec<Change>,
}

/// What became of the time of some nodes. In microseconds.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
pub struct Change {
    /// What they have in common; `None` for those that nothing is known of.
    pub key: Option<String>,
    /// What they took, where there are any.
    pub before: Option<Times>,
    /// What they take.
    pub after: Option<Times>,
    /// The difference of the medians.
    pub difference: f64,
    /// Whether that is more than noise.
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

/// What differs from `before` in `after`, which were measured `in_turn` or not.
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
    // What is not there takes no time, in every run.
    let (a, b) = (before.unwrap_or_default(), after.unwrap_or_default());
    let verdict = match () {
        () if !enough => Verdict::Open,
        () if b.low > a.high => Verdict::Slower,
        () if b.high < a.low => Verdict::Faster,
        () => Verdict::Noise,
    };
    Change { key, before, after, difference: b.median - a.median, verdict }
}
