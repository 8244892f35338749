use std::fs;
use std::path::Path;

use super::unpack::read;
use super::{inputs, pack, unpack, write};

/// A workspace of three crates, of which one needs another.
fn workspace(folder: &Path) {
    let put = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        fs::write(path, text).expect("it is written");
    };
    put(
        "Cargo.toml",
        "[workspace]\nmembers = [\"a\", \"a/b\", \"c\"]\ndefault-members = [\"c\"]\n[workspace.dependencies]\n\
         a = { path = \"a\" }\nb = { path = \"a/b\" }\nc = { path = \"c\" }\nhalf = \"2\"\n",
    );
    put(
        "a/Cargo.toml",
        "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\nhalf.workspace = true\n",
    );
    put("a/src/lib.rs", "// a");
    put("a/tests/it.rs", "// not needed");
    put("a/.hidden", "not needed");
    put("a/b/Cargo.toml", "[package]\nname = \"b\"\n");
    put("a/b/src/lib.rs", "// b");
    put("c/Cargo.toml", "[package]\nname = \"c\"\n");
}

#[test]
fn an_archive_holds_what_is_needed_and_a_workspace_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    workspace(folder.path());
    let archive = pack(folder.path(), &["a"]).expect("an archive");
    assert_eq!(archive, pack(folder.path(), &["a"]).expect("it again"));
    let out = tempfile::tempdir().expect("a folder");
    unpack(&archive, out.path()).expect("it is unpacked");
    let names: Vec<String> =
        read(&archive).expect("files").iter().map(|(path, _)| path.display().to_string()).collect();
    assert_eq!(names, ["Cargo.toml", "a/Cargo.toml", "a/b/Cargo.toml", "a/b/src/lib.rs", "a/src/lib.rs"]);
    let manifest = fs::read_to_string(out.path().join("Cargo.toml")).expect("the manifest");
    let table: toml::Table = manifest.parse().expect("a manifest");
    let members = table["workspace"]["members"].as_array().expect("a list");
    assert_eq!(members.iter().filter_map(|m| m.as_str()).collect::<Vec<_>>(), ["a", "a/b"]);
    let dependencies = table["workspace"]["dependencies"].as_table().expect("a table");
    assert_eq!(dependencies["b"]["path"].as_str(), Some("a/b"));
    assert!(dependencies.contains_key("half") && !dependencies.contains_key("c"), "{manifest}");
    assert_eq!(inputs(folder.path(), &["b"]).expect("files").len(), 3);
    assert!(pack(folder.path(), &["d"]).is_err(), "there is no such crate");
}

#[test]
fn what_did_not_change_is_not_written_again_and_nothing_leaves_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = write(&[("f".to_owned(), b"one".to_vec())]).expect("an archive");
    unpack(&archive, folder.path()).expect("it is unpacked");
    let time = || fs::metadata(folder.path().join("f")).and_then(|data| data.modified()).expect("a time");
    let before = time();
    unpack(&archive, folder.path()).expect("it is unpacked again");
    assert_eq!(before, time());
    for name in ["../out", "/out", "a/../../out"] {
        let archive = write(&[(name.to_owned(), b"x".to_vec())]).expect("an archive");
        let inner = folder.path().join("inner");
        // Some names are made harmless, the rest is refused.
        let _ = unpack(&archive, &inner);
        assert!(!folder.path().join("out").exists() && !Path::new("/out").exists(), "{name}");
    }
    assert!(read(b"not an archive").is_err());
}
