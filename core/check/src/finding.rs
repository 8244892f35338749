//! The result of one check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use onnxport_core::diagnose::{Code, Diagnostic};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The library passes.
    Pass,
    /// It does not.
    Fail,
    /// The check does not apply or could not be made.
    Skip,
}

/// The finding of one check.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// The check.
    pub check: String,
    /// How it ended.
    pub verdict: Verdict,
    /// The observation, or the reason why the check was skipped.
    pub reason: String,
    /// Advice for the author; empty if there is nothing to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub next: String,
    /// The code of a failure that has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl Finding {
    fn new(check: &str, verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { check: check.to_owned(), verdict, reason: reason.into(), next: String::new(), code: None }
    }

    pub(super) fn pass(check: &str, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Pass, reason)
    }

    pub(super) fn fail(check: &str, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Fail, reason)
    }

    pub(super) fn skip(check: &str, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Skip, reason)
    }

    /// A problem that the host has words for.
    pub(super) fn from_diagnostic(check: &str, problem: &Diagnostic) -> Self {
        let finding = Self::fail(check, problem.message.clone());
        Self {
            next: problem.help.clone().unwrap_or_default(),
            code: Some(problem.code.as_str().to_owned()),
            ..finding
        }
    }

    pub(super) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }

    /// The code of the failure.
    pub fn failure(&self) -> &'static Code {
        let known = |code: &String| Code::ALL.iter().map(|(code, _)| code).find(|c| c.as_str() == code);
        self.code.as_ref().and_then(known).unwrap_or(&Code::PLUGIN_CHECK)
    }

    /// The failure as a diagnostic.
    pub(super) fn diagnostic(&self) -> Diagnostic {
        let diagnostic =
            Diagnostic::error(self.failure().clone(), format!("{}: {}", self.check, self.reason));
        if self.next.is_empty() { diagnostic } else { diagnostic.help(self.next.clone()) }
    }
}
