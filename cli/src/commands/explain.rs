//! `onnxport explain CODE`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::render::{self, Palette};
use onnxport_core::diagnose::{Code, Diagnostic, Explanation, explanation};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_requests::object::needs;
use onnxport_requests::{CheckRequest, Plugins, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use super::suggesting::{self, Wanted};
use crate::documents::CodeJson;
use crate::exit::Exit;
use crate::format::{bold, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;

/// Arguments of `explain`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// The code, such as OP301; without one, all codes
    code: Option<String>,
    /// A program: also show where the code occurs in it, and code to paste
    #[arg(requires = "code")]
    program: Option<PathBuf>,
    /// The opset to check the program for
    #[arg(long, default_value_t = DEFAULT_OPSET, requires = "program")]
    #[serde(default = "default_opset")]
    opset: i64,
    #[command(flatten)]
    #[serde(flatten)]
    plugins: Plugins,
}

const fn default_opset() -> i64 {
    DEFAULT_OPSET
}

impl Arguments {
    fn check(&self) -> Result<(), Diagnostic> {
        needs("code", self.code.is_some(), &[("program", self.program.is_some())])?;
        needs("program", self.program.is_some(), &[("opset", self.opset != DEFAULT_OPSET)])
    }
}

/// Looks the code up.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    arguments.check()?;
    let wanted = arguments.code.as_ref().map(|code| code.to_ascii_uppercase());
    let codes: Vec<(&str, &str)> = Code::ALL
        .iter()
        .map(|(code, text)| (code.as_str(), text.trim()))
        .filter(|(code, _)| wanted.as_ref().is_none_or(|wanted| wanted == code))
        .collect();
    let known = |code: &str| {
        let code = Code::ALL.iter().map(|(known, _)| known).find(|known| known.as_str() == code)?;
        explanation(code)
    };
    let json: Vec<_> = codes
        .iter()
        .map(|(code, text)| {
            let Explanation { means, why, ways_out, example } = known(code).unwrap_or_default();
            let owned = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect();
            CodeJson {
                code: (*code).to_owned(),
                text: (*text).to_owned(),
                means: means.to_owned(),
                why: why.to_owned(),
                ways_out: owned(ways_out),
                example: owned(example),
            }
        })
        .collect();
    let text = match (codes.as_slice(), &wanted) {
        ([], Some(wanted)) => {
            let mut outcome = Outcome::text(String::new()).with("codes", json);
            outcome.report.diagnostics.push(unknown(wanted));
            outcome.exit = Exit::Usage;
            return Err(outcome);
        }
        ([(code, text)], Some(_)) => lesson(code, text, &known(code).unwrap_or_default()),
        _ => {
            table(&codes.iter().map(|(code, text)| vec![bold(code), (*text).to_owned()]).collect::<Vec<_>>())
        }
    };
    let mut outcome = Outcome::text(text).with("codes", json);
    if let (Some(path), Some(wanted)) = (&arguments.program, &wanted) {
        show(arguments, path, wanted, &mut outcome)?;
    }
    Ok(outcome)
}

/// Adds the locations of the code `wanted` in the program at `path`.
fn show(arguments: &Arguments, path: &Path, wanted: &str, outcome: &mut Outcome) -> Result<(), Outcome> {
    let host = plugins::host(&arguments.plugins)?;
    let request = CheckRequest { opset: arguments.opset, ..CheckRequest::new(path) };
    let mut found = request.run(&host, &mut ())?;
    found.report.diagnostics.retain(|one| one.code.as_str() == wanted);
    let shown = path.display();
    // Writing to a String cannot fail.
    let _ = if found.report.diagnostics.is_empty() {
        writeln!(outcome.text, "\n{}\n  `onnxport check` finds none", bold(&format!("In {shown}")))
    } else {
        let text = render::text(&found.report, Palette::PLAIN);
        writeln!(outcome.text, "\n{}\n{text}", bold(&format!("In {shown}")))
    };
    outcome.text.push_str(&suggesting::text(&found.report, Wanted::All));
    outcome.put("found", render::json(&found.report));
    Ok(())
}

/// All there is to know about one code.
fn lesson(code: &str, text: &str, explanation: &Explanation) -> String {
    let Explanation { means, why, ways_out, example } = explanation;
    let mut out = format!("{}: {text}\n\n{}\n  {means}\n", bold(code), bold("What it means"));
    // Writing to a String cannot fail.
    let _ = write!(out, "\n{}\n  {why}\n\n{}\n", bold("Why"), bold("Ways out"));
    for (way, number) in ways_out.iter().zip(1..) {
        let _ = writeln!(out, "  {number}. {way}");
    }
    let _ = writeln!(out, "\n{}", bold("An example"));
    for line in example {
        let _ = writeln!(out, "  {line}");
    }
    out
}

fn unknown(code: &str) -> onnxport_core::diagnose::Diagnostic {
    use onnxport_core::diagnose::Diagnostic;
    Diagnostic::error(Code::LOWER_NAME, format!("unknown code `{code}`"))
        .help("`onnxport explain` lists all; other prefixes than OP belong to plugins")
}
