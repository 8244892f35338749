//! The contract as it is built, against what was released and against its C header.

#![cfg(target_pointer_width = "64")]

mod fingerprints;
mod header;
mod listing;

use onnxport_abi::{Shape, Version};

/// A struct of the contract.
struct Struct {
    /// Its name in C.
    name: &'static str,
    size: usize,
    /// The fields with their names in C and their offsets.
    fields: Vec<(&'static str, usize)>,
}

/// A table of the contract.
struct Table {
    interface: &'static str,
    name: &'static str,
    shape: &'static Shape,
    /// How many fields are not optional.
    base: usize,
    /// The revision of each field.
    since: Vec<Version>,
}

#[test]
fn the_package_has_the_version_that_the_root_is_checked_with() {
    assert_eq!(env!("CARGO_PKG_VERSION"), "0.1.0", "abi_stable refuses a root of another 0.x");
}

#[test]
fn exactly_the_fields_of_an_interfaces_first_revision_are_needed() {
    for table in listing::tables() {
        let name = table.name;
        assert_eq!(table.since.len(), table.shape.prints().len(), "{name}");
        let first = table.since.iter().filter(|since| **since == table.since[0]).count();
        assert_eq!(table.base, first, "{name}");
        assert!(table.since.is_sorted(), "{name}");
        assert!(table.since.iter().all(|since| *since <= Version::CURRENT), "{name}");
    }
}
