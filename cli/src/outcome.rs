//! The outcome of a command, before it is rendered.

use onnxport_core::diagnose::{Code, Diagnostic, Report};
use serde_json::{Map, Value};

use crate::documents::ConfigJson;
use crate::exit::Exit;

/// The result of a command; the program prints it as text or as one JSON object.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code.
    pub exit: Exit,
    /// The requested text, for standard output.
    pub(crate) text: String,
    /// The summary of the work, for standard output unless `--quiet`.
    pub(crate) summary: String,
    /// The same as data.
    pub(crate) json: Map<String, Value>,
    /// The options of a file that were used.
    pub(crate) config: Option<ConfigJson>,
    /// Errors, warnings and notes, for standard error.
    pub report: Report,
}

impl Outcome {
    /// Creates an empty success.
    pub(crate) fn ok() -> Self {
        Self {
            exit: Exit::Ok,
            text: String::new(),
            summary: String::new(),
            json: Map::new(),
            config: None,
            report: Report::default(),
        }
    }

    /// A success whose text is the result.
    pub(crate) fn text(text: String) -> Self {
        Self { text, ..Self::ok() }
    }

    /// Creates an outcome for a panic of onnxport itself, with its message; `what` is to be reported: the command, or
    /// the call.
    pub(crate) fn defect(said: &str, what: &str) -> Self {
        let defect = Diagnostic::error(Code::INTERNAL, "internal error");
        let defect = said.lines().fold(defect, |defect, line| defect.note(line.to_owned()));
        defect.help(format!("please report this with the {what} and, if you can share it, the input")).into()
    }

    /// A failure.
    pub(crate) fn failed(report: Report) -> Self {
        Self { exit: Exit::of(&report), report, ..Self::ok() }
    }

    /// Adds an error, which makes the outcome a failure.
    pub(crate) fn fail(&mut self, diagnostic: Diagnostic) {
        let report = Report::from(diagnostic);
        self.exit = self.exit.max(Exit::of(&report));
        self.report.diagnostics.extend(report.diagnostics);
    }

    /// Makes the outcome a failure if it has an error.
    pub(crate) fn refuse(&mut self) {
        if self.report.has_errors() && self.exit == Exit::Ok {
            self.exit = Exit::Unsupported;
        }
    }

    /// Adds another outcome about the same subject.
    pub(crate) fn add(&mut self, other: Self) {
        self.exit = self.exit.max(other.exit);
        self.text.push_str(&other.text);
        self.summary.push_str(&other.summary);
        self.json.extend(other.json);
        self.report.diagnostics.extend(other.report.diagnostics);
    }

    /// Adds a field to the JSON form.
    pub(crate) fn with(mut self, key: &str, value: impl serde::Serialize) -> Self {
        self.put(key, value);
        self
    }

    /// Adds a field to the JSON form.
    pub(crate) fn put(&mut self, key: &str, value: impl serde::Serialize) {
        // Serialization fails only for maps with keys that are not strings, and there are none.
        self.json.insert(key.to_owned(), serde_json::to_value(value).unwrap_or(Value::Null));
    }
}

impl From<Report> for Outcome {
    fn from(report: Report) -> Self {
        Self::failed(report)
    }
}

impl From<Diagnostic> for Outcome {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::failed(diagnostic.into())
    }
}

/// The result of a command; the error is an outcome as well, so that `?` ends a command early.
pub(crate) type CommandResult = Result<Outcome, Outcome>;
