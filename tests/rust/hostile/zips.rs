//! Damaged and lying zip archives, and files that are something else.

use std::io::Cursor;

use zip::ZipArchive;

use super::archive::{Archive, write};
use super::{assert_one, codes, read, read_codes};

fn codes_of(bytes: &[u8]) -> Vec<String> {
    codes(read(write(bytes).path()).map(drop))
}

/// Where the central directory's record of each entry starts.
fn records(bytes: &[u8]) -> Vec<(String, usize)> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..zip.len())
        .map(|at| {
            let file = zip.by_index_raw(at).unwrap();
            (file.name().unwrap().into_owned(), file.central_header_start() as usize)
        })
        .collect()
}

fn record(bytes: &[u8], suffix: &str) -> usize {
    records(bytes).into_iter().find(|(name, _)| name.ends_with(suffix)).unwrap().1
}

#[test]
fn the_base_archive_is_sound() {
    assert_eq!(read_codes(&Archive::base()), ["read"]);
}

#[test]
fn truncation_at_every_boundary() {
    let bytes = Archive::base().bytes();
    let mut zip = ZipArchive::new(Cursor::new(&bytes)).unwrap();
    let mut cuts = vec![0, bytes.len() - 1, bytes.len() - 22, zip.central_directory_start() as usize];
    for at in 0..zip.len() {
        let file = zip.by_index_raw(at).unwrap();
        let data = file.data_start().unwrap() as usize;
        let end = data + file.compressed_size() as usize;
        cuts.extend([file.header_start() as usize, data, end, file.central_header_start() as usize]);
    }
    for cut in cuts {
        for cut in [cut.saturating_sub(1), cut, cut + 1].into_iter().filter(|cut| *cut < bytes.len()) {
            assert_one(&codes_of(&bytes[..cut]), "OP102", &[]);
        }
    }
}

#[test]
fn a_wrong_checksum_of_json_is_found() {
    for suffix in ["models/model.json", "model_weights_config.json"] {
        let mut bytes = Archive::base().bytes();
        let mut zip = ZipArchive::new(Cursor::new(bytes.clone())).unwrap();
        let name = zip.file_names().map(|n| n.unwrap().into_owned()).find(|n| n.ends_with(suffix)).unwrap();
        let at = zip.by_name(&name).unwrap().data_start().unwrap() as usize;
        // White space for white space: the JSON says the same.
        let space = bytes[at..].iter().position(|b| *b == b' ').unwrap();
        bytes[at + space] = b'\n';
        assert_one(&codes_of(&bytes), "OP102", &[suffix]);
    }
}

#[test]
fn declared_sizes_are_not_believed() {
    let bytes = Archive::base().bytes();
    for suffix in ["models/model.json", "weights/weight_0"] {
        let at = record(&bytes, suffix);
        for (compressed, size) in [(None, 0xffff_fff0u32), (Some(0xffff_fff0u32), 0xffff_fff0), (None, 0)] {
            let mut bytes = bytes.clone();
            if let Some(compressed) = compressed {
                bytes[at + 20..at + 24].copy_from_slice(&compressed.to_le_bytes());
            }
            bytes[at + 24..at + 28].copy_from_slice(&size.to_le_bytes());
            assert_one(&codes_of(&bytes), "OP10", &[]);
        }
    }
}

#[test]
fn zip_bombs_are_not_inflated() {
    let mut archive = Archive::base();
    for at in 0..10 {
        archive.entries.push((format!("mlp/extra/{at}/text"), vec![b' '; 1000]));
    }
    archive.deflated = vec!["models/model.json", "/text"];
    let sound = archive.bytes();
    // A declared size decides whether anything is inflated, so real gigabytes are not needed.
    let mut bytes = sound.clone();
    let at = record(&bytes, "models/model.json");
    bytes[at + 24..at + 28].copy_from_slice(&(1u32 << 30).to_le_bytes());
    assert_one(&codes_of(&bytes), "OP108", &["grow"]);
    // Many entries, none of them large.
    let mut bytes = sound;
    for (name, at) in records(&bytes) {
        if name.ends_with("/text") {
            bytes[at + 24..at + 28].copy_from_slice(&(20u32 << 20).to_le_bytes());
        }
    }
    assert_one(&codes_of(&bytes), "OP108", &["grow"]);
}

