//! Types of codes, scales and zero points that `QuantizeLinear` and `DequantizeLinear` support.

use onnxport_sdk::prelude::*;

/// A scale in f32 and a zero point in the type of the codes: single numbers, or one for each position along an axis.
#[derive(Clone, Copy)]
pub(super) struct Coding {
    pub(super) scale: Value,
    pub(super) zero_point: Value,
    /// The axis along which there is one of each; `None` for single numbers.
    pub(super) axis: Option<usize>,
}

/// The least and the greatest code, where ONNX's quantisation has codes of this type at the opset to emit.
pub(super) fn limits(cx: &Lower, codes: DType) -> Option<(i64, i64)> {
    match codes {
        DType::U8 => Some((0, 255)),
        DType::I8 => Some((-128, 127)),
        DType::U16 if cx.opset() >= 21 => Some((0, 65535)),
        DType::I16 if cx.opset() >= 21 => Some((-32768, 32767)),
        _ => None,
    }
}

impl Coding {
    /// Of numbers that the program states; `None` where f32 has no such scale, or the type no such code.
    pub(super) fn of_numbers(cx: &Lower, scale: f64, zero_point: i64, codes: DType) -> Option<Self> {
        let (low, high) = limits(cx, codes)?;
        // PyTorch hands the scale to a product in f32 as well.
        let scale = scale as f32;
        if !scale.is_normal() || scale < 0.0 || !(low..=high).contains(&zero_point) {
            return None;
        }
        let scale = cx.float(f64::from(scale), DType::F32);
        let zero_point = cx.filled(&Scalar::Int(zero_point), codes, &[]);
        Some(Self { scale, zero_point, axis: None })
    }

    /// Of tensors with one element.
    pub(super) fn of_tensors(cx: &Lower, scale: Value, zero_point: Value, codes: DType) -> Option<Self> {
        let zero_point = match origin(cx, zero_point, codes) {
            Some(narrow) => narrow,
            None => points(cx, zero_point, codes, &[])?,
        };
        let scale = match origin(cx, scale, DType::F32) {
            Some(narrow) => narrow,
            None => cx.cast(cx.reshape(scale, &[]), DType::F32),
        };
        Some(Self { scale, zero_point, axis: None })
    }

    /// Of vectors along `axis`; scales in f64 are taken where f32 has them. Without zero points they are zero.
    pub(super) fn of_vectors(
        cx: &Lower,
        scales: Value,
        zero_points: Option<Value>,
        axis: usize,
        codes: DType,
    ) -> Option<Self> {
        limits(cx, codes)?;
        let channels = u64::try_from(cx.dim(scales, 0).as_const()?).ok()?;
        let scale = match cx.dtype(scales).ok()? {
            DType::F32 => scales,
            _ => {
                let numbers = cx.contents_of(scales)?.floats()?;
                numbers
                    .iter()
                    .all(|s| f64::from(*s as f32) == *s)
                    .then(|| cx.numbers(&numbers, DType::F32))?
            }
        };
        let zero_point = match zero_points {
            Some(zero_points) => points(cx, zero_points, codes, &[channels])?,
            None => cx.filled(&Scalar::Int(0), codes, &[channels]),
        };
        Some(Self { scale, zero_point, axis: Some(axis) })
    }

    /// The codes of `x`, which is cast to f32, within `low` and `high`.
    pub(super) fn quantise(&self, cx: &Lower, x: Value, codes: DType, (low, high): (i64, i64)) -> Value {
        let x = cx.cast(x, DType::F32);
        let coded = self.node(cx, op::QuantizeLinear, x);
        if limits(cx, codes) == Some((low, high)) {
            return coded;
        }
        cx.clamp(coded, low, high)
    }

    /// The numbers behind codes, in f32.
    pub(super) fn dequantise(&self, cx: &Lower, codes: Value) -> Value {
        self.node(cx, op::DequantizeLinear, codes)
    }

    fn node(&self, cx: &Lower, op: impl Operator<'static>, x: Value) -> Value {
        let node = cx.op(op.named()).input(x).input(self.scale).input(self.zero_point);
        match self.axis {
            Some(axis) => node.int("axis", axis as i64).one(),
            None => node.one(),
        }
    }
}

/// Whether the type of the codes holds these bounds.
pub(super) fn clips(cx: &Lower, codes: DType, (low, high): (i64, i64)) -> bool {
    let inside = |(least, greatest)| least <= low && low <= high && high <= greatest;
    limits(cx, codes).is_some_and(inside)
}

/// A zero point in the type of the codes, if it is a constant that the type holds.
pub(super) fn points(cx: &Lower, zero_point: Value, codes: DType, shape: &[u64]) -> Option<Value> {
    let (low, high) = limits(cx, codes)?;
    let numbers = cx.contents_of(zero_point)?.ints()?;
    let count: u64 = shape.iter().product();
    if numbers.len() as u64 != count || !numbers.iter().all(|n| (low..=high).contains(n)) {
        return None;
    }
    let numbers: Vec<f64> = numbers.into_iter().map(|n| n as f64).collect();
    Some(cx.numbers_shaped(&numbers, shape, codes))
}

/// The number of type `dtype` without axes that `x` repeats in a type that holds it, and in another shape.
fn origin(cx: &Lower, x: Value, dtype: DType) -> Option<Value> {
    let wide: &[DType] =
        if dtype == DType::F32 { &[DType::F64] } else { &[DType::F32, DType::F64, DType::I32, DType::I64] };
    let mut at = x;
    loop {
        let found = cx.fact(at);
        match found.dtype? {
            own if own == dtype && found.shape.as_ref().is_some_and(Vec::is_empty) => return Some(at),
            own if own == dtype || wide.contains(&own) => {}
            _ => return None,
        }
        let node = cx.definition(at)?;
        if !matches!(node.op.as_str(), "Cast" | "Reshape" | "Squeeze" | "Unsqueeze") {
            return None;
        }
        at = node.input(0)?;
    }
}

/// `input * inverse + zero_point`, rounded and clamped, as the integers that the program states: in plain arithmetic.
pub(super) fn arithmetic(
    cx: &Lower,
    input: Value,
    (inverse, zero_point): (Value, Value),
    (low, high): (i64, i64),
    dtype: DType,
) -> Res<Value> {
    let result = cx.result(0)?.dtype;
    let input = cx.cast(input, dtype);
    // The largest number of the type that is not above the bound: 2^31 is not an int32.
    let high = if dtype == DType::F32 && (high as f32) as i64 > high {
        f64::from((high as f32).next_down())
    } else {
        high as f64
    };
    let code = cx.round(input * inverse) + zero_point;
    Ok(cx.cast(cx.clamp(code, low as f64, high), result))
}

/// `codes - zero_point` of integers as PyTorch computes it: in the type to which it promotes both.
pub(super) fn centred(cx: &Lower, codes: Value, zero_point: Value) -> Res<Value> {
    let promoted = cx.promoted(&[Operand::Tensor(codes), Operand::Tensor(zero_point)])?;
    let difference = cx.cast(codes, DType::I64) - cx.cast(zero_point, DType::I64);
    Ok(cx.cast(difference, promoted))
}
