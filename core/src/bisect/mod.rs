//! Which node of a model is the first that computes something else than a reference.
//!
//! Both sides' values are compared in topological order ([`taps`](crate::taps)). A value that is farther off than the
//! values it is made of and rounding explain makes its node a suspect. To be sure, the suspect is computed alone, on the
//! reference's values ([`suspect`]): what is still off is made there, and what is not was passed on. A node that holds graphs, or calls a
//! function, is entered ([`enter`]).
//!
//! [`passes`] finds the step of the optimizer after which a model computes something else, [`modules`] the module of a
//! program that does not convert or does so.

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
use crate::diff::{Alignment, Place};
use crate::ir::{Model, ValueId};
use crate::run::Computed;
use crate::taps::{ModelSide, Report, Round, Rounds, Row, Side, Taps, Verdict, distance};
use suspect::Suspect;

/// Where values take more rounds than this, the search begins in great steps.
const MANY: u64 = 8;

/// Nodes inside of nodes are entered to this depth.
const DEPTH: usize = 16;

/// A model, and what it is held against.
pub struct Search<'a, 'r> {
    /// The model.
    pub model: &'a Model,
    /// What runs it.
    pub ours: Side<'r>,
    /// What it is held against.
    pub theirs: Side<'r>,
    /// What that is.
    pub against: Against<'a>,
    /// The values of a round take at most so many bytes, if a single one does not take more.
    pub memory: u64,
    /// Compare every value, also those behind a fault.
    pub whole: bool,
}

/// What a model is held against.
#[derive(Clone, Copy)]
pub enum Against<'a> {
    /// The same model in another runtime.
    Executor,
    /// Another model.
    Model(&'a Model),
    /// Recorded values of the program.
    Recording,
}

/// What a search found.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Found {
    /// The first node that computes something else; `None` where there is none.
    pub fault: Option<Fault>,
    /// Suspects that, computed alone on the reference's values, give what the reference has: they only pass on, or
    /// amplify, what comes from rounding or from another order of equal keys.
    pub cleared: Vec<String>,
    /// Results of sorts in which equal keys, or what an unsorted selection selects, have another order than in the
    /// reference. Either order is right.
    pub ties: Vec<String>,
    /// Outputs that are wrong in a run without taps only: the runtime's own optimisation is at fault.
    pub only_untapped: Vec<String>,
    /// Every value that was compared.
    pub values: Report,
}

/// A node that computes something else than the reference.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Fault {
    /// The value that is off.
    pub row: Row,
    /// The nodes between it and the nearest values that the reference has, in topological order: one, where the reference has
    /// the values of every node.
    pub nodes: Vec<Place>,
    /// The values that they read, those that both sides have.
    pub reads: Vec<Read>,
    /// What it is that is wrong.
    pub wrong: Wrong,
    /// The nodes alone, computed on the reference's values.
    pub alone: Option<Alone>,
    /// The same inside of the node, where it holds a graph or calls a function.
    pub inside: Option<Box<Inside>>,
}

/// A value that a suspect reads.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Read {
    /// Its name.
    pub value: String,
    /// How far it is off, as [`Row::error`] states it; `None` where it was not compared.
    pub error: Option<f64>,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// The model: onnxport's evaluator computes of it what the runtime computes.
    Model,
    /// The runtime that runs the model: the evaluator computes what the reference has.
    Executor,
    /// The runtime that is held against: the evaluator computes what the other one does.
    Reference,
    /// The evaluator computes neither, or nothing.
    Unknown,
}

/// What came of computing a suspect on the reference's values.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Alone {
    /// How far the runtime is from the reference.
    pub error: f64,
    /// What rounding explains: so many units, and sixteen times what it does to change the inputs in their last places.
    pub allowed: f64,
    /// How far the evaluator is from the reference; `None` where it cannot compute the nodes.
    pub evaluator: Option<f64>,
    /// How far the runtime is from the evaluator.
    pub executor_from_evaluator: Option<f64>,
}

/// A search inside of a node.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Inside {
    /// What was entered: `then_branch`, `iteration 3`, `the function custom::f`.
    pub what: String,
    /// What was found there.
    pub found: Found,
}

impl Found {
    /// The innermost fault, with what was entered on the way to it.
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

/// Finds the first node that computes something else than the reference.
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
            // It may lie where the great steps do not show it.
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

/// Goes on round by round, up to the first fault unless all is asked for.
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

/// What is known of the values that were compared so far.
#[derive(Default)]
struct State {
    /// By value, its error, and whether its counterpart can stand in for it.
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
            (Against::Model(other), _) => Taps::aligned(self.model, other, &Alignment::of(self.model, other)),
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

/// The outputs that depart in a run without taps, and not in one with them.
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
        // Fused nodes round in other places: the run with taps says how much that is about.
        let allowed = 16.0 * row.error.max(crate::taps::FLOOR * crate::taps::unit(got.dtype));
        (distance(got, expected).error > allowed.max(row.allowed)).then(|| tap.name.clone())
    };
    Ok(outputs.iter().filter_map(departs).collect())
}
