//! Lies in the plugin's description of itself.

use onnxport_sdk::abi::about::AboutTable;
use onnxport_sdk::abi::{RSlice, RStr, Table};

use super::{envelope, read};

/// The table, with a lie of the mode's.
pub(super) fn about(table: &Table, mode: &str) -> Table {
    let mut own = read::<AboutTable>(table);
    let text = |text: &'static str| RStr::from_str(text);
    match mode {
        "about_id_empty" => own.id = text(""),
        "about_id_ansi" => own.id = text("a\x1b[31mb"),
        "about_id_path" => own.id = text("../../x"),
        "about_id_nul" => own.id = text("a\0b"),
        "about_id_line" => own.id = text("a\nerror[OP999]: fake"),
        "about_id_long" => own.id = text("i".repeat(100 << 20).leak()),
        "about_version" => own.version = text("1\x1b[31m\n"),
        "about_description" => own.description = text("d\nerror[OP999]: fake"),
        // SAFETY: none; that is the point of this one and of those below.
        "about_latin1" => own.id = unsafe { RStr::from_raw_parts(b"caf\xe9".as_ptr(), 4) },
        "about_provides_long" => {
            // SAFETY: as above.
            own.provides = unsafe { RSlice::from_raw_parts(own.provides.as_ptr(), 1 << 40) };
        }
        "about_provides_null" => {
            // SAFETY: as above.
            own.provides = unsafe { RSlice::from_raw_parts(std::ptr::null(), 1) };
        }
        "about_provides_nowhere" => {
            // SAFETY: as above.
            own.provides = unsafe { RSlice::from_raw_parts(std::ptr::without_provenance(64), 2) };
        }
        _ => {}
    }
    envelope(own, table)
}
