//! The globals that a pickle may name.

use crate::tensor::DType;

/// A class or function of the allow-list, by its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Global {
    /// Builds a tensor from a storage with an element type.
    RebuildTensor,
    /// Builds a tensor from an untyped storage; the element type is an argument.
    RebuildTensorV3,
    /// Marks a tensor as a parameter.
    RebuildParameter,
    /// Builds a tensor by another function and sets attributes on it.
    RebuildFromType,
    /// `torch.Tensor` or `torch.nn.Parameter`, as the type to build.
    TensorType,
    /// A class of storages; untyped without an element type.
    Storage(Option<DType>),
    /// An element type.
    DType(DType),
    OrderedDict,
    DefaultDict,
    /// `torch.Size`, or another class that is a tuple of its argument.
    Size,
    Complex,
    Device,
    Layout,
    /// A memory format, as PyTorch prints it.
    MemoryFormat(&'static str),
    /// A class whose instances are data: its state is kept, its code is not run.
    Plain(&'static str),
}

/// Classes with only tensors, which models take as inputs.
const PLAIN: &[&str] = &[
    "transformers.cache_utils.DynamicCache",
    "transformers.cache_utils.DynamicLayer",
    "transformers.cache_utils.DynamicSlidingWindowLayer",
    "transformers.cache_utils.StaticCache",
    "transformers.cache_utils.StaticLayer",
    "transformers.cache_utils.EncoderDecoderCache",
];

impl Global {
    /// The global of this module and name, if it is allowed.
    pub(super) fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("torch._utils", "_rebuild_tensor_v2" | "_rebuild_tensor") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_tensor_v3") => Self::RebuildTensorV3,
            ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
                Self::RebuildParameter
            }
            ("torch._tensor", "_rebuild_from_type_v2") => Self::RebuildFromType,
            ("torch" | "torch._tensor", "Tensor") | ("torch.nn.parameter", "Parameter") => Self::TensorType,
            ("torch.storage", "UntypedStorage" | "TypedStorage") | ("torch", "UntypedStorage") => {
                Self::Storage(None)
            }
            ("collections", "OrderedDict") | ("builtins" | "__builtin__", "dict") => Self::OrderedDict,
            ("collections", "defaultdict") => Self::DefaultDict,
            ("torch", "Size") | ("builtins" | "__builtin__", "tuple") => Self::Size,
            ("builtins" | "__builtin__", "complex") => Self::Complex,
            ("torch", "device") => Self::Device,
            ("torch.serialization", "_get_layout") => Self::Layout,
            ("torch", "contiguous_format") => Self::MemoryFormat("torch.contiguous_format"),
            ("torch", "channels_last") => Self::MemoryFormat("torch.channels_last"),
            ("torch", "channels_last_3d") => Self::MemoryFormat("torch.channels_last_3d"),
            ("torch", "preserve_format") => Self::MemoryFormat("torch.preserve_format"),
            ("torch", _) => match name.strip_suffix("Storage") {
                Some(kind) => Self::Storage(Some(storage_dtype(kind)?)),
                None => Self::DType(dtype(name)?),
            },
            _ => {
                let plain = PLAIN.iter().find(|plain| {
                    plain.strip_suffix(name).and_then(|rest| rest.strip_suffix('.')) == Some(module)
                })?;
                Self::Plain(plain)
            }
        })
    }
}

fn storage_dtype(kind: &str) -> Option<DType> {
    Some(match kind {
        "Float" => DType::F32,
        "Double" => DType::F64,
        "Half" => DType::F16,
        "BFloat16" => DType::BF16,
        "Long" => DType::I64,
        "Int" => DType::I32,
        "Short" => DType::I16,
        "Char" => DType::I8,
        "Byte" => DType::U8,
        "Bool" => DType::Bool,
        "ComplexFloat" => DType::C64,
        "ComplexDouble" => DType::C128,
        _ => return None,
    })
}

/// Returns the element type with PyTorch's name `name`.
pub(crate) fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "float32" | "float" => DType::F32,
        "float64" | "double" => DType::F64,
        "float16" | "half" => DType::F16,
        "bfloat16" => DType::BF16,
        "int64" | "long" => DType::I64,
        "int32" | "int" => DType::I32,
        "int16" | "short" => DType::I16,
        "int8" => DType::I8,
        "uint8" => DType::U8,
        "uint16" => DType::U16,
        "uint32" => DType::U32,
        "uint64" => DType::U64,
        "bool" => DType::Bool,
        "complex64" | "cfloat" => DType::C64,
        "complex128" | "cdouble" => DType::C128,
        "float8_e4m3fn" => DType::F8E4M3FN,
        "float8_e4m3fnuz" => DType::F8E4M3FNUZ,
        "float8_e5m2" => DType::F8E5M2,
        "float8_e5m2fnuz" => DType::F8E5M2FNUZ,
        "float8_e8m0fnu" => DType::F8E8M0,
        _ => return None,
    })
}
