//! Types of sequences and of optional values.

use smallvec::smallvec;

use crate::ir::{Attr, Shape, Type};
use crate::ops::infer::cx::{Cx, Dims, Dtypes, Shapes, Types, both, one};
use crate::sym::Dim;
use crate::tensor::DType;

/// A sequence of values of a type that is known.
fn sequence(element: Type) -> Option<Types> {
    let known = !matches!(element, Type::Unknown | Type::Tensor { dtype: None, .. });
    known.then(|| smallvec![Type::Sequence(Box::new(element))])
}

/// The element type of the sequence at input `index`.
fn inside<'a>(cx: &Cx<'a>, index: usize) -> Option<&'a Type> {
    match cx.ty(index)? {
        Type::Sequence(element) => Some(element),
        _ => None,
    }
}

/// `SequenceEmpty`: the shapes depend on the elements that are inserted later.
pub(super) fn empty(cx: &mut Cx<'_>) -> Option<Types> {
    sequence(Type::tensor(cx.dtype_attr("dtype", || Some(DType::F32))?, Shape::Unranked))
}

/// `SequenceConstruct`: the common type of all inputs.
pub(super) fn construct(cx: &mut Cx<'_>) -> Option<Types> {
    let mut each = (0..cx.node.inputs.len()).map(|index| cx.ty(index).cloned().unwrap_or(Type::Unknown));
    let first = each.next()?;
    sequence(each.fold(first, |a, b| both(&a, &b)))
}

/// `SequenceInsert`: the common type of the old elements and the new one.
pub(super) fn insert(cx: &mut Cx<'_>) -> Option<Types> {
    sequence(both(inside(cx, 0)?, cx.ty(1)?))
}

/// `SequenceErase`.
pub(super) fn erase(cx: &mut Cx<'_>) -> Option<Types> {
    sequence(inside(cx, 0)?.clone())
}

/// `SequenceAt`.
pub(super) fn item(cx: &mut Cx<'_>) -> Option<Types> {
    Some(smallvec![inside(cx, 0)?.clone()])
}

/// `SplitToSequence`: parts of one size, as far as that is known.
pub(super) fn split(cx: &mut Cx<'_>) -> Option<Types> {
    let dtype = cx.dtype(0)?;
    let Some(dims) = cx.dims(0) else { return sequence(Type::tensor(dtype, Shape::Unranked)) };
    let at = cx.axis(dims.len())?;
    let mut part: Dims = dims.into();
    if cx.input(1).is_none() {
        if cx.flag("keepdims")? {
            part[at] = Some(Dim::Const(1));
        } else {
            part.remove(at);
        }
        return sequence(Type::tensor(dtype, Shape::Ranked(part)));
    }
    let extents = cx.contents(1).unwrap_or_default();
    let same = extents.first().copied().filter(|first| extents.iter().all(|d| d == first));
    let number = cx.dims(1).is_some_and(<[_]>::is_empty);
    part[at] = match (same, dims[at]) {
        // Of a single size the last part may have less.
        (Some(Dim::Const(n @ 1..)), Some(Dim::Const(all))) if number => {
            (all.checked_rem(n) == Some(0)).then_some(Dim::Const(n))
        }
        (extent, _) if !number => extent,
        _ => None,
    };
    sequence(Type::tensor(dtype, Shape::Ranked(part)))
}

/// `ConcatFromSequence`: the element type of the sequence.
pub(super) fn element(cx: &Cx<'_>) -> Dtypes {
    smallvec![inside(cx, 0).and_then(Type::dtype)]
}

/// `ConcatFromSequence`: how many there are is not known.
pub(super) fn concat(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut out: Dims = inside(cx, 0)?.shape()?.dims()?.into();
    if cx.flag("new_axis")? {
        let at = cx.axis(out.len().saturating_add(1))?;
        out.insert(at, None);
    } else {
        let at = cx.axis(out.len())?;
        out[at] = None;
    }
    one(out)
}

/// `Optional`: of the input, or empty and of the type that the attribute states.
pub(super) fn optional(cx: &mut Cx<'_>) -> Option<Types> {
    let inner = match (cx.ty(0), cx.node.attr("type")) {
        (Some(ty), _) => ty,
        (None, Some(Attr::Type(ty))) => ty,
        _ => return None,
    };
    inner.is_stated().then(|| smallvec![Type::Optional(Box::new(inner.clone()))])
}

/// `OptionalGetElement`: the type inside; a value that is not optional is returned unchanged.
pub(super) fn optional_element(cx: &mut Cx<'_>) -> Option<Types> {
    match cx.ty(0)? {
        Type::Optional(inner) => Some(smallvec![(**inner).clone()]),
        Type::Unknown => None,
        other => Some(smallvec![other.clone()]),
    }
}
