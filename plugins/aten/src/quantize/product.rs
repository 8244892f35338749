//! Products of codes whose scale is found at run time.
//!
//! Runtimes fuse `DequantizeLinear` with a product where scales are constants. Where one is not, the codes are
//! multiplied by `MatMulInteger`, whose sums are exact, and scaled after that.

use onnxport_sdk::prelude::*;

use super::coding::limits;
use crate::matmul::swap_last;

/// A `DequantizeLinear` that was emitted before.
struct Coded {
    codes: Value,
    scale: Value,
    zero_point: Option<Value>,
    /// The axis along which scales lie; `None` for a single one.
    axis: Option<i64>,
    /// The greatest distance of a code from its zero point.
    reach: i64,
}

/// `x @ weight^T`, in f32, if both were coded in 8 bits, `x` with a scale that is not a constant.
pub(crate) fn linear(cx: &Lower, x: Value, weight: Value) -> Res<Option<Value>> {
    let (Some(x), Some(weight)) = (Coded::from_value(cx, x), Coded::from_value(cx, weight)) else {
        return Ok(None);
    };
    let single = x.axis.is_none() && cx.contents_of(x.scale).is_none() && cx.rank(weight.codes)? == 2;
    let Some(summed) = cx.dim(weight.codes, 1).as_const().filter(|_| single) else { return Ok(None) };
    let largest = x.reach.checked_mul(weight.reach).and_then(|n| n.checked_mul(summed));
    // Sums that int32 does not hold, and scales along summed axes, stay floating point.
    if largest.is_none_or(|n| n > i64::from(i32::MAX)) || weight.axis.is_some_and(|axis| axis != 0) {
        return Ok(None);
    }
    let rows = swap_last(cx, weight.codes)?;
    let node =
        cx.op(op::MatMulInteger).input(x.codes).input(rows).maybe(x.zero_point).maybe(weight.zero_point);
    let sums = cx.cast(node.one(), DType::F32);
    Ok(Some(sums * (x.scale * weight.scale)))
}

impl Coded {
    fn from_value(cx: &Lower, x: Value) -> Option<Self> {
        let node = cx.definition(x).filter(|node| node.op == "DequantizeLinear")?;
        let (codes, scale) = (node.input(0)?, node.input(1)?);
        let dtype = cx.dtype(codes).ok().filter(|dtype| dtype.bits() == 8)?;
        let (low, high) = limits(cx, dtype)?;
        let points = node.input(2).and_then(|x| cx.contents_of(x)?.ints());
        let is_zero = node.input(2).is_none() || points.is_some_and(|p| p.iter().all(|n| *n == 0));
        let zero_point = if is_zero { None } else { node.input(2) };
        let reach = if is_zero { high.max(-low) } else { high - low };
        let axis = match cx.rank(scale).ok()? {
            0 => None,
            1 if node.int(cx, "block_size").is_none() => Some(node.int(cx, "axis")?),
            _ => return None,
        };
        Some(Self { codes, scale, zero_point, axis, reach })
    }
}
