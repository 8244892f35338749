use std::fs;
use std::path::Path;

use super::{Kind, Sdk, new};

fn sdk() -> Sdk {
    Sdk::Path(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
}

#[test]
fn the_name_reaches_every_place() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("deep-ops");
    new("deep-ops", Kind::Lowerings, &folder, &sdk()).unwrap();
    for (path, _) in Kind::Lowerings.files() {
        let text = fs::read_to_string(folder.join(path)).unwrap();
        assert!(!text.contains("myplugin") && !text.contains("path = \"..\""), "{path}: {text}");
    }
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    assert!(read("Cargo.toml").contains("name = \"deep-ops\""));
    assert!(read("schemas.txt").contains("deep_ops::scaled(Tensor x"));
    assert!(read("src/lib.rs").contains("#[lowering(\"deep_ops.scaled.default\")]"));
    assert!(read("export.py").contains("torch.ops.deep_ops.scaled("));
    // Only the project is left.
    assert_eq!(parent.path().read_dir().unwrap().count(), 1);
}

#[test]
fn nothing_is_made_where_something_is_wrong() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("taken");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("file"), "mine").unwrap();
    assert!(
        new("taken", Kind::Lowerings, &folder, &sdk())
            .unwrap_err()
            .message
            .ends_with("exists and is not empty")
    );
    assert!(new("taken", Kind::Lowerings, &folder.join("file"), &sdk()).is_err());
    let free = parent.path().join("free");
    for name in ["", "Upper", "9lives", "a b", "a/b", "fn", "test", "ort", "onnxport-x", &"a".repeat(65)] {
        assert!(new(name, Kind::Lowerings, &free, &sdk()).is_err(), "{name}");
    }
    assert!(new("free", Kind::Lowerings, &free, &Sdk::Path(parent.path().to_owned())).is_err());
    assert!(!free.exists());
    assert_eq!(parent.path().read_dir().unwrap().count(), 1);
    // An empty folder is as good as none.
    fs::create_dir(&free).unwrap();
    new("free", Kind::Lowerings, &free, &Sdk::parse("https://example.org/onnxport")).unwrap();
    let text = fs::read_to_string(free.join("Cargo.toml")).unwrap();
    assert!(text.contains("onnxport-sdk = { git = \"https://example.org/onnxport\" }"), "{text}");
}

#[test]
fn a_program_of_a_registry_makes_projects_that_depend_on_its_crates() {
    assert_eq!(Sdk::own(), Sdk::Bundled, "the sources are around this test");
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("mine");
    new("mine", Kind::Lowerings, &folder, &Sdk::Registry).unwrap();
    let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for name in ["onnxport-sdk", "onnxport-testkit"] {
        assert!(text.contains(&format!("{name} = {{ version = \"{version}\" }}")), "{text}");
    }
    assert!(text.starts_with("[workspace]\n\n") && !folder.join("sdk").exists(), "{text}");
}

#[test]
fn a_project_of_every_kind_brings_the_sources_of_the_sdk() {
    let parent = tempfile::tempdir().unwrap();
    for kind in Kind::ALL {
        let folder = parent.path().join(kind.name());
        new("mine", kind, &folder, &Sdk::Bundled).unwrap();
        let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
        assert!(read("Cargo.toml").contains("onnxport-sdk = { path = \"sdk/plugin-sdk\" }"));
        assert!(read("Cargo.toml").contains("onnxport-testkit = { path = \"sdk/plugin-sdk/testkit\" }"));
        assert!(read("sdk/plugin-sdk/testkit/Cargo.toml").contains("name = \"onnxport-testkit\""));
        assert!(read("Cargo.toml").starts_with("[workspace]\nexclude = [\"sdk\"]\n"));
        assert!(read("src/lib.rs").contains("id: \"mine\""), "{}", kind.name());
        assert!(read("sdk/plugin-sdk/Cargo.toml").contains("name = \"onnxport-sdk\""));
        assert!(read("sdk/Cargo.toml").contains("[workspace.package]"), "{}", read("sdk/Cargo.toml"));
        for (path, _) in kind.files() {
            assert!(!read(path).contains("myplugin"), "{path}");
        }
    }
}
