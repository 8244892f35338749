//! Places that are repeated by looking them up.

use onnxport_sdk::prelude::*;

use crate::rewriting::{ints, known};

rules! {
    #![class = exact]

    /// Replaces row and column lookups that repeat each row and column of an image a number of times by a `Resize`, for
    /// which runtimes have a kernel that is ten times as fast.
    repeated_indices (opset = 13..):
        Gather(Gather(x, const rows, axis = 2), const columns, axis = 3)
        => enlarged(cx, x, [rows, columns]);
}

/// How often each of `extent` indices occurs in `places`, which are all in order.
fn times(places: &[i64], extent: usize) -> Res<usize> {
    let times = places.len().checked_div(extent).unwrap_or(0);
    let whole = times > 0 && times * extent == places.len();
    let in_order =
        |(at, place): (usize, &i64)| usize::try_from(*place).is_ok_and(|place| place == at / times);
    if whole && places.iter().enumerate().all(in_order) {
        Ok(times)
    } else {
        Err("the positions are not repeated equally and in order".into())
    }
}

/// `x: [B, C, H, W]` with each row and each column repeated.
fn enlarged<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, places: [ValueRef<'h>; 2]) -> Res<ValueRef<'h>> {
    if x.dtype() != Some(DType::F32) {
        return Err("it is not f32".into());
    }
    let shape = known(x)?;
    let [_, _, height, width] = shape[..] else { return Err("it is not an image".into()) };
    let mut scales = vec![1.0, 1.0];
    for (places, extent) in places.into_iter().zip([height, width]) {
        if places.rank() != Some(1) {
            return Err("the indices are not a list".into());
        }
        let extent = extent.as_const().and_then(|extent| usize::try_from(extent).ok());
        scales.push(times(&ints(places)?, extent.ok_or("a size is not known")?)? as f64);
    }
    Ok(cx
        .op(op::Resize)
        .input(x)
        .maybe(None)
        .input(cx.numbers(&scales, DType::F32))
        .coordinate_transformation_mode("asymmetric")
        .mode("nearest")
        .nearest_mode("floor")
        .one())
}
