//! The bytes of a pickle; stated lengths are not trusted.

use super::refuse;
use crate::diagnose::Diagnostic;

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Diagnostic> {
        let end = self.at.checked_add(len);
        let bytes = end
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| refuse("the pickle ends early"))?;
        self.at += len;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Diagnostic> {
        self.take(N)?.try_into().map_err(|_| refuse("the pickle ends early"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, Diagnostic> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Diagnostic> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Diagnostic> {
        self.array().map(u64::from_le_bytes)
    }

    /// Text with its length before it.
    pub(super) fn text(&mut self, len: u64) -> Result<String, Diagnostic> {
        let len = usize::try_from(len).map_err(|_| refuse("the pickle ends early"))?;
        let text =
            std::str::from_utf8(self.take(len)?).map_err(|_| refuse("the pickle contains invalid text"))?;
        Ok(text.to_owned())
    }

    /// Text up to the end of the line.
    pub(super) fn line(&mut self) -> Result<&'a str, Diagnostic> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|b| *b == b'\n').ok_or_else(|| refuse("the pickle ends early"))?;
        let line = self.take(len)?;
        self.at += 1;
        std::str::from_utf8(line).map_err(|_| refuse("the pickle contains invalid text"))
    }
}
