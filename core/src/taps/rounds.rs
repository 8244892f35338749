//! Asking both sides for values, a round at a time.

use rustc_hash::FxHashMap;

use super::growth::allowed;
use super::side::Answer;
use super::tensors::Distance;
use super::{Report, Row, Side, Tap, Taps, Verdict, distance};
use crate::diagnose::Diagnostic;
use crate::ir::{Model, NodeId, Type, ValueId};
use crate::run::Computed;
use crate::sym::SymId;
use crate::table::type_text;
use crate::tensor::DType;

/// The default memory limit for the values of a round, both sides together, in bytes.
pub const MEMORY: u64 = 1 << 30;

/// The error, in multiples of the rounding of one node, that a search in large steps looks for.
const FAR: f64 = 256.0;

/// The assumed size of a value whose size is unknown, in bytes.
const UNKNOWN: u64 = 16 << 20;

/// The rounds of a comparison.
pub struct Rounds<'a, 'm, 'r> {
    taps: &'a Taps<'m>,
    ours: &'a Side<'r>,
    theirs: &'a Side<'r>,
    memory: u64,
    sizes: Vec<u64>,
    /// The first tap and the first node of the next round, and the end of the taps.
    tap: usize,
    node: usize,
    end: usize,
    /// For each value, the state that its readers inherit.
    passed_on: FxHashMap<ValueId, Inherited>,
    /// The last node that was reached, and the state that it inherits.
    reached: Option<(NodeId, Inherited)>,
    /// The number of rounds so far.
    pub count: usize,
}

/// The values of a round, which [`Rounds::next`] compares.
#[derive(Debug, Default)]
pub struct Round {
    /// The values of the other side, by its names.
    pub theirs: FxHashMap<String, Computed>,
    ours: FxHashMap<String, Answer>,
    /// The next tap.
    tap: usize,
}

/// The state that a node inherits from its inputs.
#[derive(Clone, Copy, Debug, Default)]
struct Inherited {
    /// The largest of their errors.
    error: f64,
    /// Whether the elements of an input are in another order than the reference's.
    reordered: bool,
}

impl<'a, 'm, 'r> Rounds<'a, 'm, 'r> {
    /// Creates rounds whose values take at most `memory` bytes, unless a single one takes more. `inputs` are the inputs
    /// of the model, from which the sizes of values follow.
    pub fn new(
        taps: &'a Taps<'m>,
        ours: &'a Side<'r>,
        theirs: &'a Side<'r>,
        inputs: &[Computed],
        memory: u64,
    ) -> Self {
        let sizes = sizes(taps, inputs);
        let (passed_on, end) = (FxHashMap::default(), taps.taps.len());
        Self { taps, ours, theirs, memory, sizes, tap: 0, node: 0, end, passed_on, reached: None, count: 0 }
    }

    /// Returns the approximate number of rounds in all.
    pub fn expected(&self) -> u64 {
        let bytes = self.sizes.iter().fold(0u64, |sum, size| sum.saturating_add(size.saturating_mul(2)));
        bytes.div_ceil(self.memory.max(1))
    }

    /// Continues with the taps `first..end` only. Earlier values count as correct.
    pub fn within(&mut self, first: usize, end: usize) {
        (self.tap, self.end) = (first, end.min(self.taps.taps.len()));
        let node = self.taps.taps.get(first).map(|tap| tap.node);
        self.node = node.map_or(self.taps.order.len(), |node| self.taps.place(node).position);
        self.passed_on.clear();
        self.reached = None;
    }

