//! Sampling at given positions.

use onnxport_sdk::prelude::*;

/// The elements at the positions of a grid: `GridSample`.
#[lowering("aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")]
fn grid_sampler(
    cx: &Lower,
    x: Value,
    grid: Value,
    interpolation_mode: i64,
    padding_mode: i64,
    align_corners: bool,
) -> Res<Value> {
    let renamed = cx.opset() >= 20;
    if cx.rank(x)? != 4 && !renamed {
        return Err(Refusal::new("`GridSample` of volumes needs opset 20").help("pass --opset 20"));
    }
    if cx.rank(x)? != 4 && interpolation_mode == 2 {
        return Err("PyTorch has no cubic samples of volumes".into());
    }
    let mode = match (interpolation_mode, renamed) {
        (0, true) => "linear",
        (0, false) => "bilinear",
        (1, _) => "nearest",
        (2, true) => "cubic",
        (2, false) => "bicubic",
        _ => return Err("the argument `interpolation_mode` is not known".into()),
    };
    let padding = match padding_mode {
        0 => "zeros",
        1 => "border",
        2 => "reflection",
        _ => return Err("the argument `padding_mode` is not known".into()),
    };
    let grid = finite(cx, grid, padding);
    let node = cx.op(op::GridSample).input(x).input(grid).mode(mode).padding_mode(padding);
    Ok(node.align_corners(i64::from(align_corners)).one())
}

/// Coordinates in the range that runtimes compute with: ONNX Runtime 1.31 reads other elements for those that do not
/// fit an integer. NaN is the coordinate -1, as PyTorch documents. Beyond 16 no interpolation reaches an element, and a
/// reflection of coordinates beyond 2^25 starts at -1 in f32.
fn finite(cx: &Lower, grid: Value, padding: &str) -> Value {
    if padding == "reflection" {
        let small = cx.less(cx.abs(grid), f64::from(1 << 25));
        return cx.select(small, grid, -1.0);
    }
    cx.clamp(cx.select(cx.is_nan(grid), -1.0, grid), -16.0, 16.0)
}

/// A grid of positions moved by an affine map for each element of the batch.
#[lowering("aten.affine_grid_generator.default")]
fn affine_grid(cx: &Lower, theta: Value, size: Vec<SymInt>, align_corners: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let spatial: Option<Vec<i64>> = size.iter().skip(2).map(|n| cx.as_dim(n).as_const()).collect();
    let Some(spatial) = spatial else {
        if cx.opset() < 20 {
            return Err("the argument `size` is not constant, and `AffineGrid` needs opset 20".into());
        }
        let node = cx.op(op::AffineGrid).input(theta).input(cx.sym_ints(&size));
        return Ok(node.align_corners(i64::from(align_corners)).one());
    };
    let places: i64 = spatial.iter().product();
    let base: Vec<f64> = (0..places).flat_map(|flat| homogeneous(flat, &spatial, align_corners)).collect();
    let base = cx.numbers_shaped(&base, &[places as u64, spatial.len() as u64 + 1], dtype);
    cx.reshape_to_result(cx.matmul(base, crate::matmul::swap_last(cx, theta)?), 0)
}

/// The place of element `flat` in `[-1, 1]` of every axis, the last axis first, then a one.
fn homogeneous(flat: i64, spatial: &[i64], corners: bool) -> Vec<f64> {
    let mut rest = flat;
    let mut place: Vec<f64> = Vec::with_capacity(spatial.len() + 1);
    for n in spatial.iter().rev() {
        let (i, n) = ((rest % n) as f64, *n as f64);
        rest /= n as i64;
        place.push(match corners {
            true if n <= 1.0 => 0.0,
            true => 2.0 * i / (n - 1.0) - 1.0,
            false => (2.0 * i + 1.0) / n - 1.0,
        });
    }
    place.push(1.0);
    place
}
