//! Operators that give a tensor the shape that it has.

use onnxport_sdk::prelude::*;

rules! {
    #![class = exact]

    /// An identity.
    identity: Identity(x) => x;

    /// A reshape to the shape that the operand has.
    reshape_to_itself: Reshape(x, _, ..) if keeps_shape(matched, x) => x;

    /// An expansion to the shape that the operand has.
    expand_to_itself: Expand(x, _) if keeps_shape(matched, x) => x;

    /// A slice of everything, forwards.
    slice_of_all: Slice(x, _, _, axes?, steps?) if is_whole(matched, x, steps) => x;

    /// Two reshapes in a row, of which the second does not look at the first.
    reshape_reshape: Reshape(Reshape(x, _, ..), const shape) if states_all(shape) => Reshape(x, shape);

    /// New axes that go again.
    unsqueeze_squeeze: Squeeze(Unsqueeze(x, const inner), const outer) if same(inner, outer) => x;

    /// Axes that go and come again.
    squeeze_unsqueeze: Unsqueeze(Squeeze(x, const inner), const outer) if keeps_shape(matched, x) => x;

    /// One tensor, joined with nothing.
    concat_of_one: Concat(x, axis = _axis) => x;
}

/// Whether the root gives `x` the shape that it has: all extents are known and equal.
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

fn is_whole(matched: &Matched<'_>, x: ValueRef<'_>, steps: Option<ValueRef<'_>>) -> Res<()> {
    if let Some(steps) = steps {
        let steps = steps.constant().and_then(|literal| literal.ints());
        if !steps.is_some_and(|steps| steps.iter().all(|step| *step == 1)) {
            return Err("the steps are not 1".into());
        }
    }
    keeps_shape(matched, x)
}

/// Whether a shape to reshape to says the same of every operand: no extent is copied from it.
fn states_all(shape: ValueRef<'_>) -> Res<()> {
    match shape.constant().and_then(|literal| literal.ints()) {
        Some(extents) if !extents.contains(&0) => Ok(()),
        Some(_) => Err("an extent is copied from the operand".into()),
        None => Err("the shape is not known".into()),
    }
}

fn same(a: ValueRef<'_>, b: ValueRef<'_>) -> Res<()> {
    let axes = |value: ValueRef<'_>| value.constant().and_then(|literal| literal.ints());
    if axes(a).is_some() && axes(a) == axes(b) { Ok(()) } else { Err("they name other axes".into()) }
}