    /// Compares one round of taps at equal distances, and returns the range of taps in which values begin to diverge.
    /// `None` if all of them agree.
    ///
    /// # Errors
    /// Those of the runtimes.
    pub fn window(&mut self) -> Result<Option<(usize, usize)>, Diagnostic> {
        let stride = usize::try_from(self.expected()).unwrap_or(usize::MAX).max(1);
        let chosen: Vec<usize> = (0..self.taps.taps.len()).skip(stride - 1).step_by(stride).collect();
        let taps: Vec<&Tap> = chosen.iter().filter_map(|at| self.taps.taps.get(*at)).collect();
        let values = |side: &Side<'_>, mut names: Vec<&str>| {
            let mut values: FxHashMap<String, Computed> = FxHashMap::default();
            names.sort_unstable();
            names.dedup();
            side.each(&names, &mut |value| {
                values.insert(value.name.clone(), value);
            })
            .map(|()| values)
        };
        self.count += 1;
        let ours = values(self.ours, taps.iter().map(|tap| tap.name.as_str()).collect())?;
        let theirs = values(self.theirs, taps.iter().map(|tap| tap.counterpart.as_str()).collect())?;
        let is_off = |tap: &Tap| match (ours.get(&tap.name), theirs.get(&tap.counterpart)) {
            (Some(got), Some(expected)) => distance(got, expected).error > FAR * allowed(got.dtype, 0.0),
            _ => false,
        };
        let mut begin = 0;
        for (at, tap) in chosen.into_iter().zip(taps) {
            if !self.taps.is_random(tap.node) && is_off(tap) {
                return Ok(Some((begin, at + 1)));
            }
            begin = at + 1;
        }
        Ok(None)
    }

    /// The next round; `None` after the last one.
    ///
    /// # Errors
    /// Those of the runtimes.
    pub fn step(&mut self) -> Result<Option<Round>, Diagnostic> {
        let first = self.tap;
        let mut left = self.memory;
        let batch: Vec<&Tap> = self
            .taps
            .taps
            .iter()
            .enumerate()
            .take(self.end)
            .skip(first)
            .take_while(|(at, _)| {
                // Both sides have it.
                let bytes = self.sizes.get(*at).copied().unwrap_or(UNKNOWN).saturating_mul(2);
                let fits = bytes <= left || *at == first;
                left = left.saturating_sub(bytes);
                fits
            })
            .map(|(_, tap)| tap)
            .collect();
        if batch.is_empty() {
            return Ok(None);
        }
        self.tap += batch.len();
        self.count += 1;
        let mut round = Round { tap: first, ..Round::default() };
        let mut names: Vec<&str> = batch.iter().map(|tap| tap.counterpart.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        self.theirs.each(&names, &mut |value| {
            round.theirs.insert(value.name.clone(), value);
        })?;
        let pairs: Vec<(&str, Option<&Computed>)> =
            batch.iter().map(|tap| (tap.name.as_str(), round.theirs.get(&tap.counterpart))).collect();
        let ours = &mut round.ours;
        self.ours.against(&pairs, &mut |name, told| {
            ours.insert(name.to_owned(), told);
        })?;
        Ok(Some(round))
    }

    /// Compares the next value of the round; returns the position of its tap, and its row. `None` after the last one.
    pub fn next(&mut self, round: &mut Round) -> Option<(usize, Row)> {
        let at = round.tap;
        let tap = self.taps.taps.get(at).filter(|_| at < self.tap)?;
        round.tap += 1;
        let inherited = self.reach(tap.node);
        let got = round.ours.remove(&tap.name);
        let row = self.row(tap, got, round.theirs.get(&tap.counterpart), inherited);
        let reordered = inherited.reordered && matches!(row.verdict, Verdict::NotJudged(_));
        self.passed_on.insert(tap.value, Inherited { error: row.error, reordered });
        Some((at, row))
    }

    /// States that the elements of a value are, correctly, in another order than the reference's. The errors of values
    /// computed from it then mean nothing; they diverge unless the order is restored.
    pub fn reordered(&mut self, value: ValueId, row: &Row) {
        let error = row.error_of_inputs.max(row.dtype.map_or(0.0, |dtype| allowed(dtype, 0.0)));
        self.passed_on.insert(value, Inherited { error, reordered: true });
    }

    /// Advances to a node, past those before it, and returns the state that it inherits. Values without a tap pass on
    /// the state that their nodes inherit.
    fn reach(&mut self, node: NodeId) -> Inherited {
        while self.reached.is_none_or(|(reached, _)| reached != node) {
            let Some(next) = self.taps.order.get(self.node).copied() else { break };
            self.node += 1;
            let read = self.taps.reads(next);
            let inherited = read.iter().filter_map(|value| self.passed_on.get(value)).fold(
                Inherited::default(),
                |sum, read| Inherited {
                    error: sum.error.max(read.error),
                    reordered: sum.reordered || read.reordered,
                },
            );
            for value in self.taps.model.graph.nodes[next].outputs.iter().flatten() {
                self.passed_on.insert(*value, inherited);
            }
            self.reached = Some((next, inherited));
        }
        self.reached.map_or_else(Inherited::default, |(_, inherited)| inherited)
    }

    fn row(&self, tap: &Tap, got: Option<Answer>, expected: Option<&Computed>, inherited: Inherited) -> Row {
        let inputs = inherited.error;
        // A compared value has the type and the shape of its counterpart.
        let (ty, told) = match got {
            Some(Answer::Value(value)) => {
                (Some((value.dtype, value.shape.clone())), Some(Answer::Value(value)))
            }
            told => (expected.filter(|_| told.is_some()).map(|e| (e.dtype, e.shape.clone())), told),
        };
        let mut row = Row {
            value: tap.name.clone(),
            counterpart: (tap.counterpart != tap.name).then(|| tap.counterpart.clone()),
            place: self.taps.place(tap.node),
            got: ty.as_ref().map(|(dtype, shape)| type_text(*dtype, shape)).unwrap_or_default(),
            expected: expected.map(|value| type_text(value.dtype, &value.shape)).unwrap_or_default(),
            difference: None,
            error: inputs,
            error_of_inputs: inputs,
            allowed: 0.0,
            verdict: Verdict::Agrees,
            dtype: ty.as_ref().map(|(dtype, _)| *dtype),
            is_usable: false,
            reads_reordered: inherited.reordered,
        };
        let not_judged = |why: &str| Verdict::NotJudged(why.to_owned());
        let (Some((dtype, shape)), Some(told), Some(expected)) = (ty, told, expected) else {
            row.verdict = not_judged("one of the sides did not give it");
            return row;
        };
        if !tap.is_sure && (shape != expected.shape || !are_comparable(dtype, expected.dtype)) {
            row.verdict = not_judged("it has another type or shape than its counterpart");
            return row;
        }
        row.is_usable = shape == expected.shape;
        let found = match told {
            Answer::Value(got) => distance(&got, expected),
            Answer::Difference(difference) => Distance::from_difference(dtype, difference),
        };
        row.allowed = allowed(dtype, inputs);
        row.difference = found.difference;
        if self.taps.is_random(tap.node) {
            row.verdict = not_judged("its operator draws random numbers");
            row.error = found.error;
            return row;
        }
        row.error = found.error;
        if row.error > row.allowed {
            row.verdict = Verdict::Departs;
        }
        row
    }
}

