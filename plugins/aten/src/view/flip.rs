//! Reversal and rotation of axes.

use onnxport_sdk::prelude::*;

use super::permuted;

/// `x` with `axes` reversed: one `Slice` that walks backwards from the last element.
pub(crate) fn flipped(cx: &Lower, x: Value, axes: &[i64]) -> Value {
    if axes.is_empty() {
        return x;
    }
    let minus = cx.ints(&vec![-1; axes.len()]);
    let ends = cx.ints(&vec![i64::MIN; axes.len()]);
    cx.op(op::Slice).input(x).input(minus).input(ends).input(cx.ints(axes)).input(minus).one()
}

/// `self` with the axes `dims` reversed.
#[lowering("aten.flip.default", complex)]
fn flip(cx: &Lower, x: Value, dims: Axes) -> Res<Value> {
    let scalar = cx.result(0)?.rank() == 0;
    Ok(if scalar { x } else { flipped(cx, x, &dims.ints()) })
}

/// `self` with axis 1 reversed.
#[lowering("aten.fliplr.default", complex)]
fn fliplr(cx: &Lower, x: Value) -> Res<Value> {
    Ok(flipped(cx, x, &[1]))
}

/// `self` with axis 0 reversed.
#[lowering("aten.flipud.default", complex)]
fn flipud(cx: &Lower, x: Value) -> Res<Value> {
    Ok(flipped(cx, x, &[0]))
}

/// `self` turned `k` quarters from axis `dims[0]` towards `dims[1]`.
#[lowering("aten.rot90.default", complex)]
fn rot90(cx: &Lower, x: Value, k: i64, dims: Axes) -> Res<Value> {
    let &[from, to] = dims.0.as_slice() else { return Err("argument `dims` is not a pair".into()) };
    let (a, b) = (from as i64, to as i64);
    let mut swapped: Vec<usize> = (0..cx.rank(x)?).collect();
    swapped.swap(from, to);
    match k.rem_euclid(4) {
        0 => Ok(x),
        2 => Ok(flipped(cx, x, &[a, b])),
        quarters => permuted(cx, flipped(cx, x, &[if quarters == 1 { b } else { a }]), swapped),
    }
}

/// `result[(i + shift) mod n] = self[i]` along one axis.
fn rolled(cx: &Lower, x: Value, axis: usize, shift: SymInt) -> Value {
    let extent = cx.dim(x, axis);
    if let (SymInt::Const(s), Some(n)) = (shift, extent.as_const()) {
        if n == 0 || s.rem_euclid(n) == 0 {
            return x;
        }
        let picks: Vec<i64> = (0..n).map(|i| (i - s).rem_euclid(n)).collect();
        return cx.gather(x, cx.ints(&picks), axis as i64);
    }
    let start = match shift {
        SymInt::Const(0) => return x,
        // A cut at -s is right as long as the axis holds that many elements.
        SymInt::Const(s) if s.abs() <= cx.dim_range(extent).min.max(1) => cx.ints(&[-s]),
        _ => {
            let (shift, extent) = (cx.sym_ints(&[shift]), cx.extent(x, axis));
            cx.modulo(-shift, extent, false)
        }
    };
    let zero = cx.ints(&[0]);
    let head = cx.slice_dynamic(x, axis as i64, start, cx.ints(&[i64::MAX]), 1);
    cx.concat(&[head, cx.slice_dynamic(x, axis as i64, zero, start, 1)], axis as i64)
}

/// `self` shifted circularly along `dims`; flattened and restored when there are none.
#[lowering("aten.roll.default", complex)]
fn roll(cx: &Lower, x: Value, shifts: Vec<SymInt>, dims: Axes) -> Res<Value> {
    let result = cx.result(0)?;
    if result.rank() == 0 {
        return Ok(x);
    }
    if let ([], [shift]) = (dims.0.as_slice(), shifts.as_slice()) {
        let flat = if result.is_complex() { cx.reshape(x, &[-1, 2]) } else { cx.reshape(x, &[-1]) };
        return cx.reshape_to_result(rolled(cx, flat, 0, *shift), 0);
    }
    Ok(dims.0.iter().zip(&shifts).fold(x, |x, (axis, shift)| rolled(cx, x, *axis, *shift)))
}
