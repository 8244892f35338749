//! Short accessors for data borrowed from the host.
//!
//! The host's slices and texts are valid as stated; an invalid one, of a broken host, reads as empty.

use onnxport_abi::{RSlice, RSliceMut, RStr};

/// A slice or a text of the host.
pub trait Lent {
    /// The type that it is read as.
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
