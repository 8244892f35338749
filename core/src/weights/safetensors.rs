//! safetensors files: a JSON header, then the bytes of every tensor without gaps or overlaps.

use std::path::Path;

use safetensors::Dtype;

use super::header::Header;
use super::{WeightSet, source};
use crate::diagnose::{Code, Diagnostic};
use crate::tensor::{DType, LazyTensor, MappedFile, Source};

/// Adds the tensors of the mapped file at `path`.
///
/// # Errors
/// `OP631` for a damaged header, for a name that occurs twice, for ranges that overlap, leave gaps or end
/// outside of the file, and for an element type that is not known.
pub(super) fn read(file: &MappedFile, path: &Path) -> Result<WeightSet, Diagnostic> {
    let damaged = |why: String| {
        let message = format!("`{}` is not a sound safetensors file: {why}", path.display());
        Diagnostic::error(Code::WEIGHTS_SOURCE, message)
            .help("the file may be truncated or partly downloaded: save or copy it again")
    };
    let Header { data, tensors } = Header::read(file.bytes()).map_err(damaged)?;
    let mut set = WeightSet::default();
    let place = source::label(path);
    for (name, info) in tensors {
        let Some(dtype) = dtype(info.dtype) else {
            return Err(damaged(format!("`{name}` has the element type {}", info.dtype)));
        };
        let shape: Vec<u64> = info.shape.iter().map(|d| *d as u64).collect();
        let (start, end) = info.data_offsets;
        let source = Source::Mapped {
            file: file.clone(),
            offset: data + start as u64,
            len: end.saturating_sub(start) as u64,
        };
        let tensor = LazyTensor { dtype, shape, source, offset: 0, strides: None };
        tensor.check().map_err(|e| damaged(e.of(&name).to_string()))?;
        if tensor.byte_len() != Some(end.saturating_sub(start) as u64) {
            return Err(damaged(format!("`{name}` has bytes that do not fit its shape")));
        }
        set.insert(name, tensor, &place)?;
    }
    Ok(set)
}

/// Whether the file starts as safetensors files do: the length of the header, then a JSON object.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    bytes.get(8) == Some(&b'{') && bytes.get(4..8) == Some(&[0; 4])
}

/// The element type; `None` for those that ONNX does not have.
pub(crate) fn dtype(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::BOOL => DType::Bool,
        Dtype::U8 => DType::U8,
        Dtype::I8 => DType::I8,
        Dtype::U16 => DType::U16,
        Dtype::I16 => DType::I16,
        Dtype::U32 => DType::U32,
        Dtype::I32 => DType::I32,
        Dtype::U64 => DType::U64,
        Dtype::I64 => DType::I64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::C64 => DType::C64,
        Dtype::F4 => DType::F4E2M1,
        Dtype::F8_E5M2 => DType::F8E5M2,
        Dtype::F8_E4M3 => DType::F8E4M3FN,
        Dtype::F8_E4M3FNUZ => DType::F8E4M3FNUZ,
        Dtype::F8_E5M2FNUZ => DType::F8E5M2FNUZ,
        Dtype::F8_E8M0 => DType::F8E8M0,
        _ => return None,
    })
}
