//! Normalisations of half precision that compute in f32.

use onnxport_sdk::prelude::*;

use crate::{is_last, single};

rules! {
    /// Removes the casts of an RMS normalization that casts its operand to float32 and its result back: the operator
    /// computes in float32 itself.
    rms_norm_in_f32 (class = bounded(ulps = 2), opset = 23..):
        let wide = Cast(x: [.., D], to = _wide, ..);
        let root = Sqrt(Add(ReduceMean((Mul(wide, wide) | Pow(wide, 2)), const axes), const epsilon));
        let unit = (Div(wide, root) | Mul(wide, (Reciprocal(root) | Div(1, root))));
        Mul(back @ Cast(unit, to = _narrow, ..), scale: [D])
        if in_f32(root, back, x).and_then(|()| is_last(axes, x))
        => RMSNormalization(x, scale, axis = -1, epsilon = single(epsilon), stash_type = 1);
}

/// Whether `x` of half precision was cast to f32 in front of `root`, and `back` casts to its type again.
fn in_f32(root: NodeRef<'_>, back: NodeRef<'_>, x: ValueRef<'_>) -> Res<()> {
    let of = |node: NodeRef<'_>| node.output(0).and_then(ValueRef::dtype);
    match (x.dtype(), of(root)) {
        (Some(DType::F16 | DType::BF16), Some(DType::F32)) if of(back) == x.dtype() => Ok(()),
        _ => Err("it is not half precision that is computed in f32".into()),
    }
}
