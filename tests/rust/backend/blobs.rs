//! Blobs: embedded or beside the model, none and many bytes.

use std::path::Path;

use onnxport_core::backend::{self, BackendOptions, Blobs};
use onnxport_core::ir::{Attr, Model};
use onnxport_core::write::{self, WriteOptions, WriteReport};

use super::{host, options, parse};

const MODEL: &str = "opset 20\ngraph {
  constant %w: f32[4] = [1.0, 2.0, 3.0, 4.0]
  input %x: f32[s, 4]
  %a = Mul(%x, %w)
  output %a as y
}
";

/// Of the bytes `Mul\n`.
const HASH: &str = "837e971dd2074809ea6c41bd9fafe391ebb6118b5ca99844990f095415fa834e";

fn written(folder: &Path, backend: &str, blobs: Blobs) -> (Model, WriteReport) {
    let mut model = parse(MODEL);
    let options = BackendOptions { blobs, ..options(&[backend]) };
    backend::run(&host(), &mut model, &options).expect("a model");
    let path = folder.join("m.onnx");
    let report = write::write(&model, &path, &WriteOptions::default()).expect("a written model");
    (model, report)
}

fn program(model: &Model, name: &str) -> Option<Attr> {
    let node = model.graph.order(model.graph.main()).next()?;
    model.graph.nodes[node].attr(name).cloned()
}

#[test]
fn a_blob_beside_the_model_is_named_hashed_and_written_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (model, report) = written(folder.path(), "plain", Blobs::File);
    let [file] = report.artefacts.as_slice() else { panic!("{:?}", report.artefacts) };
    assert_eq!(std::fs::read(file).expect("the blob"), b"Mul\n");
    assert!(matches!(program(&model, "program_size"), Some(Attr::Int(4))));
    assert!(program(&model, "program").is_none());
    let Some(Attr::Str(name)) = program(&model, "program_file") else { panic!("a file") };
    let Some(Attr::Str(hash)) = program(&model, "program_sha256") else { panic!("a hash") };
    assert_eq!(hash, HASH);
    assert_eq!(name, format!("m.onnx.{}.bin", &hash[..16]));
    assert_eq!(file.file_name().and_then(|n| n.to_str()), Some(name.as_str()));
}

#[test]
fn files_of_a_replaced_model_go_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let listed = || {
        let names = std::fs::read_dir(folder.path()).expect("a folder").flatten();
        let mut names: Vec<_> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    };
    let put = |name: &str| std::fs::write(folder.path().join(name), b"theirs").expect("a file");
    written(folder.path(), "plain", Blobs::File);
    let first = format!("m.onnx.{}.bin", &HASH[..16]);
    assert_eq!(listed(), ["m.onnx", first.as_str()]);
    // The model did not name these: one is of another model, one of a hash that was never its own.
    let others = ["m.onnx.0123456789abcdef.bin", "n.onnx.837e971dd2074809.bin"];
    for name in &others {
        put(name);
    }
    written(folder.path(), "plain", Blobs::File);
    assert!(listed().contains(&first), "the new model names it: {:?}", listed());
    written(folder.path(), "inside", Blobs::File);
    let now = listed();
    assert!(!now.contains(&first) && others.iter().all(|name| now.contains(&(*name).to_owned())), "{now:?}");
    assert_eq!(now.len(), 4, "{now:?}");
    written(folder.path(), "plain", Blobs::Embed);
    assert_eq!(listed(), ["m.onnx", others[0], others[1]]);
}

#[test]
fn a_small_blob_is_an_attribute_unless_the_user_says_otherwise() {
    let folder = tempfile::tempdir().expect("a folder");
    for (backend, bytes) in [("plain", &b"Mul\n"[..]), ("void", b"")] {
        let (model, report) = written(folder.path(), backend, Blobs::Auto);
        assert!(report.artefacts.is_empty());
        let Some(Attr::Tensor(data)) = program(&model, "program") else { panic!("a tensor") };
        assert_eq!(data.read().expect("bytes").as_ref(), bytes);
    }
    let (_, report) = written(folder.path(), "void", Blobs::File);
    assert_eq!(std::fs::metadata(&report.artefacts[0]).expect("a file").len(), 0);
}

#[test]
fn a_hundred_megabytes_go_through_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, report) = written(folder.path(), "huge", Blobs::Auto);
    let file = &report.artefacts[0];
    assert_eq!(std::fs::metadata(file).expect("a file").len(), 100_000_000);
    assert!(report.model_bytes < 10_000, "{}", report.model_bytes);
    let bytes = std::fs::read(file).expect("the blob");
    assert!(bytes.chunks(1_000_000).all(|chunk| chunk == &bytes[..1_000_000]));
}

#[test]
fn weights_inside_of_a_blob_leave_the_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let (model, report) = written(folder.path(), "inside", Blobs::Auto);
    assert_eq!((report.tensors, model.graph.initializers.len()), (0, 0));
    let Some(Attr::Tensor(data)) = program(&model, "program") else { panic!("a tensor") };
    let floats: Vec<u8> = [1_f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(data.read().expect("bytes").as_ref(), floats);
    let (_, report) = written(folder.path(), "plain", Blobs::Auto);
    assert_eq!(report.tensors, 1, "shared weights stay");
}