/// Compares every value that both sides have. `memory` limits the values of a round, in bytes.
///
/// # Errors
/// Those of the runtimes.
pub fn compare(
    taps: &Taps<'_>,
    ours: &Side<'_>,
    theirs: &Side<'_>,
    inputs: &[Computed],
    memory: u64,
) -> Result<Report, Diagnostic> {
    let mut report = Report {
        model: ours.describe()?,
        reference: theirs.describe()?,
        rows: Vec::new(),
        without_counterpart: taps.without_counterpart,
        rounds: 0,
        complete: true,
        not_in_place: None,
    };
    let mut rounds = Rounds::new(taps, ours, theirs, inputs, memory);
    while let Some(mut round) = rounds.step()? {
        while let Some((_, row)) = rounds.next(&mut round) {
            report.rows.push(row);
        }
    }
    report.rounds = rounds.count;
    report.not_in_place = ours.not_in_place();
    Ok(report)
}

/// Whether values of these types can be of one value: in a type of the same kind, or of another width.
fn are_comparable(a: DType, b: DType) -> bool {
    a == b || a.is_float() && b.is_float() || a.is_int() && b.is_int()
}

/// The bytes of each tapped value, as far as its type and the inputs tell.
fn sizes(taps: &Taps<'_>, inputs: &[Computed]) -> Vec<u64> {
    let model = taps.model;
    let known = symbols(model, inputs);
    taps.taps.iter().map(|tap| size(model, tap.value, &known).unwrap_or(UNKNOWN)).collect()
}

fn size(model: &Model, value: ValueId, known: &FxHashMap<SymId, i64>) -> Option<u64> {
    let Type::Tensor { dtype, shape } = &model.graph.values[value].ty else { return None };
    let extents = shape.dims()?.iter().map(|dim| {
        let size = model.symbols.eval((*dim)?, &|id| known.get(&id).copied())?;
        u64::try_from(size).ok()
    });
    let elements = extents.collect::<Option<Vec<u64>>>()?.iter().try_fold(1u64, |n, d| n.checked_mul(*d))?;
    (*dtype)?.byte_len(elements)
}

/// Returns the sizes of the symbols in the shapes of inputs.
fn symbols(model: &Model, inputs: &[Computed]) -> FxHashMap<SymId, i64> {
    let graph = &model.graph;
    let mut known = FxHashMap::default();
    for id in &graph.blocks[graph.main()].inputs {
        let info = &graph.values[*id];
        let given = inputs.iter().find(|input| Some(input.name.as_str()) == info.name.as_deref());
        let (Some(given), Some(dims)) = (given, info.ty.shape().and_then(|shape| shape.dims())) else {
            continue;
        };
        for (dim, size) in dims.iter().zip(&given.shape) {
            if let Some(symbol) = dim.and_then(|dim| model.symbols.as_symbol(dim)) {
                known.entry(symbol).or_insert(*size as i64);
            }
        }
    }
    known
}
