//! Stores weights in a lower type, with a `Cast` to the type of the computation.

use rustc_hash::FxHashMap;

use super::probe::probe;
use super::select::weights;
use super::{Changed, Overflow, PrecisionOptions, edit};
use crate::diagnose::{Code, Diagnostic};
use crate::ir::{Model, ValueId};
use crate::op;
use crate::tensor::{DType, LazyTensor, Transform};

/// Weights with fewer axes stay.
const MIN_RANK: usize = 2;

pub(super) fn apply(
    model: &mut Model,
    options: &PrecisionOptions,
    to: DType,
    changed: &mut Changed,
    notes: &mut Vec<Diagnostic>,
    problems: &mut Vec<Diagnostic>,
) {
    let needed = if to.bits() == 8 { 19 } else { 13 };
    if !to.is_float() || to.bits() > 32 || to.bits() < 8 || model.opset() < needed {
        let message = format!("weights cannot be stored as {to} in opset {}", model.opset());
        problems.push(
            Diagnostic::error(Code::WEIGHT_SCHEME, message)
                .help("f16, bf16 and f32 can be used with every opset, 8-bit floats from opset 19 on"),
        );
        return;
    }
    let graph = &model.graph;
    let candidates: Vec<(ValueId, String, LazyTensor)> = weights(graph)
        .filter(|(value, name)| !options.keep.matches(name) && !graph.is_returned(*value))
        .filter_map(|(value, name)| Some((value, name.to_owned(), graph.initializer(value)?.clone())))
        .filter(|(_, _, data)| data.dtype.is_float() && data.dtype.bits() > to.bits().max(8))
        .filter(|(_, _, data)| data.shape.len() >= MIN_RANK && data.then(Transform::Cast(to)).is_some())
        .collect();
    let mut cast: FxHashMap<u64, Vec<(LazyTensor, ValueId)>> = FxHashMap::default();
    for (value, name, data) in candidates {
        let twins = cast.entry(data.fingerprint()).or_default();
        if let Some((_, twin)) = twins.iter().find(|(other, _)| other.same_bytes(&data)) {
            // Tied weights share the stored bytes and the node that reads them.
            model.graph.replace_uses(value, *twin);
            continue;
        }
        match fits(&name, &data, to, options.overflow) {
            Ok(None) => {}
            Ok(Some(note)) => {
                notes.push(note);
                if options.overflow == Overflow::Keep {
                    continue;
                }
            }
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        }
        let Some(stored) = data.then(Transform::Cast(to)) else { continue };
        changed.narrowed += 1;
        changed.bytes_before += data.byte_len().unwrap_or(0);
        changed.bytes_after += stored.byte_len().unwrap_or(0);
        let graph = &mut model.graph;
        let ty = graph.values[value].ty.clone();
        let new = edit::supplant(graph, value, stored);
        let attributes = [("to", i64::from(data.dtype.onnx()))];
        if let Some(wide) = edit::prepend(graph, op::Cast, &[new], &attributes, ty) {
            graph.replace_uses(value, wide);
            twins.push((data, wide));
        }
    }
}

/// Whether the values of a weight fit; a warning if they do not but that is allowed.
fn fits(
    name: &str,
    data: &LazyTensor,
    to: DType,
    overflow: Overflow,
) -> Result<Option<Diagnostic>, Diagnostic> {
    let found = probe(data, to).map_err(|error| {
        let error = error.of(name);
        Diagnostic::error(error.code(), error.to_string())
    })?;
    if found.beyond == 0 {
        return Ok(None);
    }
    let (count, largest) = (found.beyond, found.largest);
    let fate = match overflow {
        Overflow::Refuse => "",
        Overflow::Keep => ", and is left unchanged",
        Overflow::Allow if to.bits() == 8 => ", which become its largest",
        Overflow::Allow => ", which become infinite",
    };
    let values = if count == 1 { "value" } else { "values" };
    let message = format!("`{name}` has {count} {values} beyond the range of {to} (up to {largest:e}){fate}");
    let problem = Diagnostic::error(Code::WEIGHT_VALUE, message);
    match overflow {
        Overflow::Refuse => Err(problem.help(
            "`--dtype-overflow keep` leaves such weights in their type, `--dtype bf16` has the range of f32",
        )),
        Overflow::Keep | Overflow::Allow => {
            Ok(Some(Diagnostic { severity: crate::diagnose::Severity::Warning, ..problem }))
        }
    }
}
