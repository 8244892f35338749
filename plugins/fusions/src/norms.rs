//! Normalisations that were written out.

use onnxport_sdk::prelude::*;

use crate::{is_float, is_last, single};

rules! {
    /// Fuses `x / √(mean(x²) + ε)`, scaled, into an RMS normalization.
    rms_norm (class = bounded(relative = 1e-5, ulps = 16), opset = 23..):
        let root = Sqrt(Add(ReduceMean((Mul(x: [.., D], x) | Pow(x: [.., D], 2)), const axes), const epsilon));
        Mul((Div(x, root) | Mul(x, (Reciprocal(root) | Div(1, root)))), scale: [D])
        if is_float(x, 17).and_then(|()| is_last(axes, x)).and_then(|()| is_whole(matched, x))
        => RMSNormalization(x, scale, axis = -1, epsilon = single(epsilon));

    /// Fuses `(x - mean(x)) / √(variance(x) + ε)`, scaled and shifted, into a `LayerNormalization`.
    layer_norm (class = bounded(relative = 1e-5, ulps = 16), opset = 18..):
        let centred = Sub(x: [.., D], ReduceMean(x, const axes));
        let variance = ReduceMean((Mul(centred, centred) | Pow(centred, 2)), const inner);
        let root = Sqrt(Add(variance, const epsilon));
        let unit = (Div(centred, root) | Mul(centred, (Reciprocal(root) | Div(1, root))));
        Add(Mul(unit, scale: [D]), bias: [D])
        if is_float(x, 17).and_then(|()| is_last(axes, x)).and_then(|()| is_last(inner, x))
        => LayerNormalization(x, scale, bias, axis = -1, epsilon = single(epsilon));

    /// Fuses a normalization over the spatial axes of an image, with a scale for each channel, into an
    /// `InstanceNormalization`.
    instance_norm (class = bounded(relative = 1e-5, ulps = 16), opset = 18..):
        let centred = Sub(x: [_, C, ..], ReduceMean(x, const axes));
        let variance = ReduceMean((Mul(centred, centred) | Pow(centred, 2)), const inner);
        let root = Sqrt(Add(variance, const epsilon));
        let unit = (Div(centred, root) | Mul(centred, (Reciprocal(root) | Div(1, root))));
        Add(Mul(unit, const scale), const bias)
        if is_float(x, 22).and_then(|()| are_places(axes, x)).and_then(|()| are_places(inner, x))
        => InstanceNormalization(
            x,
            by_channel(scale, x, C)?,
            by_channel(bias, x, C)?,
            epsilon = single(epsilon)
        );
}

/// Whether an RMS normalization of `x` is not part of a layer normalization, where `x` is centred and the result shifted.
fn is_whole(matched: &Matched<'_>, x: ValueRef<'_>) -> Res<()> {
    let made_by = |value: Option<ValueRef<'_>>, op: op::Named<'_>| {
        value.and_then(ValueRef::producer).is_some_and(|(node, _)| node.is(op))
    };
    let (sub, mean) = (op::Sub.named(), op::ReduceMean.named());
    let centred = made_by(Some(x), sub) && x.producer().is_some_and(|(node, _)| made_by(node.input(1), mean));
    let shifted =
        matched.root().output(0).and_then(ValueRef::only_use).is_some_and(|(node, _)| node.is(op::Add));
    if centred && shifted { Err("it is a part of a layer normalisation".into()) } else { Ok(()) }
}

/// Whether `axes` are all axes of `value` behind the batch and the channels.
fn are_places(axes: ValueRef<'_>, value: ValueRef<'_>) -> Res<()> {
    let rank = value.rank().ok_or("a rank is not known")? as i64;
    let mut axes = axes.constant().and_then(|axes| axes.ints()).ok_or("the axes are not known")?;
    axes.iter_mut().filter(|axis| **axis < 0).for_each(|axis| *axis += rank);
    axes.sort_unstable();
    if rank > 2 && axes == (2..rank).collect::<Vec<_>>() {
        Ok(())
    } else {
        Err("it does not reduce the spatial axes of an image".into())
    }
}

/// `weight`, with a number for each channel of `x` and the size 1 along the spatial axes, as `[channels]`.
pub(crate) fn by_channel<'h>(weight: ValueRef<'h>, x: ValueRef<'h>, channels: Dim) -> Res<ValueRef<'h>> {
    let channels = channels.as_const().ok_or("the channels are not known")?;
    let rank = x.rank().ok_or("a rank is not known")?;
    let mut extents = weight.extents().ok_or("a shape is not known")?;
    if extents.len() == rank && extents.first() == Some(&1) {
        extents.remove(0);
    }
    match extents.as_slice() {
        [first, places @ ..]
            if *first == channels && places.len() + 2 == rank && places.iter().all(|n| *n == 1) =>
        {
            weight.weight().reshape(&[channels.unsigned_abs()]).value()
        }
        _ => Err("there is no number for each channel".into()),
    }
}
