//! Describing a model as a report, and checking reports.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::inspect::ModelParts;
use onnxport_core::{Host, files, write};
use onnxport_report::model::{self, Form};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Request;
use crate::object::excludes;
use crate::progress::Progress;

/// The size limit of a report to check, in bytes.
const LARGEST: u64 = 1 << 30;

/// Describes an ONNX model as a page or as data.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct ReportRequest {
    /// The ONNX model
    pub model: PathBuf,
    /// The report to write, .md, .json or .html, instead of Markdown on standard output; can be repeated
    #[arg(short, long = "output", value_name = "FILE")]
    #[serde(rename = "output")]
    pub outputs: Vec<PathBuf>,
    /// Check that an existing report still describes the model; can be repeated
    #[arg(long = "check", value_name = "FILE", conflicts_with = "outputs")]
    #[serde(rename = "check")]
    pub checks: Vec<PathBuf>,
}

/// A report of a model, or the result of checking some.
#[derive(Debug)]
pub enum Reported {
    /// The report, which [`model::render`] formats. It is also in the files `outputs`.
    Written {
        /// The report as data.
        data: Value,
        /// The files that were written.
        outputs: Vec<PathBuf>,
    },
    /// Existing reports that were checked.
    Checked(Vec<CheckedReport>),
}

/// An existing report, compared with the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedReport {
    /// Its file.
    pub path: PathBuf,
    /// The differences from the model; none if it describes the model.
    pub wrong: Vec<String>,
}

impl ReportRequest {
    /// Creates a request for a report of `model`, without writing a file.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }
}

impl Request for ReportRequest {
    type Outcome = Reported;

    fn check(&self) -> Result<(), Diagnostic> {
        excludes(&[("check", !self.checks.is_empty()), ("output", !self.outputs.is_empty())])
    }

    fn run(&self, _: &Host, progress: &mut dyn Progress) -> Result<Reported, Report> {
        self.check()?;
        let forms = |paths: &[PathBuf]| paths.iter().map(|path| form(path)).collect::<Result<Vec<_>, _>>();
        let (written, checked) = (forms(&self.outputs)?, forms(&self.checks)?);
        progress.stage("reading the model");
        let parts = ModelParts::read(&self.model)?;
        if !self.checks.is_empty() {
            let checks = self.checks.iter().zip(checked);
            let checked = checks.map(|(path, form)| CheckedReport::read(path, form, &parts));
            return Ok(Reported::Checked(checked.collect::<Result<_, _>>()?));
        }
        let name = self.model.file_name().unwrap_or_default().to_string_lossy();
        let data = model::data(&name, Some(&parts), None);
        for (path, form) in self.outputs.iter().zip(written) {
            let text = model::render(&data, form);
            let sources = std::slice::from_ref(&self.model);
            write::file(path, sources, |file| file.write_all(text.as_bytes()))?;
        }
        Ok(Reported::Written { data, outputs: self.outputs.clone() })
    }
}

impl CheckedReport {
    fn read(path: &Path, form: Form, parts: &ModelParts) -> Result<Self, Diagnostic> {
        let text = files::text(path, LARGEST).map_err(|error| {
            Diagnostic::error(Code::READ_IO, format!("cannot read `{}`: {error}", path.display()))
        })?;
        let wrong = model::check(&text, form, parts).err().unwrap_or_default();
        Ok(Self { path: path.to_owned(), wrong })
    }

    /// Returns the error about a report that does not describe the model.
    pub fn problem(&self) -> Option<Diagnostic> {
        let message = format!("`{}` does not describe the model", self.path.display());
        let problem =
            self.wrong.iter().cloned().fold(Diagnostic::error(Code::WRITE_REPORT, message), Diagnostic::note);
        let help = "regenerate it with `onnxport report`; do not edit reports by hand";
        (!self.wrong.is_empty()).then(|| problem.help(help))
    }
}

/// Returns the form of the report at `path`.
fn form(path: &Path) -> Result<Form, Diagnostic> {
    Form::from_path(path).ok_or_else(|| {
        let message = format!("unsupported report format: `{}`", path.display());
        Diagnostic::error(Code::USAGE, message).help("use a name that ends in .md, .json or .html")
    })
}

#[cfg(test)]
mod tests {
    use onnxport_core::WriteOptions;

    use super::*;

    fn model(folder: &Path, name: &str, operator: &str) -> PathBuf {
        let text = format!(
            "opset 20\ngraph {{\n input %x: f32[3]\n %a: f32[3] = {operator}(%x)\n output %a as y\n}}\n"
        );
        let path = folder.join(name);
        write::write(&onnxport_core::Model::parse(&text).unwrap(), &path, &WriteOptions::default()).unwrap();
        path
    }

    fn run(request: &ReportRequest) -> Result<Reported, Report> {
        request.run(&Host::new(&[]).unwrap(), &mut ())
    }

    #[test]
    fn a_report_describes_its_model_only() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (model(folder.path(), "a.onnx", "Neg"), model(folder.path(), "b.onnx", "Abs"));
        let pages: Vec<PathBuf> =
            ["a.md", "a.json", "a.html"].iter().map(|name| folder.path().join(name)).collect();
        let request = ReportRequest { outputs: pages.clone(), ..ReportRequest::new(&a) };
        let Reported::Written { data, outputs } = run(&request).unwrap() else { panic!("a report") };
        assert_eq!((&data["name"], data["model"]["nodes"].as_u64()), (&"a.onnx".into(), Some(1)));
        assert_eq!(outputs, pages);
        assert_eq!(std::fs::read_to_string(&pages[0]).unwrap(), model::markdown(&data));
        let check = |model: &Path| {
            let request = ReportRequest { checks: pages.clone(), ..ReportRequest::new(model) };
            let Reported::Checked(checked) = run(&request).unwrap() else { panic!("checks") };
            checked.iter().filter_map(CheckedReport::problem).collect::<Vec<_>>()
        };
        assert!(check(&a).is_empty());
        let problems = check(&b);
        assert!(
            problems.len() == 3 && problems[0].notes.iter().any(|note| note.contains("Abs")),
            "{problems:?}"
        );
    }

    #[test]
    fn contradictions_are_refused() {
        let page: PathBuf = "a.md".into();
        let both =
            ReportRequest { outputs: vec![page.clone()], checks: vec![page], ..ReportRequest::new("a.onnx") };
        assert_eq!(run(&both).unwrap_err().diagnostics[0].message, "`check` cannot be used with `output`");
        let text = ReportRequest { outputs: vec!["a.txt".into()], ..ReportRequest::new("a.onnx") };
        assert_eq!(run(&text).unwrap_err().diagnostics[0].message, "unsupported report format: `a.txt`");
    }
}