#[test]
fn an_entry_that_inflates_beyond_its_size_is_refused() {
    let mut archive = Archive::base();
    archive.deflated = vec!["models/model.json"];
    assert_eq!(read_codes(&archive), ["read"]);
    let mut bytes = archive.bytes();
    let at = record(&bytes, "models/model.json");
    bytes[at + 24..at + 28].copy_from_slice(&100u32.to_le_bytes());
    assert_one(&codes_of(&bytes), "OP10", &["models/model.json"]);
}

#[test]
fn compressed_entries_read_as_stored_ones() {
    let mut archive = Archive::base();
    archive.deflated = vec!["weight_0", "weight_2", "config.json", "model.json", "model.pt"];
    assert_eq!(read_codes(&archive), ["read"]);
    assert_eq!(super::sample_codes(&archive), ["read"]);
}

#[test]
fn entries_must_not_overlap() {
    let mut bytes = Archive::base().bytes();
    let (from, to) = (record(&bytes, "weight_0"), record(&bytes, "weight_2"));
    let offset = bytes[from + 42..from + 46].to_vec();
    bytes[to + 42..to + 46].copy_from_slice(&offset);
    assert_one(&codes_of(&bytes), "OP102", &["overlap"]);
}

#[test]
fn names_must_be_unique() {
    let mut bytes = Archive::base().bytes();
    let at = record(&bytes, "weight_1");
    let name = 46 + "mlp/data/weights/weight_".len();
    assert_eq!(bytes[at + name], b'1');
    bytes[at + name] = b'0';
    assert_one(&codes_of(&bytes), "OP102", &["same name"]);
}

#[test]
fn absurd_counts_are_refused() {
    let mut bytes = Archive::base().bytes();
    let end = bytes.len() - 22;
    for at in [8, 10] {
        bytes[end + at..end + at + 2].copy_from_slice(&0xfffeu16.to_le_bytes());
    }
    assert_one(&codes_of(&bytes), "OP102", &[]);
}

#[test]
fn offsets_beyond_the_file_are_refused() {
    let mut bytes = Archive::base().bytes();
    let at = record(&bytes, "weight_3");
    bytes[at + 42..at + 46].copy_from_slice(&0xffff_ff00u32.to_le_bytes());
    assert_one(&codes_of(&bytes), "OP102", &[]);
}

#[test]
fn other_files_are_named() {
    for (bytes, code, what) in [
        (b"".as_slice(), "OP102", "empty"),
        (b"hello, world", "OP102", "not a readable zip"),
        (b"\x80\x02}q\x00.", "OP103", "pickle"),
        (b"\x7fELF\x02\x01\x01", "OP103", "shared library"),
        (b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ", "OP103", "safetensors"),
        (b"\x08\x08\x12\x07pytorch", "OP103", "an ONNX model already"),
    ] {
        assert_one(&codes_of(bytes), code, &[what]);
    }
    for (name, what) in [
        ("p/data/aotinductor/model/a.so", "AOTInductor"),
        ("p/constants.pkl", "TorchScript"),
        ("p/data.pkl", "checkpoint"),
        ("p/readme.txt", "without an exported program"),
    ] {
        let archive = Archive::from_entries(&[(name, b"x"), ("p/version", b"3")]);
        assert_one(&read_codes(&archive), "OP103", &[what]);
    }
    let missing = super::codes(onnxport_core::pt2::read(std::path::Path::new("no such file.pt2")).map(drop));
    assert_one(&missing, "OP101", &["no such file"]);
}
