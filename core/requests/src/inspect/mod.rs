//! Inspecting a file: its contents, its tensors, its manifest, or its differences from another file.

mod facts;

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::inspect::{FileKind, ModelSummary, ProgramSummary, WeightTable};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::weights::WeightSet;
use onnxport_core::write::manifest::{self, Listed};
use onnxport_core::{Host, pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::object::excludes;
use crate::progress::Progress;

pub use facts::{Row, SECTIONS};

/// Describes the contents of a file.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct InspectRequest {
    /// A .pt2 or .onnx file, or weights: .safetensors, an index of shards, a torch.save checkpoint, or a folder of
    /// these
    pub file: PathBuf,
    /// A second file to compare with: shows the differences, and with `--all` everything
    #[arg(conflicts_with_all = ["weights", "manifest"])]
    pub other: Option<PathBuf>,
    /// Show every tensor: its source, its view of it, its size, and the tensors that share storage. This is the default
    /// for weight files
    #[arg(long, conflicts_with = "manifest")]
    pub weights: bool,
    /// The checkpoint entry that holds the weights, with dots between levels
    #[arg(long, value_name = "KEY")]
    pub weights_key: Option<String>,
    /// Check the files of a model against FILE.sha256, written by `convert --manifest`
    #[arg(long)]
    pub manifest: bool,
}

/// The contents of a file.
#[derive(Debug)]
pub enum Inspected {
    /// Those of a program.
    Program(Box<ProgramSummary>),
    /// Those of a model.
    Model(Box<ModelSummary>),
    /// The tensors. [`WeightTable::check`] reports those whose bytes are unavailable.
    Weights(WeightTable),
    /// The files in the manifest of a model, compared with their hashes.
    Manifest(Vec<Listed>),
    /// The facts about two files.
    Compared(Comparison),
}

/// The facts about two files, side by side.
#[derive(Debug)]
pub struct Comparison {
    /// The facts in each file, those of the first one first.
    pub rows: Vec<Row>,
    /// The number of equal facts.
    pub same: usize,
}

impl Comparison {
    /// Returns the facts that differ.
    pub fn differences(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.differs())
    }
}

impl InspectRequest {
    /// Creates a request that describes the file at `file`.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), ..Self::default() }
    }

    /// Whether the answer depends on the plugins of the host: they convert the operators of programs.
    pub fn uses_plugins(&self) -> bool {
        let is_program = |path: &Path| FileKind::of(path) == FileKind::Program;
        match &self.other {
            Some(other) => is_program(&self.file) || is_program(other),
            None => !self.weights && !self.manifest && is_program(&self.file),
        }
    }

    fn weights(&self, kind: FileKind) -> Result<WeightTable, Report> {
        Ok(match kind {
            FileKind::Program => WeightTable::from(&pipeline::read(&self.file)?.program),
            FileKind::Model => WeightTable::read_model(&self.file)?,
            FileKind::Weights => {
                let paths = std::slice::from_ref(&self.file);
                WeightTable::from(&WeightSet::open(paths, self.weights_key.as_deref())?)
            }
        })
    }
}

impl Request for InspectRequest {
    type Outcome = Inspected;

