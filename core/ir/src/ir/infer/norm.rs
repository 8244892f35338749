//! Normalisations, recurrent layers and other operators with several outputs of simple shape.

#![expect(clippy::unnecessary_wraps, reason = "a rule may know nothing")]

use smallvec::smallvec;

use super::cx::{Cx, Dims, Shapes};
use crate::ir::Shape;
use crate::sym::Dim;

fn shape_of(cx: &Cx<'_>, index: usize) -> Shape {
    cx.dims(index).map_or(Shape::Unranked, |d| Shape::Ranked(d.into()))
}

/// `BatchNormalization`.
pub(super) fn batch(cx: &mut Cx<'_>) -> Option<Shapes> {
    Some(smallvec![shape_of(cx, 0), shape_of(cx, 3), shape_of(cx, 4)])
}

/// `LayerNormalization`.
pub(super) fn layer(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let at = cx.axis(-1, dims.len())?;
    let mut reduced: Dims = dims.into();
    reduced[at..].fill(Some(Dim::Const(1)));
    Some(smallvec![Shape::Ranked(dims.into()), Shape::Ranked(reduced.clone()), Shape::Ranked(reduced)])
}

/// `Dropout`.
pub(super) fn dropout(cx: &mut Cx<'_>) -> Option<Shapes> {
    Some(smallvec![shape_of(cx, 0), shape_of(cx, 0)])
}

/// `DynamicQuantizeLinear`.
pub(super) fn dynamic_quantize(cx: &mut Cx<'_>) -> Option<Shapes> {
    Some(smallvec![shape_of(cx, 0), Shape::of([]), Shape::of([])])
}

/// `LSTM`, `GRU` and `RNN`.
pub(super) fn recurrent(cx: &mut Cx<'_>) -> Option<Shapes> {
    let directions = Some(Dim::Const(if cx.text("direction") == Some("bidirectional") { 2 } else { 1 }));
    let hidden = cx.node.int("hidden_size").map(Dim::Const).or_else(|| cx.dim(2, 2));
    let batch_first = cx.int("layout", 0) != 0;
    let (sequence, batch) =
        if batch_first { (cx.dim(0, 1), cx.dim(0, 0)) } else { (cx.dim(0, 0), cx.dim(0, 1)) };
    let (all, last): (Dims, Dims) = if batch_first {
        (smallvec![batch, sequence, directions, hidden], smallvec![batch, directions, hidden])
    } else {
        (smallvec![sequence, directions, batch, hidden], smallvec![directions, batch, hidden])
    };
    Some(smallvec![Shape::Ranked(all), Shape::Ranked(last.clone()), Shape::Ranked(last)])
}
