//! Pools over the elements of bins whose bounds are rounded, by a mask for each axis.

use onnxport_sdk::prelude::*;

/// The elements of the bins of each region.
pub(crate) struct Bins {
    /// The feature map of each region: `[K, C, H, W]`.
    pub(crate) maps: Value,
    /// Whether a row is in a bin: `[K, bins, H]`.
    pub(crate) rows: Value,
    /// Whether a column is in a bin: `[K, bins, W]`.
    pub(crate) columns: Value,
}

impl Bins {
    /// Divides the regions `[K, 5]`, times `scale` and rounded, into bins of equal size.
    ///
    /// `inclusive` regions contain their second corner, and their bins may end with the map; those of position-sensitive
    /// pools leave out its last row and column. Sources: `roi_pool_kernel.cpp` and `ps_roi_pool_kernel.cpp` of torchvision.
    pub(crate) fn new(
        cx: &Lower,
        input: Value,
        rois: Value,
        scale: f64,
        bins: [i64; 2],
        inclusive: bool,
    ) -> Res<Self> {
        let batch = cx.cast(cx.gather(rois, cx.int(0), 1), DType::I64);
        let maps = cx.gather(input, batch, 0);
        let axis = |axis: usize, first: i64, count: i64| {
            let corner = |index: i64| rounded(cx, cx.slice(rois, 1, index, index + 1, 1) * scale);
            let (start, end) = (corner(first), corner(first + 2));
            let size = cx.max(end - start + f64::from(u8::from(inclusive)), 1.0);
            mask(cx, start, size / count as f64, cx.extent(input, axis), count, inclusive)
        };
        Ok(Self { maps, rows: axis(2, 2, bins[0])?, columns: axis(3, 1, bins[1])? })
    }

    /// Whether an element is in a bin: `[K, 1, rows of bins, columns of bins, H, W]`.
    pub(crate) fn both(&self, cx: &Lower) -> Value {
        cx.unsqueeze(self.rows, &[1, 3, 5]) & cx.unsqueeze(self.columns, &[1, 2, 4])
    }
}

/// Which of `extent` elements are in each of `count` bins of `size` from `start` on: `[K, count, extent]`.
fn mask(cx: &Lower, start: Value, size: Value, extent: Value, count: i64, inclusive: bool) -> Res<Value> {
    let dtype = cx.dtype(size)?;
    let bin = cx.cast(cx.range(cx.int(0), cx.int(count), cx.int(1)), dtype);
    let most = cx.cast(extent, dtype);
    let most = if inclusive { most } else { most - 1.0 };
    let within = |edge: Value| cx.min(cx.max(edge + start, 0.0), most);
    let first = within(cx.floor(bin * size));
    let last = within(cx.op(op::Ceil).input((bin + 1.0) * size).one());
    let places = cx.range(cx.int(0), cx.squeeze(extent, &[0]), cx.int(1));
    let places = cx.cast(places, dtype);
    let after = cx.greater_equal(places, cx.unsqueeze(first, &[2]));
    Ok(after & cx.less(places, cx.unsqueeze(last, &[2])))
}

/// The nearest integer; halves go away from zero, as C's `round` has it.
fn rounded(cx: &Lower, x: Value) -> Value {
    cx.sign(x) * cx.floor(cx.abs(x) + 0.5)
}
