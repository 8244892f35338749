//! Adaptive pools of sizes that are known only at run time.

use onnxport_sdk::prelude::*;

use super::adaptive::Sizes;
use crate::matmul::{along, swap_last};
use crate::reduce::reduce;

/// The windows `floor(i * n / m) .. ceil((i + 1) * n / m)` of an axis: their first indices and the ones after their
/// last, `[m]`.
pub(super) struct Windows {
    /// The size of the axis, 0-d.
    extent: Value,
    starts: Value,
    ends: Value,
}

impl Windows {
    pub(super) fn new(cx: &Lower, extent: Value, count: Dim) -> Self {
        let (n, m) = (cx.squeeze(extent, &[0]), cx.squeeze(cx.dims_value(&[count]), &[0]));
        let indices = cx.range(cx.int(0), m, cx.int(1));
        Self { extent: n, starts: indices * n / m, ends: ((indices + 1i64) * n + m - 1i64) / m }
    }

    /// The mean of every window along `axis`.
    pub(super) fn averaged(&self, cx: &Lower, x: Value, axis: usize) -> Res<Value> {
        let dtype = cx.dtype(x)?;
        let column = |x: Value| cx.unsqueeze(x, &[1]);
        let places = cx.range(cx.int(0), self.extent, cx.int(1));
        let inside = cx.greater_equal(places, column(self.starts)) & cx.less(places, column(self.ends));
        let weights = cx.cast(inside, dtype) / column(cx.cast(self.ends - self.starts, dtype));
        if axis + 1 == cx.rank(x)? {
            return Ok(cx.matmul(x, swap_last(cx, weights)?));
        }
        along(cx, weights, x, axis)
    }

    /// The indices of the elements of every window, of which short ones repeat their last: `[m, reach]`.
    fn indices(&self, cx: &Lower) -> Value {
        let reach = cx.reduce(op::ReduceMax, self.ends - self.starts, &[0], false);
        let steps = cx.range(cx.int(0), reach, cx.int(1));
        let last = cx.unsqueeze(self.ends - 1i64, &[1]);
        cx.min(cx.unsqueeze(self.starts, &[1]) + steps, last)
    }
}

/// The largest element of every window, and its index in the flattened axes.
pub(super) fn largest(cx: &Lower, x: Value, sizes: &Sizes) -> Res<Vec<Option<Value>>> {
    let (lead, spatial) = (sizes.lead, sizes.outer.len());
    let mut windows = x;
    // The flattened indices of the elements of all windows: `[m1, reach1, m2, reach2, ..]`.
    let mut flat: Option<Value> = None;
    for (i, count) in sizes.outer.iter().enumerate() {
        let axis = Windows::new(cx, cx.extent(x, lead + i), *count);
        let indices = axis.indices(cx);
        windows = cx.gather(windows, indices, (lead + 2 * i) as i64);
        flat = Some(flat.map_or(indices, |flat| cx.unsqueeze(flat, &[-1, -2]) * axis.extent + indices));
    }
    let flat = flat.ok_or("a pool has no axes")?;
    let behind = |lead: usize| -> Vec<usize> {
        let of = |offset: usize| (0..spatial).map(move |i| lead + 2 * i + offset);
        (0..lead).chain(of(0)).chain(of(1)).collect()
    };
    let shape = cx.result(0)?.shape;
    let joined = |x: Value, shape: &[Dim]| {
        let shape = cx.concat(&[cx.dims_value(shape), cx.ints(&[-1])], 0);
        cx.reshape_dynamic(x, shape)
    };
    let windows = joined(cx.transpose(windows, &behind(lead)), &shape);
    let flat = joined(cx.transpose(flat, &behind(0)), &sizes.outer);
    let largest = reduce(cx, op::ReduceMax, windows, &[-1], false)?;
    let choice = cx.op(op::ArgMax).input(windows).axis(-1).keepdims(1).one();
    // Every channel has the same indices.
    let count = cx.op(op::Shape).input(windows).start(-1).one();
    let flat = cx.expand(flat, cx.concat(&[cx.dims_value(&shape), count], 0));
    let places = cx.op(op::GatherElements).input(flat).input(choice).axis(-1).one();
    Ok(vec![Some(largest), Some(cx.squeeze(places, &[-1]))])
}
