//! Parts of tensors, without the whole.

use crate::tensor::LazyTensor;

/// The memory limit for computing a value that a plugin reads, in bytes.
const BUDGET: usize = 64 << 20;

/// Copies the bytes of the row-major form of `data` from `offset` on to `out`; `None` if they cannot be
/// read. The caller has checked that they lie within the tensor.
pub(super) fn bytes(data: &LazyTensor, offset: u64, out: &mut [u8]) -> Option<()> {
    if let (Some(range), source) = (data.dense_range(), data.source.bytes()) {
        let start = usize::try_from(range.start.checked_add(offset)?).ok()?;
        if let Some(bytes) = source.get(start..start.checked_add(out.len())?) {
            out.copy_from_slice(bytes);
            return Some(());
        }
    }
    let end = offset.checked_add(out.len() as u64)?;
    let mut out = out;
    data.stream(offset..end, BUDGET, &mut |bytes: &[u8]| {
        let (head, tail) = std::mem::take(&mut out).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        out = tail;
        Ok(())
    })
    .ok()
}
