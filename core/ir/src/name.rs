//! Names, of which graphs hold millions.

/// A text that stands in place up to 15 bytes, which most names have; the clones of a longer one share it.
pub type Name = ecow::EcoString;
