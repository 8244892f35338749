//! Reports of a command in files: as text, as data, as a page, or for code review tools.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report, render};
use onnxport_core::inspect::ModelParts;
use onnxport_core::write;
use onnxport_report::model::{self, Form};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::format::unstyled;
use crate::outcome::Outcome;

/// Arguments about reports.
#[derive(Debug, Default, Args, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ReportArguments {
    /// Also write a report to this file: .txt, .md, .json, .html, or .sarif for problems only; can be repeated
    #[arg(long = "report", id = "reports", value_name = "FILE")]
    #[serde(rename = "report")]
    paths: Vec<PathBuf>,
}

/// The formats of reports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    Html,
    Markdown,
    Sarif,
}

impl Format {
    /// Returns the form of a model's report, if this format has one.
    pub(crate) const fn form(self) -> Option<Form> {
        match self {
            Self::Json => Some(Form::Json),
            Self::Html => Some(Form::Html),
            Self::Markdown => Some(Form::Markdown),
            Self::Text | Self::Sarif => None,
        }
    }

    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Text),
            "json" => Some(Self::Json),
            "html" => Some(Self::Html),
            "md" => Some(Self::Markdown),
            "sarif" => Some(Self::Sarif),
            _ => None,
        }
    }
}

/// The contents of reports.
pub(crate) struct Contents<'a> {
    /// The command behind the reports.
    pub(crate) command: &'a str,
    /// The text, which may be coloured.
    pub(crate) text: &'a str,
    /// The page.
    pub(crate) page: &'a dyn Fn() -> String,
}

impl ReportArguments {
    /// Whether there are any.
    pub(crate) fn are_asked(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Fails if a report cannot be written in the format that its file name implies.
    ///
    /// # Errors
    /// `OP001`.
    pub(crate) fn check(&self) -> Result<(), Diagnostic> {
        match self.paths.iter().find(|path| Format::of(path).is_none()) {
            Some(path) => {
                let path = path.display();
                let message = format!("unsupported report format: `{path}`");
                let help = "use a name that ends in .txt, .md, .json, .html or .sarif";
                Err(Diagnostic::error(Code::USAGE, message).help(help))
            }
            None => Ok(()),
        }
    }

    /// The same for reports on several models.
    ///
    /// # Errors
    /// `OP001`.
    pub(crate) fn check_several(&self) -> Result<(), Diagnostic> {
        self.check()?;
        match self.paths.iter().find(|path| Format::of(path) == Some(Format::Html)) {
            Some(path) => {
                let message = format!("`{}`: a page describes one model only", path.display());
                let help = "write .md, .json, .sarif or .txt; `onnxport report` makes the page of each model";
                Err(Diagnostic::error(Code::USAGE, message).help(help))
            }
            None => Ok(()),
        }
    }

    /// Writes the reports; none may replace one of `sources`.
    ///
    /// # Errors
    /// `OP601`, `OP603`.
    pub(crate) fn write(
        &self,
        sources: &[PathBuf],
        contents: &Contents<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Report> {
        self.put(sources, outcome, |format, outcome| match format {
            Format::Json => {
                format!("{}\n", render::json_text(&format!("{:#}", outcome.json(contents.command))))
            }
            Format::Html => (contents.page)(),
            Format::Markdown => {
                let problems = match outcome.report.diagnostics.as_slice() {
                    [] => String::new(),
                    _ => render::markdown(&outcome.report),
                };
                format!("```text\n{}```\n\n{problems}", unstyled(contents.text))
            }
            Format::Sarif => sarif(&outcome.report),
            Format::Text => format!("{}{}", unstyled(contents.text), unstyled(&outcome.problem())),
        })
    }

    /// Writes the reports of the command `command` about `source` and the model at `model`, if it wrote one.
    ///
    /// # Errors
    /// `OP601`, `OP603`, and those of a model that cannot be read.
    pub(crate) fn write_model(
        &self,
        command: &str,
        source: &Path,
        model: Option<&Path>,
        outcome: &mut Outcome,
    ) -> Result<(), Report> {
        if self.paths.is_empty() {
            return Ok(());
        }
        let parts = model.map(ModelParts::read).transpose()?;
        let name = model.unwrap_or(source).file_name().unwrap_or_default().to_string_lossy();
        let data = model::data(&name, parts.as_ref(), Some(&outcome.json(command)));
        let text = format!("{}{}", outcome.summary, outcome.text);
        let sources: Vec<PathBuf> = [Some(source), model].into_iter().flatten().map(Path::to_owned).collect();
        self.put(&sources, outcome, |format, outcome| match format.form() {
            Some(form) => model::render(&data, form),
            None if format == Format::Sarif => sarif(&outcome.report),
            None => format!("{}{}", unstyled(&text), unstyled(&outcome.problem())),
        })
    }

    /// Writes a file for each report, with the result of `text` for its format.
    fn put(
        &self,
        sources: &[PathBuf],
        outcome: &mut Outcome,
        text: impl Fn(Format, &Outcome) -> String,
    ) -> Result<(), Report> {
        for path in &self.paths {
            let text = text(Format::of(path).unwrap_or(Format::Text), outcome);
            let text = render::printable(&text);
            write::file(path, sources, |file| file.write_all(text.as_bytes()))?;
        }
        if !self.paths.is_empty() {
            let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
            outcome.put("reports", paths);
        }
        Ok(())
    }
}

/// Formats problems as SARIF for code review tools; files below the current folder are named relative to it.
fn sarif(report: &Report) -> String {
    let root = std::env::current_dir().unwrap_or_default();
    let log = format!("{:#}", render::sarif(report, &root.to_string_lossy()));
    format!("{}\n", render::json_text(&log))
}
