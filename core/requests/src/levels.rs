//! The options about the levels of diagnostics, which raise or hide warnings and notes by their codes.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Severity};
use onnxport_core::host::log;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::as_text;

/// The levels of diagnostics.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Diagnostics")]
#[serde(default)]
pub struct Levels {
    /// Hide warnings and notes with this code; can be repeated
    #[arg(short = 'A', long, value_name = "CODE")]
    pub allow: Vec<LevelCode>,
    /// Show notes with this code as warnings, and never treat its warnings as errors; can be repeated
    #[arg(short = 'W', long, value_name = "CODE")]
    pub warn: Vec<LevelCode>,
    /// Treat warnings and notes with this code as errors, before the model is written; can be repeated
    #[arg(short = 'D', long, value_name = "CODE")]
    pub deny: Vec<LevelCode>,
    /// Treat all warnings as errors, unless --allow or --warn names them
    #[arg(long)]
    pub warnings_as_errors: bool,
}

/// A code: one of onnxport's own, in any case, or `plugin:code`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LevelCode(String);

impl FromStr for LevelCode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text.contains(':') {
            return Ok(Self(text.to_owned()));
        }
        let wanted = text.to_ascii_uppercase();
        if Code::ALL.iter().any(|(code, _)| code.as_str() == wanted) {
            return Ok(Self(wanted));
        }
        Err("unknown code; `onnxport explain` lists all codes")
    }
}

impl fmt::Display for LevelCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

as_text! { LevelCode: { "type": "string" } }

impl Levels {
    /// Fails if a code is in two lists.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let mut all: Vec<&LevelCode> = self.allow.iter().chain(&self.warn).chain(&self.deny).collect();
        all.sort_unstable();
        match all.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => {
                let code = pair.first().map_or("", |code| code.0.as_str());
                Err(Diagnostic::error(Code::USAGE, format!("{code} is given more than once"))
                    .help("use only one of `--allow`, `--warn` and `--deny`"))
            }
            None => Ok(()),
        }
    }

    /// Applies the levels to `diagnostics`. Errors stay.
    fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        let named =
            |list: &[LevelCode], found: &Diagnostic| list.iter().any(|code| code.0 == found.code.as_str());
        diagnostics.retain(|found| found.severity == Severity::Error || !named(&self.allow, found));
        for found in diagnostics.iter_mut() {
            found.severity = match found.severity {
                Severity::Error => Severity::Error,
                _ if named(&self.deny, found) => Severity::Error,
                _ if named(&self.warn, found) => Severity::Warning,
                Severity::Warning if self.warnings_as_errors => Severity::Error,
                other => other,
            };
        }
    }

    /// Adds the messages that plugins have logged so far to `diagnostics`, and applies these levels to all of them.
    pub fn judge(&self, diagnostics: &mut Vec<Diagnostic>) {
        diagnostics.extend(log::so_far());
        self.apply(diagnostics);
    }
}

/// Whether there is an error among `diagnostics`.
pub(crate) fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|found| found.severity == Severity::Error)
}

#[cfg(test)]
mod tests {
    use Severity::{Error, Note, Warning};

    use super::*;

    fn codes(codes: &[&str]) -> Vec<LevelCode> {
        codes.iter().map(|code| code.parse().unwrap()).collect()
    }

    fn levels() -> Levels {
        Levels {
            allow: codes(&["OP408"]),
            warn: codes(&["OP409"]),
            deny: codes(&["mine:slow"]),
            warnings_as_errors: true,
        }
    }

    #[test]
    fn codes_are_hidden_raised_and_kept() {
        let note = |code| Diagnostic { severity: Severity::Note, ..Diagnostic::error(code, "it") };
        let own = |text: &str| Code::ALL.iter().find(|(code, _)| code.as_str() == text).unwrap().0.clone();
        let mut found = vec![
            Diagnostic::error(own("OP408"), "an error"),
            Diagnostic::warning(own("OP408"), "a warning"),
            note(own("OP409")),
            Diagnostic::warning(own("OP409"), "a warning"),
            note(Code::of_plugin("mine", "slow")),
            Diagnostic::warning(own("OP406"), "a warning"),
            note(own("OP406")),
        ];
        levels().apply(&mut found);
        let severities: Vec<Severity> = found.iter().map(|found| found.severity).collect();
        assert_eq!(severities, [Error, Warning, Warning, Error, Error, Note]);
    }

    #[test]
    fn codes_are_known_and_named_once() {
        let code = |text: &str| text.parse::<LevelCode>().map(|code| code.to_string());
        assert_eq!(code("op408").unwrap(), "OP408");
        assert_eq!(code("mine:slow").unwrap(), "mine:slow");
        assert!(code("OP999").is_err());
        assert!(levels().check().is_ok());
        assert!(Levels { warn: codes(&["OP408"]), ..levels() }.check().is_err());
    }
}
