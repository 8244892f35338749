//! Recorded calls: inputs, and the outputs that PyTorch computed for them.
//!
//! The sidecar is a safetensors file in the format `onnxport-expected/1`, which the Python package
//! writes beside an archive. It is mapped; tensors are read when they are fed or compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use safetensors::SafeTensors;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::floor::Floor;
use super::reference::{Ahead, InProcess};
use super::selections::Selection;
use crate::diagnose::{Code, Diagnostic};
use crate::tensor::{self, DType, LazyTensor, MappedFile};
use crate::weights;

const FORMAT: &str = "onnxport-expected/1";

/// Calls to run a model with.
#[derive(Clone, Debug, Default)]
pub struct Against {
    /// The calls.
    pub cases: Vec<Case>,
    /// Whether the inputs were made up, so that a call may fail because of them.
    pub made: bool,
    /// The archive of the program that the model was made of; `None` where its own values are not expected.
    pub program: Option<PathBuf>,
    /// The module that runs the program within this process, where it is there and not in a file.
    pub in_process: Option<InProcess>,
    /// PyTorch that loads the program already.
    pub ahead: Option<Ahead>,
    /// The runtime of the program, once it ran.
    pub torch: Option<String>,
    /// Whether the noise of the computation is wanted, which takes that of float64.
    pub exact: bool,
    /// The name of the executor whose values are expected by default.
    pub oracle: Option<String>,
    /// Where the program's branches stand in the user's code, by the names of the calls.
    pub branches: BTreeMap<String, String>,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name: `traced`, `size-1`.
    pub name: String,
    /// The user inputs in the program's order, with the program's names.
    pub inputs: Vec<(String, LazyTensor)>,
    /// The expected outputs; `None` where only the inputs are known.
    pub expected: Option<Expected>,
    /// Where that comes from.
    pub source: Source,
    /// Whether its sizes or values were drawn, so that the program itself may not take them.
    pub drawn: bool,
    /// Whether it says something only together with expected values: nothing else shows that the program takes
    /// its values.
    pub trial: bool,
    /// Why the program itself does not take it.
    pub refused: Option<String>,
    /// Whether it is the next step after the case before it: states are as that left them.
    pub continues: bool,
    /// Why the noise of the computation is not known, where it was wanted.
    pub inexact: Option<String>,
}

impl Case {
    /// A call of which nothing but its inputs is known.
    pub fn new(name: impl Into<String>, inputs: Vec<(String, LazyTensor)>) -> Self {
        Self {
            name: name.into(),
            inputs,
            expected: None,
            source: Source::Nothing,
            drawn: false,
            trial: false,
            refused: None,
            continues: false,
            inexact: None,
        }
    }

    /// Whether the program draws random numbers, so that its values are not those of the model.
    pub fn is_random(&self) -> bool {
        self.expected.as_ref().is_some_and(|expected| expected.random)
    }
}

/// Where expected values come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Nowhere: only types and shapes are known.
    #[default]
    Nothing,
    /// The values that were recorded beside the program.
    Recorded,
    /// PyTorch, which ran the program for this verification.
    Torch,
    /// Another executor, which ran the same model.
    Executor,
}

/// The values after a call.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The user outputs in the program's order, those that are no number left out.
    pub outputs: Vec<LazyTensor>,
    /// Their names in the program; empty where they have none.
    pub names: Vec<String>,
    /// The mutated values, by fully qualified name or placeholder.
    pub states: Vec<(String, LazyTensor)>,
    /// Whether random numbers were drawn: the values are not the ones to expect, types and shapes are.
    pub random: bool,
    /// The noise of the computation, where the same was computed in float64.
    pub floors: Option<Floors>,
    /// The keys of outputs that are indices, as far as they are known.
    pub selections: Vec<Selection>,
}

/// The noise of each value after a call, as far as it is known.
#[derive(Clone, Debug)]
pub struct Floors {
    /// Of the outputs, in order.
    pub outputs: Vec<Option<Floor>>,
    /// Of mutated values, by name.
    pub states: Vec<(String, Option<Floor>)>,
}

impl Floors {
    /// That of values, which are also known in float64, of a call whose inputs have so many `elements`.
    pub(super) fn between(values: &Expected, exact: &Expected, elements: u64) -> Self {
        let outputs = values.outputs.iter().zip(&exact.outputs);
        let states = values.states.iter().map(|(name, value)| {
            let found = exact.states.iter().find(|(known, _)| known == name);
            (name.clone(), found.and_then(|(_, exact)| Floor::between(value, exact, elements)))
        });
        Self {
            outputs: outputs.map(|(value, exact)| Floor::between(value, exact, elements)).collect(),
            states: states.collect(),
        }
    }
}

#[derive(Deserialize)]
struct CaseEntry {
    name: String,
    inputs: Vec<String>,
    /// `None` where only the inputs of the call are known.
    outputs: Option<Vec<Option<String>>>,
    #[serde(default)]
    states: Vec<String>,
    #[serde(default)]
    random: bool,
    #[serde(default)]
    indices: Vec<IndexEntry>,
}

/// An output that holds indices.
#[derive(Deserialize)]
struct IndexEntry {
    output: usize,
    exact: bool,
    stable: bool,
    unordered: bool,
}

impl Against {
    /// Where the sidecar of the archive at `path` lies.
    pub fn sidecar_path(path: &Path) -> PathBuf {
        path.with_extension("expected.safetensors")
    }

    /// Whether any call has expected values to compare with.
    pub fn has_values(&self) -> bool {
        self.cases.iter().any(|case| case.expected.is_some() && !case.is_random())
    }

