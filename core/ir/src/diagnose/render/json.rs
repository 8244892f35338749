//! Diagnostics as flat records for tools.

use schemars::JsonSchema;
use serde::Serialize;

use crate::diagnose::{Frame, Report, Severity, Subject, Suggestion};

/// A diagnostic with its place spelled out.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct DiagnosticJson {
    /// The stable code.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The file of the deepest frame of the user's own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The text of this line, where the program recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The deepest line of an installed library, if the user's code calls one there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<LineJson>,
    /// The path of the module; empty for the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The exported node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Further facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The plugin that reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What can be pasted to go on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<SuggestionJson>,
}

/// A line of source code.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct LineJson {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Its text, if the program recorded it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl From<&Frame> for LineJson {
    fn from(frame: &Frame) -> Self {
        let Frame { file, line, code, function: _ } = frame;
        Self { file: file.clone(), line: *line, source: Some(code.clone()).filter(|code| !code.is_empty()) }
    }
}

/// Something to paste.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SuggestionJson {
    /// What it is about.
    pub subject: Subject,
    /// What it is and where it goes.
    pub title: String,
    /// Whole lines of Python, or of Rust for a plugin.
    pub text: String,
    /// The file that it goes into, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line that it is inserted in front of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl From<&Suggestion> for SuggestionJson {
    fn from(suggestion: &Suggestion) -> Self {
        let Suggestion { subject, title, text, insert } = suggestion;
        Self {
            subject: *subject,
            title: title.clone(),
            text: text.clone(),
            file: insert.as_ref().map(|place| place.file.clone()),
            line: insert.as_ref().map(|place| place.line),
        }
    }
}

/// The report's diagnostics as records, in order and ungrouped.
pub fn json(report: &Report) -> Vec<DiagnosticJson> {
    let record = |d: &crate::diagnose::Diagnostic| {
        let origin = d.origin.map(|id| report.origins.get(id));
        let frame = origin.and_then(|o| o.user_frame());
        DiagnosticJson {
            code: d.code.to_string(),
            severity: d.severity,
            message: d.message.clone(),
            file: frame.map(|f| f.file.clone()),
            line: frame.map(|f| f.line),
            source: frame.map(|f| f.code.clone()).filter(|code| !code.is_empty()),
            library: origin.and_then(|o| o.library_frame()).map(LineJson::from),
            module: origin.map(|o| o.module.to_string()),
            node: origin.map(|o| o.node.to_string()),
            target: origin.map(|o| o.target.to_string()),
            notes: d.notes.clone(),
            help: d.help.clone(),
            provider: d.provider.clone(),
            suggestions: d.suggestions.iter().map(SuggestionJson::from).collect(),
        }
    };
    report.diagnostics.iter().map(record).collect()
}
