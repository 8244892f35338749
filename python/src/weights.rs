//! Weights that are read in parts.

use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::tensor::{self, LazyTensor};

/// The weights that are left out of a message without initializers.
pub(crate) type Weights = Vec<(String, LazyTensor)>;

/// The bytes `offset .. offset + length` of a weight, in the order in which ONNX has them.
pub(crate) fn read(weights: &Weights, name: &str, offset: u64, length: u64) -> Result<Vec<u8>, Diagnostic> {
    let unknown = || Diagnostic::error(Code::USAGE, format!("the model has no weight `{name}`"));
    let (_, data) = weights.iter().find(|(own, _)| own == name).ok_or_else(unknown)?;
    part(data, offset, length).map_err(|e| Diagnostic::error(e.code(), format!("`{name}`: {e}")))
}

/// A part of the dense form of a tensor.
fn part(data: &LazyTensor, offset: u64, length: u64) -> Result<Vec<u8>, tensor::Error> {
    let end = offset.checked_add(length).ok_or(tensor::Error::Short)?;
    let inside = data.byte_len().is_some_and(|len| end <= len);
    let mut out = Vec::new();
    let room = usize::try_from(length).ok().filter(|_| inside).ok_or(tensor::Error::Short)?;
    out.try_reserve_exact(room).map_err(|_| tensor::Error::Short)?;
    data.stream(offset..end, PIECE, &mut |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(out)
}

/// The number of bytes of a weight that are computed at a time.
const PIECE: usize = 1 << 20;
