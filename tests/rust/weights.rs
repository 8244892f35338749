//! Programs without their weights, and models that point at weights instead of holding them.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use onnxport_core::host::Host;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::ir::{Attr, Attribute, Shape, Type};
use onnxport_core::onnx::{Location, OnnxFile};
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use onnxport_core::tensor::{DType, Unbound};
use onnxport_core::weights::{BindOptions, NameMap, WeightSet, bind, bind_model};
use onnxport_core::write::{self, ExternalData, WriteOptions, WriteReport};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::files;

const MODES: [ExternalData; 2] = [ExternalData::Inline, ExternalData::External];

/// The committed archives that store every tensor in an entry of its own.
fn archives() -> Vec<PathBuf> {
    let golden = files::at("golden/torch-2.15.0");
    let mut found: Vec<PathBuf> = fs::read_dir(golden).unwrap().map(|e| e.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|e| e == "pt2"));
    found.sort();
    assert!(found.len() > 2);
    found
}

/// Copies the archive with every payload of a weight as `edit` makes it; `None` leaves it out.
fn without_weights(from: &Path, to: &Path, edit: fn(&[u8]) -> Option<Vec<u8>>) {
    let mut zip = ZipArchive::new(Cursor::new(fs::read(from).unwrap())).unwrap();
    let mut writer = ZipWriter::new(fs::File::create(to).unwrap());
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at).unwrap();
        let name = entry.name().unwrap().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if name.contains("/data/weights/weight_") {
            let Some(edited) = edit(&bytes) else { continue };
            bytes = edited;
        }
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        writer.start_file(name, options).unwrap();
        writer.write_all(&bytes).unwrap();
    }
    writer.finish().unwrap();
}

fn host() -> Host {
    Host::new(&[&onnxport_aten::ROOT]).unwrap()
}

fn convert(host: &Host, program: &Path, to: &Path, mode: ExternalData, weightless: bool) -> WriteReport {
    let archive = pipeline::read(program).unwrap();
    // Replaced weights do not change the program.
    let mut options = ConvertOptions { weightless, separate: true, ..ConvertOptions::default() };
    options.lower.opset = DEFAULT_OPSET;
    let converted = pipeline::convert(host, archive.program, &options).unwrap();
    let options = WriteOptions { external_data: mode, weightless, ..WriteOptions::default() };
    write::write(&converted.model, to, &options).unwrap()
}

/// The files of a folder by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn binding_gives_what_a_conversion_with_weights_gives() {
    let host = host();
    for program in archives() {
        // Taken out, or empty as those of fake tensors are.
        for edit in [|_: &[u8]| None, |_: &[u8]| Some(Vec::new())] {
            for mode in MODES {
                let folder = tempfile::tempdir().unwrap();
                let [direct, bound] = ["direct", "bound"].map(|name| folder.path().join(name));
                for folder in [&direct, &bound] {
                    fs::create_dir(folder).unwrap();
                }
                convert(&host, &program, &direct.join("m.onnx"), mode, false);
                let bare = folder.path().join("bare.pt2");
                without_weights(&program, &bare, edit);
                let waiting = folder.path().join("m.onnx");
                assert!(convert(&host, &bare, &waiting, mode, true).unbound > 0);
                assert_eq!(
                    OnnxFile::open(&waiting).unwrap().check_data().unwrap_err().code.as_str(),
                    "OP630"
                );
                let set = WeightSet::open(std::slice::from_ref(&program), None).unwrap();
                let options = WriteOptions { external_data: mode, ..WriteOptions::default() };
                bind_model(
                    &waiting,
                    &set,
                    &NameMap::default(),
                    BindOptions::default(),
                    &bound.join("m.onnx"),
                    &options,
                )
                .unwrap();
                assert!(files(&direct) == files(&bound), "{} {mode:?}", program.display());
            }
        }
    }
}

