//! Plans, limits and lists of hashes from outside.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{answer, mlp, twins};

fn convert(folder: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let example = mlp();
    let example = example.to_str().expect("a path in UTF-8");
    let arguments = ["convert", example, "-o", "m.onnx", "--no-verify", "--external-data", "external"];
    answer(folder, &[&arguments, more].concat())
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).expect("a folder").count()
}

#[test]
fn a_plan_writes_nothing_and_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = convert(folder.path(), &["--plan"]);
    assert_eq!((code, count(folder.path())), (Some(0), 0));
    let planned = said["plan"]["files"].as_array().expect("files").clone();
    assert_eq!(convert(folder.path(), &[]).0, Some(0));
    assert_eq!(count(folder.path()), planned.len());
    for file in planned {
        let path = folder.path().join(file["path"].as_str().expect("a path"));
        assert_eq!(file["bytes"], fs::metadata(path).expect("a file").len());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn too_little_memory_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    for more in [&["--max-memory", "100kB"][..], &["--max-memory", "100kB", "--plan"]] {
        let (code, said) = convert(folder.path(), more);
        assert_eq!((code, count(folder.path())), (Some(5), 0));
        assert_eq!(said["diagnostics"][0]["code"], "OP611");
    }
}

#[test]
fn a_manifest_finds_what_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = convert(folder.path(), &["--manifest"]);
    assert_eq!(code, Some(0), "{said}");
    let inspect = || answer(folder.path(), &["inspect", "m.onnx", "--manifest"]);
    assert_eq!(inspect().0, Some(0));
    let model = folder.path().join("m.onnx");
    let mut bytes = fs::read(&model).expect("a model");
    *bytes.last_mut().expect("some bytes") ^= 1;
    fs::write(&model, bytes).expect("a model");
    let (code, said) = inspect();
    assert_eq!((code, &said["diagnostics"][0]["code"]), (Some(5), &"OP615".into()));
}

#[test]
fn equal_weights_are_stored_once_in_a_model_as_in_a_package() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = twins();
    let program = data.to_str().expect("a path in UTF-8");
    let fixed = ["convert", program, "-o", "m.onnx", "--no-verify", "--external-data", "external"];
    let (code, said) = answer(folder.path(), &[&fixed[..], &["--plan"]].concat());
    assert_eq!((code, &said["plan"]["tensors"]["tied"]), (Some(0), &1.into()), "{said}");
    assert_eq!(answer(folder.path(), &fixed).0, Some(0));
    let (code, said) = answer(folder.path(), &["package", program, "-o", "p", "--no-verify"]);
    assert_eq!((code, &said["separate_bytes"]), (Some(0), &2048.into()), "{said}");
    let read = |name: &str| fs::read(folder.path().join(name)).expect("a data file");
    assert_eq!(read("m.onnx.data").len(), 2048);
    assert_eq!(read("m.onnx.data"), read("p/weights.data"));
}

#[test]
fn weights_that_a_program_holds_can_wait_as_well() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = twins();
    let program = data.to_str().expect("a path in UTF-8");
    let fixed = ["convert", program, "--no-verify", "--external-data", "external", "-o"];
    let (code, said) = answer(folder.path(), &[&fixed[..], &["waits.onnx", "--weightless"]].concat());
    assert_eq!((code, &said["unbound"]), (Some(0), &4.into()), "{said}");
    assert_eq!((count(folder.path()), &said["diagnostics"][0]["code"]), (1, &"OP630".into()), "{said}");
    assert_eq!(answer(folder.path(), &[&fixed[..], &["m.onnx"]].concat()).0, Some(0));
    // Binding the weights later gives the same files as a conversion.
    let bind =
        ["weights", "bind", "waits.onnx", "--from", program, "-o", "n.onnx", "--external-data", "external"];
    let (code, said) = answer(folder.path(), &bind);
    assert_eq!(code, Some(0), "{said}");
    let read = |name: &str| fs::read(folder.path().join(name)).expect("a file");
    assert_eq!(read("n.onnx.data"), read("m.onnx.data"));
    assert_eq!(read("n.onnx").len(), read("m.onnx").len());
}
