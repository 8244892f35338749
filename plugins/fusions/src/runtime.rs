//! Forms for ONNX Runtime: its own operators, and operators of ONNX that its kernels are faster at. Each was measured
//! (`kernels.tsv`).

use onnxport_sdk::prelude::*;

use crate::kernels::pays;

rules! {
    /// Replaces an `Add` before a `LayerNormalization` by a `Sum`. ONNX Runtime fuses the `Add` into a kernel that is
    /// slower than both.
    layer_norm_of_sum (class = target("onnxruntime")):
        let sum = Add(x: [.., D], skip: [.., D]);
        (norm @ LayerNormalization(sum, scale, bias?, ..), sum)
        if single_precision(x, "LayerNormalization of a Sum")
        => of_sum(cx, norm, x, skip);

    /// Replaces an `Add` before a `Gelu` by a `Sum`. ONNX Runtime fuses the `Add` into a kernel that is slower than
    /// both for several rows.
    gelu_of_sum (class = target("onnxruntime"), opset = 20..):
        Gelu(Add(x: [.., D], const bias: [D]), approximate = "none") if has_rows(x)
        => Gelu(Sum(x, bias));

    /// Decomposes a `PRelu` into a `Where`, bit for bit.
    decompose_prelu (class = target("onnxruntime")):
        PRelu(x, slope) if single_precision(x, "PRelu, written out")
        => { cx.select(cx.less(x, 0.0), x * slope, x) };

    /// Decomposes a `Softplus` into `max(x, 0) + log(1 + e^-|x|)`, which does not overflow.
    decompose_softplus (class = target("onnxruntime", relative = 1e-6)):
        Softplus(x) if single_precision(x, "Softplus, written out")
        => { cx.relu(x) + cx.log(cx.exp(-cx.abs(x)) + 1.0) };

    /// Decomposes a `Mish` into a quotient: `x n / (n + 2)` with `n = eˣ (eˣ + 2)`. From 20 on, the nearest number is
    /// `x`.
    decompose_mish (class = target("onnxruntime", relative = 1e-6)):
        Mish(x) if single_precision(x, "Mish, written out")
        => mish(cx, x);

    /// Decomposes a `GroupNormalization` into an `InstanceNormalization` of the groups, scaled and shifted.
    decompose_group_norm (class = target("onnxruntime", relative = 1e-5), opset = 21..):
        GroupNormalization(x, scale, bias, num_groups = groups, epsilon = epsilon)
        if written_out(x, groups)
        => group_norm(cx, x, [scale, bias], [groups, epsilon]);
}

/// Whether `x` is of the type that was measured, and `form` is faster.
pub(crate) fn single_precision(x: ValueRef<'_>, form: &str) -> Res<()> {
    if x.dtype() == Some(DType::F32) { pays(form) } else { Err("it is not f32".into()) }
}

/// Whether `x` may have several rows, for which a sum in front of a Gelu is faster.
fn has_rows(x: ValueRef<'_>) -> Res<()> {
    single_precision(x, "Gelu of a Sum")?;
    let shape = x.shape().unwrap_or_default();
    match shape.split_last() {
        Some((_, rows)) if rows.iter().any(|extent| !extent.is(1)) => Ok(()),
        _ => Err("of one row the joined kernel is faster".into()),
    }
}

/// `norm` of the `Sum` of `x` and `skip`, and the sum.
fn of_sum<'h>(cx: &Rewrite<'h>, norm: NodeRef<'h>, x: ValueRef<'h>, skip: ValueRef<'h>) -> Vec<ValueRef<'h>> {
    let sum = cx.op(op::Sum).input(x).input(skip).one();
    let attributes = norm.attributes_but(&[]);
    let node = cx.op(op::LayerNormalization).input(sum).maybe(norm.input(1)).maybe(norm.input(2));
    let node = attributes.iter().fold(node, |node, (name, value)| node.set(name, value.clone()));
    vec![node.one(), sum]
}

fn mish<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>) -> ValueRef<'h> {
    let power = cx.exp(cx.min(x, 20.0));
    let product = power * (power + 2.0);
    x * (product / (product + 2.0))
}

/// Whether the instance normalisation of so many groups of `x` is faster, and its shape is known well enough.
fn written_out(x: ValueRef<'_>, groups: &Attribute) -> Res<()> {
    // Measured the other way round: the operator beside the form that is written out.
    if pays("GroupNormalization").is_ok() {
        return Err("the operator is not slower".into());
    }
    if x.dtype() != Some(DType::F32) || groups.int().is_none_or(|groups| groups < 1) {
        return Err("it is not f32 with groups".into());
    }
    flat_extent(x, groups).map(drop)
}

/// The size of one of `groups` of `x`, or -1 where the other sizes of `[batch, groups, _]` tell it.
fn flat_extent(x: ValueRef<'_>, groups: &Attribute) -> Res<i64> {
    let shape = x.shape().ok_or("a shape is not known")?;
    let [batch, behind @ ..] = shape.as_slice() else { return Err("it has no batch".into()) };
    let behind: Option<i64> =
        behind.iter().try_fold(1_i64, |product, extent| product.checked_mul(extent.as_const()?));
    match (behind, groups.int()) {
        (Some(behind), Some(groups)) if groups > 0 && behind % groups == 0 => Ok(behind / groups),
        // Beside a size of 0 the open one is anything.
        (None, _) if *batch != Dim::Unknown && x.graph().dim_range(*batch).min > 0 => Ok(-1),
        _ => Err("the batch may be empty, and another size is not known".into()),
    }
}

fn group_norm<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    [scale, bias]: [ValueRef<'h>; 2],
    [groups, epsilon]: [&Attribute; 2],
) -> Res<ValueRef<'h>> {
    let count = groups.int().ok_or("there are no groups")?;
    let width = usize::try_from(count).map_err(|_| "there are no groups")?;
    let flat = cx.reshape(x, &[0, count, flat_extent(x, groups)?]);
    let unit = cx
        .op(op::InstanceNormalization)
        .input(flat)
        .input(cx.numbers(&vec![1.0; width], DType::F32))
        .input(cx.numbers(&vec![0.0; width], DType::F32))
        .set("epsilon", epsilon.clone())
        .one();
    let places: Vec<i64> = (1..cx.rank(x)? as i64 - 1).collect();
    let extents: Option<Vec<i64>> = cx.shape(x)?.into_iter().skip(1).map(Dim::as_const).collect();
    let back = match extents {
        Some(extents) => cx.reshape(unit, &[&[0], extents.as_slice()].concat()),
        None => cx.reshape_dynamic(unit, cx.shape_value(x)),
    };
    Ok(back * cx.unsqueeze(scale, &places) + cx.unsqueeze(bias, &places))
}
