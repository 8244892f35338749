//! Every table of the contract, read as an older, a newer or another build would have written it.

use onnxport_abi::{RSlice, Table as Envelope, Version, Why};

use super::Table;
use super::listing::tables;

/// The fingerprint of a field that this build does not know.
const UNKNOWN: u64 = 0x00de_cade;

/// Words that no field of a table takes for null. Longer than any table.
static WORDS: [u64; 256] = [1; 256];

/// Reads a table of `bytes` bytes whose fields have the fingerprints `prints`.
fn read(table: &Table, prints: Vec<u64>, bytes: usize, version: Version) -> Result<bool, Why> {
    assert!(bytes <= size_of_val(&WORDS), "{} is larger than the words", table.name);
    let layout = RSlice::from_slice(Vec::leak(prints));
    let envelope = Envelope { version, size: bytes as u64, pointer: WORDS.as_ptr().cast(), layout };
    // SAFETY: the words are as long as the envelope says, numbers and pointers that are not null; the reader forgets
    // them.
    unsafe { (table.read)(&envelope) }
}

fn minor(minor: u32) -> Version {
    Version { minor, ..Version::CURRENT }
}

#[test]
fn a_newer_table_is_read_up_to_the_last_known_field() {
    for table in tables() {
        let prints = [table.shape.prints(), &[UNKNOWN]].concat();
        let newer = read(&table, prints, table.bytes + 8, minor(Version::CURRENT.minor + 1));
        assert_eq!(newer, Ok(true), "{}", table.name);
    }
}

#[test]
fn an_older_table_needs_the_fields_that_are_not_optional() {
    for table in tables() {
        let prints = table.shape.prints();
        for fields in 0..=prints.len() {
            let bytes = table.shape.end(fields);
            let older = read(&table, prints[..fields].to_vec(), bytes, minor(0));
            let expected =
                if fields < table.base { Err(Why::Short { fields, needed: table.base }) } else { Ok(true) };
            assert_eq!(older, expected, "{fields} fields of {}", table.name);
        }
    }
}

#[test]
fn another_field_another_size_and_another_major_version_are_refused() {
    for table in tables() {
        let prints = table.shape.prints();
        for field in 0..prints.len() {
            let mut other = prints.to_vec();
            other[field] = UNKNOWN;
            let found = read(&table, other, table.bytes, Version::CURRENT);
            assert_eq!(found, Err(Why::Field(table.shape.name(field))), "{}", table.name);
        }
        let needed = table.shape.end(prints.len());
        let small = read(&table, prints.to_vec(), needed - 1, Version::CURRENT);
        assert_eq!(small, Err(Why::Size { bytes: needed as u64 - 1, needed }), "{}", table.name);
        let major = Version { major: Version::CURRENT.major + 1, minor: 0 };
        assert_eq!(read(&table, prints.to_vec(), table.bytes, major), Err(Why::Major), "{}", table.name);
    }
}
