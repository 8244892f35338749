//! Names of dimensions and lines of guards, which onnxport's Python package adds to an archive.

use super::archive::Archive;
use super::{assert_one, read, read_codes};

/// The archive with this file of names.
fn named(text: &str) -> Archive {
    added("onnxport.dims.json", text)
}

fn added(file: &str, text: &str) -> Archive {
    let mut archive = Archive::base();
    let suffix = "models/model.json";
    let place = archive.entries.iter().find_map(|(name, _)| name.strip_suffix(suffix).map(str::to_owned));
    let name = format!("{}extra/{file}", place.expect("a program"));
    archive.entries.push((name, text.as_bytes().to_vec()));
    archive
}

/// The names of the program's symbols.
fn symbols(archive: &Archive) -> Vec<String> {
    let read = read(archive.write().path()).expect("the program itself is sound");
    read.program.symbols.iter().map(|(_, symbol)| symbol.name.clone()).collect()
}

#[test]
fn symbols_take_names_and_nothing_else() {
    let own = symbols(&Archive::base());
    let symbol = own.first().expect("a symbol");
    let given = |name: &str| symbols(&named(&serde_json::json!({ symbol.as_str(): name }).to_string()));
    assert_eq!(given("batch").first().map(String::as_str), Some("batch"));
    for name in ["", "8", "a b", "a+1", "8x", "é", "\u{202e}", symbol.as_str()] {
        assert_eq!(given(name), own, "{name:?}");
    }
    assert_eq!(symbols(&named(r#"{"nobody": "batch"}"#)), own);
    // A name that another symbol has would be that symbol.
    for other in own.iter().skip(1) {
        assert_eq!(given(other), own);
    }
}

#[test]
fn a_damaged_file_is_an_error_and_a_huge_one_is_ignored() {
    for damaged in ["{", "[]", r#"{"s0": 3}"#] {
        assert_one(&read_codes(&named(damaged)), "OP105", &["onnxport.dims.json"]);
    }
    for damaged in ["{", "[]", r#"{"L['x'].size()[0] <= 8": 3}"#] {
        assert_one(&read_codes(&added("onnxport.guards.json", damaged)), "OP105", &["onnxport.guards.json"]);
    }
    let huge = format!("{{\"s0\": \"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(symbols(&named(&huge)), symbols(&Archive::base()));
}
