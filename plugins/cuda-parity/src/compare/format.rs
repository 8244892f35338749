//! The parameters of an element type for the kernels.

use onnxport_sdk::DType;

/// The macros of a small float: bits of exponent and mantissa, the bias, and which codes are not numbers: those of
/// IEEE 754 (0), the last one (1), that of minus zero (2), none (3).
macro_rules! small {
    ($exponent:literal, $mantissa:literal, $bias:literal, $special:literal) => {
        concat!(
            "#define REAL_SMALL\n#define EXPONENT ",
            $exponent,
            "\n#define MANTISSA ",
            $mantissa,
            "\n#define BIAS ",
            $bias,
            "\n#define SPECIAL ",
            $special,
            "\n"
        )
    };
}

/// The size of a part of an element type in bytes, and the macros that stand in front of `compare.cu`.
pub(crate) struct Format {
    pub(crate) size: usize,
    /// How many bits of it count: elements of less than a byte are compared one in each byte.
    pub(super) bits: u32,
    macros: &'static str,
}

impl Format {
    /// The format of a type; complex numbers are pairs. `None` for text.
    pub(crate) fn for_type(dtype: DType) -> Option<Self> {
        let (size, macros) = match dtype {
            DType::F64 | DType::C128 => (8, "#define REAL_64\n"),
            DType::F32 | DType::C64 => (4, "#define REAL_32\n"),
            DType::F16 => (2, small!(5, 10, 15, 0)),
            DType::BF16 => (2, small!(8, 7, 127, 0)),
            DType::F8E4M3FN => (1, small!(4, 3, 7, 1)),
            DType::F8E4M3FNUZ => (1, small!(4, 3, 8, 2)),
            DType::F8E5M2 => (1, small!(5, 2, 15, 0)),
            DType::F8E5M2FNUZ => (1, small!(5, 2, 16, 2)),
            DType::F8E8M0 => (1, "#define REAL_SCALE\n"),
            DType::I64 => (8, SIGNED),
            DType::I32 => (4, SIGNED),
            DType::I16 => (2, SIGNED),
            DType::I8 => (1, SIGNED),
            DType::U64 => (8, UNSIGNED),
            DType::U32 => (4, UNSIGNED),
            DType::U16 => (2, UNSIGNED),
            DType::U8 => (1, UNSIGNED),
            DType::Bool => (1, "#define TRUTH\n"),
            DType::I4 | DType::I2 => (1, SIGNED),
            DType::U4 | DType::U2 => (1, UNSIGNED),
            DType::F4E2M1 => (1, small!(2, 1, 1, 3)),
            DType::F6E2M3 => (1, small!(2, 3, 1, 3)),
            DType::F6E3M2 => (1, small!(3, 2, 3, 3)),
            DType::String => return None,
        };
        Some(Self { size, bits: dtype.bits().min(size as u32 * 8), macros })
    }

    /// The source of the kernels for blocks of so many threads.
    pub(super) fn source(&self, threads: u32) -> String {
        let code = match self.size {
            8 => "unsigned long long",
            4 => "unsigned",
            2 => "unsigned short",
            _ => "unsigned char",
        };
        let bits = self.bits;
        let head =
            format!("#define CODE {code}\n#define BITS {bits}\n#define THREADS {threads}\n{}", self.macros);
        format!("{head}{}", include_str!("compare.cu"))
    }
}

const SIGNED: &str = "#define SIGNED\n";
const UNSIGNED: &str = "#define UNSIGNED\n";