#[test]
fn a_model_is_not_written_without_weights_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (bare, out) = (folder.path().join("bare.pt2"), folder.path().join("m.onnx"));
    without_weights(&archives()[0], &bare, |_| None);
    let program = pipeline::read(&bare).unwrap().program;
    let mut options = ConvertOptions::default();
    options.lower.opset = DEFAULT_OPSET;
    let refused = pipeline::convert(&host(), program.clone(), &options).unwrap_err();
    assert_eq!(refused.diagnostics[0].code.as_str(), "OP630");
    options.weightless = true;
    let converted = pipeline::convert(&host(), program, &options).unwrap();
    let refused = write::write(&converted.model, &out, &WriteOptions::default()).unwrap_err();
    assert_eq!(refused.diagnostics[0].code.as_str(), "OP630");
    assert!(!out.exists());
    // A model that has its weights waits for none.
    convert(&host(), &archives()[0], &out, ExternalData::Inline, false);
    let set = WeightSet::open(&[archives()[0].clone()], None).unwrap();
    let refused =
        bind_model(&out, &set, &NameMap::default(), BindOptions::default(), &out, &WriteOptions::default())
            .unwrap_err();
    assert_eq!(refused.diagnostics[0].code.as_str(), "OP639");
}

/// A program with weights of 4 KiB each, two of them one tensor, and a strided and a small one.
const PROGRAM: &str = "\
tensor a: f32[32, 32]
tensor b: f32[32, 32]
tensor tied: f32[32, 32]
tensor small: f32[32]
graph {
  input %p_a: f32[32, 32] = parameter a
  input %p_b: f32[32, 32] = parameter b
  input %p_tied: f32[32, 32] = parameter tied
  input %p_small: f32[32] = parameter small
  input %x: f32[32, 32] = user
  %one: f32[32, 32] = aten.add.Tensor(self=%x, other=%p_a)
  %two: f32[32, 32] = aten.mul.Tensor(self=%one, other=%p_b)
  %three: f32[32, 32] = aten.add.Tensor(self=%two, other=%p_tied)
  %four: f32[32, 32] = aten.mul.Tensor(self=%three, other=%p_small)
  output %four = user
}
";

/// A safetensors file with the weights of [`PROGRAM`]; every byte depends on its position.
fn safetensors(path: &Path) -> Vec<u8> {
    let entry = |name: &str, shape: &str, from: usize, to: usize| {
        format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":[{from},{to}]}}")
    };
    let entries = [
        entry("a", "[32,32]", 0, 4096),
        entry("b", "[32,32]", 4096, 8192),
        entry("small", "[32]", 8192, 8320),
    ];
    let mut header = format!("{{{}}}", entries.join(","));
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend((0..8320u32).map(|n| (n * 7 % 251) as u8));
    fs::write(path, &bytes).unwrap();
    bytes
}

/// The program with the weights in the file at `path`.
fn weighted(path: &Path) -> onnxport_core::ir::Model {
    let mut program = Program::parse(PROGRAM).unwrap();
    let set = WeightSet::open(&[path.to_owned()], None).unwrap();
    let map = path.with_extension("toml");
    fs::write(&map, "rename = { tied = \"a\" }").unwrap();
    bind(&mut program, &set, &NameMap::read(&map).unwrap(), BindOptions::default()).unwrap();
    let mut options = ConvertOptions::default();
    options.lower.opset = DEFAULT_OPSET;
    pipeline::convert(&host(), program, &options).unwrap().model
}

/// Weights in a file, and folders for a model that is written with them and for one that they are bound to.
struct Rooms {
    _folder: tempfile::TempDir,
    source: PathBuf,
    direct: PathBuf,
    bound: PathBuf,
}

impl Rooms {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [inputs, direct, bound] = ["in", "direct", "bound"].map(|name| folder.path().join(name));
        for folder in [&inputs, &direct, &bound] {
            fs::create_dir(folder).unwrap();
        }
        let source = inputs.join("w.safetensors");
        safetensors(&source);
        Self { _folder: folder, source, direct, bound }
    }
}

