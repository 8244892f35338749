//! The levels of diagnostics: arguments that raise or hide warnings and notes by their codes.

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Severity};
use onnxport_core::host::log;

use crate::exit::Exit;
use crate::outcome::Outcome;

/// Arguments about diagnostics.
#[derive(Debug, Args)]
#[command(next_help_heading = "Diagnostics")]
pub(crate) struct LevelArguments {
    /// Hide warnings and notes with this code; can be repeated
    #[arg(short = 'A', long, value_name = "CODE", value_parser = code)]
    allow: Vec<String>,
    /// Show notes with this code as warnings, and never treat its warnings as errors; can be repeated
    #[arg(short = 'W', long, value_name = "CODE", value_parser = code)]
    warn: Vec<String>,
    /// Treat warnings and notes with this code as errors, before the model is written; can be repeated
    #[arg(short = 'D', long, value_name = "CODE", value_parser = code)]
    deny: Vec<String>,
    /// Treat all warnings as errors, unless --allow or --warn names them
    #[arg(long)]
    warnings_as_errors: bool,
}

/// Reads a code: one of onnxport's own, in any case, or `plugin:code`.
fn code(text: &str) -> Result<String, String> {
    if text.contains(':') {
        return Ok(text.to_owned());
    }
    let wanted = text.to_ascii_uppercase();
    if Code::ALL.iter().any(|(code, _)| code.as_str() == wanted) {
        return Ok(wanted);
    }
    Err("unknown code; `onnxport explain` lists all codes".to_owned())
}

impl LevelArguments {
    /// Fails if a code is in two lists.
    ///
    /// # Errors
    /// `OP001`.
    pub(crate) fn check(&self) -> Result<(), Diagnostic> {
        let mut all: Vec<&String> = self.allow.iter().chain(&self.warn).chain(&self.deny).collect();
        all.sort_unstable();
        match all.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => {
                let code = pair.first().map_or("", |code| code.as_str());
                Err(Diagnostic::error(Code::USAGE, format!("{code} is given more than once"))
                    .help("use only one of `--allow`, `--warn` and `--deny`"))
            }
            None => Ok(()),
        }
    }

    /// Applies the levels to `diagnostics`. Errors stay.
    pub(crate) fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        let named = |list: &[String], found: &Diagnostic| list.iter().any(|code| code == found.code.as_str());
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

    /// Adds the plugins' messages so far to an outcome, and applies these levels to all of it; fails with the first
    /// error.
    pub(crate) fn judge(&self, outcome: &mut Outcome) {
        outcome.report.diagnostics.extend(log::so_far());
        self.apply(&mut outcome.report.diagnostics);
        if outcome.report.has_errors() && outcome.exit == Exit::Ok {
            outcome.exit = Exit::Unsupported;
        }
    }
}

#[cfg(test)]
mod tests {
    use Severity::{Error, Note, Warning};

    use super::*;

    fn levels() -> LevelArguments {
        let codes = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect();
        LevelArguments {
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
        assert_eq!(code("op408").unwrap(), "OP408");
        assert_eq!(code("mine:slow").unwrap(), "mine:slow");
        assert!(code("OP999").is_err());
        assert!(levels().check().is_ok());
        assert!(LevelArguments { warn: vec!["OP408".to_owned()], ..levels() }.check().is_err());
    }
}
