//! Constants whose elements are all one number.

use crate::rules::pattern::Number;
use crate::tensor::{DType, LazyTensor};

/// The size in bytes up to which constants are compared with a number.
const MAX_NUMBERS: u64 = 64 << 10;

/// Whether the tensor is small and all of its elements, at least one, are `number` as their type has it, or
/// are within its tolerance.
pub(super) fn is_throughout(data: &LazyTensor, number: Number) -> bool {
    if data.byte_len().is_none_or(|bytes| bytes == 0 || bytes > MAX_NUMBERS) {
        return false;
    }
    let Some(bytes) = data.read() else { return false };
    // Integers beyond 2^53 are not rounded on the way.
    let whole =
        |n: i64| number.is(n as f64, |value| value) && (number.tolerance > 0.0 || number.value as i64 == n);
    let each = |size: usize, is: &dyn Fn(&[u8]) -> bool| bytes.chunks_exact(size).all(is);
    let half = |b: &[u8]| half::f16::from_le_bytes(array(b)).to_f64();
    let brain = |b: &[u8]| half::bf16::from_le_bytes(array(b)).to_f64();
    match data.dtype {
        DType::F32 => {
            let single = |value: f64| f64::from(value as f32);
            each(4, &|b| number.is(f64::from(f32::from_le_bytes(array(b))), single))
        }
        DType::F64 => each(8, &|b| number.is(f64::from_le_bytes(array(b)), |value| value)),
        DType::F16 => each(2, &|b| number.is(half(b), |value| half::f16::from_f64(value).to_f64())),
        DType::BF16 => each(2, &|b| number.is(brain(b), |value| half::bf16::from_f64(value).to_f64())),
        DType::U8 | DType::Bool => each(1, &|b| b.iter().all(|b| whole(i64::from(*b)))),
        DType::I8 => each(1, &|b| b.iter().all(|b| whole(i64::from(*b as i8)))),
        DType::I16 => each(2, &|b| whole(i64::from(i16::from_le_bytes(array(b))))),
        DType::U16 => each(2, &|b| whole(i64::from(u16::from_le_bytes(array(b))))),
        DType::I32 => each(4, &|b| whole(i64::from(i32::from_le_bytes(array(b))))),
        DType::U32 => each(4, &|b| whole(i64::from(u32::from_le_bytes(array(b))))),
        DType::I64 => each(8, &|b| whole(i64::from_le_bytes(array(b)))),
        _ => false,
    }
}

/// The bytes of one element.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}
