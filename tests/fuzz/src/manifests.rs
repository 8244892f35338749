//! Files that list other files: manifests of models and plugins, indices of shards, maps of names, archives of sources.
//! Nothing outside of their folder is read or written.

use std::fs;
use std::path::Path;

use onnxport_core::host::Manifest;
use onnxport_core::write::manifest;
use onnxport_core::{NameMap, WeightSet};

use crate::scratch::{folder, with_file};

/// A safetensors file with one tensor, `a`.
const WEIGHTS: &[u8] =
    b"\x3a\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}      \0\0\x80\x3f";

/// Archives of sources are unpacked if they are shorter: they grow.
const MAX_ARCHIVE: usize = 4096;

pub(crate) fn run(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 6 {
        0 => model(rest),
        1 => plugin("lib.so.toml", rest),
        2 => plugin("lib.so.json", rest),
        3 => shards(rest),
        4 => names(rest),
        _ => sources(rest),
    }
}

/// A list of hashes.
fn model(list: &[u8]) {
    fs::write(folder().join("m.onnx"), b"abc").expect("a writable folder");
    with_file("list", list, |path| {
        let Ok(listed) = manifest::check(path) else { return };
        assert!(listed.len() <= list.len());
        for file in listed {
            // A slash at the end leads nowhere else.
            let parts = Path::new(&file.name).components().count();
            assert!(parts == 1 && file.name != "..", "{file:?} is elsewhere");
        }
    });
}

fn plugin(name: &str, text: &[u8]) {
    with_file(name, text, |path| {
        let library = path.with_extension("");
        let Ok(Some(read)) = Manifest::beside(&library) else { return };
        let again = if name.ends_with("json") {
            serde_json::to_string(&read).expect("JSON").into_bytes()
        } else {
            toml::to_string(&read).expect("TOML").into_bytes()
        };
        fs::write(path, again).expect("a writable folder");
        assert_eq!(Manifest::beside(&library).expect("a manifest that was written"), Some(read));
    });
}

fn shards(index: &[u8]) {
    fs::write(folder().join("a.safetensors"), WEIGHTS).expect("a writable folder");
    with_file("model.safetensors.index.json", index, |path| {
        let Ok(set) = WeightSet::open(&[path.to_owned()], None) else { return };
        assert!(set.len() <= 1, "one shard has one tensor");
        assert!(set.files().all(|file| file.parent() == path.parent()), "a shard is elsewhere");
    });
}

fn names(text: &[u8]) {
    with_file("names.json", text, |path| {
        if let Ok(mut map) = NameMap::read(path) {
            let _ = map.add_prefix("model.");
            let _ = map.check_used();
        }
    });
}

fn sources(archive: &[u8]) {
    if archive.len() > MAX_ARCHIVE {
        return;
    }
    let outer = tempfile::tempdir().expect("a temporary folder");
    let inner = outer.path().join("inner");
    let _ = onnxport_archive::unpack(archive, &inner);
    let outside = |path: &Path| path != inner;
    let found = outer.path().read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
    assert_eq!(found.filter(|path| outside(path)).count(), 0, "a file is unpacked elsewhere");
}
