//! What the host lends, read with a word.
//!
//! The host's slices and texts are what they state; one that is not, of a broken host, reads as empty.

use onnxport_abi::{RSlice, RSliceMut, RStr};

/// A slice or a text of the host.
pub trait Lent {
    /// What it reads as.
    type Read;

    /// The items, the places, the text.
    fn lent(self) -> Self::Read;
}

impl<'a, T> Lent for RSlice<'a, T> {
    type Read = &'a [T];

    fn lent(self) -> &'a [T] {
        self.get().unwrap_or_default()
    }
}

impl<'a, T> Lent for RSliceMut<'a, T> {
    type Read = &'a mut [T];

    fn lent(self) -> &'a mut [T] {
        self.get().unwrap_or_default()
    }
}

impl<'a> Lent for RStr<'a> {
    type Read = &'a str;

    fn lent(self) -> &'a str {
        self.get().unwrap_or_default()
    }
}
