//! `onnxport explain CODE`.

use std::fmt::Write;

use clap::Args;
use onnxport_core::diagnose::{Code, Explanation, explanation};

use crate::exit::Exit;
use crate::format::{bold, table};
use crate::outcome::{CommandResult, Outcome};

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The code, such as OP301; all of them when it is left out
    code: Option<String>,
}

/// Looks the code up.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
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
            serde_json::json!({
                "code": code, "text": text, "means": means, "why": why, "ways_out": ways_out, "example": example,
            })
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
    Ok(Outcome::text(text).with("codes", json))
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
    Diagnostic::error(Code::LOWER_NAME, format!("there is no code `{code}`"))
        .help("`onnxport explain` lists all; other prefixes than OP belong to plugins")
}
