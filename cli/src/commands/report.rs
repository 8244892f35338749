//! `onnxport report`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::files;
use onnxport_core::inspect::ModelParts;
use onnxport_core::write;
use onnxport_report::model::{self, Form};
use schemars::JsonSchema;
use serde::Deserialize;

use super::reports::Format;
use crate::outcome::{CommandResult, Outcome};

/// The size limit of a report to check, in bytes.
const LARGEST: u64 = 1 << 30;

/// Arguments of `report`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// The ONNX model
    #[serde(default)]
    model: PathBuf,
    /// The report to write, .md, .json or .html, instead of Markdown on standard output; can be repeated
    #[arg(short, long = "output", value_name = "FILE")]
    #[serde(default, rename = "output")]
    outputs: Vec<PathBuf>,
    /// Check that an existing report still describes the model; can be repeated
    #[arg(long = "check", value_name = "FILE", conflicts_with = "outputs")]
    #[serde(default, rename = "check")]
    checks: Vec<PathBuf>,
}

/// Reports on the contents of a model, or checks a report.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let paths = arguments.outputs.iter().chain(&arguments.checks);
    let forms: Vec<(&PathBuf, Form)> =
        paths.map(|path| Ok((path, form(path)?))).collect::<Result<_, Diagnostic>>()?;
    let parts = ModelParts::read(&arguments.model)?;
    if !arguments.checks.is_empty() {
        let mut outcome = Outcome::ok();
        for (path, form) in forms {
            check(path, form, &parts, &mut outcome)?;
        }
        return Ok(outcome);
    }
    let name = arguments.model.file_name().unwrap_or_default().to_string_lossy();
    let data = model::data(&name, Some(&parts), None);
    if forms.is_empty() {
        return Ok(Outcome::text(model::markdown(&data)).with("report", &data));
    }
    for (path, form) in &forms {
        let text = model::render(&data, *form);
        let sources = std::slice::from_ref(&arguments.model);
        write::file(path, sources, |file| file.write_all(text.as_bytes()))?;
    }
    let written: Vec<String> = forms.iter().map(|(path, _)| path.display().to_string()).collect();
    Ok(Outcome::ok().with("reports", written))
}

fn form(path: &Path) -> Result<Form, Diagnostic> {
    Format::of(path).and_then(Format::form).ok_or_else(|| {
        let message = format!("unsupported report format: `{}`", path.display());
        Diagnostic::error(Code::USAGE, message).help("use a name that ends in .md, .json or .html")
    })
}

fn check(path: &Path, form: Form, parts: &ModelParts, outcome: &mut Outcome) -> Result<(), Report> {
    let shown = path.display();
    let text = files::text(path, LARGEST)
        .map_err(|error| Diagnostic::error(Code::READ_IO, format!("cannot read `{shown}`: {error}")))?;
    match model::check(&text, form, parts) {
        Ok(()) => {
            // Writing to a String cannot fail.
            let _ = writeln!(outcome.summary, "{shown} describes the model");
        }
        Err(wrong) => {
            let message = format!("`{shown}` does not describe the model");
            let problem = Diagnostic::error(Code::WRITE_REPORT, message);
            let problem = wrong.into_iter().fold(problem, Diagnostic::note);
            outcome.fail(problem.help("regenerate it with `onnxport report`; do not edit reports by hand"));
        }
    }
    Ok(())
}
