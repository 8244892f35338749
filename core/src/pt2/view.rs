//! Strided views of storages, checked against the available bytes.

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::data::count;
use crate::tensor::zip_index::Region;
use crate::tensor::{DType, LazyTensor, LentMemory, MAX_RANK, Source, Unbound};

/// The claims of a tensor's record about its storage.
pub(crate) struct Claim {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u64>,
    pub(crate) strides: Vec<u64>,
    /// Elements to skip.
    pub(crate) offset: u64,
}

/// Returns the tensor that `claim` describes over the bytes of `storage`. `what` names it in diagnostics.
///
/// # Errors
/// `OP106` if the storage is too short, `OP108` if sizes go beyond 64 bits.
pub(crate) fn view(claim: Claim, storage: Region, what: &str) -> Result<LazyTensor, Diagnostic> {
    let reach = claim.reach(what)?;
    if reach > storage.len() {
        return Err(too_short(what, reach, storage.len()));
    }
    Ok(claim.over(storage.into_source(), reach))
}

/// Returns the tensor that `claim` describes over all of a lent memory.
///
/// # Errors
/// As [`view`].
pub(crate) fn lent(claim: Claim, memory: LentMemory, what: &str) -> Result<LazyTensor, Diagnostic> {
    let (reach, len) = (claim.reach(what)?, memory.bytes().len());
    if reach > len as u64 {
        return Err(too_short(what, reach, len as u64));
    }
    Ok(claim.over(Source::Lent(memory), reach))
}

fn too_short(what: &str, reach: u64, len: u64) -> Diagnostic {
    let message = format!("{what} needs {reach} bytes of its storage, which has {len}");
    Diagnostic::error(Code::READ_PAYLOAD, message)
}

/// Returns the tensor `name` that `claim` describes, over a storage without bytes. Tensors of the same
/// `storage` share it.
///
/// # Errors
/// As [`view`].
pub(crate) fn unbound(
    claim: Claim,
    name: &str,
    storage: String,
    what: &str,
) -> Result<LazyTensor, Diagnostic> {
    claim.reach(what)?;
    let Claim { dtype, shape, strides, offset } = claim;
    let strides = (!is_dense(&shape, &strides)).then_some(strides);
    Ok(Unbound { name: name.to_owned(), storage, dtype, shape, offset, strides }.into_tensor())
}

impl Claim {
    /// Returns the number of bytes of the storage up to the end of the last element; 0 for a tensor without
    /// elements.
    ///
    /// # Errors
    /// `OP106` and `OP108` for an impossible claim.
    pub(crate) fn reach(&self, what: &str) -> Result<u64, Diagnostic> {
        let Self { dtype, shape, strides, offset } = self;
        let absurd = || {
            let message = format!("{what} has the invalid shape {shape:?}");
            Diagnostic::error(Code::READ_SIZE, message)
        };
        if shape.len() > MAX_RANK {
            let message = format!("{what} has {} axes", shape.len());
            return Err(Diagnostic::error(Code::READ_SIZE, message));
        }
        if shape.len() != strides.len() {
            let message = format!("{what} has {} sizes and {} strides", shape.len(), strides.len());
            return Err(Diagnostic::error(Code::READ_PAYLOAD, message));
        }
        let bytes = count(shape).and_then(|n| dtype.byte_len(n)).filter(|n| i64::try_from(*n).is_ok());
        if bytes.ok_or_else(absurd)? == 0 {
            return Ok(0);
        }
        shape
            .iter()
            .zip(strides)
            .try_fold(*offset, |at, (extent, stride)| {
                at.checked_add(extent.saturating_sub(1).checked_mul(*stride)?)
            })
            .and_then(|last| dtype.byte_len(last.checked_add(1)?))
            .ok_or_else(absurd)
    }

    fn over(self, source: Source, reach: u64) -> LazyTensor {
        let Self { dtype, shape, strides, offset } = self;
        if reach == 0 {
            return LazyTensor { dtype, shape, source, offset: 0, strides: None };
        }
        let strides = (!is_dense(&shape, &strides)).then_some(strides);
        LazyTensor { dtype, shape, source, offset, strides }
    }
}

/// Whether the strides are those of a dense row-major tensor. The stride of an axis with one element
/// means nothing.
fn is_dense(shape: &[u64], strides: &[u64]) -> bool {
    let mut expected = 1u64;
    for (extent, stride) in shape.iter().zip(strides).rev() {
        if *extent != 1 {
            if *stride != expected {
                return false;
            }
            expected = expected.saturating_mul(*extent);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(shape: &[u64], strides: &[u64], offset: u64) -> Result<LazyTensor, Diagnostic> {
        let claim = Claim { dtype: DType::F32, shape: shape.to_vec(), strides: strides.to_vec(), offset };
        view(claim, Region::Memory(vec![0; 48].into()), "`w`")
    }

    #[test]
    fn dense_views_have_no_strides() {
        assert_eq!(claim(&[3, 4], &[4, 1], 0).unwrap().strides, None);
        assert_eq!(claim(&[1, 12, 1], &[7, 1, 9], 0).unwrap().strides, None);
        assert_eq!(claim(&[4, 3], &[1, 4], 0).unwrap().strides, Some(vec![1, 4]));
        assert_eq!(claim(&[0, 4], &[4, 1], 100).unwrap().dense_range(), Some(0..0));
    }

    #[test]
    fn views_stay_inside_their_storage() {
        assert_eq!(claim(&[3, 4], &[4, 1], 1).unwrap_err().code, Code::READ_PAYLOAD);
        assert_eq!(claim(&[1 << 63, 2], &[1, 1], 0).unwrap_err().code, Code::READ_SIZE);
        assert_eq!(claim(&[1 << 62], &[0], 0).unwrap_err().code, Code::READ_SIZE);
        assert_eq!(claim(&[2, 2], &[u64::MAX, 1], 0).unwrap_err().code, Code::READ_SIZE);
        assert!(claim(&[1000, 12], &[0, 1], 0).is_ok());
    }
}
