//! Names, of which graphs hold millions.

/// A string that is stored inline up to 15 bytes, as most names are; the clones of a longer one share it.
pub type Name = ecow::EcoString;