    /// Whether the noise of some value is known.
    pub(super) fn knows_noise(&self) -> bool {
        let mut floors = self.cases.iter().filter_map(|case| case.expected.as_ref()?.floors.as_ref());
        floors.any(|Floors { outputs, states }| {
            outputs.iter().any(Option::is_some) || states.iter().any(|(_, floor)| floor.is_some())
        })
    }

    /// Reads a sidecar.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let file = MappedFile::open(path)
            .map_err(|e| Diagnostic::error(Code::READ_IO, format!("cannot read {}: {e}", path.display())))?;
        let mapped = |dtype: DType, shape: Vec<u64>, bytes: &[u8]| {
            let offset = bytes.as_ptr() as usize - file.bytes().as_ptr() as usize;
            let source =
                tensor::Source::Mapped { file: file.clone(), offset: offset as u64, len: bytes.len() as u64 };
            LazyTensor { dtype, shape, source, offset: 0, strides: None }
        };
        Self::recorded(file.bytes(), &mapped, &path.display().to_string())
    }

    /// Reads the tensors of a sidecar.
    ///
    /// # Errors
    /// `OP704` when that is not expected values.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, Diagnostic> {
        let shared = |dtype, shape, part: &[u8]| LazyTensor::inline(dtype, shape, bytes.slice_ref(part));
        Self::recorded(&bytes, &shared, "the recording")
    }

    fn recorded(bytes: &[u8], place: Wrap<'_>, what: &str) -> Result<Self, Diagnostic> {
        let recording = Recording::index(bytes, place)
            .map_err(|why| wrong(format!("{what} has no expected values: {why}")))?;
        let cases = recording.names().iter().map(|name| recording.case(name)).collect::<Result<_, _>>();
        let cases = cases.map_err(|why| wrong(format!("{what} is incomplete: {why}")))?;
        Ok(Self { cases, ..Self::default() })
    }
}

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(Code::VERIFY_EXPECTED, message)
        .help("expected values are written by `onnxport.save(program, path)` of the Python package")
}

/// A tensor of a type and shape over bytes of a recording.
type Wrap<'a> = &'a dyn Fn(DType, Vec<u64>, &[u8]) -> LazyTensor;

/// Calls in the bytes of a safetensors file.
pub(super) struct Recording<'a> {
    tensors: SafeTensors<'a>,
    place: Wrap<'a>,
    cases: Vec<CaseEntry>,
    names: Vec<String>,
}

impl<'a> Recording<'a> {
    /// Finds the calls in `bytes`; `place` makes their tensors.
    pub(super) fn index(bytes: &'a [u8], place: Wrap<'a>) -> Result<Self, String> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
        let metadata = header.metadata().clone().unwrap_or_default();
        match metadata.get("format").map(String::as_str) {
            Some(FORMAT) => {}
            Some(other) => return Err(format!("its format is {other:?}, not {FORMAT:?}")),
            None => return Err("it is a safetensors file without the metadata `format`".to_owned()),
        }
        let cases = metadata.get("cases").ok_or("the metadata `cases` is missing")?;
        let cases: Vec<CaseEntry> =
            serde_json::from_str(cases).map_err(|e| format!("the metadata `cases`: {e}"))?;
        let names = cases.iter().map(|entry| entry.name.clone()).collect();
        Ok(Self { tensors, place, cases, names })
    }

    /// The names of the calls, in order.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The call with this name.
    pub(super) fn case(&self, name: &str) -> Result<Case, String> {
        let entry = self.cases.iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| format!("unknown case {name}"))?;
        let named = |kind: &str, names: &[String]| {
            let tensor = |name: &String| {
                let key = format!("{}/{kind}/{name}", entry.name);
                Ok((name.clone(), self.tensor(&key)?.ok_or(format!("there is no {key}"))?))
            };
            names.iter().map(tensor).collect::<Result<Vec<_>, String>>()
        };
        let Some(known) = &entry.outputs else {
            return Ok(Case::new(entry.name.clone(), named("input", &entry.inputs)?));
        };
        let (mut outputs, mut names, mut selections) = (Vec::new(), Vec::new(), Vec::new());
        for (index, name) in known.iter().enumerate() {
            if let Some(tensor) = self.tensor(&format!("{}/output/{index}", entry.name))? {
                selections.extend(self.selection(entry, index, outputs.len())?);
                outputs.push(tensor);
                names.push(name.clone().unwrap_or_default());
            }
        }
        let states = named("state", &entry.states)?;
        let expected = Expected { outputs, names, states, random: entry.random, floors: None, selections };
        Ok(Case {
            expected: Some(expected),
            source: Source::Recorded,
            ..Case::new(entry.name.clone(), named("input", &entry.inputs)?)
        })
    }

    /// The keys of the output at `index` of the program, the tensor `output`, if they were recorded.
    fn selection(&self, entry: &CaseEntry, index: usize, output: usize) -> Result<Option<Selection>, String> {
        let Some(found) = entry.indices.iter().find(|found| found.output == index) else { return Ok(None) };
        let tensor = |kind: &str| {
            let key = format!("{}/{kind}/{index}", entry.name);
            self.tensor(&key)?.ok_or(format!("there is no {key}"))
        };
        let IndexEntry { exact, stable, unordered, .. } = *found;
        let (keys, lanes) = (tensor("keys")?, tensor("lanes")?);
        Ok(Some(Selection { output, keys, lanes, exact, stable, unordered }))
    }

    fn tensor(&self, key: &str) -> Result<Option<LazyTensor>, String> {
        let Ok(view) = self.tensors.tensor(key) else { return Ok(None) };
        let dtype = weights::safetensors_dtype(view.dtype())
            .ok_or_else(|| format!("{key} has the element type {:?}", view.dtype()))?;
        let shape = view.shape().iter().map(|d| *d as u64).collect();
        Ok(Some((self.place)(dtype, shape, view.data())))
    }
}
