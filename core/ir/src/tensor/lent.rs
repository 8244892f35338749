//! Memory that another owner lends: the storage of a tensor of the program that uses this library.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// Bytes that somebody else holds, readable as long as this lives; clones share them.
#[derive(Clone)]
pub struct LentMemory {
    inner: Arc<Inner>,
}

struct Inner {
    start: NonNull<u8>,
    len: usize,
    /// Dropped last of all readers, on whichever thread that is.
    _owner: Box<dyn Send + Sync>,
}

// SAFETY: the bytes are only read, and `new` demands that nobody writes them meanwhile. The owner is both.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl LentMemory {
    /// The `len` bytes from `start` on, which `owner` keeps where they are.
    ///
    /// # Safety
    /// Until `owner` is dropped the bytes can be read from any thread, and nobody writes them. `start` may be null if `len`
    /// is 0.
    pub unsafe fn new(start: *const u8, len: usize, owner: impl Send + Sync + 'static) -> Self {
        let start = NonNull::new(start.cast_mut()).unwrap_or(NonNull::dangling());
        Self { inner: Arc::new(Inner { start, len, _owner: Box::new(owner) }) }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the owner lives as long as `self`, and keeps them readable.
        unsafe { std::slice::from_raw_parts(self.inner.start.as_ptr(), self.inner.len) }
    }

    /// Whether both are the same loan: of one memory that is lent twice, they are not.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Equal for those that are the [`same`](Self::same), as long as they live.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.inner) as usize
    }
}

impl AsRef<[u8]> for LentMemory {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl fmt::Debug for LentMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LentMemory({} bytes)", self.inner.len)
    }
}
