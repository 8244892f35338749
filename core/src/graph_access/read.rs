//! Parts of tensors, without the whole.

use crate::tensor::LazyTensor;

/// Copies the bytes of the row-major form of `data` from `offset` on to `out`; `None` when they cannot
/// be read. The caller has checked that they lie within the tensor.
pub(super) fn bytes(data: &LazyTensor, offset: u64, out: &mut [u8]) -> Option<()> {
    let source = data.source.bytes();
    if let Some(range) = data.dense_range() {
        let start = usize::try_from(range.start.checked_add(offset)?).ok()?;
        out.copy_from_slice(source.get(start..start.checked_add(out.len())?)?);
        return Some(());
    }
    let strides = data.strides.as_ref()?;
    let size = u64::from(data.dtype.bits() / 8);
    if size == 0 || strides.len() != data.shape.len() {
        return None;
    }
    let mut done = 0;
    while done < out.len() {
        let at = offset + done as u64;
        let (element, skipped) = (at / size, (at % size) as usize);
        let mut rest = element;
        let mut place = data.offset;
        for (extent, stride) in data.shape.iter().zip(strides).rev() {
            place = place.checked_add((rest % extent).checked_mul(*stride)?)?;
            rest /= extent;
        }
        let start = usize::try_from(place.checked_mul(size)?).ok()?;
        let taken = (size as usize - skipped).min(out.len() - done);
        let from = start.checked_add(skipped)?;
        out.get_mut(done..done + taken)?.copy_from_slice(source.get(from..from.checked_add(taken)?)?);
        done += taken;
    }
    Some(())
}
