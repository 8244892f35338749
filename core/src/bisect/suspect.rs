//! Computes a suspect in isolation, on the reference's values.

use rustc_hash::FxHashMap;

use super::alone::{Part, converted};
use super::rounding::{all_shaken, explained};
use super::ties::is_tie;
use super::{Alone, Fault, Read, Search, State, Wrong, enter};
use crate::diagnose::Diagnostic;
use crate::ir::{Def, ValueId};
use crate::run::Computed;
use crate::taps::{Row, Tap, Taps, bound, cut, distance};

/// The ratio of a value's error to that of its inputs above which it counts as wrong if nothing can compute it in
/// isolation.
const SUSPICION: f64 = 1000.0;

/// The verdict on a suspect.
pub(super) enum Suspect {
    /// It only passes on an error of its inputs.
    Cleared,
    /// It is the result of a sort that orders equal keys differently, or not at all, in the reference.
    Tie,
    /// It is wrong.
    Wrong(Box<Fault>),
}

/// Computes the node of `tap` in isolation, and judges it.
pub(super) fn examine(
    search: &Search<'_, '_>,
    taps: &Taps<'_>,
    tap: &Tap,
    row: &Row,
    state: &State,
    depth: usize,
) -> Result<Suspect, Diagnostic> {
    let is_known = |value: ValueId| taps.of(value).is_some() && !state.unusable.contains(&value);
    let (mut nodes, border) = bound(search.model, &[tap.value], &is_known);
    nodes.sort_by_key(|node| taps.place(*node).position);
    if nodes.iter().any(|node| taps.is_random(*node)) {
        return Ok(Suspect::Cleared);
    }
    let values = given(search, taps, &border, state)?;
    let mut fault = Fault {
        row: row.clone(),
        nodes: nodes.iter().map(|node| taps.place(*node)).collect(),
        reads: reads(taps, &border, state),
        wrong: Wrong::Unknown,
        alone: None,
        inside: None,
    };
    let Some(Judged { alone, wrong, got }) = alone(search, tap, nodes.len(), &values, state)? else {
        // Nothing can compute it in isolation. The only evidence against it is that its inputs agree.
        let is_wrong = row.error_of_inputs < row.error / SUSPICION;
        return Ok(if is_wrong { Suspect::Wrong(Box::new(fault)) } else { Suspect::Cleared });
    };
    if alone.error <= alone.allowed {
        return Ok(Suspect::Cleared);
    }
    if let Some(expected) = state.round.theirs.get(&tap.counterpart)
        && is_tie(search, tap.value, &values, &got, expected)?
    {
        return Ok(Suspect::Tie);
    }
    (fault.alone, fault.wrong) = (Some(alone), wrong);
    if let [node] = nodes[..] {
        fault.inside = enter::enter(search, taps, node, state, depth)?.map(Box::new);
    }
    Ok(Suspect::Wrong(Box::new(fault)))
}

/// The outcome of computing a suspect in isolation.
struct Judged {
    alone: Alone,
    wrong: Wrong,
    /// The result of the runtime, or of the evaluator if the runtime cannot compute it.
    got: Computed,
}

/// Computes the nodes and compares the results with the reference; `None` if neither the runtime nor the
/// evaluator can do that.
fn alone(
    search: &Search<'_, '_>,
    tap: &Tap,
    nodes: usize,
    values: &[(ValueId, Computed)],
    state: &State,
) -> Result<Option<Judged>, Diagnostic> {
    let (Some(side), Some(expected)) = (search.side(), state.round.theirs.get(&tap.counterpart)) else {
        return Ok(None);
    };
    let border: Vec<(ValueId, &Computed)> = values.iter().map(|(value, given)| (*value, given)).collect();
    let part = Part::new(cut(search.model, &[tap.value], &border))?;
    let inputs: Vec<Computed> = values.iter().map(|(_, given)| given.clone()).collect();
    let shaken = all_shaken(&inputs);
    let ran = part.run(side.runtime, &inputs).ok();
    let (got, moved) = match &ran {
        Some(got) => (Some(got.clone()), part.run(side.runtime, &shaken).ok()),
        None => (part.evaluate(&inputs), part.evaluate(&shaken)),
    };
    let Some(got) = got else { return Ok(None) };
    let allowed = explained(&got, moved.as_ref(), nodes);
    let error = distance(&got, expected).error;
    let mut alone = Alone { error, allowed, evaluator: None, executor_from_evaluator: None };
    if error <= allowed {
        return Ok(Some(Judged { alone, wrong: Wrong::Unknown, got }));
    }
    let Some(exact) = part.evaluate(&inputs) else {
        return Ok(Some(Judged { alone, wrong: Wrong::Unknown, got }));
    };
    let (from_reference, from_runtime) = (distance(&exact, expected).error, distance(&got, &exact).error);
    alone.evaluator = Some(from_reference);
    alone.executor_from_evaluator = ran.is_some().then_some(from_runtime);
    let is_same_model = matches!(search.against, super::Against::Executor);
    let wrong = match (from_runtime <= allowed, from_reference <= allowed) {
        (true, false) if is_same_model => Wrong::Reference,
        (true, false) => Wrong::Model,
        (false, true) => Wrong::Executor,
        _ => Wrong::Unknown,
    };
    Ok(Some(Judged { alone, wrong, got }))
}

/// The reference's values of `border`, as the model calls them and in its types.
pub(super) fn given(
    search: &Search<'_, '_>,
    taps: &Taps<'_>,
    border: &[ValueId],
    state: &State,
) -> Result<Vec<(ValueId, Computed)>, Diagnostic> {
    let graph = &search.model.graph;
    let mut given = Vec::new();
    let mut wanted: FxHashMap<&str, Vec<(ValueId, &Tap)>> = FxHashMap::default();
    for value in border {
        if let Def::Input(..) = graph.values[*value].def {
            let name = graph.values[*value].name.as_deref();
            let input = search.inputs().iter().find(|input| Some(input.name.as_str()) == name);
            given.extend(input.map(|input| (*value, input.clone())));
        } else if let Some(tap) = taps.of(*value).and_then(|at| taps.taps.get(at)) {
            match state.round.theirs.get(&tap.counterpart) {
                Some(found) => given.extend(as_ours(*value, tap, found, state)),
                None => wanted.entry(tap.counterpart.as_str()).or_default().push((*value, tap)),
            }
        }
    }
    if !wanted.is_empty() {
        let mut names: Vec<&str> = wanted.keys().copied().collect();
        names.sort_unstable();
        search.theirs.each(&names, &mut |found| {
            for (value, tap) in wanted.get(found.name.as_str()).into_iter().flatten() {
                given.extend(as_ours(*value, tap, &found, state));
            }
        })?;
    }
    Ok(given)
}

fn as_ours(value: ValueId, tap: &Tap, found: &Computed, state: &State) -> Option<(ValueId, Computed)> {
    Some((value, converted(found, &tap.name, state.dtypes.get(&value).copied())?))
}

fn reads(taps: &Taps<'_>, border: &[ValueId], state: &State) -> Vec<Read> {
    let name = |value: ValueId| taps.model.graph.values[value].name.as_deref().unwrap_or_default().to_owned();
    border
        .iter()
        .map(|value| Read {
            value: name(*value),
            error: match taps.model.graph.values[*value].def {
                Def::Input(..) => Some(0.0),
                _ => state.errors.get(value).copied(),
            },
        })
        .collect()
}
