//! Operators with bodies.

use smallvec::SmallVec;

use super::Inferred;
use super::cx::{Cx, Shapes, axis, join, one};
use crate::ir::{Attr, BlockId, Shape, Type};
use crate::sym::Dim;

/// `If`, `Loop` and `Scan`: what their bodies return.
pub(super) fn outputs(cx: &mut Cx<'_>) -> SmallVec<[Inferred; 2]> {
    let types = match cx.node.op.as_str() {
        "If" => branches(cx),
        "Loop" => repeated(cx),
        _ => scanned(cx),
    };
    let mut types = types.unwrap_or_default();
    types.resize(cx.node.outputs.len(), Type::Unknown);
    types.into_iter().map(|ty| Inferred { ty, contents: None }).collect()
}

fn body(cx: &Cx<'_>, name: &str) -> Option<BlockId> {
    match cx.node.attr(name) {
        Some(Attr::Block(block)) => Some(*block),
        _ => None,
    }
}

/// The types of what a body returns.
fn returned(cx: &Cx<'_>, block: BlockId) -> Vec<Type> {
    let block = &cx.graph.blocks[block];
    block.outputs.iter().map(|v| cx.graph.values[*v].ty.clone()).collect()
}

fn branches(cx: &Cx<'_>) -> Option<Vec<Type>> {
    let (yes, no) = (body(cx, "then_branch")?, body(cx, "else_branch")?);
    Some(returned(cx, yes).iter().zip(&returned(cx, no)).map(|(a, b)| both(a, b)).collect())
}

/// What holds whichever of two types a value has.
fn both(a: &Type, b: &Type) -> Type {
    match (a, b) {
        (Type::Tensor { dtype, shape }, Type::Tensor { dtype: other, shape: with }) => {
            Type::Tensor { dtype: dtype.filter(|_| dtype == other), shape: join(shape, with) }
        }
        _ if a == b => a.clone(),
        _ => Type::Unknown,
    }
}

/// `Loop`: carried values keep what the first and every later iteration agree on; the length of
/// scan outputs depends on the run.
fn repeated(cx: &Cx<'_>) -> Option<Vec<Type>> {
    let carried = cx.node.inputs.len().checked_sub(2)?;
    let returned = returned(cx, body(cx, "body")?);
    Some(
        returned
            .iter()
            .skip(1)
            .enumerate()
            .map(|(index, ty)| {
                if index < carried {
                    cx.ty(index + 2).map_or(Type::Unknown, |first| both(first, ty))
                } else {
                    stacked(ty, 0, None)
                }
            })
            .collect(),
    )
}

fn scanned(cx: &Cx<'_>) -> Option<Vec<Type>> {
    let scans = usize::try_from(cx.node.int("num_scan_inputs")?).ok()?;
    let carried = cx.node.inputs.len().checked_sub(scans)?;
    let returned = returned(cx, body(cx, "body")?);
    let pick =
        |name: &str, index: usize| cx.node.ints(name).and_then(|axes| axes.get(index).copied()).unwrap_or(0);
    let length = (0..scans).find_map(|index| {
        let dims = cx.dims(carried + index)?;
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
        Shape::Ranked(dims) => match axis(at, dims.len() + 1) {
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

/// `OptionalGetElement` of a plain tensor.
pub(super) fn optional_element(cx: &mut Cx<'_>) -> Option<Shapes> {
    one(cx.dims(0)?.iter().copied())
}
