//! The contract as it is built, against what was released and against its C header.

#![cfg(target_pointer_width = "64")]

mod fingerprints;
mod growth;
mod header;
mod listing;

use onnxport_abi::{Interface, Shape, Table as Envelope, Version, Why};

/// A struct of the contract.
struct Struct {
    /// Its name in C.
    name: &'static str,
    size: usize,
    /// The fields with their names in C and their offsets.
    fields: Vec<(&'static str, usize)>,
}

/// Returns whether the table is provided.
type Reader = unsafe fn(&Envelope) -> Result<bool, Why>;

/// Reads a `T` behind an envelope, and forgets it.
///
/// # Safety
/// As for [`Envelope::read`].
unsafe fn read<T: Interface>(envelope: &Envelope) -> Result<bool, Why> {
    // SAFETY: passed on to the caller.
    let table = unsafe { envelope.read::<T>() };
    table.map(|table| table.is_some()).map_err(|mismatch| mismatch.why)
}

/// A table of the contract.
struct Table {
    interface: &'static str,
    name: &'static str,
    shape: &'static Shape,
    /// The number of fields that are not optional.
    base: usize,
    bytes: usize,
    /// Reads a table of this type behind an envelope.
    read: Reader,
    /// The revision of each field.
    since: Vec<Version>,
}

#[test]
fn the_package_has_the_version_that_the_root_is_checked_with() {
    assert_eq!(env!("CARGO_PKG_VERSION"), "0.1.0", "abi_stable refuses a root of another 0.x");
}

#[test]
fn no_field_that_came_after_an_interfaces_first_revision_is_needed() {
    for table in listing::tables() {
        let name = table.name;
        assert_eq!(table.since.len(), table.shape.prints().len(), "{name}");
        let first = table.since.iter().filter(|since| **since == table.since[0]).count();
        assert!(table.base <= first, "{name}");
        assert!(table.since.is_sorted(), "{name}");
        assert!(table.since.iter().all(|since| *since <= Version::CURRENT), "{name}");
    }
}
