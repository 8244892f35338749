//! Writing over everything.

use onnxport_sdk::prelude::*;

use crate::rewriting::{axis_of, ints};
use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// Removes a `ScatterND` that replaces all rows in order.
    scatter_rows: ScatterND(_data, const indices, updates, ..)
        if no_reduction(matched).and_then(|()| keeps_shape(matched, updates)).and_then(|()| is_ascending(indices)) => updates;

    /// Removes a `ScatterElements` that replaces all elements in order.
    scatter_elements: ScatterElements(_data, const indices, updates, axis = axis, ..)
        if no_reduction(matched).and_then(|()| keeps_shape(matched, updates)).and_then(|()| in_place(indices, axis)) => updates;
}

fn no_reduction(matched: &Matched<'_>) -> Res<()> {
    if matched.root().str("reduction").is_some_and(|reduction| reduction == "none") {
        Ok(())
    } else {
        Err("updates are combined with the data".into())
    }
}

/// Whether the indices are the numbers of rows, from the first on: `[n, 1]`.
fn is_ascending(indices: ValueRef<'_>) -> Res<()> {
    if !indices.extents().is_some_and(|extents| matches!(extents[..], [_, 1])) {
        return Err("the indices are not those of rows".into());
    }
    if ints(indices)?.iter().zip(0..).all(|(row, place)| *row == place) {
        Ok(())
    } else {
        Err("the rows are not written in order".into())
    }
}

/// Whether each index is its own position along `axis`.
fn in_place(indices: ValueRef<'_>, axis: &Attribute) -> Res<()> {
    let (extents, found) = (indices.extents().ok_or("a shape is not known")?, ints(indices)?);
    let axis = axis_of(axis.int().ok_or("it has no axis")?, extents.len())?;
    let behind: i64 = extents.iter().skip(axis + 1).product();
    let along = extents.get(axis).copied().unwrap_or(0);
    let mut placed = found.iter().zip(0..);
    if placed.all(|(index, place): (&i64, i64)| Some(*index) == (place / behind.max(1)).checked_rem(along)) {
        Ok(())
    } else {
        Err("an index is not its own position".into())
    }
}
