//! The sources of kernels: a file of `kernels/`, for types and functions that are given as macros.

use std::fmt::Write;
use std::sync::Arc;

use onnxport_ir::tensor::DType;

/// The prelude of every kernel.
pub(crate) const PRELUDE: &str = include_str!("../../kernels/prelude.cu");

/// A kernel: its name in a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    /// All after the prelude.
    pub(crate) source: Arc<str>,
}

impl Kernel {
    /// The kernel `name` of a file, with macros.
    pub(crate) fn new(name: &'static str, file: &str, macros: &[(&str, &str)]) -> Self {
        let mut source = String::new();
        for (name, value) in macros {
            let _ = writeln!(source, "#define {name} {value}");
        }
        source.push_str(file);
        Self { name, source: source.into() }
    }
}

/// The tag of a type that kernels compute with.
pub(crate) fn tag(dtype: DType) -> Option<&'static str> {
    use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(dtype, F64 | F32 | F16 | BF16 | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | Bool)
        .then(|| dtype.as_str())
}

/// The tag of a type that kernels read and write: types that they compute with, and floats of 8 bits.
pub(crate) fn stored(dtype: DType) -> Option<&'static str> {
    use DType::{F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0};
    let narrow = matches!(dtype, F8E4M3FN | F8E4M3FNUZ | F8E5M2 | F8E5M2FNUZ | F8E8M0);
    if narrow { Some(dtype.as_str()) } else { tag(dtype) }
}

/// A type of C that has as many bytes as an element, where there is one.
pub(crate) fn unit(dtype: DType) -> Option<&'static str> {
    Some(match dtype.bits() {
        8 => "unsigned char",
        16 => "unsigned short",
        32 => "unsigned int",
        64 => "unsigned long long",
        128 => "struct { unsigned long long low, high; }",
        _ => return None,
    })
}

/// The bytes of an element on a device; `None` for types under a byte, and for strings.
pub(crate) fn width(dtype: DType) -> Option<u64> {
    unit(dtype).map(|_| u64::from(dtype.bits() / 8))
}

/// The bytes of so many elements on a device, which are packed where they are less than a byte; `None` for text, and for
/// more than there can be.
pub(crate) fn bytes(dtype: DType, count: u64) -> Option<u64> {
    let bits = u64::from(dtype.bits());
    count.checked_mul(bits).map(|bits| bits.div_ceil(8)).filter(|_| bits > 0)
}

/// The suffix of functions in the type that `dtype` is computed in.
pub(crate) fn suffix(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "d",
        DType::F32 | DType::F16 | DType::BF16 => "f",
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => "i",
        _ => "u",
    }
}

/// A number of C in the type that `dtype` is computed in.
pub(crate) fn number(dtype: DType, x: f64) -> String {
    let s = suffix(dtype);
    match s {
        "d" | "f" if x.is_nan() => format!("NAN_{s}"),
        "d" | "f" if x.is_infinite() => format!("({}INF_{s})", if x < 0.0 { "-" } else { "" }),
        "d" => format!("({x:e})"),
        "f" => format!("({:e}f)", x as f32),
        "i" => format!("({}ll)", x as i64),
        _ => format!("({}ull)", x as u64),
    }
}
