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
/// outside the file, and for an element type that is not known.
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

macro_rules! element_types {
    ($($theirs:ident $ours:ident),* $(,)?) => {
        /// Returns the element type; `None` for those that ONNX does not have.
        pub(crate) fn dtype(dtype: Dtype) -> Option<DType> {
            Some(match dtype { $(Dtype::$theirs => DType::$ours,)* _ => return None })
        }

        /// Returns the element type of safetensors files; `None` for those that they do not have.
        pub(crate) fn stored(dtype: DType) -> Option<Dtype> {
            Some(match dtype { $(DType::$ours => Dtype::$theirs,)* _ => return None })
        }
    };
}

element_types! {
    BOOL Bool, U8 U8, I8 I8, U16 U16, I16 I16, U32 U32, I32 I32, U64 U64, I64 I64,
    F16 F16, BF16 BF16, F32 F32, F64 F64, C64 C64,
    F4 F4E2M1, F8_E5M2 F8E5M2, F8_E4M3 F8E4M3FN, F8_E4M3FNUZ F8E4M3FNUZ, F8_E5M2FNUZ F8E5M2FNUZ,
    F8_E8M0 F8E8M0,
}
