//! Models with damaged declarations of weights, and programs with damaged tables of weights, all the way to a
//! written model: it is complete, or nothing is written.

use std::fs;
use std::path::Path;

use onnxport_core::diagnose::{Report, Severity};
use onnxport_core::host::Host;
use onnxport_core::inspect::{ModelSummary, WeightTable};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::onnx::OnnxFile;
use onnxport_core::onnx::UNBOUND_KEY;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::precision::{Form, Overflow};
use onnxport_core::tensor::DType;
use onnxport_core::weights::{BindOptions, NameMap, WeightSet, bind_model};
use onnxport_core::write::{self, ExternalData, WriteOptions, WritePlan};
use onnxport_proto::{ModelProto, StringStringEntryProto};
use prost::Message;
use serde_json::{Value, json};

use super::archive::Archive;
use super::random::{Random, damage, rounds, text};

fn host() -> Host {
    Host::new(&[&onnxport_aten::ROOT]).unwrap()
}

/// Converts the archive to `m.onnx` in `folder`, as its plans announce.
fn convert(
    host: &Host,
    archive: &Path,
    folder: &Path,
    convert: &ConvertOptions,
    options: &WriteOptions,
) -> Result<(), Report> {
    let archive = pipeline::read(archive)?;
    WeightTable::from(&archive.program).check()?;
    let model = pipeline::convert(host, archive.program, convert)?.model;
    let path = folder.join("m.onnx");
    let (plan, table) = write::plan_tensors(&model, &path, options)?;
    let files = |plan: &WritePlan| serde_json::to_value(plan).unwrap()["files"].clone();
    assert_eq!(files(&plan), files(&write::plan(&model, &path, options)?));
    drop(table.check());
    write::write(&model, &path, options).map(drop)
}

