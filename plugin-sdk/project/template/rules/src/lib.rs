//! Rules that rewrite parts of a model.

use onnxport_sdk::prelude::*;

#[cfg(test)]
mod tests;

rules! {
    #![class = exact]

    /// Two negations in a row change nothing.
    neg_neg: Neg(Neg(x)) => x;

    /// A transposition that undoes the one before it.
    transposed_back (priority = 1):
        Transpose(Transpose(x, perm = p), perm = q) if undoes(p, q) => x;
}

/// Whether both orders of axes are stated, and the second undoes the first.
fn undoes(first: &Attribute, second: &Attribute) -> Res<()> {
    let (Some(first), Some(second)) = (first.ints(), second.ints()) else {
        return Err("an order of axes is not stated".into());
    };
    if is_inverse(&first, &second) { Ok(()) } else { Err("the axes end in another order".into()) }
}

/// Whether axes in the order `first`, taken in the order `second`, are where they were.
fn is_inverse(first: &[i64], second: &[i64]) -> bool {
    let taken = second.iter().map(|axis| usize::try_from(*axis).ok().and_then(|axis| first.get(axis)));
    first.len() == second.len() && taken.zip(0..).all(|(axis, place)| axis == Some(&place))
}

onnxport_sdk::export_plugin! { id: "myplugin", rules: true }
