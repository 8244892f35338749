//! Finds the first node of a model that diverges from a reference.
//!
//! The values of both sides are compared in topological order ([`taps`](crate::taps)). A node is a suspect if its error
//! exceeds the bound that follows from the errors of its inputs and from rounding. The suspect is then computed in
//! isolation, on the reference's values ([`suspect`]): a remaining error originates there, any other was passed on. A
//! node that holds graphs or calls a function is entered ([`enter`]).
//!
//! [`passes`] finds the step of the optimizer after which a model diverges, [`modules`] the module of a program that
//! does not convert or diverges.

mod alone;
mod body;
mod enter;
pub mod modules;
mod open;
mod origins;
pub mod passes;
mod rounding;
mod suspect;
mod ties;

pub use open::{Options, Reference, bisect, compare};

use rustc_hash::{FxHashMap, FxHashSet};
use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnose::Diagnostic;
use crate::diff::{Alignment, NodeSite};
use crate::ir::{Model, ValueId};
use crate::run::Computed;
use crate::taps::{ModelSide, Report, Round, Rounds, Row, Side, Taps, Verdict, distance};
use suspect::Suspect;

/// The number of rounds above which the search begins in large steps.
const MANY: u64 = 8;

/// The depth to which nested bodies are entered.
const DEPTH: usize = 16;

/// A model, and its reference.
pub struct Search<'a, 'r> {
    /// The model.
    pub model: &'a Model,
    /// The runtime that executes it.
    pub ours: Side<'r>,
    /// The source of reference values.
    pub theirs: Side<'r>,
    /// The kind of reference.
    pub against: Against<'a>,
    /// The memory limit for the values of a round in bytes; a single larger value is still compared.
    pub memory: u64,
    /// Compare every value, also those after a fault.
    pub whole: bool,
}

/// The kind of reference that a model is compared with.
#[derive(Clone, Copy)]
pub enum Against<'a> {
    /// The same model in another runtime.
    Executor,
    /// Another model.
    Model(&'a Model),
    /// Recorded values of the program.
    Recording,
}

/// The result of a search.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Found {
    /// The first node that diverges; `None` if there is none.
    pub fault: Option<Fault>,
    /// Cleared suspects: computed in isolation on the reference's values they agree, so they only pass on, or
    /// amplify, rounding errors or another order of equal keys.
    pub cleared: Vec<String>,
    /// Results of sorts whose equal keys, or of unsorted selections whose elements, are in another order than in
    /// the reference. Either order is correct.
    pub ties: Vec<String>,
    /// Outputs that are wrong only in a run without taps: the runtime's own optimization is at fault.
    pub only_untapped: Vec<String>,
    /// Every value that was compared.
    pub values: Report,
}

/// A node that diverges from the reference.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Fault {
    /// The wrong value.
    pub row: Row,
    /// The nodes between it and the nearest values that the reference has, in topological order: a single one if the
    /// reference has the values of every node.
    pub nodes: Vec<NodeSite>,
    /// The inputs of these nodes that both sides have.
    pub reads: Vec<Read>,
    /// The faulty side.
    pub wrong: Wrong,
    /// The result of computing the nodes in isolation, on the reference's values.
    pub alone: Option<Alone>,
    /// The fault inside the node, if it holds a graph or calls a function.
    pub inside: Option<Box<Inside>>,
}

/// A value that a suspect reads.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Read {
    /// Its name.
    pub value: String,
    /// Its error, as in [`Row::error`]; `None` if it was not compared.
    pub error: Option<f64>,
}

/// The faulty side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// The model: onnxport's evaluator agrees with the runtime.
    Model,
    /// The runtime of the model: the evaluator agrees with the reference.
    Executor,
    /// The reference: it runs the same model, and the evaluator agrees with the other runtime.
    Reference,
    /// The evaluator agrees with neither, or cannot compute it.
    Unknown,
}

/// The result of computing a suspect in isolation, on the reference's values.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Alone {
    /// The error of the runtime against the reference.
    pub error: f64,
    /// The error that rounding explains: some units in the last place, plus sixteen times the effect of a last-place
    /// perturbation of the inputs.
    pub allowed: f64,
    /// The error of the evaluator against the reference; `None` if it cannot compute the nodes.
    pub evaluator: Option<f64>,
    /// The error of the runtime against the evaluator.
    pub executor_from_evaluator: Option<f64>,
}

/// A search inside a node.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Inside {
    /// The entered body: `then_branch`, `iteration 3`, `the function custom::f`.
    pub what: String,
    /// The result of the search there.
    pub found: Found,
}

impl Found {
    /// Returns the innermost fault, with the nodes that were entered on the way to it.
    pub fn innermost(&self) -> Option<(Vec<&str>, &Fault)> {
        let mut fault = self.fault.as_ref()?;
        let mut way = Vec::new();
        while let Some(inside) = &fault.inside {
            let Some(next) = &inside.found.fault else { break };
            way.push(inside.what.as_str());
            fault = next;
        }
        Some((way, fault))
    }
}

/// Finds the first node that diverges from the reference.
///
/// # Errors
/// Those of the runtimes, and of the files that parts of the model are written to.
pub fn find(search: &Search<'_, '_>) -> Result<Found, Diagnostic> {
    within(search, 0)
}

