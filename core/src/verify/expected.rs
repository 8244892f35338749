//! Recorded calls: inputs, and the outputs that PyTorch computed for them.
//!
//! The sidecar is a safetensors file in the format `onnxport-expected/1`, which the Python package
//! writes beside an archive. It is mapped; tensors are read when they are fed or compared.

use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use serde::Deserialize;

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::{LazyTensor, MappedFile, Source};
use crate::weights;

const FORMAT: &str = "onnxport-expected/1";

/// Calls to run a model with.
#[derive(Clone, Debug)]
pub struct Against {
    /// The calls.
    pub cases: Vec<Case>,
    /// Whether the inputs were made up, so that a call may fail because of them.
    pub made: bool,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name: `traced`, `size-1`.
    pub name: String,
    /// The user inputs in the program's order, with the program's names.
    pub inputs: Vec<(String, LazyTensor)>,
    /// What must come out; `None` where only the inputs are known.
    pub expected: Option<Expected>,
    /// Whether its sizes were drawn, so that the program itself may not take them.
    pub drawn: bool,
}

/// The values after a call.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The user outputs in the program's order, those that are no number left out.
    pub outputs: Vec<LazyTensor>,
    /// Their names in the program; empty where they have none.
    pub names: Vec<String>,
    /// What the call mutates, by fully qualified name or placeholder.
    pub states: Vec<(String, LazyTensor)>,
}

#[derive(Deserialize)]
struct CaseEntry {
    name: String,
    inputs: Vec<String>,
    outputs: Vec<Option<String>>,
    #[serde(default)]
    states: Vec<String>,
}

impl Against {
    /// Where the sidecar of the archive at `path` lies.
    pub fn sidecar_path(path: &Path) -> PathBuf {
        path.with_extension("expected.safetensors")
    }

    /// Whether any call has expected values.
    pub fn has_values(&self) -> bool {
        self.cases.iter().any(|case| case.expected.is_some())
    }

    /// Reads a sidecar.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let file = MappedFile::open(path)
            .map_err(|e| Diagnostic::error(Code::READ_IO, format!("cannot read {}: {e}", path.display())))?;
        let sidecar = Sidecar::index(&file)
            .map_err(|why| wrong(format!("{} holds no expected values: {why}", path.display())))?;
        let cases = sidecar.cases.iter().map(|entry| sidecar.case(entry)).collect::<Result<_, _>>();
        let cases = cases.map_err(|why| wrong(format!("{} is incomplete: {why}", path.display())))?;
        Ok(Self { cases, made: false })
    }
}

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(Code::VERIFY_EXPECTED, message)
        .help("expected values are written by `onnxport.save(program, path)` of the Python package")
}

struct Sidecar<'a> {
    file: &'a MappedFile,
    tensors: SafeTensors<'a>,
    cases: Vec<CaseEntry>,
}

impl<'a> Sidecar<'a> {
    fn index(file: &'a MappedFile) -> Result<Self, String> {
        let tensors = SafeTensors::deserialize(file.bytes()).map_err(|e| e.to_string())?;
        let (_, header) = SafeTensors::read_metadata(file.bytes()).map_err(|e| e.to_string())?;
        let metadata = header.metadata().clone().unwrap_or_default();
        match metadata.get("format").map(String::as_str) {
            Some(FORMAT) => {}
            Some(other) => return Err(format!("its format is {other:?}, not {FORMAT:?}")),
            None => return Err("it is a safetensors file without the metadata `format`".to_owned()),
        }
        let cases = metadata.get("cases").ok_or("the metadata `cases` is missing")?;
        let cases = serde_json::from_str(cases).map_err(|e| format!("the metadata `cases`: {e}"))?;
        Ok(Self { file, tensors, cases })
    }

    fn case(&self, entry: &CaseEntry) -> Result<Case, String> {
        let named = |kind: &str, names: &[String]| {
            let tensor = |name: &String| {
                let key = format!("{}/{kind}/{name}", entry.name);
                Ok((name.clone(), self.tensor(&key)?.ok_or(format!("there is no {key}"))?))
            };
            names.iter().map(tensor).collect::<Result<Vec<_>, String>>()
        };
        let (mut outputs, mut names) = (Vec::new(), Vec::new());
        for (index, name) in entry.outputs.iter().enumerate() {
            if let Some(tensor) = self.tensor(&format!("{}/output/{index}", entry.name))? {
                outputs.push(tensor);
                names.push(name.clone().unwrap_or_default());
            }
        }
        Ok(Case {
            name: entry.name.clone(),
            inputs: named("input", &entry.inputs)?,
            expected: Some(Expected { outputs, names, states: named("state", &entry.states)? }),
            drawn: false,
        })
    }

    fn tensor(&self, key: &str) -> Result<Option<LazyTensor>, String> {
        let Ok(view) = self.tensors.tensor(key) else { return Ok(None) };
        let dtype = weights::safetensors_dtype(view.dtype())
            .ok_or_else(|| format!("{key} has the element type {:?}", view.dtype()))?;
        let start = view.data().as_ptr() as usize - self.file.bytes().as_ptr() as usize;
        let source =
            Source::Mapped { file: self.file.clone(), offset: start as u64, len: view.data().len() as u64 };
        let shape = view.shape().iter().map(|d| *d as u64).collect();
        Ok(Some(LazyTensor { dtype, shape, source, offset: 0, strides: None }))
    }
}
