//! Element types, as PyTorch and ONNX name them.

use std::fmt;
use std::str::FromStr;

macro_rules! dtypes {
    ($($variant:ident $text:literal onnx $onnx:literal bits $bits:literal kind $kind:ident;)*) => {
        /// The element type of a tensor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum DType { $($variant),* }

        impl DType {
            /// Every element type.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The short name used by the text forms: `f32`, `i64`, `bool`.
            pub const fn as_str(self) -> &'static str {
                match self { $(DType::$variant => $text),* }
            }

            /// The number in `TensorProto.DataType`.
            pub const fn onnx(self) -> i32 {
                match self { $(DType::$variant => $onnx),* }
            }

            /// Bits of one element; 0 for strings.
            pub const fn bits(self) -> u32 {
                match self { $(DType::$variant => $bits),* }
            }

            /// Whether the type holds integers, floats, complex numbers, truth values or text.
            pub const fn kind(self) -> Kind {
                match self { $(DType::$variant => Kind::$kind),* }
            }

            /// The type of the parts of complex numbers; any other type is its own.
            #[must_use]
            pub const fn real(self) -> Self {
                match self {
                    DType::C64 => DType::F32,
                    DType::C128 => DType::F64,
                    other => other,
                }
            }

            /// The type with this `TensorProto.DataType` number.
            pub const fn from_onnx(code: i32) -> Option<Self> {
                match code { $($onnx => Some(DType::$variant),)* _ => None }
            }
        }

        impl FromStr for DType {
            type Err = ();
            fn from_str(s: &str) -> Result<Self, ()> {
                match s { $($text => Ok(DType::$variant),)* _ => Err(()) }
            }
        }
    };
}

/// The family of a [`DType`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Bool,
    Int,
    Float,
    Complex,
    Text,
}

dtypes! {
    F32 "f32" onnx 1 bits 32 kind Float;
    U8 "u8" onnx 2 bits 8 kind Int;
    I8 "i8" onnx 3 bits 8 kind Int;
    U16 "u16" onnx 4 bits 16 kind Int;
    I16 "i16" onnx 5 bits 16 kind Int;
    I32 "i32" onnx 6 bits 32 kind Int;
    I64 "i64" onnx 7 bits 64 kind Int;
    String "string" onnx 8 bits 0 kind Text;
    Bool "bool" onnx 9 bits 8 kind Bool;
    F16 "f16" onnx 10 bits 16 kind Float;
    F64 "f64" onnx 11 bits 64 kind Float;
    U32 "u32" onnx 12 bits 32 kind Int;
    U64 "u64" onnx 13 bits 64 kind Int;
    C64 "c64" onnx 14 bits 64 kind Complex;
    C128 "c128" onnx 15 bits 128 kind Complex;
    BF16 "bf16" onnx 16 bits 16 kind Float;
    F8E4M3FN "f8e4m3fn" onnx 17 bits 8 kind Float;
    F8E4M3FNUZ "f8e4m3fnuz" onnx 18 bits 8 kind Float;
    F8E5M2 "f8e5m2" onnx 19 bits 8 kind Float;
    F8E5M2FNUZ "f8e5m2fnuz" onnx 20 bits 8 kind Float;
    U4 "u4" onnx 21 bits 4 kind Int;
    I4 "i4" onnx 22 bits 4 kind Int;
    F4E2M1 "f4e2m1" onnx 23 bits 4 kind Float;
    F8E8M0 "f8e8m0" onnx 24 bits 8 kind Float;
    U2 "u2" onnx 25 bits 2 kind Int;
    I2 "i2" onnx 26 bits 2 kind Int;
    F6E2M3 "f6e2m3" onnx 27 bits 6 kind Float;
    F6E3M2 "f6e3m2" onnx 28 bits 6 kind Float;
}

impl DType {
    /// The bytes that `elements` of this type take when packed, or `None` on overflow or for strings.
    pub fn byte_len(self, elements: u64) -> Option<u64> {
        match self.bits() {
            0 => None,
            bits => elements.checked_mul(u64::from(bits)).map(|b| b.div_ceil(8)),
        }
    }

    /// The type with this number in the exported program's schema
    /// (`ScalarType` in `torch/_export/serde/schema.py`).
    pub const fn from_pt2(code: i64) -> Option<Self> {
        Some(match code {
            1 => Self::U8,
            2 => Self::I8,
            3 => Self::I16,
            4 => Self::I32,
            5 => Self::I64,
            6 => Self::F16,
            7 => Self::F32,
            8 => Self::F64,
            10 => Self::C64,
            11 => Self::C128,
            12 => Self::Bool,
            13 => Self::BF16,
            28 => Self::U16,
            29 => Self::F8E4M3FN,
            30 => Self::F8E5M2,
            31 => Self::F8E4M3FNUZ,
            32 => Self::F8E5M2FNUZ,
            33 => Self::F8E8M0,
            34 => Self::U32,
            35 => Self::U64,
            _ => return None,
        })
    }

    /// Whether the type is one of the floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// Whether the type is one of the integer types (truth values are not).
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Int)
    }

    /// Whether the type is one of the complex types.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
