//! Non-maximum suppression.
//!
//! torchvision keeps a box unless a kept one of a higher score overlaps it by more than the threshold.
//! Scores sort stably, so that of equal ones the first box counts. The indices of the kept boxes come
//! in the order of their scores. Source: `torchvision/csrc/ops/cpu/nms_kernel.cpp`.

use onnxport_sdk::prelude::*;

/// The indices of the boxes `[N, 4]` that are kept, the highest score first.
///
/// ONNX's operator computes in float32 and knows thresholds from 0 to 1 only; anything else is a loop.
#[lowering("torchvision.nms.default")]
fn nms(cx: &Lower, dets: Value, scores: Value, iou_threshold: f64) -> Res<Value> {
    let boxes = match cx.dtype(dets)? {
        DType::F16 | DType::BF16 => cx.cast(dets, DType::F32),
        _ => dets,
    };
    let scores = match cx.dtype(scores)? {
        DType::F16 | DType::BF16 => cx.cast(scores, DType::F32),
        _ => scores,
    };
    let single = cx.dtype(boxes)? == DType::F32 && cx.dtype(scores)? == DType::F32;
    if single && (0.0..=1.0).contains(&iou_threshold) {
        return Ok(operator(cx, boxes, scores, iou_threshold));
    }
    greedy(cx, boxes, scores, iou_threshold)
}

/// `NonMaxSuppression`, which takes the corners of a box in any order. To torchvision a box whose second
/// corner lies before the first overlaps nothing, as one without area does in both.
fn operator(cx: &Lower, boxes: Value, scores: Value, threshold: f64) -> Value {
    let (low, high) = corners(cx, boxes);
    let high = cx.max(high, low);
    let (boxes, scores) = (cx.unsqueeze(cx.concat(&[low, high], 1), &[0]), cx.unsqueeze(scores, &[0, 1]));
    let count = cx.ints(&[i64::MAX]);
    let threshold = cx.numbers(&[f64::from(floor_f32(threshold))], DType::F32);
    let node = cx.op(op::NonMaxSuppression).input(boxes).input(scores).input(count).input(threshold);
    cx.gather(node.one(), cx.int(2), 1)
}

/// The same as a loop over the boxes, in their own type.
fn greedy(cx: &Lower, boxes: Value, scores: Value, threshold: f64) -> Res<Value> {
    let dtype = cx.dtype(boxes)?;
    let count = cx.extent(scores, 0);
    let [_, order] = cx.op(op::TopK).input(scores).input(count).axis(0).outs::<2>();
    let (low, high) = corners(cx, cx.gather(boxes, order, 0));
    let areas = product_of_sides(cx, high - low);
    let threshold = if dtype == DType::F32 { f64::from(floor_f32(threshold)) } else { threshold };
    let (threshold, zero) = (cx.float(threshold, dtype), cx.float(0.0, dtype));
    let trips = cx.squeeze(count, &[0]);
    let places = cx.range(cx.int(0), trips, cx.int(1));
    let all = cx.expand(cx.filled(&Scalar::Bool(true), DType::Bool, &[1]), count);
    let extent = cx.dim(scores, 0);
    let round = cx.block(|cx| {
        let place = cx.block_input(DType::I64, Some(&[]));
        let go = cx.block_input(DType::Bool, Some(&[]));
        let kept = cx.block_input(DType::Bool, Some(&[extent]));
        let (own_low, own_high) = (cx.gather(low, place, 0), cx.gather(high, place, 0));
        let left = cx.max(low, own_low);
        let shared = product_of_sides(cx, cx.max(cx.min(high, own_high) - left, zero));
        let over = cx.greater(shared / (cx.gather(areas, place, 0) + areas - shared), threshold);
        let kept = kept & !(over & cx.greater(places, place) & cx.gather(kept, place, 0));
        let go = cx.identity(go);
        Ok(vec![go, kept])
    })?;
    let kept = cx.op(op::Loop).input(trips).maybe(None).input(all).body(round).one();
    Ok(cx.op(op::Compress).input(order).input(kept).axis(0).one())
}

/// The first and the second corner of boxes `[N, 4]`, each `[N, 2]`.
fn corners(cx: &Lower, boxes: Value) -> (Value, Value) {
    (cx.slice(boxes, 1, 0, 2, 1), cx.slice(boxes, 1, 2, 4, 1))
}

/// `[N, 2]` to the products `[N]`.
fn product_of_sides(cx: &Lower, sides: Value) -> Value {
    cx.gather(sides, cx.int(0), 1) * cx.gather(sides, cx.int(1), 1)
}

/// The largest f32 that is not above `x`. PyTorch compares a float32 ratio with the threshold in double
/// precision; no float32 lies between `x` and this one.
fn floor_f32(x: f64) -> f32 {
    let nearest = x as f32;
    if f64::from(nearest) > x { nearest.next_down() } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::floor_f32;

    #[test]
    fn the_threshold_is_never_rounded_up() {
        assert_eq!(floor_f32(0.5), 0.5);
        for x in [0.3, 0.7, 1e-300, 0.1, -0.1, 1.0 - 1e-12] {
            let low = floor_f32(x);
            assert!(f64::from(low) <= x && x < f64::from(low.next_up()), "{x} {low}");
        }
    }
}
