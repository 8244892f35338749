//! A number for each channel.

use onnxport_sdk::prelude::*;

use crate::norms::by_channel;

rules! {
    /// Fuses a factor and a shift for each channel of an image into a `BatchNormalization` with mean 0 and variance 1,
    /// which reads the image once. It runs after the rules that match more of the sum.
    scale_and_shift (class = bounded(ulps = 4), opset = 15.., priority = -1):
        Add(Mul(x: [_, C, _, ..], const scale), const bias) => normed(cx, x, [scale, bias], C);
}

/// `x`, each of whose `channels` is multiplied by a number and shifted by another one.
fn normed<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    [scale, bias]: [ValueRef<'h>; 2],
    channels: Dim,
) -> Res<ValueRef<'h>> {
    let dtype = x.dtype().filter(|dtype| matches!(dtype, DType::F32 | DType::F64));
    let dtype = dtype.ok_or("it is neither f32 nor f64")?;
    let [scale, bias] = [by_channel(scale, x, channels)?, by_channel(bias, x, channels)?];
    let count = channels.as_const().and_then(|count| usize::try_from(count).ok());
    let count = count.ok_or("the channels are not known")?;
    let norm = cx.op(op::BatchNormalization).input(x).input(scale).input(bias);
    let norm = norm.input(cx.numbers(&vec![0.0; count], dtype)).input(cx.numbers(&vec![1.0; count], dtype));
    Ok(norm.epsilon(0.0).one())
}
