//! `weights/1` in a library: `examples/weights`, loaded from the command line.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use onnxport_proto::ModelProto;
use prost::Message;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace")
}

fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--target-dir"]).arg(target);
        cargo.current_dir(repository().join("examples/weights"));
        assert!(cargo.status().expect("cargo starts").success(), "{cargo:?}");
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        target.join("debug").join(format!("{prefix}binary{suffix}"))
    })
}

/// Converts `examples/mlp` into `folder` with these options; what is printed.
fn convert(folder: &Path, options: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_onnxport"))
        .arg("convert")
        .arg(repository().join("examples/mlp/mlp.pt2"))
        .args(["-o", "model.onnx", "--no-verify", "--external-data", "inline"])
        .arg("--plugin")
        .arg(library())
        .args(options)
        .env_remove("ONNXPORT_PLUGIN_PATH")
        .env("XDG_DATA_HOME", folder)
        .current_dir(folder)
        .output()
        .expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The weights of `examples/mlp` as they are written with these options.
fn weights(options: &[&str]) -> Vec<f32> {
    let folder = tempfile::tempdir().expect("a folder");
    convert(folder.path(), options);
    let model = std::fs::read(folder.path().join("model.onnx")).expect("a model");
    let model = ModelProto::decode(model.as_slice()).expect("a model");
    let tensors = model.graph.expect("a graph").initializer;
    let bytes: Vec<u8> = tensors.iter().flat_map(|tensor| tensor.raw_data().to_vec()).collect();
    bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

#[test]
fn a_library_makes_weights() {
    let made = weights(&["--weights-plugin", "binary"]);
    assert_eq!(made.iter().filter(|w| **w == 0.5).count(), 8 * 8 + 8);
    assert!(made.iter().any(|w| *w != 0.5), "the other layers keep theirs");
}

#[test]
fn a_library_changes_weights_that_it_is_given() {
    let plain = weights(&[]);
    let changed = weights(&["--transform", "binary/signs"]);
    assert_eq!(changed, plain.iter().map(|w| w.signum()).collect::<Vec<f32>>());
    let one = weights(&["--transform", "binary/signs:fc1.weight"]);
    assert_eq!(one.iter().filter(|w| w.abs() == 1.0).count(), 8 * 8);
}

#[test]
fn a_plan_names_what_plugins_make_and_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = ["--weights-plugin", "binary", "--transform", "binary/signs", "--plan", "--json"];
    let said: serde_json::Value =
        serde_json::from_slice(&convert(folder.path(), &options)).expect("one object");
    let rows = said["weights"]["tensors"].as_array().expect("rows");
    let made: Vec<_> = rows.iter().filter(|row| row["source"]["kind"] == "made").collect();
    assert_eq!(made.len(), 2, "{said}");
    assert!(made[0]["source"]["by"].as_str().is_some_and(|by| by.starts_with("plugin binary: ")), "{said}");
    assert!(rows.iter().any(|row| row["transforms"] == serde_json::json!(["binary/signs"])), "{said}");
}