/// Leaves `a` and `tied` in the data file of a model that waits for `b`.
fn wait_for_b(model: &mut onnxport_core::ir::Model) {
    let (dtype, shape) = (DType::F32, vec![32, 32]);
    let (name, storage) = ("b".to_owned(), "b".to_owned());
    let b = Unbound { name, storage, dtype, shape, offset: 0, strides: None };
    model.graph.initializers[1].data = b.into_tensor();
}

fn referring() -> WriteOptions {
    WriteOptions { external_data: ExternalData::Reference, ..WriteOptions::default() }
}

#[test]
fn a_model_that_points_at_weights_reads_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    let source = folder.path().join("in/w.safetensors");
    let bytes = safetensors(&source);
    let model = weighted(&source);
    let [inline, reference] = ["inline.onnx", "reference.onnx"].map(|name| folder.path().join(name));
    write::write(&model, &inline, &WriteOptions::default()).unwrap();
    let report = write::write(&model, &reference, &referring()).unwrap();
    assert_eq!((report.data.len(), report.source_bytes, report.tied), (0, 8192, 1));
    assert_eq!(report.sources[0].location, "in/w.safetensors");
    let codes: Vec<&str> = report.diagnostics.iter().map(|d| d.code.as_str()).collect();
    assert_eq!(codes, ["OP642", "OP641"]);
    let [inline, reference] = [inline, reference].map(|path| OnnxFile::open(&path).unwrap());
    reference.check_data().unwrap();
    let mut pointed = Vec::new();
    for (at, weight) in reference.weights.iter().enumerate() {
        let Location::External { file, offset, length } = &weight.location else { continue };
        let range = *offset as usize..(*offset + length.unwrap()) as usize;
        let raw = inline.graph().unwrap().initializer[at].raw_data.clone().unwrap();
        assert!(file == "in/w.safetensors" && raw == bytes[range], "{}", weight.name);
        pointed.push(weight.name.as_str());
    }
    assert_eq!(pointed, ["a", "b", "tied"]);
    // A source that was changed is noticed.
    fs::write(&source, [bytes, vec![0]].concat()).unwrap();
    assert_eq!(reference.check_data().unwrap_err().code.as_str(), "OP110");
}

#[test]
fn what_cannot_be_pointed_at_is_copied_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("w.safetensors");
    safetensors(&source);
    let mut model = weighted(&source);
    let transposed = &mut model.graph.initializers[0].data;
    transposed.strides = Some(vec![1, 32]);
    let out = folder.path().join("m.onnx");
    let report = write::write(&model, &out, &referring()).unwrap();
    assert_eq!((report.data.len(), report.data_bytes, report.source_bytes), (1, 4096, 8192));
    let copied = report.diagnostics.iter().find(|d| d.code.as_str() == "OP641").unwrap();
    assert!(copied.notes[0].contains("`a`: a strided view"), "{:?}", copied.notes);
    OnnxFile::open(&out).unwrap().check_data().unwrap();
}

#[test]
fn a_model_cannot_point_out_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("m/m.onnx");
    fs::create_dir(folder.path().join("m")).unwrap();
    let source = folder.path().join("w.safetensors");
    safetensors(&source);
    let refused = |source: &Path| {
        let written = write::write(&weighted(source), &out, &referring());
        written.err().map(|r| r.diagnostics[0].code.to_string())
    };
    assert_eq!(refused(&source).as_deref(), Some("OP640"));
    assert!(!out.exists());
    #[cfg(unix)]
    {
        // A symbolic link does not bring it in, a hard link does.
        let link = folder.path().join("m/link.safetensors");
        std::os::unix::fs::symlink(&source, &link).unwrap();
        assert_eq!(refused(&link).as_deref(), Some("OP640"));
        fs::remove_file(&link).unwrap();
        fs::hard_link(&source, &link).unwrap();
        assert_eq!(refused(&link), None);
    }
}