fn within(search: &Search<'_, '_>, depth: usize) -> Result<Found, Diagnostic> {
    let taps = search.taps();
    let values = Report {
        model: search.ours.describe()?,
        reference: search.theirs.describe()?,
        rows: Vec::new(),
        without_counterpart: taps.without_counterpart,
        rounds: 0,
        complete: true,
        not_in_place: None,
    };
    let mut found =
        Found { fault: None, cleared: Vec::new(), ties: Vec::new(), only_untapped: Vec::new(), values };
    let mut rounds = Rounds::new(&taps, &search.ours, &search.theirs, search.inputs(), search.memory);
    if !search.whole && rounds.expected() > MANY {
        if let Some((first, end)) = rounds.window()? {
            rounds.within(first, end);
            walk(search, &taps, &mut rounds, &mut found, depth)?;
        }
        if found.fault.is_none() {
            // The fault may lie where the large steps do not show it.
            found.values.rows.clear();
            found.cleared.clear();
            found.ties.clear();
            rounds.within(0, taps.taps.len());
        }
    }
    if found.fault.is_none() {
        walk(search, &taps, &mut rounds, &mut found, depth)?;
    }
    found.values.rounds = rounds.count;
    found.values.complete = found.values.rows.len() == taps.taps.len();
    found.values.not_in_place = search.ours.not_in_place();
    if found.fault.is_none() {
        found.only_untapped = untapped(search, &taps, &found.values.rows)?;
    }
    Ok(found)
}

/// Continues round by round, up to the first fault unless all values are requested.
fn walk(
    search: &Search<'_, '_>,
    taps: &Taps<'_>,
    rounds: &mut Rounds<'_, '_, '_>,
    found: &mut Found,
    depth: usize,
) -> Result<(), Diagnostic> {
    let mut state = State::default();
    while let Some(round) = rounds.step()? {
        state.round = round;
        while let Some((at, mut row)) = rounds.next(&mut state.round) {
            let Some(tap) = taps.taps.get(at) else { continue };
            state.note(tap.value, &row);
            if row.verdict == Verdict::Departs && found.fault.is_none() {
                match suspect::examine(search, taps, tap, &row, &state, depth)? {
                    Suspect::Wrong(fault) => found.fault = Some(*fault),
                    Suspect::Cleared => {
                        row.verdict = Verdict::Agrees;
                        found.cleared.push(row.value.clone());
                        if row.reads_reordered {
                            rounds.reordered(tap.value, &row);
                        }
                    }
                    Suspect::Tie => {
                        row.verdict = Verdict::Agrees;
                        found.ties.push(row.value.clone());
                        rounds.reordered(tap.value, &row);
                    }
                }
            }
            found.values.rows.push(row);
        }
        if found.fault.is_some() && !search.whole {
            break;
        }
    }
    Ok(())
}

/// The state of the comparison: facts about the values compared so far.
#[derive(Default)]
struct State {
    /// The error of each value, its element type, and the values whose counterpart cannot replace them.
    errors: FxHashMap<ValueId, f64>,
    dtypes: FxHashMap<ValueId, crate::tensor::DType>,
    unusable: FxHashSet<ValueId>,
    /// The round, which has the reference's values.
    round: Round,
}

impl State {
    fn note(&mut self, value: ValueId, row: &Row) {
        self.errors.insert(value, row.error);
        self.dtypes.extend(row.dtype.map(|dtype| (value, dtype)));
        if !row.is_usable {
            self.unusable.insert(value);
        }
    }
}

impl<'a> Search<'a, '_> {
    fn taps(&self) -> Taps<'a> {
        match (self.against, &self.theirs) {
            (Against::Model(other), _) => {
                Taps::aligned(self.model, other, &Alignment::between(self.model, other))
            }
            (_, Side::Recorded(recorded)) => Taps::recorded(self.model, recorded),
            _ => Taps::same(self.model),
        }
    }

    fn side(&self) -> Option<&ModelSide<'_>> {
        match &self.ours {
            Side::Model(side) => Some(side),
            Side::Recorded(_) => None,
        }
    }

    fn inputs(&self) -> &[Computed] {
        self.side().map_or(&[], |side| side.inputs.as_slice())
    }
}

/// Returns the outputs that diverge in a run without taps, but not in one with them.
fn untapped(search: &Search<'_, '_>, taps: &Taps<'_>, rows: &[Row]) -> Result<Vec<String>, Diagnostic> {
    let Some(side) = search.side() else { return Ok(Vec::new()) };
    let outputs = taps.taps.iter().zip(rows).filter(|(tap, row)| {
        side.outputs.contains(&tap.name) && row.verdict == Verdict::Agrees && row.is_usable
    });
    let outputs: Vec<_> = outputs.collect();
    let names: Vec<&str> = outputs.iter().map(|(tap, _)| tap.name.as_str()).collect();
    let counterparts: Vec<&str> = outputs.iter().map(|(tap, _)| tap.counterpart.as_str()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let (mut ours, mut theirs) = (FxHashMap::default(), FxHashMap::default());
    side.each(&names, &mut |value| {
        ours.insert(value.name.clone(), value);
    })?;
    search.theirs.each(&counterparts, &mut |value| {
        theirs.insert(value.name.clone(), value);
    })?;
    let departs = |(tap, row): &(&crate::taps::Tap, &Row)| {
        let (got, expected) = (ours.get(&tap.name)?, theirs.get(&tap.counterpart)?);
        // Fused nodes round differently: the run with taps shows the size of this effect.
        let allowed = 16.0 * row.error.max(crate::taps::FLOOR * crate::taps::unit(got.dtype));
        (distance(got, expected).error > allowed.max(row.allowed)).then(|| tap.name.clone())
    };
    Ok(outputs.iter().filter_map(departs).collect())
}
