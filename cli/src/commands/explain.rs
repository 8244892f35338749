//! `onnxport explain CODE`.

use clap::Args;
use onnxport_core::diagnose::Code;

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
    let json: Vec<_> =
        codes.iter().map(|(code, text)| serde_json::json!({ "code": code, "text": text })).collect();
    let text = match (codes.as_slice(), &wanted) {
        ([], Some(wanted)) => {
            let mut outcome = Outcome::text(String::new()).with("codes", json);
            outcome.report.diagnostics.push(unknown(wanted));
            outcome.exit = Exit::Usage;
            return Err(outcome);
        }
        ([(code, text)], Some(_)) => format!("{}: {text}\n", bold(code)),
        _ => {
            table(&codes.iter().map(|(code, text)| vec![bold(code), (*text).to_owned()]).collect::<Vec<_>>())
        }
    };
    Ok(Outcome::text(text).with("codes", json))
}

fn unknown(code: &str) -> onnxport_core::diagnose::Diagnostic {
    use onnxport_core::diagnose::Diagnostic;
    Diagnostic::error(Code::LOWER_NAME, format!("there is no code {code}"))
        .help("`onnxport explain` lists all; other prefixes than OP belong to plugins")
}