#[test]
fn a_model_with_a_data_file_is_bound_in_its_place() {
    let Rooms { _folder, source, direct, bound } = Rooms::new();
    let mut model = weighted(&source);
    let external = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
    write::write(&model, &direct.join("m.onnx"), &external).unwrap();
    wait_for_b(&mut model);
    let out = bound.join("m.onnx");
    let waiting = WriteOptions { weightless: true, ..external.clone() };
    let report = write::write(&model, &out, &waiting).unwrap();
    assert_eq!((report.unbound, report.data_bytes), (1, 4096));
    let before = files(&bound);
    let set = WeightSet::open(std::slice::from_ref(&source), None).unwrap();
    let bind = |options: &WriteOptions| {
        bind_model(&out, &set, &NameMap::default(), BindOptions::default(), &out, options)
    };
    // A model cannot point into its own old data file, and a failure leaves both as they are.
    for options in [referring(), WriteOptions { max_memory: Some(1), ..external.clone() }] {
        bind(&options).unwrap_err();
        assert!(before == files(&bound));
    }
    bind(&external).unwrap();
    assert!(files(&direct) == files(&bound));
    // In other places the old data file is gone.
    write::write(&model, &out, &waiting).unwrap();
    bind(&WriteOptions { shard_bytes: Some(4096), ..external.clone() }).unwrap();
    let names: Vec<String> = files(&bound).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["m-00001-of-00002.onnx.data", "m-00002-of-00002.onnx.data", "m.onnx"]);
    OnnxFile::open(&out).unwrap().check_data().unwrap();
    write::write(&model, &out, &waiting).unwrap();
    bind(&WriteOptions::default()).unwrap();
    assert_eq!(files(&bound).len(), 1);
}

#[test]
fn weights_of_branches_are_placed_anew() {
    let Rooms { _folder, source, direct, bound } = Rooms::new();
    let mut model = weighted(&source);
    // `a` once more, in a branch: nothing but the bytes matters here.
    let graph = &mut model.graph;
    let data = graph.initializers[0].data.clone();
    let ty = Type::tensor(DType::Bool, Shape::of([]));
    let chosen = graph.add_input(graph.main(), Some("chosen".into()), ty);
    let blocks = [(); 2].map(|()| {
        let block = graph.add_block(graph.main());
        let own = graph.add_weight(Some("own".into()), data.permute(&[1, 0]).unwrap());
        graph.hold_in(own, block);
        let node = graph.append(block, "", "Neg", [Some(own)], Vec::new(), 1, None);
        let negative = graph.nodes[node].outputs[0].unwrap();
        graph.set_outputs(block, [negative]);
        block
    });
    let names = ["then_branch", "else_branch"];
    let attributes = names.iter().zip(blocks);
    let attributes =
        attributes.map(|(name, block)| Attribute { name: (*name).into(), value: Attr::Block(block) });
    let node = graph.append(graph.main(), "", "If", [Some(chosen)], attributes.collect(), 1, None);
    let made = graph.nodes[node].outputs[0].unwrap();
    graph.add_output(graph.main(), made);
    model.output_names.push("negative".to_owned());
    let external = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
    write::write(&model, &direct.join("m.onnx"), &external).unwrap();
    wait_for_b(&mut model);
    let out = bound.join("m.onnx");
    let report = write::write(&model, &out, &WriteOptions { weightless: true, ..external.clone() }).unwrap();
    // The transposed matrix is stored once for both branches, behind `a` and where `b` will be.
    assert_eq!((report.unbound, report.data_bytes), (1, 8192));
    let set = WeightSet::open(std::slice::from_ref(&source), None).unwrap();
    bind_model(&out, &set, &NameMap::default(), BindOptions::default(), &out, &external).unwrap();
    OnnxFile::open(&out).unwrap().check_data().unwrap();
    assert!(files(&direct) == files(&bound));
}
