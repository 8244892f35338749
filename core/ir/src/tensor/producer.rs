//! Sources whose bytes are produced on demand.

use std::fmt;
use std::sync::Arc;

use super::Error;

/// Makes the bytes of a tensor, dense, little-endian and row-major.
pub trait Produce: Send + Sync {
    /// The number of bytes in all.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` with the bytes from `offset` on, which lie inside of [`len`](Self::len). The same
    /// range always gets the same bytes. Called from several threads.
    ///
    /// # Errors
    /// Why they cannot be had.
    fn fill(&self, offset: u64, out: &mut [u8]) -> Result<(), Error>;

    /// Where the bytes come from, for people: `plugin mine: embeddings`.
    fn describe(&self) -> String;
}

/// A shared [`Produce`]; clones are the same source.
#[derive(Clone)]
pub struct Producer(Arc<dyn Produce>);

impl Producer {
    /// Makes a source of `produce`.
    pub fn new(produce: impl Produce + 'static) -> Self {
        Self(Arc::new(produce))
    }

    /// Whether both are one source.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::ops::Deref for Producer {
    type Target = dyn Produce;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Producer({})", self.0.describe())
    }
}
