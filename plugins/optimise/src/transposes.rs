//! Transposes.

use onnxport_sdk::prelude::*;

rules! {
    #![class = exact]

    /// Two transposes in a row.
    transpose_transpose:
        Transpose(Transpose(x, perm = p), perm = q) => Transpose(x, perm = compose(p, q));

    /// A transpose that leaves every axis where it is.
    transpose_to_itself (priority = 1): Transpose(x, perm = p) if is_identity(p) => x;
}

fn is_identity(p: &Attribute) -> Res<()> {
    let axes = p.ints().unwrap_or_default();
    if axes.iter().zip(0..).all(|(axis, place)| *axis == place) {
        return Ok(());
    }
    Err(format!("the axes move: {axes:?}").into())
}
