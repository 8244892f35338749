//! Searches inside a node: in the branch of an `If`, an iteration of a `Loop` or `Scan`, or the body of a local
//! function.
//!
//! The body becomes a separate model for each side, and both run on the reference's values. Of a loop, the first
//! iteration whose results differ is searched; its loop-carried values are the reference's.

use bytes::Bytes;

use super::alone::Part;
use super::body::{Body, Half, body, called, function};
use super::suspect::given;
use super::{Against, DEPTH, Inside, Search, State, within};
use crate::diagnose::Diagnostic;
use crate::diff::Alignment;
use crate::ir::{Def, Model, NodeId, ValueId};
use crate::op;
use crate::run::Computed;
use crate::taps::{FLOOR, ModelSide, Side, Taps, bound, cut, distance, unit};
use crate::tensor::DType;

/// The number of iterations to search.
const ITERATIONS: i64 = 10_000;

/// Searches inside `node`; `None` if it has no body, or if a side cannot run it.
pub(super) fn enter(
    search: &Search<'_, '_>,
    taps: &Taps<'_>,
    node: NodeId,
    state: &State,
    depth: usize,
) -> Result<Option<Inside>, Diagnostic> {
    let (Some(ours), Side::Model(theirs)) = (search.side(), &search.theirs) else { return Ok(None) };
    let other = match search.against {
        Against::Executor => Some((search.model, node)),
        Against::Model(other) => Alignment::between(search.model, other).node(node).map(|node| (other, node)),
        Against::Recording => None,
    };
    let Some((other, other_node)) = other.filter(|_| depth < DEPTH) else { return Ok(None) };
    let pair = Pair {
        search,
        taps,
        state,
        depth,
        ours: Half { model: search.model, node, runtime: ours.runtime },
        theirs: Half { model: other, node: other_node, runtime: theirs.runtime },
    };
    let data = &search.model.graph.nodes[node];
    if let Some(function) = function(search.model, node) {
        let what = format!("the function {}::{}", function.domain, function.name);
        return pair.function(&what);
    }
    match data.op.as_str() {
        op::If if data.domain.is_empty() => pair.branch(),
        op::Loop if data.domain.is_empty() => pair.iterations(Kind::Loop),
        op::Scan if data.domain.is_empty() => pair.iterations(Kind::Scan),
        _ => Ok(None),
    }
}

/// A node on both sides.
struct Pair<'a, 'b, 'r> {
    search: &'a Search<'b, 'r>,
    taps: &'a Taps<'b>,
    state: &'a State,
    depth: usize,
    ours: Half<'a>,
    theirs: Half<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Loop,
    Scan,
}

/// Both bodies in files, to be run on the same values.
struct Parts {
    ours: Part,
    theirs: Part,
    /// The outside values that the bodies read, in the order of each side.
    around: [Vec<Computed>; 2],
    /// The names of the bodies' own inputs; `None` for an unused input.
    names: [Vec<Option<String>>; 2],
}

