//! A weight that differs from the one that was stored.

use std::fs;

use serde_json::Value;

use crate::program::{answer, repository, twins};

/// Where the bytes of the largest weight of the archive lie.
fn largest_weight(archive: &[u8]) -> (String, usize, usize) {
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(archive)).expect("an archive");
    let mut entries: Vec<(u64, String, u64)> = Vec::new();
    for index in 0..zip.len() {
        let entry = zip.by_index_raw(index).expect("an entry");
        let name = entry.name().expect("a name").into_owned();
        if name.contains("/weights/weight_") {
            entries.push((entry.size(), name, entry.data_start().expect("a place")));
        }
    }
    let (size, name, start) = entries.into_iter().max().expect("a weight");
    (name, usize::try_from(start).expect("a size"), usize::try_from(size).expect("a size"))
}

#[test]
fn a_flipped_byte_in_a_weight_is_found_before_anything_is_published() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut archive = fs::read(twins()).expect("an archive");
    let (name, start, size) = largest_weight(&archive);
    archive[start + size / 2] ^= 1;
    let damaged = folder.path().join("damaged.pt2");
    fs::write(&damaged, &archive).expect("a file");
    let damaged = damaged.to_str().expect("UTF-8");
    let output = folder.path().join("m.onnx");
    let model = output.to_str().expect("UTF-8");
    let package = folder.path().join("p");
    let package = package.to_str().expect("UTF-8");
    let convert = |more: &[&str]| {
        answer(repository(), &[&["convert", damaged, "-o", model, "--no-verify"], more].concat())
    };
    let written = || fs::read_dir(folder.path()).expect("a folder").count();
    let refused = |(code, said): (Option<i32>, Value)| {
        assert_eq!(code, Some(5), "{said}");
        let found = &said["diagnostics"][0];
        assert_eq!(found["code"], "OP102", "{said}");
        let message = found["message"].as_str().expect("a message");
        let place = format!("{start} to {}", start + size - 1);
        assert!(message.contains(&name) && message.contains(&place), "{message}");
        assert_eq!(written(), 1, "{said}");
    };
    for more in [
        &["--external-data", "external"][..],
        &["--external-data", "inline"],
        &["--external-data", "external", "--shard-size", "1kB"],
        &["--dtype", "f16"],
    ] {
        refused(convert(more));
    }
    refused(answer(repository(), &["package", damaged, "-o", package, "--no-verify"]));
    let (code, said) = convert(&["--no-check-weights"]);
    assert_eq!(code, Some(0), "{said}");
}
