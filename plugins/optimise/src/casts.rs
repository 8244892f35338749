//! Casts.

use onnxport_sdk::prelude::*;

rules! {
    #![class = exact]

    /// Removes a cast to the type of its operand.
    cast_to_itself: Cast(x, to = to, ..) if is_of(x, to) => x;

    /// Merges two consecutive casts, if the intermediate type holds every number of the first.
    cast_cast: Cast(Cast(x, to = inner), to = outer) if loses_nothing(x, inner) => Cast(x, to = outer);

    /// Removes a `CastLike` to the type of its operand.
    cast_like_itself: CastLike(x, like, ..) if of_one_type(x, like) => x;
}

fn dtype(to: &Attribute) -> Option<DType> {
    DType::from_onnx(i32::try_from(to.int()?).ok()?)
}

fn is_of(x: ValueRef<'_>, to: &Attribute) -> Res<()> {
    match (x.dtype(), dtype(to)) {
        (Some(is), Some(to)) if is == to => Ok(()),
        (Some(is), Some(to)) => Err(format!("it casts {is} to {to}").into()),
        _ => Err("a type is not known".into()),
    }
}

fn of_one_type(x: ValueRef<'_>, like: ValueRef<'_>) -> Res<()> {
    match (x.dtype(), like.dtype()) {
        (Some(is), Some(to)) if is == to => Ok(()),
        _ => Err("the types differ, or are not known".into()),
    }
}

fn loses_nothing(x: ValueRef<'_>, inner: &Attribute) -> Res<()> {
    let (Some(from), Some(to)) = (x.dtype(), dtype(inner)) else { return Err("a type is not known".into()) };
    if holds(to, from) { Ok(()) } else { Err(format!("{to} cannot represent every {from}").into()) }
}

/// Whether every number of type `small` is one of type `large`, so that a cast there and on gives what a
/// cast in one step gives.
fn holds(large: DType, small: DType) -> bool {
    use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32};
    let fitting: &[DType] = match large {
        F64 => &[Bool, U8, I8, U16, I16, U32, I32, F16, BF16, F32],
        F32 => &[Bool, U8, I8, U16, I16, F16, BF16],
        I64 => &[Bool, U8, I8, U16, I16, U32, I32],
        I32 => &[Bool, U8, I8, U16, I16],
        I16 => &[Bool, U8, I8],
        U16 => &[Bool, U8],
        _ => &[],
    };
    fitting.contains(&small)
}
