use std::path::{Path, PathBuf};

use super::{Draw, Given, Number, Run, Sizes, run};
use crate::diagnose::{Code, Diagnostic};
use crate::host::Host;
use crate::ir::Model;
use crate::tensor::{DType, LazyTensor};
use crate::verify::{Executor, Runtime};
use crate::write::{self, ExternalData, WriteOptions};

const MODEL: &str = "\
opset 20
symbol batch 1..64
graph {
  constant %w: f32[2, 3] = [1.0, 0.0, 2.0, 0.0, 1.0, 2.0]
  constant %two: f32[] = [2.0]
  input %x: f32[batch, 2]
  input %y: f32[batch, 2*batch]
  %0: f32[batch, 3] = MatMul(%x, %w)
  %1: f32[batch, 3] = Add(%0, %two)
  %2: f32[batch, 2*batch] = Sqrt(%y)
  %3: i64[2] = Shape(%y)
  output %1 as sum
  output %2 as root
  output %3 as sizes
}
";

/// A folder with a model in it.
struct ModelFolder {
    folder: tempfile::TempDir,
    model: PathBuf,
}

impl ModelFolder {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("m.onnx");
        let options = WriteOptions { external_data: ExternalData::External, ..WriteOptions::default() };
        write::write(&Model::parse(text).unwrap(), &model, &options).unwrap();
        Self { folder, model }
    }

    fn run(&self, given: &Given, sizes: &[(&str, i64)], draw: Option<Draw>) -> Result<Run, Diagnostic> {
        let sizes: Sizes = sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        with_reference(&[], |runtime| run(runtime, &self.model, given, &sizes, draw))
    }
}

fn with_reference<T>(options: &[(&str, &str)], then: impl FnOnce(&Runtime) -> T) -> T {
    let host = Host::new(&[&onnxport_reference::ROOT]).unwrap();
    then(&Executor::find(&host, Some("reference")).unwrap().open(options).unwrap())
}

fn floats(shape: &[u64], items: &[f32]) -> LazyTensor {
    let bytes: Vec<u8> = items.iter().flat_map(|x| x.to_le_bytes()).collect();
    LazyTensor::inline(DType::F32, shape.to_vec(), bytes)
}

fn given(x: LazyTensor, y: LazyTensor) -> Given {
    let mut given = Given::default();
    given.insert("x", x);
    given.insert("y", y);
    given
}

#[test]
fn outputs_are_what_the_model_computes() {
    let place = ModelFolder::new(MODEL);
    let given = given(floats(&[1, 2], &[3.0, 5.0]), floats(&[1, 2], &[4.0, -1.0]));
    let ran = place.run(&given, &[], None).unwrap();
    let of = |at: usize| (ran.tensors[at].name.as_str(), ran.tensors[at].bytes.to_vec());
    let bytes = |items: &[f32]| items.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(of(0), ("sum", bytes(&[5.0, 7.0, 18.0])));
    let root = &ran.outputs[1];
    let two = Some(Number::Float(2.0));
    assert_eq!((root.nan, root.min, root.max, root.mean), (1, two, two, two));
    assert_eq!(ran.outputs[2].max, Some(Number::Int(2)));
    assert_eq!(ran.inputs[0].shape, [1, 2]);
}

#[test]
fn drawn_inputs_have_the_stated_sizes_and_the_same_values_again() {
    let place = ModelFolder::new(MODEL);
    let draw = Some(Draw { seed: 7 });
    let ran = place.run(&Given::default(), &[("batch", 3)], draw).unwrap();
    assert_eq!((&ran.inputs[0].shape[..], &ran.inputs[1].shape[..]), (&[3, 2][..], &[3, 6][..]));
    let again = place.run(&Given::default(), &[("batch", 3)], draw).unwrap();
    assert!(ran.tensors.iter().zip(&again.tensors).all(|(a, b)| a.bytes == b.bytes));
    let other = place.run(&Given::default(), &[("batch", 3)], Some(Draw { seed: 8 })).unwrap();
    assert_ne!(ran.tensors[0].bytes, other.tensors[0].bytes);
    // The sizes of given inputs determine those of the others.
    let mut given = Given::default();
    given.insert("x", floats(&[2, 2], &[0.0; 4]));
    assert_eq!(place.run(&given, &[], draw).unwrap().inputs[1].shape, [2, 4]);
    let by_place = place.run(&Given::default(), &[("x:0", 3)], draw).unwrap();
    assert_eq!(by_place.inputs[1].shape, [3, 6], "a place names the dimension that lies there");
    for (size, why) in [(("batch", 5), "`batch` is 5"), (("x:0", 5), "`x:0` is 5"), (("beach", 2), "`beach`")]
    {
        let problem = place.run(&given, &[size], draw).unwrap_err();
        assert_eq!(
            (problem.code, problem.message.contains(why)),
            (Code::RUN_INPUT, true),
            "{}",
            problem.message
        );
    }
}

