//! Paddings in front of convolutions and pools.

use onnxport_sdk::prelude::*;

rules! {
    #![class = exact]

    /// Merges a `Pad` with zeros into the padding of the following convolution.
    conv_pads:
        conv @ Conv(Pad(x, const pads, const value?, const axes?), w, b?, ..)
        if is_number(value, 0.0)
        => padded(cx, conv, x, [Some(w), b], [Some(pads), axes]);

    /// Merges a `Pad` with zeros into the padding of the following average pool that counts padding.
    average_pool_pads (class = bounded(ulps = 8)):
        pool @ AveragePool(Pad(x, const pads, const value?, const axes?), ..)
        if is_number(value, 0.0).and_then(|()| counts_zeros(pool))
        => padded(cx, pool, x, [None, None], [Some(pads), axes]);

    /// Merges a `Pad` with minus infinity into the padding of the following max pool. For windows of minus infinity
    /// that reach into the padding, ONNX Runtime returns the lowest finite number.
    max_pool_pads (class = bounded(ulps = 1, finite)):
        pool @ MaxPool(Pad(x, const pads, const value, const axes?), ..)
        if is_number(Some(value), f64::NEG_INFINITY).and_then(|()| is_plain(pool))
        => padded(cx, pool, x, [None, None], [Some(pads), axes]);
}

/// Whether `value` is this number; without one it is 0.
fn is_number(value: Option<ValueRef<'_>>, number: f64) -> Res<()> {
    let own = match value {
        Some(value) => value.constant().and_then(|value| value.floats()).ok_or("the padding is not known")?,
        None => vec![0.0],
    };
    if own == [number] { Ok(()) } else { Err("it is padded with another number".into()) }
}

/// Whether every window of a pool lies within the image and its padding, with steps of one inside.
fn is_plain(pool: NodeRef<'_>) -> Res<()> {
    let steps = pool.ints("dilations").unwrap_or_default();
    if pool.int("ceil_mode") != Some(0) || steps.iter().any(|step| *step != 1) {
        return Err("its windows have gaps, or reach beyond the padding".into());
    }
    if pool.output(1).is_some() { Err("it returns indices".into()) } else { Ok(()) }
}

/// Whether an average counts zeros around the image as it counts those of the image.
fn counts_zeros(pool: NodeRef<'_>) -> Res<()> {
    is_plain(pool)?;
    let own = pool.ints("pads").unwrap_or_default();
    if pool.int("count_include_pad") == Some(1) || own.iter().all(|pad| *pad == 0) {
        Ok(())
    } else {
        Err("it does not count padding".into())
    }
}

/// `node` of `x`, padded as `by` says as well.
fn padded<'h>(
    cx: &Rewrite<'h>,
    node: NodeRef<'h>,
    x: ValueRef<'h>,
    others: [Option<ValueRef<'h>>; 2],
    by: [Option<ValueRef<'h>>; 2],
) -> Res<ValueRef<'h>> {
    if !matches!(node.str("auto_pad").as_deref(), Some("" | "NOTSET")) {
        return Err("it has pads of its own".into());
    }
    if !x.dtype().is_some_and(DType::is_float) {
        return Err("it is not of floats".into());
    }
    let places = cx.rank(x)?.checked_sub(2).filter(|places| *places > 0).ok_or("it is not an image")?;
    let more = around(by, places + 2)?;
    let own = node.ints("pads").unwrap_or_else(|| vec![0; 2 * places]);
    let sum: Option<Vec<i64>> = own.iter().zip(&more).map(|(a, b)| a.checked_add(*b)).collect();
    let pads = sum.filter(|pads| pads.len() == 2 * places).ok_or("a padding is too large")?;
    let is_pool = !node.is(op::Conv);
    let kernel = node.ints("kernel_shape").unwrap_or_default();
    if is_pool && pads.iter().zip(kernel.iter().cycle()).any(|(pad, extent)| pad >= extent) {
        return Err("a window would lie in the padding".into());
    }
    let averages = node.is(op::AveragePool);
    let dropped: &[&str] = if averages { &["pads", "count_include_pad"] } else { &["pads"] };
    let (op, attributes) = (node.op(), node.attributes_but(dropped));
    let made = cx.op(op::Named::new(&op)).input(x);
    let [weight, bias] = others;
    let made = match weight {
        Some(weight) => made.input(weight).maybe(bias),
        None => made,
    };
    let made = attributes.iter().fold(made, |made, (name, value)| made.set(name, value.clone()));
    let made = made.ints("pads", &pads);
    Ok(if averages { made.int("count_include_pad", 1).one() } else { made.one() })
}

/// The padding of a `Pad` of `rank` axes before and after each spatial axis of an image; an error if it pads the batch
/// or the channels, or cuts.
fn around(by: [Option<ValueRef<'_>>; 2], rank: usize) -> Res<Vec<i64>> {
    let ints = |value: ValueRef<'_>| value.constant().and_then(|value| value.ints());
    let [pads, axes] = by;
    let pads = pads.and_then(ints).ok_or("the padding is not known")?;
    let axes = match axes {
        Some(axes) => ints(axes).ok_or("the axes are not known")?,
        None => (0..rank as i64).collect(),
    };
    if pads.len() != 2 * axes.len() || pads.iter().any(|pad| *pad < 0) {
        return Err("it cuts".into());
    }
    let mut all = vec![0; 2 * rank];
    for (at, axis) in axes.iter().enumerate() {
        let axis = if *axis < 0 { axis + rank as i64 } else { *axis };
        let axis = usize::try_from(axis).ok().filter(|axis| *axis < rank).ok_or("it has no such axis")?;
        for (place, from) in [(axis, at), (rank + axis, axes.len() + at)] {
            if let (Some(place), Some(pad)) = (all.get_mut(place), pads.get(from)) {
                *place = *pad;
            }
        }
    }
    let is_place = |at: usize| at % rank >= 2;
    if all.iter().enumerate().any(|(at, pad)| !is_place(at) && *pad != 0) {
        return Err("it pads the batch or the channels".into());
    }
    Ok(all.iter().enumerate().filter(|(at, _)| is_place(*at)).map(|(_, pad)| *pad).collect())
}