    fn check(&self) -> Result<(), Diagnostic> {
        excludes(&[("other", self.other.is_some()), ("weights", self.weights), ("manifest", self.manifest)])
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Inspected, Report> {
        self.check()?;
        progress.stage("reading the file");
        if self.manifest {
            return Ok(Inspected::Manifest(manifest::check(&manifest::path_of(&self.file))?));
        }
        if let Some(other) = &self.other {
            let (rows, same) = facts::compare(&self.file, other, host)?;
            return Ok(Inspected::Compared(Comparison { rows, same }));
        }
        let kind = FileKind::of(&self.file);
        if self.weights || kind == FileKind::Weights {
            return Ok(Inspected::Weights(self.weights(kind)?));
        }
        if kind == FileKind::Model {
            return Ok(Inspected::Model(Box::new(ModelSummary::read(&self.file)?)));
        }
        let archive = pipeline::read(&self.file)?;
        Ok(Inspected::Program(Box::new(ProgramSummary::from_archive(&archive, host, DEFAULT_OPSET))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");
    const VALUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.expected.safetensors");

    fn run(request: &InspectRequest) -> Inspected {
        let host = Host::new(&[&onnxport_aten::ROOT]).unwrap();
        request.run(&host, &mut ()).unwrap()
    }

    fn model(folder: &Path, name: &str, operator: &str) -> PathBuf {
        let text = format!(
            "opset 20\ngraph {{\n input %x: f32[3]\n %a: f32[3] = {operator}(%x)\n output %a as y\n}}\n"
        );
        let path = folder.join(name);
        let model = onnxport_core::Model::parse(&text).unwrap();
        let options = onnxport_core::WriteOptions { manifest: true, ..Default::default() };
        onnxport_core::write::write(&model, &path, &options).unwrap();
        path
    }

    #[test]
    fn each_kind_of_file_has_its_summary() {
        let folder = tempfile::tempdir().unwrap();
        let path = model(folder.path(), "a.onnx", "Neg");
        let Inspected::Program(program) = run(&InspectRequest::new(PROGRAM)) else { panic!("a program") };
        assert_eq!((program.outputs.len(), program.parameters), (1, 8));
        assert!(program.ops.iter().all(|op| op.provider.as_deref() == Some("aten")), "{:?}", program.ops);
        let Inspected::Model(summary) = run(&InspectRequest::new(&path)) else { panic!("a model") };
        assert_eq!((summary.ops[0].target.as_str(), summary.ops[0].count), ("Neg", 1));
        for file in [PROGRAM, VALUES] {
            let request = InspectRequest { weights: file == PROGRAM, ..InspectRequest::new(file) };
            let Inspected::Weights(table) = run(&request) else { panic!("weights") };
            assert!(!table.tensors.is_empty() && table.check().is_ok());
        }
    }

    #[test]
    fn a_changed_file_is_not_the_one_in_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let path = model(folder.path(), "a.onnx", "Neg");
        let request = InspectRequest { manifest: true, ..InspectRequest::new(&path) };
        let problems = |request: &InspectRequest| match run(request) {
            Inspected::Manifest(files) => files.iter().filter(|file| file.problem.is_some()).count(),
            other => panic!("{other:?}"),
        };
        assert_eq!(problems(&request), 0);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.push(0);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(problems(&request), 1);
    }

    #[test]
    fn two_files_are_compared_fact_by_fact() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (model(folder.path(), "a.onnx", "Neg"), model(folder.path(), "b.onnx", "Abs"));
        let request = InspectRequest { other: Some(b), ..InspectRequest::new(a) };
        let Inspected::Compared(compared) = run(&request) else { panic!("a comparison") };
        let differences: Vec<(&str, &str)> =
            compared.differences().map(|row| (row.section, row.name.as_str())).collect();
        assert_eq!(differences, [("operators", "Neg"), ("operators", "Abs")]);
        assert_eq!(compared.rows.len(), compared.same + 2);
        assert!(compared.rows.iter().all(|row| SECTIONS.contains(&row.section)));
    }

    #[test]
    fn only_programs_depend_on_plugins() {
        let uses = |request: InspectRequest| request.uses_plugins();
        assert!(uses(InspectRequest::new(PROGRAM)));
        assert!(uses(InspectRequest { other: Some(PROGRAM.into()), ..InspectRequest::new("a.onnx") }));
        assert!(!uses(InspectRequest { weights: true, ..InspectRequest::new(PROGRAM) }));
        assert!(!uses(InspectRequest { other: Some("b.onnx".into()), ..InspectRequest::new("a.onnx") }));
        assert!(!uses(InspectRequest::new(VALUES)));
    }

    #[test]
    fn one_question_is_asked_at_a_time() {
        let request = InspectRequest { weights: true, manifest: true, ..InspectRequest::new(PROGRAM) };
        assert_eq!(request.check().unwrap_err().message, "`weights` cannot be used with `manifest`");
        let request =
            InspectRequest { other: Some(VALUES.into()), weights: true, ..InspectRequest::new(PROGRAM) };
        assert_eq!(request.check().unwrap_err().message, "`other` cannot be used with `weights`");
    }
}