#[test]
fn what_is_missing_or_does_not_fit_is_said() {
    let place = ModelFolder::new(MODEL);
    let refused = |given: &Given, draw: Option<Draw>, wanted: &str| {
        let problem = place.run(given, &[], draw).unwrap_err();
        let said = format!("{} {}", problem.message, problem.help.unwrap_or_default());
        assert_eq!((problem.code, said.contains(wanted)), (Code::RUN_INPUT, true), "{said}");
    };
    refused(&Given::default(), None, "x: f32[batch, 2], y: f32[batch, 2*batch]");
    let good = || floats(&[1, 2], &[0.0; 2]);
    let mut other = given(good(), good());
    other.insert("z", good());
    refused(&other, None, "no input `z`");
    for wrong in [floats(&[2], &[0.0; 2]), floats(&[1, 3], &[0.0; 3])] {
        refused(&given(wrong, good()), None, "`x` is f32[batch, 2]");
    }
    let ints = LazyTensor::inline(DType::I32, vec![1, 2], vec![0; 8]);
    refused(&given(ints, good()), None, "i32[1, 2] is given");
}

#[test]
fn dynamic_dimensions_have_drawn_sizes_where_none_is_stated() {
    let place = ModelFolder::new(MODEL);
    let draw = Some(Draw { seed: 7 });
    let ran = place.run(&Given::default(), &[], draw).unwrap();
    let batch = ran.inputs[0].shape[0];
    assert_eq!((&ran.inputs[0].shape[1..], &ran.inputs[1].shape[..]), (&[2][..], &[batch, 2 * batch][..]));
    assert_eq!(ran.chosen_sizes, Some(format!("x[{batch}, 2], y[{batch}, {}]", 2 * batch)));
    let again = place.run(&Given::default(), &[], draw).unwrap();
    assert!(ran.tensors.iter().zip(&again.tensors).all(|(a, b)| a.bytes == b.bytes));
    assert_eq!(place.run(&Given::default(), &[("batch", 3)], draw).unwrap().chosen_sizes, None);
    // If one size is given, all must be.
    let two = MODEL
        .replace("symbol batch 1..64", "symbol batch 1..64\nsymbol length 1..64")
        .replace("  input %y", "  input %z: f32[length]\n  input %y");
    let problem = ModelFolder::new(&two).run(&Given::default(), &[("batch", 3)], draw).unwrap_err();
    assert_eq!(problem.help.as_deref(), Some("state it: --dim length=SIZE"));
}

#[test]
fn an_operator_without_an_evaluator_and_a_budget_that_is_used_up_are_said() {
    let foreign =
        MODEL.replace("Sqrt(%y)", "nobody::Knows(%y)").replace("opset 20\n", "opset 20\nopset nobody 1\n");
    let given = || given(floats(&[1, 2], &[0.0; 2]), floats(&[1, 2], &[0.0; 2]));
    let problem = ModelFolder::new(&foreign).run(&given(), &[], None).unwrap_err();
    assert_eq!(problem.code, Code::VERIFY_NO_EXECUTOR);
    assert!(problem.message.contains("nobody::Knows"), "{}", problem.message);
    let place = ModelFolder::new(MODEL);
    for (option, wanted) in [(("steps", "3"), "steps"), (("bytes", "16"), "bytes")] {
        let ran =
            with_reference(&[option], |runtime| run(runtime, &place.model, &given(), &Sizes::new(), None));
        let problem = ran.unwrap_err();
        assert_eq!(problem.code, Code::VERIFY_NO_EXECUTOR, "{}", problem.message);
        assert!(problem.help.unwrap_or_default().contains(wanted));
    }
}

#[test]
fn outputs_are_saved_and_feed_another_run() {
    let place = ModelFolder::new(MODEL);
    let path = place.folder.path().join("out.safetensors");
    let given = given(floats(&[1, 2], &[3.0, 5.0]), floats(&[1, 2], &[4.0, 9.0]));
    let ran = place.run(&given, &[], None).unwrap();
    ran.save(&path, &[]).unwrap();
    let mut read = Given::default();
    read.add_all(&path).unwrap();
    let sum = read.get("sum").unwrap();
    assert_eq!((sum.dtype, &sum.shape[..]), (DType::F32, &[1, 3][..]));
    assert_eq!(sum.read().unwrap().as_ref(), ran.tensors[0].bytes.as_ref());
    let mut again = Given::default();
    again.add("x", &npy(place.folder.path(), &[3.0, 5.0])).unwrap();
    assert!(again.add("y", &path).is_err(), "it holds three tensors, and none is called so");
    again.insert("y", read.get("root").unwrap().clone());
    assert_eq!(place.run(&again, &[], None).unwrap().tensors[0].bytes, ran.tensors[0].bytes);
    let report = ran.save(&place.model, std::slice::from_ref(&place.model)).unwrap_err();
    assert_eq!(report.diagnostics[0].code, Code::WRITE_SOURCE);
}

fn npy(folder: &Path, items: &[f32]) -> PathBuf {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {}), }}\n", items.len());
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(items.iter().flat_map(|x| x.to_le_bytes()));
    let path = folder.join("x.npy");
    std::fs::write(&path, bytes).unwrap();
    path
}