/// Checks the result of a run: a sound model, or nothing.
fn check(result: Result<(), Report>, folder: &Path) {
    let path = folder.join("m.onnx");
    match result {
        Ok(()) => {
            let file = OnnxFile::open(&path).unwrap();
            file.check_data().unwrap();
            WeightTable::read_model(&path).unwrap().check().unwrap();
        }
        Err(report) => {
            assert!(report.diagnostics.iter().any(|d| d.severity == Severity::Error), "{report:?}");
            let left: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

fn options(random: &mut Random) -> (ConvertOptions, WriteOptions) {
    let mut options = ConvertOptions { validate: true, ..ConvertOptions::default() };
    options.lower.opset = *random.pick(&[18, 21, 23]);
    let precision = &mut options.precision;
    precision.overflow = *random.pick(&[Overflow::Refuse, Overflow::Keep, Overflow::Allow]);
    precision.dtype = *random.pick(&[None, Some(DType::F16), Some(DType::BF16), Some(DType::F8E4M3FN)]);
    let schemes = [
        "int4:block=32",
        "int8:block=channel",
        "int4:block=3,asymmetric",
        "int8:block=1",
        "int4:block=4294967295",
    ];
    if random.one_in(2) {
        let mut scheme: onnxport_core::precision::Scheme = random.pick(&schemes).parse().unwrap();
        scheme.form = *random.pick(&[Form::Dequantize, Form::MatMulNBits]);
        precision.quantise = Some(scheme);
    }
    let modes = [ExternalData::Auto, ExternalData::Inline, ExternalData::External, ExternalData::Reference];
    let write = WriteOptions {
        external_data: *random.pick(&modes),
        shard_bytes: random.one_in(3).then(|| random.size()),
        max_memory: random.one_in(8).then(|| random.size()),
        manifest: random.one_in(4),
        ..WriteOptions::default()
    };
    (options, write)
}

/// Floats that are subnormal, extreme, or no numbers at all.
fn extreme(bytes: &mut [u8], random: &mut Random) {
    let values = [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, -0.0, f32::INFINITY, f32::NAN, 65520.0];
    let count = bytes.len() / 4;
    for _ in 0..random.below(6) {
        let at = random.below(count) * 4;
        bytes[at..at + 4].copy_from_slice(&random.pick(&values).to_le_bytes());
    }
}

#[test]
fn a_damaged_table_of_weights_gives_a_whole_model_or_none() {
    let host = host();
    let base = Archive::base();
    rounds(250, 31, |random| {
        let mut archive = base.clone();
        if random.one_in(4) {
            extreme(archive.entry("weights/weight_0"), random);
        } else {
            let suffix = "model_weights_config.json";
            let mut table: Value = serde_json::from_slice(archive.entry(suffix)).unwrap();
            damage(&mut table["config"], random);
            *archive.entry(suffix) = table.to_string().into_bytes();
        }
        let (converting, writing) = options(random);
        let (file, folder) = (archive.write(), tempfile::tempdir().unwrap());
        check(convert(&host, file.path(), folder.path(), &converting, &writing), folder.path());
    });
}

/// A model that waits for the weights of the base program, and the archive with them.
fn waiting(folder: &Path) -> (ModelProto, tempfile::NamedTempFile) {
    let full = Archive::base().write();
    let mut stripped = Archive::base();
    stripped.entries.retain(|(name, _)| !name.contains("/weights/weight_"));
    let mut options = ConvertOptions { weightless: true, ..ConvertOptions::default() };
    options.lower.opset = DEFAULT_OPSET;
    let writing = WriteOptions { weightless: true, ..WriteOptions::default() };
    convert(&host(), stripped.write().path(), folder, &options, &writing).unwrap();
    let model = ModelProto::decode(fs::read(folder.join("m.onnx")).unwrap().as_slice()).unwrap();
    (model, full)
}

fn metadata<'a>(model: &'a mut ModelProto, key: &str) -> &'a mut StringStringEntryProto {
    model.metadata_props.iter_mut().find(|entry| entry.key() == key).unwrap()
}

/// Binds the weights of the program to this model, and checks the result.
fn bound(model: &ModelProto, weights: &Path, mode: ExternalData) -> Result<(), Report> {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = from.path().join("waiting.onnx");
    fs::write(&path, model.encode_to_vec()).unwrap();
    drop((ModelSummary::read(&path), WeightTable::read_model(&path)));
    let set = WeightSet::open(&[weights.to_owned()], None).unwrap();
    let options = WriteOptions { external_data: mode, ..WriteOptions::default() };
    let out = to.path().join("m.onnx");
    let result =
        bind_model(&path, &set, &NameMap::default(), BindOptions::default(), &out, &options).map(drop);
    check(result.clone(), to.path());
    result
}

#[test]
fn damaged_waiting_models_give_a_whole_model_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, weights) = waiting(folder.path());
    let modes = [ExternalData::Inline, ExternalData::External, ExternalData::Reference];
    rounds(250, 32, |random| {
        let mut model = sound.clone();
        if random.one_in(2) {
            let entry = metadata(&mut model, UNBOUND_KEY);
            let mut described: Value = serde_json::from_str(entry.value()).unwrap();
            damage(&mut described, random);
            entry.value = Some(text(&described, random));
        } else {
            let initializers = &mut model.graph.as_mut().unwrap().initializer;
            let at = random.below(initializers.len());
            let other = random.pick(initializers).clone();
            let tensor = &mut initializers[at];
            match random.below(6) {
                0 => tensor.dims = (0..random.below(4)).map(|_| random.size() as i64).collect(),
                1 => tensor.data_type = Some(random.below(30) as i32),
                2 => tensor.name = other.name,
                3 => tensor.external_data = other.external_data,
                4 => tensor.raw_data = Some(vec![0; random.below(40)].into()),
                _ if tensor.external_data.is_empty() => tensor.data_location = Some(random.below(3) as i32),
                _ => {
                    let values =
                        ["../x", "/etc/passwd", "waiting.onnx", "", ".", "-1", "18446744073709551615"];
                    let entry = random.below(tensor.external_data.len());
                    tensor.external_data[entry].value = Some((*random.pick(&values)).to_owned());
                }
            }
        }
        drop(bound(&model, weights.path(), *random.pick(&modes)));
    });
}

#[test]
fn waiting_models_that_contradict_themselves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, weights) = waiting(folder.path());
    bound(&sound, weights.path(), ExternalData::Inline).unwrap();
    let refused = |edit: fn(&mut Vec<Value>), why: &str| {
        let mut model = sound.clone();
        let entry = metadata(&mut model, UNBOUND_KEY);
        let mut described: Vec<Value> = serde_json::from_str(entry.value()).unwrap();
        edit(&mut described);
        entry.value = Some(json!(described).to_string());
        let report = bound(&model, weights.path(), ExternalData::Inline).unwrap_err();
        let said: Vec<_> = report.diagnostics.iter().map(|d| (d.code.as_str(), d.message.as_str())).collect();
        assert!(said[0].0 == "OP110" && said[0].1.contains(why), "{said:?}");
    };
    refused(|all| all.push(all[0].clone()), "twice");
    refused(|all| all[0]["initializer"] = json!("ghost"), "`ghost`, which waits for no data");
    refused(|all| all[0]["shape"] = json!([u64::MAX, u64::MAX]), "does not match the initializer");
    refused(|all| all[0]["dtype"] = json!("f16"), "does not match the initializer");
    refused(|all| all[0]["tied"] = json!("ghost"), "ties");
    refused(|all| all[0]["tied"] = all[0]["initializer"].clone(), "ties");
    refused(|all| all[1]["tied"] = all[0]["initializer"].clone(), "ties");
    refused(|all| drop(all.remove(0)), "does not describe");
}
