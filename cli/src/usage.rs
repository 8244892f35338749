//! Reports invalid command lines: text as clap prints it, or one JSON object.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use onnxport_core::diagnose::Report;

use crate::args::Cli;
use crate::config::Used;
use crate::exit::Exit;
use crate::known;
use crate::options::diagnostic;
use crate::outcome::Outcome;
use crate::render;
use crate::version;

/// Reports `arguments`, the name of the program first, that clap refused; `used` are those options among them that come
/// from a file.
pub(crate) fn answer(mut error: clap::Error, arguments: &[OsString], used: Option<&Used>) -> Exit {
    suggest(&mut error, arguments);
    let note = used.and_then(|used| used.note(&error.to_string()));
    if error.kind() == ErrorKind::DisplayVersion && wants_json(arguments) {
        return show(None, &version::outcome(), arguments);
    }
    // The output of `--help` is text.
    if !error.use_stderr() || !wants_json(arguments) {
        // If it cannot be printed, there is nobody to tell.
        let _ = error.print();
        if let Some(note) = note {
            let _ = writeln!(anstream::stderr(), "\nnote: {note}");
        }
        return if error.use_stderr() { Exit::Usage } else { Exit::Ok };
    }
    let mut diagnostic = diagnostic(&error);
    diagnostic.notes.extend(note);
    show(command(arguments).as_deref(), &diagnostic.into(), arguments)
}

/// Adds the most similar option to an error about an unknown one. Clap finds no `--no-verify` for `--verfy`.
fn suggest(error: &mut clap::Error, arguments: &[OsString]) {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(unknown))
            if error.kind() == ErrorKind::UnknownArgument
                && error.get(ContextKind::SuggestedArg).is_none() =>
        {
            unknown
        }
        _ => return,
    };
    let Some(name) = unknown.strip_prefix("--").and_then(|name| name.split('=').next()) else { return };
    let cli = Cli::built();
    let words = arguments.iter().skip(1);
    let command = words.fold(cli, |found, word| found.find_subcommand(word).unwrap_or(found));
    let Some(near) = known::nearest(name, known::names(command)) else { return };
    let exists = known::options(command).any(|arg| known::long(arg) == near);
    let near = if exists { format!("--{near}") } else { format!("--no-{near}") };
    error.insert(ContextKind::SuggestedArg, ContextValue::String(near));
}

/// Reports a problem that occurs before a command line is read.
pub(crate) fn refuse(report: Report, arguments: &[OsString]) -> Exit {
    show(command(arguments).as_deref(), &report.into(), arguments)
}

/// Prints `outcome` in the form that `arguments` request.
pub(crate) fn show(name: Option<&str>, outcome: &Outcome, arguments: &[OsString]) -> Exit {
    let printed = if wants_json(arguments) {
        render::print_json(name, outcome)
    } else {
        render::print_text(outcome, false)
    };
    render::exit(&printed, outcome)
}

/// Whether `--json` is among the options, as far as that can be determined for an invalid command line.
fn wants_json(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .skip(1)
        .take_while(|argument| *argument != OsStr::new("--"))
        .any(|argument| argument == "--json")
}

/// Returns the intended command, if it exists.
fn command(arguments: &[OsString]) -> Option<String> {
    let known = Cli::built();
    let named = |argument: &OsString| Some(known.find_subcommand(argument)?.get_name().to_owned());
    arguments.iter().skip(1).find_map(named)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use onnxport_core::diagnose::Diagnostic;

    use super::*;

    fn said(arguments: &[&str]) -> Diagnostic {
        diagnostic(
            &Cli::try_parse_from([&["onnxport"], arguments].concat()).expect_err("a wrong command line"),
        )
    }

    fn suggested(arguments: &[&str]) -> String {
        let line: Vec<OsString> = [&["onnxport"], arguments].concat().iter().map(OsString::from).collect();
        let mut error = Cli::try_parse_from(&line).expect_err("a wrong command line");
        suggest(&mut error, &line);
        error.to_string()
    }

    #[test]
    fn what_is_wrong_is_one_line() {
        let lacking = said(&["convert"]);
        assert_eq!(
            lacking.message,
            "the following required arguments were not provided: --output <ONNX> <PROGRAM>"
        );
        assert_eq!(lacking.notes, ["Usage: onnxport convert --output <ONNX> <PROGRAM>"]);
        let unknown = suggested(&["convert", "x", "--verfy"]);
        assert!(unknown.contains("tip: a similar argument exists: '--no-verify'"), "{unknown}");
        let unknown = said(&["inspct", "x"]);
        assert_eq!(unknown.message, "unrecognized subcommand 'inspct'");
        assert_eq!(unknown.notes[0], "tip: some similar subcommands exist: 'bisect', 'inspect'");
        for kind in [&["plugin"][..], &["convert", "a", "-o", "b", "--opset", "x"], &["ops", "--frobnicate"]]
        {
            let problem = said(kind);
            assert!(!problem.message.is_empty() && !problem.message.contains('\n'), "{problem:?}");
        }
    }

    #[test]
    fn a_command_is_found_among_options() {
        let line = |arguments: &[&str]| -> Vec<OsString> {
            std::iter::once(&"onnxport").chain(arguments).map(OsString::from).collect()
        };
        let of = |arguments: &[&str]| command(&line(arguments));
        assert_eq!(of(&["--color", "never", "inspect", "--x"]).as_deref(), Some("inspect"));
        assert_eq!(of(&["inspct"]), None);
        let json = |arguments: &[&str]| wants_json(&line(arguments));
        assert!(json(&["x", "--json"]) && !json(&["x", "--", "--json"]) && !json(&["x"]));
    }
}
