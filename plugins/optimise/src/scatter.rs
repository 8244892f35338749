//! Writing over everything.

use onnxport_sdk::prelude::*;

use crate::rewriting::{axis_of, ints};
use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// Rows that are all replaced, in order.
    scatter_rows: ScatterND(_data, const indices, updates, ..)
        if no_reduction(matched) && keeps_shape(matched, updates).is_ok() && is_ascending(indices) => updates;

    /// Elements that are all replaced, in order.
    scatter_elements: ScatterElements(_data, const indices, updates, axis = axis, ..)
        if no_reduction(matched) && keeps_shape(matched, updates).is_ok() && in_place(indices, axis) => updates;
}

fn no_reduction(matched: &Matched<'_>) -> bool {
    matched.root().str("reduction").is_some_and(|reduction| reduction == "none")
}

/// Whether the indices are the numbers of rows, from the first on: `[n, 1]`.
fn is_ascending(indices: ValueRef<'_>) -> bool {
    let is_column = indices.extents().is_some_and(|extents| matches!(extents[..], [_, 1]));
    is_column && ints(indices).is_ok_and(|rows| rows.iter().zip(0..).all(|(row, place)| *row == place))
}

/// Whether each index is its own position along `axis`.
fn in_place(indices: ValueRef<'_>, axis: &Attribute) -> bool {
    let (Some(extents), Ok(found)) = (indices.extents(), ints(indices)) else { return false };
    let Some(axis) = axis.int().and_then(|axis| axis_of(axis, extents.len()).ok()) else { return false };
    let behind: i64 = extents.iter().skip(axis + 1).product();
    let along = extents.get(axis).copied().unwrap_or(0);
    found
        .iter()
        .zip(0..)
        .all(|(index, place): (&i64, i64)| Some(*index) == (place / behind.max(1)).checked_rem(along))
}
