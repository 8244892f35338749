//! A diagnostic: one problem or remark, as data.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::render::{self, Palette};
use super::{Code, OriginId, Origins, Suggestion};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Note,
    /// The output is right, but the user may want to know.
    Warning,
    /// There is no output, or it is not trusted.
    Error,
}

/// One problem or remark.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The stable code.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence that names what is wrong, without a final stop.
    pub message: String,
    /// Where in the program.
    pub origin: Option<OriginId>,
    /// Further facts, each a line.
    pub notes: Vec<String>,
    /// The next step.
    pub help: Option<String>,
    /// The plugin that reported it, if one did.
    pub provider: Option<String>,
    /// What can be pasted to go on, the likeliest first.
    pub suggestions: Vec<Suggestion>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            origin: None,
            notes: Vec::new(),
            help: None,
            provider: None,
            suggestions: Vec::new(),
        }
    }

    /// A warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds where in the program it is.
    #[must_use]
    pub fn at(mut self, origin: OriginId) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds suggestions.
    #[must_use]
    pub fn suggest(mut self, suggestions: impl IntoIterator<Item = Suggestion>) -> Self {
        self.suggestions.extend(suggestions);
        self
    }

    /// Sets the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    /// The code, the message and the next step, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl std::error::Error for Diagnostic {}

/// Every diagnostic of a run, with the origins that they refer to.
#[derive(Clone, Default)]
pub struct Report {
    /// In the order in which they were found.
    pub diagnostics: Vec<Diagnostic>,
    /// The origins that the diagnostics refer to.
    pub origins: Origins,
}

impl Report {
    /// Returns a report of a single error without an origin.
    pub fn single(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic], origins: Origins::default() }
    }

    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
}

impl From<Diagnostic> for Report {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::single(diagnostic)
    }
}

impl fmt::Display for Report {
    /// The text that the command prints, without colours.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(render::text(self, Palette::PLAIN).trim_end())
    }
}

impl fmt::Debug for Report {
    /// As `Display`, so that a `main` that returns the error, or an `unwrap`, prints the report.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Report {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_is_wrong_and_what_to_do() {
        let error = Diagnostic::error(Code::LOWER_OPSET, "opset 3 is not one of 18 to 23").help("choose one");
        assert_eq!(
            error.to_string(),
            "OP302: opset 3 is not one of 18 to 23 (choose one)".replace("OP302", Code::LOWER_OPSET.as_str())
        );
        let report: Box<dyn std::error::Error + Send + Sync> = Box::new(Report::from(error));
        assert!(report.to_string().starts_with("error["), "{report}");
        assert!(report.to_string().ends_with("help: choose one"), "{report}");
    }
}
