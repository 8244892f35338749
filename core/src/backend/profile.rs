//! The capabilities that backends state, and the nodes that they cover.

use std::sync::Arc;

use onnxport_abi::backend::{BackendEntry, OpRecord, layout, op_flags};

use crate::diagnose::{Code, Diagnostic};
use crate::host::Validated;
use crate::ir::{Graph, Model, NodeId, Shape, Type, ValueId};
use crate::legalise::{self, Target};
use crate::tensor::DType;

/// Returns the defect in a backend's description of itself, if there is one.
pub fn flaw(entry: &BackendEntry) -> Option<String> {
    let id = entry.id.validated();
    if id.is_empty() || !id.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_')) {
        return Some("its id is not of lower-case letters, digits, `-` and `_`".to_owned());
    }
    if !entry.domain.is_empty() && entry.domain_version < 1 {
        return Some(format!("the version of its domain is {}", entry.domain_version));
    }
    if entry.ops.is_empty() {
        return Some("it lists no operators".to_owned());
    }
    entry.ops.validated().iter().find_map(|record| {
        let op = record.op.validated();
        if op.is_empty() {
            return Some("an operator has no name".to_owned());
        }
        if record.min_version > record.max_version || record.min_rank > record.max_rank {
            return Some(format!("the bounds of `{op}` are empty"));
        }
        if !matches!(record.layout, layout::ANY | layout::CHANNELS_FIRST | layout::CHANNELS_LAST) {
            return Some(format!("`{op}` has the layout {}", record.layout));
        }
        let mut dtypes = record.inputs.validated().iter().chain(record.outputs.validated().iter());
        dtypes
            .find(|dtype| DType::from_onnx(**dtype).is_none())
            .map(|dtype| format!("`{op}` has the element type {dtype}"))
    })
}

/// Returns the diagnostic for a backend that cannot be used.
pub(super) fn malformed(plugin: &str, entry: &BackendEntry, flaw: &str) -> Diagnostic {
    let message =
        format!("the backend `{}` of plugin `{plugin}` cannot be used: {flaw}", entry.id.validated());
    let mut diagnostic = Diagnostic::error(Code::BACKEND_CAPABILITIES, message);
    diagnostic.provider = Some(plugin.to_owned());
    diagnostic
}

/// The built-in target with the id of the backend, whose table is a limit on the nodes that the backend is offered.
pub(super) fn target(entry: &BackendEntry) -> Option<Arc<Target>> {
    Target::named(entry.id.validated()).filter(|target| !target.takes_everything())
}

/// Explains why `entry` cannot take `node`; `Ok` if a record covers it. The reasons contain no sizes, so
/// that equal ones can be counted.
pub(super) fn covers(
    entry: &BackendEntry,
    target: Option<&Target>,
    model: &Model,
    node: NodeId,
) -> Result<(), String> {
    let data = &model.graph.nodes[node];
    if data.blocks().next().is_some() {
        return Err("control flow is never offered to a backend".to_owned());
    }
    if let Some(target) = target.filter(|target| !legalise::runs(&model.graph, model.opset(), target, node)) {
        return Err(format!("the target `{}` does not run it", target.name()));
    }
    let version = model.opsets.iter().find(|o| o.domain == data.domain).map_or(0, |o| o.version);
    let records = entry.ops.validated().iter().filter(|r| {
        r.domain.validated() == data.domain && (r.op.validated() == data.op || r.op.validated() == "*")
    });
    let mut reason = None;
    for record in records {
        match fits(record, version, &model.graph, node) {
            Ok(()) => return Ok(()),
            // The first record is the one that its author has in mind.
            Err(why) => _ = reason.get_or_insert(why),
        }
    }
    Err(reason.unwrap_or_else(|| "the backend does not have the operator".to_owned()))
}

fn fits(record: &OpRecord, version: i64, graph: &Graph, node: NodeId) -> Result<(), String> {
    if !(i64::from(record.min_version)..=i64::from(record.max_version)).contains(&version) {
        let (min, max) = (record.min_version, record.max_version);
        return Err(format!("version {version} of the operator set is outside of {min} to {max}"));
    }
    let data = &graph.nodes[node];
    if record.layout == layout::CHANNELS_LAST && data.domain.is_empty() {
        return Err("the channels come first, the backend has them last".to_owned());
    }
    let inputs = data.inputs.iter().flatten().map(|v| ("input", *v));
    let outputs = data.outputs.iter().flatten().map(|v| ("output", *v));
    for (side, value) in inputs.chain(outputs) {
        let Type::Tensor { dtype: Some(dtype), shape } = &graph.values[value].ty else {
            return Err(format!("an {side} is not a tensor of known element type"));
        };
        let allowed = if side == "input" { record.inputs } else { record.outputs };
        if !allowed.is_empty() && !allowed.validated().contains(&dtype.onnx()) {
            return Err(format!("an {side} is {dtype}"));
        }
        if record.flags & op_flags::DYNAMIC == 0 && !is_static(shape) {
            return Err(format!("a size of an {side} is dynamic"));
        }
    }
    let ranked =
        data.inputs.first().copied().flatten().into_iter().chain(data.outputs.iter().copied().flatten());
    for value in ranked {
        ranks(record, graph, value)?;
    }
    Ok(())
}

fn is_static(shape: &Shape) -> bool {
    shape.dims().is_some_and(|dims| dims.iter().all(|d| d.is_some_and(|d| d.as_const().is_some())))
}

fn ranks(record: &OpRecord, graph: &Graph, value: ValueId) -> Result<(), String> {
    if record.min_rank == 0 && record.max_rank == u32::MAX {
        return Ok(());
    }
    match graph.values[value].ty.shape().and_then(Shape::rank) {
        Some(rank) if (record.min_rank as usize..=record.max_rank as usize).contains(&rank) => Ok(()),
        Some(rank) => Err(format!("a tensor has {rank} axes")),
        None => Err("the number of axes is not known".to_owned()),
    }
}
