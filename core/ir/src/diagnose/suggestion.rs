//! Suggestions: text that a user can paste to solve a problem.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a suggestion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A lowering in Python, for a missing operator.
    Lowering,
    /// The same in Rust, for a plugin.
    Plugin,
    /// A module in the place of another one.
    Module,
    /// The `dynamic_shapes` of an export.
    Shapes,
    /// What PyTorch has to be told of a class.
    Class,
    /// What PyTorch has to be told of an operator.
    Kernel,
}

impl Subject {
    /// Returns the prefix of comments in the language of such suggestions.
    pub const fn comment(self) -> &'static str {
        if matches!(self, Self::Plugin) { "//" } else { "#" }
    }
}

/// Something to paste: it makes the next step, or a begin of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What it is about.
    pub subject: Subject,
    /// What it is and where it goes, in a line.
    pub title: String,
    /// Whole lines of Python or Rust, without a line break at the end.
    pub text: String,
    /// Where it goes, if that is known.
    pub insert: Option<Insert>,
}

/// A position between two lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// The file, as Python names it.
    pub file: String,
    /// The line that the text is inserted in front of, from 1.
    pub line: u32,
}

impl Suggestion {
    /// A suggestion that goes where the user chooses.
    pub fn new(subject: Subject, title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { subject, title: title.into(), text: text.into(), insert: None }
    }
}
