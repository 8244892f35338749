//! Types of the outputs of bodies.

use crate::ir::{Attr, BlockId, Shape, Type};
use crate::ops::infer::cx::{Cx, Types, axis, both};
use crate::sym::Dim;

fn body(cx: &Cx<'_>, name: &str) -> Option<BlockId> {
    match cx.node.attr(name) {
        Some(Attr::Block(block)) => Some(*block),
        _ => None,
    }
}

/// The types of the outputs of a body.
fn returned(cx: &Cx<'_>, block: BlockId) -> Vec<Type> {
    let block = &cx.graph.blocks[block];
    block.outputs().iter().map(|v| cx.graph.values[*v].ty.clone()).collect()
}

/// Refutes a body that takes or returns another number of values.
fn counts(cx: &mut Cx<'_>, name: &str, block: BlockId, takes: usize, returns: usize) -> Option<()> {
    let block = &cx.graph.blocks[block];
    let (inputs, outputs) = (block.inputs.len(), block.outputs().len());
    cx.demand(inputs == takes, || format!("`{name}` takes {inputs} values instead of {takes}"))?;
    cx.demand(outputs == returns, || format!("`{name}` returns {outputs} values instead of {returns}"))
}

/// `If`: the common types of both branches.
pub(super) fn branches(cx: &mut Cx<'_>) -> Option<Types> {
    let (yes, no) = (body(cx, "then_branch")?, body(cx, "else_branch")?);
    for (name, block) in [("then_branch", yes), ("else_branch", no)] {
        counts(cx, name, block, 0, cx.node.outputs.len())?;
    }
    Some(returned(cx, yes).iter().zip(&returned(cx, no)).map(|(a, b)| both(a, b)).collect())
}

/// `Loop`: carried values have the common type of the first and every later iteration; the length of
/// scan outputs depends on the run.
pub(super) fn repeated(cx: &mut Cx<'_>) -> Option<Types> {
    let carried = cx.node.inputs.len().checked_sub(2)?;
    let body = body(cx, "body")?;
    counts(cx, "body", body, cx.node.inputs.len(), cx.node.outputs.len().saturating_add(1))?;
    let returned = returned(cx, body);
    Some(
        returned
            .iter()
            .skip(1)
            .enumerate()
            .map(|(index, ty)| {
                if index < carried {
                    cx.ty(index.saturating_add(2)).map_or(Type::Unknown, |first| both(first, ty))
                } else {
                    stacked(ty, 0, None)
                }
            })
            .collect(),
    )
}

/// `Scan`.
pub(super) fn scanned(cx: &mut Cx<'_>) -> Option<Types> {
    let scans = usize::try_from(cx.node.int("num_scan_inputs")?).ok()?;
    let carried = cx.node.inputs.len().checked_sub(scans)?;
    let body = body(cx, "body")?;
    counts(cx, "body", body, cx.node.inputs.len(), cx.node.outputs.len())?;
    let returned = returned(cx, body);
    let pick =
        |name: &str, index: usize| cx.node.ints(name).and_then(|axes| axes.get(index).copied()).unwrap_or(0);
    let length = (0..scans).find_map(|index| {
        let dims = cx.dims(carried.saturating_add(index))?;
        dims[axis(pick("scan_input_axes", index), dims.len())?]
    });
    Some(
        returned
            .iter()
            .enumerate()
            .map(|(index, ty)| match index.checked_sub(carried) {
                None => cx.ty(index).map_or(Type::Unknown, |first| both(first, ty)),
                Some(scan) => stacked(ty, pick("scan_output_axes", scan), length),
            })
            .collect(),
    )
}

/// The type of `length` values of type `ty` stacked along a new axis.
fn stacked(ty: &Type, at: i64, length: Option<Dim>) -> Type {
    let Type::Tensor { dtype, shape } = ty else { return Type::Unknown };
    let shape = match shape {
        Shape::Ranked(dims) => match axis(at, dims.len().saturating_add(1)) {
            Some(at) => {
                let mut dims = dims.clone();
                dims.insert(at, length);
                Shape::Ranked(dims)
            }
            None => Shape::Unranked,
        },
        Shape::Unranked => Shape::Unranked,
    };
    Type::Tensor { dtype: *dtype, shape }
}

/// `SequenceMap`: sequences of the outputs of the body. A size that is not a number may differ from run to run.
pub(super) fn mapped(cx: &mut Cx<'_>) -> Option<Types> {
    let body = body(cx, "body")?;
    counts(cx, "body", body, cx.node.inputs.len(), cx.node.outputs.len())?;
    let each = returned(cx, body).into_iter().map(|mut ty| {
        if let Type::Tensor { shape, .. } = &mut ty {
            for dim in shape.dims_mut().into_iter().flatten() {
                *dim = dim.filter(|d| d.as_const().is_some());
            }
        }
        if ty == Type::Unknown { Type::Unknown } else { Type::Sequence(Box::new(ty)) }
    });
    Some(each.collect())
}
