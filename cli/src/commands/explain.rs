//! `onnxport explain CODE`.

use std::fmt::Write;
use std::path::Path;

use onnxport_core::Host;
use onnxport_core::diagnose::Report;
use onnxport_core::diagnose::render::{self, Palette};
use onnxport_requests::explain::{ExplainRequest, ExplainedCode};
use onnxport_requests::{Hosted, Request};

use super::suggesting::{self, Wanted};
use crate::format::{bold, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Looks the code up.
pub(crate) fn run(arguments: &Hosted<ExplainRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let host = if request.uses_plugins() { plugins::host(plugins)? } else { Host::new(&[])? };
    let explained = request.run(&host, &mut progress.clone())?;
    let text = match explained.codes.as_slice() {
        [code] if request.code.is_some() => lesson(code),
        codes => {
            let row = |code: &ExplainedCode| vec![bold(&code.code), code.text.clone()];
            table(&codes.iter().map(row).collect::<Vec<_>>())
        }
    };
    let mut outcome = Outcome::text(text).with("codes", &explained.codes);
    if let (Some(path), Some(found)) = (&request.program, &explained.found) {
        outcome.text.push_str(&locations(path, found));
        outcome.put("found", render::json(found));
    }
    Ok(outcome)
}

/// Describes the locations of a code in the program at `path`, with code to paste.
fn locations(path: &Path, found: &Report) -> String {
    let title = bold(&format!("In {}", path.display()));
    let text = match found.diagnostics.as_slice() {
        [] => "  `onnxport check` finds none".to_owned(),
        _ => render::text(found, Palette::PLAIN),
    };
    format!("\n{title}\n{text}\n{}", suggesting::text(found, Wanted::All))
}

/// Formats the explanation of one code.
fn lesson(explained: &ExplainedCode) -> String {
    let ExplainedCode { code, text, means, why, ways_out, example } = explained;
    let mut out = format!("{}: {text}\n\n{}\n  {means}\n", bold(code), bold("Meaning"));
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
