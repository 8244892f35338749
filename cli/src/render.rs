//! Prints outcomes: results on standard output, problems on standard error.

use std::io::{self, Write};

use onnxport_core::diagnose::render::{self, Palette};
use onnxport_core::diagnose::{Report, Severity};
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::format::{painted, unstyled};
use crate::global::Global;
use crate::outcome::Outcome;

impl Outcome {
    /// Returns the object that the command `name` prints with `--json`.
    pub fn json(&self, name: &str) -> Value {
        json(Some(name), self)
    }

    /// Returns the text that the program prints on standard output, without colours.
    pub fn printed(&self) -> String {
        unstyled(&format!("{}{}", self.text, self.summary))
    }

    /// Errors as a user reads them, without colours.
    pub fn problem(&self) -> String {
        problem(&self.report)
    }

    /// Errors, warnings and notes as data: a list of objects.
    pub fn diagnostics(&self) -> Value {
        diagnostics(self)
    }
}

/// Prints the outcome of the command called `name`.
pub(crate) fn print(name: &str, outcome: &Outcome, global: Global) -> io::Result<()> {
    if global.json {
        return print_json(Some(name), outcome);
    }
    print_text(outcome, global.quiet)
}

/// Prints the outcome as text; `quiet` for nothing but results and problems.
pub(crate) fn print_text(outcome: &Outcome, quiet: bool) -> io::Result<()> {
    // These streams drop colours if they do not support them.
    let mut out = anstream::stdout().lock();
    out.write_all(painted(&outcome.text).as_bytes())?;
    if !quiet {
        out.write_all(painted(&outcome.summary).as_bytes())?;
    }
    out.flush()?;
    let mut report = outcome.report.clone();
    if quiet {
        report.diagnostics.retain(|d| d.severity == Severity::Error);
    }
    anstream::stderr().write_all(render::text(&report, Palette::COLOR).as_bytes())
}

/// Returns the exit status after printing the outcome, or failing to.
pub(crate) fn exit(printed: &io::Result<()>, outcome: &Outcome) -> Exit {
    match printed {
        // A closed pipe is not a failure: `onnxport ops | head`.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::Io,
        _ => outcome.exit,
    }
}

/// Prints the outcome as one JSON object; the command is null if there is none.
pub(crate) fn print_json(name: Option<&str>, outcome: &Outcome) -> io::Result<()> {
    let text = serde_json::to_string_pretty(&json(name, outcome)).map_err(io::Error::other)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", render::json_text(&text))?;
    out.flush()
}

/// The outcome as one JSON object.
pub(crate) fn json(name: Option<&str>, outcome: &Outcome) -> Value {
    let mut object = Map::new();
    object.insert("command".to_owned(), name.into());
    object.insert("ok".to_owned(), (outcome.exit == Exit::Ok).into());
    object.insert("exit".to_owned(), (outcome.exit as u8).into());
    object.extend(outcome.json.clone());
    if !outcome.text.is_empty() && outcome.json.is_empty() {
        object.insert("text".to_owned(), unstyled(&outcome.text).into());
    }
    if let Some(config) = &outcome.config {
        object.insert("config".to_owned(), serde_json::to_value(config).unwrap_or_default());
    }
    object.insert("diagnostics".to_owned(), diagnostics(outcome));
    Value::Object(object)
}

/// Returns the diagnostics as data.
pub(crate) fn diagnostics(outcome: &Outcome) -> Value {
    serde_json::to_value(render::json(&outcome.report)).unwrap_or(Value::Null)
}

/// The errors of a report as text without colours.
pub(crate) fn problem(report: &Report) -> String {
    let mut report = report.clone();
    report.diagnostics.retain(|d| d.severity == Severity::Error);
    render::text(&report, Palette::PLAIN).trim_end().to_owned()
}
