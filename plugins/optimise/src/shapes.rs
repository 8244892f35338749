//! Operators that keep the shape of a tensor, and sequences of operators that change it.

use onnxport_sdk::prelude::*;

use crate::rewriting::{inner, ints, is_one, known};

rules! {
    #![class = exact]

    /// Removes an `Identity`.
    identity: Identity(x) => x;

    /// Removes a `Dropout` outside training whose mask is not used.
    dropout: Dropout(x, _ratio?, training?, ..) if is_idle(matched, training) => x;

    /// Removes a `Reshape` to the shape of its operand.
    reshape_to_itself: Reshape(x, _, ..) if keeps_shape(matched, x) => x;

    /// Removes a `Flatten` of a tensor that has this shape already.
    flatten_to_itself: Flatten(x, ..) if keeps_shape(matched, x) => x;

    /// Merges two consecutive `Reshape`s, the second of which does not depend on the first.
    reshape_reshape: Reshape(Reshape(x, _, ..), const shape) if states_all(shape) => Reshape(x, shape);

    /// Removes an operator that only changes the shape before a `Reshape` to a constant shape, if the sizes that it
    /// copies have the same positions before.
    reshape_of_axes:
        Reshape(view(x), const shape) if copies_alike(matched, x, shape) => Reshape(x, shape);

    /// Replaces the computed shape of a `Reshape` by a constant, if it is known.
    reshape_by_facts: Reshape(x, shape, ..) if is_computed(matched, shape) => to_known_shape(cx, x);

    /// Merges consecutive operators that only change the shape of a tensor.
    reshaped_twice (priority = -1):
        view(view(_x))
        => to_known_shape(cx, operand(cx)?);
}

/// Whether the root gives `x` the shape that it has: all sizes are known and equal.
pub(crate) fn keeps_shape(matched: &Matched<'_>, x: ValueRef<'_>) -> Res<()> {
    let after = matched.root().output(0).and_then(ValueRef::shape);
    match (x.shape(), after) {
        (Some(is), Some(becomes)) if is == becomes && !is.contains(&Dim::Unknown) => Ok(()),
        (Some(is), Some(becomes)) => {
            let text = |shape: &[Dim]| -> String {
                let dims: Vec<String> = shape.iter().map(|dim| x.graph().dim_text(*dim)).collect();
                dims.join(", ")
            };
            Err(format!("[{}] becomes [{}]", text(&is), text(&becomes)).into())
        }
        _ => Err("a shape is not known".into()),
    }
}

/// Whether a dropout lets everything through.
fn is_idle(matched: &Matched<'_>, training: Option<ValueRef<'_>>) -> Res<()> {
    let idle = training.is_none_or(|flag| {
        flag.constant().and_then(|flag| flag.ints()).is_some_and(|flags| flags.iter().all(|flag| *flag == 0))
    });
    if !idle {
        return Err("it may be in training".into());
    }
    match matched.root().outputs().len() {
        1 => Ok(()),
        _ => Err("its mask is an output".into()),
    }
}

/// Whether a shape to reshape to says the same of every operand: no size is copied from it.
fn states_all(shape: ValueRef<'_>) -> Res<()> {
    match shape.constant().and_then(|literal| literal.ints()) {
        Some(extents) if !extents.contains(&0) => Ok(()),
        Some(_) => Err("a size is copied from the operand".into()),
        None => Err("the shape is not known".into()),
    }
}

/// Whether the sizes that a shape copies from the operand of the root have the same positions in `x`.
fn copies_alike(matched: &Matched<'_>, x: ValueRef<'_>, shape: ValueRef<'_>) -> Res<()> {
    let operand = matched.root().input(0).and_then(ValueRef::shape);
    let (Some(is), Some(was)) = (operand, x.shape()) else { return Err("a shape is not known".into()) };
    let mut copied = ints(shape)?.into_iter().enumerate().filter(|(_, extent)| *extent == 0);
    let alike = copied.all(|(at, _)| is.get(at).zip(was.get(at)).is_some_and(|(is, was)| is_one(*is, *was)));
    if alike { Ok(()) } else { Err("a dimension that it copies is at another axis".into()) }
}

/// Whether a shape is computed, and not part of a transpose of the last two axes as [`crate::attention`] expects it.
fn is_computed(matched: &Matched<'_>, shape: ValueRef<'_>) -> Res<()> {
    if shape.producer().is_none() {
        return Err("the shape is not computed".into());
    }
    let reader =
        |node: NodeRef<'_>| node.output(0).and_then(ValueRef::only_use).map(|(reader, _)| reader.id());
    let graph = matched.graph();
    let transposed = reader(matched.root())
        .and_then(|id| graph.node(id).as_op(op::Transpose))
        .filter(|transpose| transpose.perm().as_deref() == Some(&[0, 2, 1][..]));
    let shaped = transposed
        .and_then(|transpose| reader(transpose.node()))
        .is_some_and(|id| graph.node(id).is(op::Reshape));
    if shaped { Err("it transposes the last two axes together with later ones".into()) } else { Ok(()) }
}

/// The operand of the inner node of two.
fn operand<'h>(cx: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    Ok(inner(cx.matched())?.input(0).ok_or("it has no operand")?)
}

/// `x` in the shape of the root, which a constant states.
fn to_known_shape<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let output = cx.matched().root().output(0).ok_or("it makes nothing")?;
    let shape = reshaping(x, &known(output)?)?;
    Ok(cx.reshape(x, &shape))
}

/// The operand with which `Reshape` gives `x` the sizes `to`: numbers, 0 for sizes that keep their positions, -1 for
/// one more, which follows from the others, so none of these may be 0.
///
/// # Errors
/// If no constant does.
pub(crate) fn reshaping(x: ValueRef<'_>, to: &[Dim]) -> Res<Vec<i64>> {
    let from = x.shape().unwrap_or_default();
    let stays = |place: usize, dim: Dim| from.get(place).is_some_and(|is| is_one(*is, dim));
    let mut open = None;
    let mut shape = Vec::with_capacity(to.len());
    for (place, dim) in to.iter().copied().enumerate() {
        shape.push(match dim {
            Dim::Const(n) if n > 0 => n,
            dim if stays(place, dim) => 0,
            Dim::Const(_) => return Err("a size is 0".into()),
            _ if open.is_none() => {
                open = Some(place);
                -1
            }
            _ => return Err("several sizes are computed".into()),
        });
    }
    let positive = |dim: Dim| dim.as_const().map_or_else(|| x.graph().dim_range(dim).min > 0, |n| n > 0);
    if open.is_some_and(|open| to.iter().enumerate().any(|(at, dim)| at != open && !positive(*dim))) {
        return Err("a size may be 0, so the inferred one is unknown".into());
    }
    Ok(shape)
}
