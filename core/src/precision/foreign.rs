//! Weights that plugins transform.

use super::select::weights;
use super::{Changed, PluginTransform, edit};
use crate::diagnose::{Code, Diagnostic};
use crate::host::Host;
use crate::ir::{Model, ValueId};
use crate::op;
use crate::tensor::transform::Foreign;
use crate::tensor::{LazyTensor, Transform};
use crate::weights::transform;

pub(super) fn apply(
    host: &Host,
    model: &mut Model,
    wanted: &PluginTransform,
    changed: &mut Changed,
    problems: &mut Vec<Diagnostic>,
) {
    let graph = &model.graph;
    let chosen: Vec<(ValueId, String, LazyTensor)> = weights(graph)
        .filter(|(value, name)| wanted.only.matches(name) && !graph.is_returned(*value))
        .filter_map(|(value, name)| Some((value, name.to_owned(), graph.initializer(value)?.clone())))
        .collect();
    for (value, name, data) in chosen {
        let PluginTransform { plugin, name: transform_name, .. } = wanted;
        let made =
            transform(host, plugin, transform_name, &data).and_then(|foreign| replaced(&data, foreign));
        let stored = match made {
            Ok(stored) => stored,
            Err(problem) => {
                problems.push(problem.note(format!("the weight is `{name}`")));
                continue;
            }
        };
        changed.foreign += 1;
        changed.bytes_before += data.byte_len().unwrap_or(0);
        changed.bytes_after += stored.byte_len().unwrap_or(0);
        let graph = &mut model.graph;
        let (dtype, ty) = (stored.dtype, graph.values[value].ty.clone());
        let mut new = edit::supplant(graph, value, stored);
        if dtype != data.dtype {
            let attributes = [("to", i64::from(data.dtype.onnx()))];
            let Some(wide) = edit::prepend(graph, op::Cast, &[new], &attributes, ty) else { continue };
            new = wide;
        }
        graph.replace_uses(value, new);
    }
}

/// Returns the transformed weight. The graph does not change, so the shape must stay; another type is cast back.
fn replaced(data: &LazyTensor, foreign: Foreign) -> Result<LazyTensor, Diagnostic> {
    let refuse = |what: &str| Diagnostic::error(Code::WEIGHT_SCHEME, format!("a transform {what}"));
    let made = data
        .then(Transform::Foreign(foreign))
        .ok_or_else(|| refuse("makes elements that do not fill bytes, or of such ones"))?;
    if made.shape != data.shape {
        return Err(refuse("changes the shape of a weight, which nothing in the graph expects"));
    }
    if made.dtype != data.dtype && !(made.dtype.is_float() || made.dtype.is_int()) {
        return Err(refuse("makes a type that cannot be cast back"));
    }
    Ok(made)
}
