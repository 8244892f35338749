//! The elements of small tensors as text.

use std::fmt::Write;

use half::{bf16, f16};

use super::MAX_LITERAL_BYTES;
use crate::tensor::{DType, LazyTensor};

/// The elements of `data`, `hex "00ff"` for types that have no literals, or `...`.
pub(super) fn print(data: &LazyTensor) -> String {
    let small = data.byte_len().is_some_and(|n| n <= MAX_LITERAL_BYTES);
    let Some(bytes) = data.read().filter(|_| small) else { return "...".to_owned() };
    let size = (data.dtype.bits() / 8) as usize;
    let items: Option<Vec<String>> = match size {
        0 => None,
        size => bytes.chunks_exact(size).map(|c| element(data.dtype, c)).collect(),
    };
    if let Some(items) = items {
        return format!("[{}]", items.join(", "));
    }
    format!("hex \"{}\"", hex(&bytes))
}

/// Hexadecimal digits of `bytes`.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Texts, those that are not UTF-8 as `hex "ff"`.
pub(super) fn texts(items: &[bytes::Bytes]) -> String {
    let items = items.iter().map(|item| match std::str::from_utf8(item) {
        Ok(text) => crate::text::quote(text),
        Err(_) => format!("hex \"{}\"", hex(item)),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// One element, when its text gives back its bytes.
fn element(dtype: DType, bytes: &[u8]) -> Option<String> {
    let text = match dtype {
        DType::I8 => i8::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::U8 => u8::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::I16 => i16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::U16 => u16::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::I32 => i32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::U32 => u32::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::I64 => i64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::U64 => u64::from_le_bytes(bytes.try_into().ok()?).to_string(),
        DType::F32 => format!("{:?}", f32::from_le_bytes(bytes.try_into().ok()?)),
        DType::F64 => format!("{:?}", f64::from_le_bytes(bytes.try_into().ok()?)),
        DType::F16 => format!("{:?}", f16::from_le_bytes(bytes.try_into().ok()?).to_f32()),
        DType::BF16 => format!("{:?}", bf16::from_le_bytes(bytes.try_into().ok()?).to_f32()),
        DType::Bool => match bytes {
            [0] => "false".to_owned(),
            [1] => "true".to_owned(),
            _ => return None,
        },
        _ => return None,
    };
    let mut back = Vec::new();
    parse(dtype, &text, &mut back).filter(|()| back == bytes).map(|()| text)
}

/// Appends the bytes of one element; `None` when `text` is not one.
pub(super) fn parse(dtype: DType, text: &str, out: &mut Vec<u8>) -> Option<()> {
    macro_rules! number {
        ($t:ty) => {
            out.extend_from_slice(&text.parse::<$t>().ok()?.to_le_bytes())
        };
    }
    match dtype {
        DType::I8 => number!(i8),
        DType::U8 => number!(u8),
        DType::I16 => number!(i16),
        DType::U16 => number!(u16),
        DType::I32 => number!(i32),
        DType::U32 => number!(u32),
        DType::I64 => number!(i64),
        DType::U64 => number!(u64),
        DType::F32 => number!(f32),
        DType::F64 => number!(f64),
        DType::F16 => out.extend_from_slice(&f16::from_f32(text.parse().ok()?).to_le_bytes()),
        DType::BF16 => out.extend_from_slice(&bf16::from_f32(text.parse().ok()?).to_le_bytes()),
        DType::Bool => out.push(u8::from(text.parse::<bool>().ok()?)),
        _ => return None,
    }
    Some(())
}

/// The bytes of hexadecimal digits.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    let bytes = pairs.iter().map(|[a, b]| Some(digit(*a)? << 4 | digit(*b)?)).collect();
    if rest.is_empty() { bytes } else { None }
}
