//! Tensors over lent memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tensor::{DType, LazyTensor, LentMemory, Source};

/// Bytes that note when they go.
struct Owner {
    bytes: Vec<u8>,
    gone: Arc<AtomicBool>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

fn lent(bytes: Vec<u8>) -> (LentMemory, Arc<AtomicBool>) {
    let gone = Arc::new(AtomicBool::new(false));
    let (start, len) = (bytes.as_ptr(), bytes.len());
    let owner = Owner { bytes, gone: Arc::clone(&gone) };
    assert_eq!(owner.bytes.len(), len);
    // SAFETY: the owner keeps the vector, which nobody changes.
    (unsafe { LentMemory::new(start, len, owner) }, gone)
}

fn tensor(memory: &LentMemory, shape: &[u64], offset: u64, strides: Option<&[u64]>) -> LazyTensor {
    let (shape, strides) = (shape.to_vec(), strides.map(<[u64]>::to_vec));
    LazyTensor { dtype: DType::U8, shape, source: Source::Lent(memory.clone()), offset, strides }
}

#[test]
fn the_owner_lives_as_long_as_a_reader() {
    let (memory, gone) = lent((0..12).collect());
    let part = tensor(&memory, &[4], 4, None);
    drop(memory);
    let copy = part.clone();
    drop(part);
    assert_eq!(copy.read().unwrap().as_ref(), [4, 5, 6, 7]);
    assert!(!gone.load(Ordering::Relaxed));
    drop(copy);
    assert!(gone.load(Ordering::Relaxed));
}

#[test]
fn views_are_read_as_those_of_other_memory() {
    let bytes: Vec<u8> = (0..12).collect();
    let (memory, _gone) = lent(bytes.clone());
    let transposed = tensor(&memory, &[4, 3], 0, Some(&[1, 4]));
    let inline = LazyTensor { source: Source::Inline(bytes.into()), ..transposed.clone() };
    assert!(transposed.check().is_ok());
    assert_eq!(transposed.read(), inline.read());
    assert_eq!(transposed.permute(&[1, 0]).unwrap().read().unwrap().len(), 12);
    assert!(tensor(&memory, &[13], 0, None).check().is_err());
    assert!(tensor(&memory, &[13], 0, None).read().is_none());
}

#[test]
fn one_loan_is_one_memory() {
    let (memory, _gone) = lent(vec![7; 12]);
    let (other, _also) = lent(vec![7; 12]);
    let (a, b) = (tensor(&memory, &[2, 3], 6, None), tensor(&memory, &[6], 6, None));
    assert!(a.same_stored(&b) && a.stored_fingerprint() == b.stored_fingerprint());
    assert!(!a.same_bytes(&b) && a.overlaps(&b) && !a.overlaps(&tensor(&memory, &[6], 0, None)));
    let elsewhere = tensor(&other, &[2, 3], 6, None);
    assert!(!a.same_bytes(&elsewhere) && !a.same_stored(&elsewhere) && !a.overlaps(&elsewhere));
}

#[test]
fn nothing_can_be_lent() {
    // SAFETY: there are no bytes.
    let memory = unsafe { LentMemory::new(std::ptr::null(), 0, ()) };
    assert!(memory.bytes().is_empty());
    assert_eq!(tensor(&memory, &[0, 4], 0, None).read().unwrap().len(), 0);
}
