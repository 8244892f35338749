//! Places in sorted sequences.

use onnxport_sdk::prelude::*;

/// How many elements of the last axis of `sorted` are below `values`, or not above them with `right`.
/// NaN is above everything.
fn search(cx: &Lower, sorted: Value, values: Value, right: bool) -> Res<Value> {
    if let Some(nothing) = crate::support::empty(cx)? {
        return Ok(nothing);
    }
    let dtype = cx.result(0)?.dtype;
    let operands = [Operand::Tensor(sorted), Operand::Tensor(values)];
    let common = cx.promoted(&operands)?;
    let (sorted, values) = (cx.cast(sorted, common), cx.cast(values, common));
    let sorted = if cx.rank(sorted)? > 1 { cx.unsqueeze(sorted, &[-2]) } else { sorted };
    let values = cx.unsqueeze(values, &[-1]);
    let float = common.kind() == Kind::Float;
    let passed = match (right, float) {
        (false, false) => cx.less(sorted, values),
        (true, false) => cx.less_equal(sorted, values),
        (false, true) => !cx.greater_equal(sorted, values),
        (true, true) => !cx.greater(sorted, values),
    };
    Ok(cx.reduce(op::ReduceSum, cx.cast(passed, dtype), &[-1], false))
}

/// Whether each of `elements` is among `test_elements`, or is not with `invert`.
#[lowering("aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor")]
fn isin(cx: &Lower, x: Operand, y: Operand, invert: bool) -> Res<Value> {
    let common = cx.promoted(&[x, y])?;
    let (elements, tests) = (tensor(cx, x), tensor(cx, y));
    let (elements, tests) = (cx.cast(elements, common), cx.cast(tests, common));
    if cx.rank(tests)? == 0 {
        let same = cx.equal(elements, tests);
        return Ok(if invert { !same } else { same });
    }
    let elements = cx.unsqueeze(elements, &[-1]);
    let tests = if cx.rank(tests)? == 1 { tests } else { cx.reshape(tests, &[-1]) };
    let same = cx.equal(elements, tests);
    let found = cx.cast(cx.reduce(op::ReduceSum, cx.cast(same, DType::I32), &[-1], false), DType::Bool);
    Ok(if invert { !found } else { found })
}

/// A number as a 0-d tensor of its own type.
fn as_tensor(cx: &Lower, number: &Scalar) -> Value {
    match number {
        Scalar::Sym(n) => cx.squeeze(*n, &[0]),
        Scalar::Int(_) => cx.number(number, DType::I64),
        _ => cx.number(number, DType::F32),
    }
}

fn tensor(cx: &Lower, operand: Operand) -> Value {
    match operand {
        Operand::Tensor(value) => value,
        Operand::Number(number) => as_tensor(cx, &number),
    }
}

/// The bucket of every element of `self` between `boundaries`.
#[lowering("aten.bucketize.Tensor", "aten.bucketize.Scalar")]
fn bucketize(cx: &Lower, x: Operand, boundaries: Value, right: bool) -> Res<Value> {
    search(cx, boundaries, tensor(cx, x), right)
}

/// Where the elements of `self` would be inserted into the rows of `sorted_sequence`, which `sorter`
/// sorts if it is given.
#[lowering("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")]
fn searchsorted(
    cx: &Lower,
    sorted_sequence: Value,
    y: Operand,
    right: bool,
    side: Option<Str>,
    sorter: Option<Value>,
) -> Res<Value> {
    let values = tensor(cx, y);
    let right = side.map_or(right, |s| s.0 == "right");
    let sorted = match sorter {
        Some(order) => cx.op(op::GatherElements).input(sorted_sequence).input(order).axis(-1).one(),
        None => sorted_sequence,
    };
    search(cx, sorted, values, right)
}
