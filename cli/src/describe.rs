//! The commands as data, for callers that present their arguments in another form.

use clap::{Arg, ArgAction, Command};
use onnxport_core::diagnose::{Code, Diagnostic};
use serde_json::{Value, json};

use crate::args::Cli;
use crate::options;
use crate::outcome::Outcome;

/// Finds the command `name`, such as `optimize` or `weights bind`, of a built command line.
///
/// # Errors
/// `OP001` if there is none.
fn find<'c>(cli: &'c Command, name: &str) -> Result<&'c Command, Diagnostic> {
    name.split(' ').try_fold(cli, |command, word| command.find_subcommand(word).ok_or_else(|| unknown(name)))
}

/// Returns the error that there is no command `name`.
pub(crate) fn unknown(name: &str) -> Diagnostic {
    Diagnostic::error(Code::USAGE, format!("unknown command `{name}`"))
        .help("`onnxport --help` lists the commands")
}

/// Describes the command `name` and its arguments: `name` is the key in the options of [`command`](crate::command).
///
/// # Errors
/// If there is no such command.
pub fn describe(name: &str) -> Result<Value, Outcome> {
    let cli = Cli::built();
    let command = find(cli, name)?;
    let about = command.get_about().map(ToString::to_string);
    let places = command.get_positionals().map(|arg| argument(arg, arg.get_id().to_string(), true));
    let long = |arg: &Arg| arg.get_long().map(options::key_of);
    let is_answered = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Help | ArgAction::Version);
    let options = command.get_arguments().filter(|arg| !is_answered(arg));
    let named = options.filter_map(|arg| Some(argument(arg, long(arg)?, false)));
    let arguments: Vec<Value> = places.chain(named).collect();
    Ok(json!({ "about": about, "arguments": arguments }))
}

fn argument(arg: &Arg, name: String, is_place: bool) -> Value {
    let kind = match arg.get_action() {
        ArgAction::SetTrue => "flag",
        ArgAction::Count => "count",
        ArgAction::Append => "list",
        _ => "value",
    };
    let values = arg.get_possible_values();
    let values: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
    json!({
        "name": name,
        "place": is_place,
        "kind": kind,
        "required": arg.is_required_set(),
        "values": values,
        "help": arg.get_help().map(ToString::to_string),
    })
}
