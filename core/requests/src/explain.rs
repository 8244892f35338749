//! Explaining diagnostic codes, and finding them in a program.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::Host;
use onnxport_core::diagnose::{Code, Diagnostic, Report, explanation};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::needs;
use crate::progress::Progress;
use crate::{CheckRequest, Request};

/// Explains a diagnostic code.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct ExplainRequest {
    /// The code, such as OP301; without one, all codes
    pub code: Option<String>,
    /// A program: also show where the code occurs in it, and code to paste
    #[arg(requires = "code")]
    pub program: Option<PathBuf>,
    /// The opset to check the program for
    #[arg(long, default_value_t = DEFAULT_OPSET, requires = "program")]
    pub opset: i64,
}

impl Default for ExplainRequest {
    fn default() -> Self {
        Self { code: None, program: None, opset: DEFAULT_OPSET }
    }
}

/// A diagnostic code, and its explanation.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct ExplainedCode {
    /// The code, such as `OP301`.
    pub code: String,
    /// A summary of one line.
    pub text: String,
    /// The meaning.
    pub means: String,
    /// The cause.
    pub why: String,
    /// The remedies.
    pub ways_out: Vec<String>,
    /// A call that reports the code, line by line.
    pub example: Vec<String>,
}

/// The explanations.
#[derive(Debug)]
pub struct Explained {
    /// The requested code, or all codes.
    pub codes: Vec<ExplainedCode>,
    /// The diagnostics of the program with this code, if a program is given.
    pub found: Option<Report>,
}

impl ExplainRequest {
    /// Creates a request about one code.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: Some(code.into()), ..Self::default() }
    }

    /// Whether the answer depends on the plugins of the host: they convert the operators of a program.
    pub fn uses_plugins(&self) -> bool {
        self.program.is_some()
    }

    fn codes(&self) -> Result<Vec<ExplainedCode>, Diagnostic> {
        let is_wanted =
            |code: &Code| self.code.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(code.as_str()));
        let codes: Vec<ExplainedCode> = (Code::ALL.iter().filter(|(code, _)| is_wanted(code)))
            .map(|(code, text)| ExplainedCode::new(code, text.trim()))
            .collect();
        match &self.code {
            Some(code) if codes.is_empty() => {
                let message = format!("unknown code `{}`", code.to_ascii_uppercase());
                Err(Diagnostic::error(Code::LOWER_NAME, message)
                    .help("`onnxport explain` lists all; other prefixes than OP belong to plugins"))
            }
            _ => Ok(codes),
        }
    }
}

impl ExplainedCode {
    fn new(code: &Code, text: &str) -> Self {
        let explanation = explanation(code).unwrap_or_default();
        let owned = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect();
        Self {
            code: code.as_str().to_owned(),
            text: text.to_owned(),
            means: explanation.means.to_owned(),
            why: explanation.why.to_owned(),
            ways_out: owned(explanation.ways_out),
            example: owned(explanation.example),
        }
    }
}

impl Request for ExplainRequest {
    type Outcome = Explained;

    fn check(&self) -> Result<(), Diagnostic> {
        needs("code", self.code.is_some(), &[("program", self.program.is_some())])?;
        needs("program", self.program.is_some(), &[("opset", self.opset != DEFAULT_OPSET)])
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Explained, Report> {
        self.check()?;
        let codes = self.codes()?;
        let Some(program) = &self.program else { return Ok(Explained { codes, found: None }) };
        let request = CheckRequest { opset: self.opset, ..CheckRequest::new(program) };
        let mut report = request.run(host, progress)?.report;
        report.diagnostics.retain(|one| codes.iter().any(|explained| explained.code == one.code.as_str()));
        Ok(Explained { codes, found: Some(report) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");

    fn run(request: &ExplainRequest) -> Result<Explained, Report> {
        // Without the plugin of ATen's operators, none of the program's calls has a lowering.
        request.run(&Host::new(&[]).unwrap(), &mut ())
    }

    #[test]
    fn one_code_or_all_are_explained() {
        let one = run(&ExplainRequest::new("op301")).unwrap();
        let [explained] = one.codes.as_slice() else { panic!("{one:?}") };
        assert_eq!(explained.code, "OP301");
        assert!(!explained.means.is_empty() && !explained.ways_out.is_empty() && one.found.is_none());
        let all = run(&ExplainRequest::default()).unwrap();
        assert_eq!(all.codes.len(), Code::ALL.len());
        assert!(all.codes.contains(explained));
        let unknown = run(&ExplainRequest::new("op000")).unwrap_err();
        assert_eq!(unknown.diagnostics[0].message, "unknown code `OP000`");
    }

    #[test]
    fn a_code_is_found_in_a_program() {
        let found = |code: &str| {
            let request = ExplainRequest { program: Some(PROGRAM.into()), ..ExplainRequest::new(code) };
            assert!(request.uses_plugins());
            run(&request).unwrap().found.expect("a report").diagnostics
        };
        let lacking = found("OP301");
        assert!(!lacking.is_empty() && lacking.iter().all(|one| one.code.as_str() == "OP301"), "{lacking:?}");
        assert!(found("OP302").is_empty());
    }

    #[test]
    fn options_that_need_others_are_refused_alone() {
        let alone = ExplainRequest { program: Some(PROGRAM.into()), ..ExplainRequest::default() };
        assert_eq!(alone.check().unwrap_err().message, "`program` needs `code`");
        let alone = ExplainRequest { opset: 18, ..ExplainRequest::new("OP301") };
        assert_eq!(alone.check().unwrap_err().message, "`opset` needs `program`");
    }
}
