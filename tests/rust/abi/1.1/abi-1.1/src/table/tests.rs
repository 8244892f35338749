//! Every pair of an older and a newer side.

use super::{Interface, Table, Version, Why};
use abi_stable::StableAbi;
use abi_stable::std_types::{RSlice, RStr};

#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
struct Record {
    number: u32,
    text: RStr<'static>,
}

#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
struct Old {
    id: u32,
    double: extern "C" fn(record: &Record) -> u32,
}

/// The same table one minor version later.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
struct New {
    id: u32,
    double: extern "C" fn(record: &Record) -> u32,
    triple: Option<extern "C" fn(number: u32) -> u32>,
    flags: u64,
}

#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
struct OtherRecord {
    number: u64,
    text: RStr<'static>,
}

/// The same field names, but a record has changed.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
struct Changed {
    id: u32,
    double: extern "C" fn(record: &OtherRecord) -> u32,
}

#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
struct Cut {
    id: u32,
}

super::interface!(Old, "test/1", base: 2);
super::interface!(New, "test/1", base: 2);
super::interface!(Changed, "test/1", base: 2);
super::interface!(Cut, "test/1", base: 1);

extern "C" fn double(record: &Record) -> u32 {
    record.number * 2
}

extern "C" fn double_other(_: &OtherRecord) -> u32 {
    0
}

extern "C" fn triple(number: u32) -> u32 {
    number * 3
}

static OLD: Old = Old { id: 7, double };
static NEW: New = New { id: 8, double, triple: Some(triple), flags: 5 };
static CHANGED: Changed = Changed { id: 9, double: double_other };
static CUT: Cut = Cut { id: 1 };

fn read<T: Interface>(table: &Table) -> Result<Option<T>, Why> {
    // SAFETY: the tables of these tests are made by `Table::of` for `test/1`.
    unsafe { table.read::<T>() }.map_err(|mismatch| mismatch.why)
}

#[test]
fn the_same_table_is_read_whole() {
    let table = read::<New>(&Table::of(&NEW)).expect("it fits").expect("it is provided");
    assert_eq!((table.id, table.flags), (8, 5));
    assert_eq!(table.triple.map(|triple| triple(2)), Some(6));
}

#[test]
fn an_older_reader_takes_the_prefix_that_it_knows() {
    let table = read::<Old>(&Table::of(&NEW)).expect("it fits").expect("it is provided");
    assert_eq!(table.id, 8);
    assert_eq!((table.double)(&Record { number: 3, text: RStr::from_str("") }), 6);
}

#[test]
fn a_newer_reader_sees_what_is_missing_as_not_provided() {
    let table = read::<New>(&Table::of(&OLD)).expect("it fits").expect("it is provided");
    assert_eq!((table.id, table.flags), (7, 0));
    assert!(table.triple.is_none());
}

#[test]
fn nothing_is_not_an_error() {
    assert!(matches!(read::<Old>(&Table::NONE), Ok(None)));
}

#[test]
fn a_changed_record_is_named_by_the_field_that_uses_it() {
    assert_eq!(read::<Old>(&Table::of(&CHANGED)).err(), Some(Why::Field("double")));
    assert_eq!(read::<New>(&Table::of(&CHANGED)).err(), Some(Why::Field("double")));
}

#[test]
fn a_table_without_its_base_is_refused() {
    assert_eq!(read::<Old>(&Table::of(&CUT)).err(), Some(Why::Short { fields: 1, needed: 2 }));
}

#[test]
fn a_size_that_lies_is_refused() {
    let table = Table { size: 4, ..Table::of(&OLD) };
    assert_eq!(read::<Old>(&table).err(), Some(Why::Size { bytes: 4, needed: 16 }));
    let table = Table { layout: RSlice::EMPTY, ..Table::of(&OLD) };
    assert_eq!(read::<Old>(&table).err(), Some(Why::Short { fields: 0, needed: 2 }));
}

#[test]
fn a_refusal_names_both_versions() {
    let table = Table { version: Version { major: 2, minor: 3 }, ..Table::of(&OLD) };
    // SAFETY: as in `read`.
    let text = unsafe { table.read::<Old>() }.err().map(|mismatch| mismatch.to_string());
    let expected = format!(
        "its `test/1` of contract 2.3 does not fit contract {}: the major versions differ",
        Version::CURRENT
    );
    assert_eq!(text, Some(expected));
    // A later minor version is fine.
    let table = Table { version: Version { major: 1, minor: 9 }, ..Table::of(&NEW) };
    assert!(read::<Old>(&table).is_ok_and(|table| table.is_some()));
}
