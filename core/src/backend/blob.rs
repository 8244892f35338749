//! A compiled region: bytes that only the backend's runtime understands.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::tensor::{DType, LazyTensor, MappedFile, Source};

/// The size in bytes above which a blob is kept on disk during the conversion.
const MAX_IN_MEMORY: usize = 1 << 20;

/// A blob under construction, which only grows at its end.
#[derive(Default)]
pub(super) struct Blob {
    memory: Vec<u8>,
    file: Option<NamedTempFile>,
    hash: Sha256,
    len: u64,
}

/// A complete blob.
#[derive(Clone, Debug)]
pub(super) struct Finished {
    /// The bytes, a tensor of u8.
    pub(super) data: LazyTensor,
    /// Their number.
    pub(super) len: u64,
    /// Their SHA-256 in hexadecimal.
    pub(super) sha256: String,
}

impl Blob {
    /// Appends `bytes`.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.len += bytes.len() as u64;
        if self.file.is_none() && self.memory.len() + bytes.len() > MAX_IN_MEMORY {
            let mut file = NamedTempFile::new()?;
            file.write_all(&std::mem::take(&mut self.memory))?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => {
                self.memory.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The bytes so far.
    pub(super) fn bytes(&self) -> io::Result<Cow<'_, [u8]>> {
        match &self.file {
            // The handle's position is at the end.
            Some(file) => Ok(Cow::Owned(std::fs::read(file.path())?)),
            None => Ok(Cow::Borrowed(&self.memory)),
        }
    }

    /// Returns the bytes, readable in place.
    pub(super) fn finish(self) -> io::Result<Finished> {
        let sha256 = hex(&self.hash.finalize());
        let source = match self.file {
            // The mapping keeps the file alive; its name goes with the handle.
            Some(file) => Source::Mapped { file: MappedFile::open(file.path())?, offset: 0, len: self.len },
            None => Source::Inline(self.memory.into()),
        };
        let data = LazyTensor { dtype: DType::U8, shape: vec![self.len], source, offset: 0, strides: None };
        Ok(Finished { data, len: self.len, sha256 })
    }
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{Blob, MAX_IN_MEMORY};
    use crate::tensor::Source;

    #[test]
    fn small_blobs_stay_in_memory_and_large_ones_do_not() {
        for (pieces, in_memory) in [(0, true), (1, true), (3, false)] {
            let mut blob = Blob::default();
            let piece = vec![7; MAX_IN_MEMORY / 2 + 1];
            for _ in 0..pieces {
                blob.write(&piece).unwrap();
            }
            let done = blob.finish().unwrap();
            assert_eq!(done.len, (pieces * piece.len()) as u64);
            assert_eq!(matches!(done.data.source, Source::Inline(_)), in_memory);
            let bytes = done.data.read().unwrap();
            assert!(bytes.len() == pieces * piece.len() && bytes.iter().all(|b| *b == 7));
        }
        let empty = Blob::default().finish().unwrap();
        assert!(empty.sha256.starts_with("e3b0c44298fc1c14"), "{}", empty.sha256);
    }
}
