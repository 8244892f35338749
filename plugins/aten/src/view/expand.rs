//! Broadcasting.

use onnxport_sdk::prelude::*;

/// `x` broadcast to `shape`: nothing when it has that shape. Axes that do not grow are 1 in the target,
/// so that only those that do are computed.
pub(crate) fn expand_to(cx: &Lower, x: Value, shape: &[Dim]) -> Res<Value> {
    let from = cx.shape(x)?;
    let Some(added) = shape.len().checked_sub(from.len()) else {
        return Err("a tensor cannot be broadcast to fewer axes".into());
    };
    let mut target = shape.to_vec();
    for (to, have) in target.iter_mut().skip(added).zip(&from) {
        if to == have && *have != Dim::Unknown {
            *to = Dim::Const(1);
        }
    }
    if added == 0 {
        let leading = target.iter().take_while(|d| d.is(1)).count();
        target.drain(..leading);
        if target.is_empty() {
            return Ok(x);
        }
    }
    Ok(cx.expand(x, cx.dims_value(&target)))
}

/// `self` broadcast to the shape that the program states.
#[lowering(
    "aten.expand.default",
    "aten.expand_copy.default",
    "aten.expand_as.default",
    "aten.broadcast_to.default",
    complex
)]
fn expand(cx: &Lower, x: Value) -> Res<Value> {
    let shape = cx.result(0)?.real_shape();
    expand_to(cx, x, &shape)
}

/// Every tensor broadcast to their common shape.
#[lowering("aten.broadcast_tensors.default", complex)]
fn broadcast_tensors(cx: &Lower, tensors: Vec<Value>) -> Res<Vec<Value>> {
    let broadcast = |(i, x)| {
        let shape = cx.result(i)?.real_shape();
        expand_to(cx, x, &shape)
    };
    tensors.into_iter().enumerate().map(broadcast).collect()
}

/// `a`, whose axis `k` is axis `broadcast_dimensions[k]` of the result, broadcast along the others.
#[lowering("prims.broadcast_in_dim.default", complex)]
fn broadcast_in_dim(cx: &Lower, x: Value, broadcast_dimensions: Vec<i64>) -> Res<Value> {
    let result = cx.result(0)?;
    let new: Vec<i64> = (0..result.rank() as i64).filter(|a| !broadcast_dimensions.contains(a)).collect();
    // Leading axes are added by broadcasting itself.
    let leading = new.iter().enumerate().take_while(|(i, a)| *i as i64 == **a).count();
    let inner: Vec<i64> = new.iter().skip(leading).map(|a| a - leading as i64).collect();
    expand_to(cx, cx.unsqueeze(x, &inner), &result.real_shape())
}

/// Coordinate grids: tensor `i` varies along axis `i` of every result; `xy` exchanges the first two.
#[lowering("aten.meshgrid.default", "aten.meshgrid.indexing", parts)]
fn meshgrid(cx: &Lower, tensors: Vec<Value>, indexing: Option<Str>) -> Res<Vec<Value>> {
    let swap = indexing.is_some_and(|i| i.0 == "xy") && tensors.len() > 1;
    let rank = tensors.len();
    let mut grids = Vec::new();
    for (index, x) in tensors.into_iter().enumerate() {
        let axis = if swap && index < 2 { 1 - index } else { index };
        let mut new: Vec<i64> =
            (0..rank as i64).filter(|a| *a > axis as i64).map(|a| a - axis as i64).collect();
        if cx.rank(x)? == 0 {
            new = (0..rank as i64).collect();
        }
        let shape = cx.result(index)?.shape;
        grids.push(expand_to(cx, cx.unsqueeze(x, &new), &shape)?);
    }
    Ok(grids)
}
