//! Real archives read completely: the committed ones, and those under `ONNXPORT_MODELS` if it is set.

use std::path::{Path, PathBuf};

use onnxport_core::program::{Arg, InputKind};
use onnxport_core::pt2::{self, SampleValue};
use onnxport_core::tensor::{DType, LazyTensor};

use crate::files::{self, repository};

/// Every `.pt2` file below `folder`.
fn archives(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pt2") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn real_archives_read_completely() {
    let root = repository();
    let mut paths = archives(&root.join("examples"));
    paths.extend(archives(&files::at("golden")));
    paths.extend(archives(&files::at("data")));
    if let Some(models) = std::env::var_os("ONNXPORT_MODELS") {
        paths.extend(archives(Path::new(&models)));
    }
    assert!(!paths.is_empty());
    let mut failures = Vec::new();
    for path in &paths {
        if let Err(problem) = check(path) {
            failures.push(format!("{}: {problem}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Reads an archive completely, and returns how many bytes of weights it has.
fn check(path: &Path) -> Result<u64, String> {
    let text = |report: onnxport_core::diagnose::Report| {
        let lines = report.diagnostics.iter().map(|d| format!("{}: {} {:?}", d.code, d.message, d.notes));
        lines.collect::<Vec<_>>().join("\n")
    };
    let archive = pt2::read(path).map_err(text)?;
    let program = &archive.program;
    for tensor in program.tensors.values() {
        tensor.read().ok_or("a tensor reaches beyond its bytes")?;
    }
    for call in &program.body.calls {
        let origin = program.origins.get(call.origin);
        if origin.node.is_empty() || call.target.starts_with("torch.ops") {
            return Err(format!("{origin:?} of {}", call.target));
        }
    }
    let users = program.signature.inputs.iter().filter(|i| i.kind == InputKind::User).count();
    let samples = match archive.sample_inputs().map_err(text)? {
        Some(samples) => samples.flatten(&program.signature).map_err(|d| d.message)?.len(),
        None => return Err("no sample inputs".to_owned()),
    };
    if samples < users {
        return Err(format!("{samples} samples for {users} inputs"));
    }
    Ok(archive.weight_bytes)
}

fn data(name: &str) -> pt2::Archive {
    pt2::read(&files::at("data").join(name)).unwrap()
}

fn floats(tensor: &LazyTensor) -> Vec<f32> {
    assert_eq!(tensor.dtype, DType::F32);
    let bytes = tensor.read().unwrap();
    let (chunks, rest) = bytes.as_chunks();
    assert!(rest.is_empty());
    chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
}

#[test]
fn weights_keep_their_layout_and_their_sharing() {
    let archive = data("awkward.pt2");
    let tensors = &archive.program.tensors;
    let names = ["transposed", "tied", "expanded", "part", "scalar", "empty", "u16", "f8", "c64"];
    assert_eq!(tensors.len(), names.len());
    assert!(names.iter().all(|name| tensors.contains_key(*name)));
    let transposed = &tensors["transposed"];
    assert_eq!(
        (transposed.shape.as_slice(), transposed.strides.as_deref()),
        ([6, 4].as_slice(), Some([1, 6].as_slice()))
    );
    assert_eq!(floats(transposed)[..5], [0.0, 6.0, 12.0, 18.0, 1.0]);
    assert!(transposed.same_bytes(&tensors["tied"]));
    assert_eq!(floats(&tensors["part"]), [1.0, 7.0, 13.0, 19.0, 2.0, 8.0, 14.0, 20.0]);
    assert_eq!(floats(&tensors["expanded"]), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    assert_eq!(tensors["empty"].read().unwrap().len(), 0);
    assert_eq!(*tensors["u16"].read().unwrap(), [1, 0, 2, 0, 255, 255]);
    assert_eq!((tensors["f8"].dtype, tensors["c64"].dtype), (DType::F8E4M3FN, DType::C64));
    // The storage of the three views of one parameter counts once.
    assert!(archive.weight_bytes < 96 + 12 + 60, "{}", archive.weight_bytes);
}

#[test]
fn sample_inputs_of_every_kind_flatten() {
    let archive = data("awkward.pt2");
    let signature = &archive.program.signature;
    let samples = archive.sample_inputs().unwrap().unwrap().flatten(signature).unwrap();
    let texts: Vec<String> = samples
        .iter()
        .map(|(at, value)| {
            let name = &signature.inputs[*at].name;
            match value {
                SampleValue::Tensor(tensor) => format!("{name} {}{:?}", tensor.dtype, tensor.shape),
                other => format!("{name} {other:?}"),
            }
        })
        .collect();
    let expected = [
        "x f32[3, 6]",
        "tree_b f32[4]",
        "tree_a_0 u32[1]",
        "text Str(\"t\")",
        "flag Bool(true)",
        "nothing None",
    ];
    assert_eq!(texts, expected);
    // The outputs' constants are there.
    assert_eq!(archive.program.body.outputs[2..], [Arg::Int(3), Arg::None]);
}

#[test]
fn a_cache_flattens_into_keys_and_values() {
    let archive = data("dynamic_cache.pt2");
    let samples = archive.sample_inputs().unwrap().unwrap().flatten(&archive.program.signature).unwrap();
    let firsts = samples.iter().map(|(_, value)| match value {
        SampleValue::Tensor(tensor) => floats(tensor)[0],
        other => panic!("{other:?}"),
    });
    assert_eq!(firsts.collect::<Vec<_>>(), [0.0, 1.0, 2.0, 10.0, 11.0]);
}

/// Before PyTorch 2.8, the same files lay side by side and weights in one `torch.save` file.
#[test]
fn the_layout_of_older_releases_reads() {
    let newer = std::fs::File::open(files::at("golden/torch-2.8.0/mlp.pt2")).unwrap();
    let mut newer = zip::ZipArchive::new(newer).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut older = zip::ZipWriter::new(file.reopen().unwrap());
    for (from, to) in [
        ("models/model.json", "serialized_exported_program.json"),
        ("data/weights/model.pt", "serialized_state_dict.pt"),
        ("data/constants/model.pt", "serialized_constants.pt"),
        ("data/sample_inputs/model.pt", "serialized_example_inputs.pt"),
    ] {
        let stored =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        older.start_file(to, stored).unwrap();
        std::io::copy(&mut newer.by_name(&format!("mlp/{from}")).unwrap(), &mut older).unwrap();
    }
    older.finish().unwrap();
    assert_eq!(check(file.path()), Ok(268));
}
