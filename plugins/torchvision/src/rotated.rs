//! Rotated boxes.

use onnxport_sdk::prelude::*;

/// The distance by which points may miss an edge, and the least area and angle that count.
const NEAR: f64 = 1e-5;
const NOTHING: f64 = 1e-14;

/// The intersection over union of all pairs of boxes `[x, y, width, height, degrees]`.
///
/// The corners of the intersection are among the points where edges meet and the corners of one box inside the other. In
/// the order of their angles around their mean they are a convex polygon. Source of the formulas for corners and edges:
/// `torchvision/csrc/ops/cpu/box_iou_rotated_utils.h`.
#[lowering("torchvision.box_iou_rotated.default")]
fn box_iou_rotated(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.dtype(a)?;
    let (a, b) = (cx.unsqueeze(a, &[1]), cx.unsqueeze(b, &[0]));
    // Half of the way between the centers is the origin, which keeps numbers small.
    let center = (cx.slice(a, 2, 0, 2, 1) + cx.slice(b, 2, 0, 2, 1)) * 0.5;
    let (first, second) = (Rectangle::new(cx, a, center, dtype), Rectangle::new(cx, b, center, dtype));
    let (crossings, crossed) = first.crossings(cx, &second);
    let (inner, inside) = (first.corners, second.contains(cx, &first));
    let (outer, outside) = (second.corners, first.contains(cx, &second));
    let join = |axis: usize| cx.concat(&[crossings[axis], inner[axis], outer[axis]], 2);
    let points = [join(0), join(1)];
    let valid = cx.concat(&[crossed, inside, outside], 2);
    let shared = polygon(cx, points, valid, dtype);
    let (area, other) = (first.area, second.area);
    let ratio = shared / (area + other - shared);
    let empty = cx.less(cx.min(area, other), NOTHING);
    Ok(cx.squeeze(cx.select(empty, 0.0, ratio), &[2]))
}

/// The corners of boxes, `[N, M, 4]` for each coordinate, their edges from each corner to the next, and areas.
struct Rectangle {
    corners: [Value; 2],
    edges: [Value; 2],
    area: Value,
}

impl Rectangle {
    fn new(cx: &Lower, boxes: Value, origin: Value, dtype: DType) -> Self {
        let part = |index: i64| cx.slice(boxes, 2, index, index + 1, 1);
        let (width, height) = (part(2), part(3));
        let angle = part(4) * 0.017_453_292_51;
        let (cosine, sine) =
            (cx.op(op::Cos).input(angle).one() * 0.5, cx.op(op::Sin).input(angle).one() * 0.5);
        let signs = |numbers: [f64; 4]| cx.numbers_shaped(&numbers, &[1, 1, 4], dtype);
        let (up, left) = (signs([1.0, -1.0, -1.0, 1.0]), signs([-1.0, -1.0, 1.0, 1.0]));
        let center = cx.slice(boxes, 2, 0, 2, 1) - origin;
        let center = |axis: i64| cx.slice(center, 2, axis, axis + 1, 1);
        let x = center(0) + sine * height * up - cosine * width * left;
        let y = center(1) + cosine * height * up + sine * width * left;
        let corners = [x, y];
        let edges = corners.map(|v| {
            let next = cx.concat(&[cx.slice(v, 2, 1, 4, 1), cx.slice(v, 2, 0, 1, 1)], 2);
            next - v
        });
        Self { corners, edges, area: width * height }
    }

    /// The points where the edges of both meet, `[N, M, 16]` for each coordinate, and whether they do.
    fn crossings(&self, cx: &Lower, other: &Self) -> ([Value; 2], Value) {
        let mine = |v: [Value; 2]| v.map(|v| cx.unsqueeze(v, &[3]));
        let theirs = |v: [Value; 2]| v.map(|v| cx.unsqueeze(v, &[2]));
        let (corner, edge) = (mine(self.corners), mine(self.edges));
        let (their_corner, their_edge) = (theirs(other.corners), theirs(other.edges));
        let between = [their_corner[0] - corner[0], their_corner[1] - corner[1]];
        let cross = |a: [Value; 2], b: [Value; 2]| a[0] * b[1] - b[0] * a[1];
        let determinant = cross(their_edge, edge);
        let parallel = cx.less_equal(cx.abs(determinant), NOTHING);
        let divisor = cx.select(parallel, 1.0, determinant);
        let along = cross(their_edge, between) / divisor;
        let along_other = cross(edge, between) / divisor;
        let on = |t: Value| cx.greater(t, -NEAR) & cx.less(t, 1.0 + NEAR);
        let valid = on(along) & on(along_other) & !parallel;
        let flat = |v: Value| cx.reshape_dynamic(v, cx.ints(&[0, 0, 16]));
        ([0, 1].map(|axis| flat(corner[axis] + edge[axis] * along)), flat(valid))
    }

    /// Whether each corner of `other` is inside.
    fn contains(&self, cx: &Lower, other: &Self) -> Value {
        let at = |v: [Value; 2], corner: i64| v.map(|v| cx.slice(v, 2, corner, corner + 1, 1));
        let (corner, ahead, behind) = (at(self.corners, 0), at(self.edges, 0), at(self.edges, 3));
        let dot = |a: [Value; 2], b: [Value; 2]| a[0] * b[0] + a[1] * b[1];
        let way = [other.corners[0] - corner[0], other.corners[1] - corner[1]];
        let (along, aside) = (dot(way, ahead), -dot(way, behind));
        let within = |x: Value, most: Value| cx.greater(x, -NEAR) & cx.less(x, most + NEAR);
        within(along, dot(ahead, ahead)) & within(aside, dot(behind, behind))
    }
}

/// The area of the convex polygon that has the valid ones among `points` as corners.
fn polygon(cx: &Lower, points: [Value; 2], valid: Value, dtype: DType) -> Value {
    let weights = cx.cast(valid, dtype);
    let count = cx.reduce(op::ReduceSum, weights, &[2], true);
    let kept = points.map(|v| cx.select(valid, v, 0.0));
    let mean = kept.map(|v| cx.reduce(op::ReduceSum, v, &[2], true) / cx.max(count, 1.0));
    // Points that are not valid become the mean, which adds nothing to a fan of triangles around it.
    let [x, y] = [0, 1].map(|axis| cx.select(valid, points[axis] - mean[axis], 0.0));
    // A number that grows with the angle, from 0 to 4.
    let length = cx.abs(x) + cx.abs(y);
    let share = x / cx.select(cx.equal(length, 0.0), 1.0, length);
    let angle = cx.select(cx.less(y, 0.0), share + 3.0, cx.float(1.0, dtype) - share);
    // Invalid points come last; the last valid one is joined to the first below.
    let angle = cx.select(valid, angle, 5.0);
    let node = cx.op(op::TopK).input(angle).input(cx.ints(&[24])).axis(2).largest(false);
    let [_, order] = node.outs();
    let take = |v: Value, order: Value| cx.op(op::GatherElements).input(v).input(order).axis(2).one();
    let (x, y) = (take(x, order), take(y, order));
    let numbers: Vec<i64> = (0..24).collect();
    let place = cx.ints_shaped(&numbers, &[1, 1, 24]);
    let next = place + cx.ints(&[1]);
    let next = cx.select(cx.less(next, cx.cast(count, DType::I64)), next, cx.int(0));
    let (next_x, next_y) = (take(x, next), take(y, next));
    let area = cx.abs(cx.reduce(op::ReduceSum, x * next_y - next_x * y, &[2], true)) * 0.5;
    cx.select(cx.less(count, 3.0), 0.0, area)
}