impl Pair<'_, '_, '_> {
    fn branch(&self) -> Result<Option<Inside>, Diagnostic> {
        let Some(condition) = self.input(0)? else { return Ok(None) };
        let what = if condition.bytes.first() == Some(&0) { "else_branch" } else { "then_branch" };
        let bodies = [&self.ours, &self.theirs].map(|half| body(half, what));
        let [Some(ours), Some(theirs)] = bodies else { return Ok(None) };
        let Some(parts) = self.parts(ours, theirs, &[])? else { return Ok(None) };
        self.inside(&parts, &[], what.to_owned())
    }

    fn function(&self, what: &str) -> Result<Option<Inside>, Diagnostic> {
        let bodies = [&self.ours, &self.theirs].map(called);
        let [Some(ours), Some(theirs)] = bodies else { return Ok(None) };
        let mut inputs = Vec::new();
        for at in 0..ours.inputs.len() {
            inputs.push(self.input(at)?);
        }
        let Some(parts) = self.parts(ours, theirs, &inputs)? else { return Ok(None) };
        self.inside(&parts, &inputs, what.to_owned())
    }

    fn iterations(&self, kind: Kind) -> Result<Option<Inside>, Diagnostic> {
        let bodies = [&self.ours, &self.theirs].map(|half| body(half, "body"));
        let [Some(ours), Some(theirs)] = bodies else { return Ok(None) };
        let data = &self.search.model.graph.nodes[self.ours.node];
        let mut read = Vec::new();
        for at in 0..data.inputs.len() {
            read.push(self.input(at)?);
        }
        let axes =
            ["scan_input_axes", "scan_input_directions"].map(|name| data.ints(name).unwrap_or_default());
        if axes.iter().any(|all| all.iter().any(|n| *n != 0)) {
            return Ok(None);
        }
        let carried = match kind {
            Kind::Loop => read.len().saturating_sub(2),
            Kind::Scan => {
                let scanned = data.int("num_scan_inputs").and_then(|n| usize::try_from(n).ok());
                let Some(scanned) = scanned else { return Ok(None) };
                read.len().saturating_sub(scanned)
            }
        };
        let first = if kind == Kind::Loop { 2 } else { 0 };
        let mut state: Vec<Option<Computed>> = read.iter().skip(first).take(carried).cloned().collect();
        let slices: Vec<Computed> =
            read.iter().skip(carried).filter(|_| kind == Kind::Scan).flatten().cloned().collect();
        let trips = match kind {
            Kind::Loop => read.first().cloned().flatten().and_then(|trips| long(&trips)).unwrap_or(i64::MAX),
            Kind::Scan => slices.iter().filter_map(|s| s.shape.first()).map(|n| *n as i64).min().unwrap_or(0),
        };
        let mut going = kind == Kind::Scan || read.get(1).is_none_or(|c| c.as_ref().is_none_or(is_true));
        let sample = self.step(kind, 0, &state, &slices);
        let Some(parts) = self.parts(ours, theirs, &sample)? else { return Ok(None) };
        for trip in 0..trips.min(ITERATIONS) {
            if !going {
                break;
            }
            let inputs = self.step(kind, trip, &state, &slices);
            let (got, expected) = (parts.run(self, 0, &inputs)?, parts.run(self, 1, &inputs)?);
            let differ = got
                .iter()
                .zip(&expected)
                .any(|(got, expected)| distance(got, expected).error > FLOOR * unit(got.dtype));
            if differ
                && let Some(inside) = self.inside(&parts, &inputs, format!("iteration {trip}"))?
                && inside.found.fault.is_some()
            {
                return Ok(Some(inside));
            }
            let mut results = expected.into_iter();
            if kind == Kind::Loop {
                going = results.next().as_ref().is_none_or(is_true);
            }
            state = results.take(carried).map(Some).collect();
        }
        Ok(None)
    }

    /// Returns the inputs of the bodies in an iteration.
    #[expect(clippy::unused_self, reason = "a step of this pair")]
    fn step(
        &self,
        kind: Kind,
        trip: i64,
        state: &[Option<Computed>],
        slices: &[Computed],
    ) -> Vec<Option<Computed>> {
        let scalar = |dtype, bytes: Vec<u8>| {
            Some(Computed { name: String::new(), dtype, shape: Vec::new(), bytes: Bytes::from(bytes) })
        };
        let own = match kind {
            Kind::Loop => vec![scalar(DType::I64, trip.to_le_bytes().to_vec()), scalar(DType::Bool, vec![1])],
            Kind::Scan => Vec::new(),
        };
        let slices = slices.iter().map(|whole| slice(whole, trip));
        own.into_iter().chain(state.iter().cloned()).chain(slices).collect()
    }

    /// The value of an input of the node, as the reference has it.
    fn input(&self, at: usize) -> Result<Option<Computed>, Diagnostic> {
        let graph = &self.search.model.graph;
        let value = graph.nodes[self.ours.node].inputs.get(at).copied().flatten();
        let Some(value) = value else { return Ok(None) };
        if let Some(data) = graph.initializer(value) {
            return Ok(data.read().map(|bytes| Computed {
                name: String::new(),
                dtype: data.dtype,
                shape: data.shape.clone(),
                bytes: Bytes::from(bytes.into_owned()),
            }));
        }
        Ok(given(self.search, self.taps, &[value], self.state)?.pop().map(|(_, value)| value))
    }

    /// Returns both bodies if both sides know the outside values that they read. `inputs` are values of the bodies'
    /// own inputs.
    fn parts(
        &self,
        ours: Body,
        theirs: Body,
        inputs: &[Option<Computed>],
    ) -> Result<Option<Parts>, Diagnostic> {
        let around = |body: &Body| -> Vec<ValueId> {
            let is_own = |value: &ValueId| body.inputs.contains(value);
            let known = |value: ValueId| match (body.model.graph.values[value].def, &body.nodes) {
                (Def::Node(node, _), Some(nodes)) => !nodes.contains(&node),
                _ => false,
            };
            let (_, border) = bound(&body.model, &body.outputs, &known);
            border.into_iter().filter(|value| !is_own(value)).collect()
        };
        let (our_border, their_border) = (around(&ours), around(&theirs));
        let ours_around = given(self.search, self.taps, &our_border, self.state)?;
        let theirs_around = self.known_to_them(&theirs.model, &their_border)?;
        if ours_around.len() != our_border.len() || theirs_around.len() != their_border.len() {
            return Ok(None);
        }
        let made = |body: Body, around: &[(ValueId, Computed)]| {
            let own = body.inputs.iter().zip(inputs).filter_map(|(id, value)| Some((*id, value.as_ref()?)));
            let border: Vec<(ValueId, &Computed)> =
                around.iter().map(|(id, value)| (*id, value)).chain(own).collect();
            let part = cut(&body.model, &body.outputs, &border);
            let is_left = |id: &ValueId| part.graph.blocks[part.graph.main()].inputs.contains(id);
            let name = |id: &ValueId| part.graph.values[*id].name.as_deref().map(str::to_owned);
            let names = body.inputs.iter().map(|id| is_left(id).then(|| name(id)).flatten()).collect();
            Part::new(part).map(|part| (part, names))
        };
        let (ours, our_names) = made(ours, &ours_around)?;
        let (theirs, their_names) = made(theirs, &theirs_around)?;
        let values = |all: Vec<(ValueId, Computed)>| all.into_iter().map(|(_, value)| value).collect();
        Ok(Some(Parts {
            ours,
            theirs,
            around: [values(ours_around), values(theirs_around)],
            names: [our_names, their_names],
        }))
    }

    /// Returns values of the other side by its names for them.
    fn known_to_them(
        &self,
        model: &Model,
        border: &[ValueId],
    ) -> Result<Vec<(ValueId, Computed)>, Diagnostic> {
        let Side::Model(side) = &self.search.theirs else { return Ok(Vec::new()) };
        let mut known = Vec::new();
        let mut names: Vec<(&str, ValueId)> = Vec::new();
        for value in border {
            let Some(name) = model.graph.values[*value].name.as_deref() else { continue };
            match side.inputs.iter().find(|input| input.name == name) {
                Some(input) => known.push((*value, input.clone())),
                None => names.push((name, *value)),
            }
        }
        if !names.is_empty() {
            let wanted: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            side.each(&wanted, &mut |found| {
                let value = names.iter().find(|(name, _)| *name == found.name);
                known.extend(value.map(|(_, value)| (*value, found)));
            })?;
        }
        Ok(known)
    }

    fn inside(
        &self,
        parts: &Parts,
        inputs: &[Option<Computed>],
        what: String,
    ) -> Result<Option<Inside>, Diagnostic> {
        let search = Search {
            model: &parts.ours.model,
            ours: Side::Model(parts.side(self, 0, inputs)),
            theirs: Side::Model(parts.side(self, 1, inputs)),
            against: match self.search.against {
                Against::Model(_) => Against::Model(&parts.theirs.model),
                other => other,
            },
            memory: self.search.memory,
            whole: false,
        };
        Ok(Some(Inside { what, found: within(&search, self.depth + 1)? }))
    }
}

impl Parts {
    /// Creates a side from the values of its own inputs.
    fn side<'r>(&self, pair: &Pair<'r, '_, '_>, which: usize, inputs: &[Option<Computed>]) -> ModelSide<'r> {
        let (half, part) = if which == 0 { (&pair.ours, &self.ours) } else { (&pair.theirs, &self.theirs) };
        let mut fed = self.around.get(which).cloned().unwrap_or_default();
        let names = self.names.get(which).map(Vec::as_slice).unwrap_or_default();
        for (name, value) in names.iter().zip(inputs) {
            if let (Some(name), Some(value)) = (name, value) {
                fed.push(Computed { name: name.clone(), ..value.clone() });
            }
        }
        ModelSide::new(half.runtime, &part.path(), fed, part.model.output_names.clone())
    }

    /// Runs one side and returns its outputs, in order.
    fn run(
        &self,
        pair: &Pair<'_, '_, '_>,
        which: usize,
        inputs: &[Option<Computed>],
    ) -> Result<Vec<Computed>, Diagnostic> {
        let side = self.side(pair, which, inputs);
        let names: Vec<&str> = side.outputs.iter().map(String::as_str).collect();
        let mut results: Vec<Computed> = Vec::new();
        side.each(&names, &mut |value| results.push(value))?;
        results.sort_by_key(|value| names.iter().position(|name| *name == value.name));
        Ok(results)
    }
}

/// Returns the slice of a tensor at `at` along its first axis.
fn slice(whole: &Computed, at: i64) -> Option<Computed> {
    let (count, rest) = whole.shape.split_first()?;
    let each = whole.bytes.len().checked_div(usize::try_from(*count).ok()?)?;
    let start = usize::try_from(at).ok()?.checked_mul(each)?;
    let end = start.checked_add(each).filter(|end| *end <= whole.bytes.len())?;
    Some(Computed {
        name: String::new(),
        dtype: whole.dtype,
        shape: rest.to_vec(),
        bytes: whole.bytes.slice(start..end),
    })
}

fn long(value: &Computed) -> Option<i64> {
    value.bytes.as_ref().try_into().ok().map(i64::from_le_bytes)
}

fn is_true(value: &Computed) -> bool {
    value.bytes.first() != Some(&0)
}
