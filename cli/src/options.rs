//! Options by their keys, the names on the command line with `_` for `-`: in an options file, and in a JSON object.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};
use onnxport_core::diagnose::{Code, Diagnostic};
use serde_json::{Map, Value};

use crate::known::{self, is_flag};

/// Splits clap's error into the problem, tips, and the usage.
pub(crate) fn diagnostic(error: &clap::Error) -> Diagnostic {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Diagnostic::error(Code::USAGE, "the command line lacks a subcommand or an argument")
            .help("try `--help`");
    }
    let text = error.to_string();
    let mut parts =
        text.trim().split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let problem = parts.next().unwrap_or_default();
    let problem = problem.strip_prefix("error: ").unwrap_or(&problem);
    let parts = parts.filter(|part| !part.starts_with("For more information"));
    Diagnostic { notes: parts.collect(), ..Diagnostic::error(Code::USAGE, problem) }.help("try `--help`")
}

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error(Code::USAGE, message)
}

/// Parses the object `json`.
///
/// # Errors
/// `OP001` if it is not an object.
pub(crate) fn parse(json: &str) -> Result<Map<String, Value>, Diagnostic> {
    serde_json::from_str(json).map_err(|error| wrong(format!("the options are not a JSON object: {error}")))
}

/// The key of the option `--long`.
pub(crate) fn key_of(long: &str) -> String {
    long.replace('-', "_")
}

/// The option `--long` of a key.
pub(crate) fn long_of(key: &str) -> String {
    key.replace('_', "-")
}

/// Returns the option that `key` refers to, and whether it is given; `None` if the value leaves it unset.
pub(crate) fn says(command: &Command, key: &str, value: &Value) -> Option<(String, bool)> {
    let (arg, is_opposite) = resolve(command, key)?;
    let long = |arg: &Arg| arg.get_long().map(str::to_owned);
    match value {
        Value::Null => None,
        Value::Bool(value) if !is_opposite && !is_flag(arg) => match opposite(command, key) {
            Some(off) => Some((long(off)?, !value)),
            None => Some((long(arg)?, *value)),
        },
        Value::Bool(value) => Some((long(arg)?, *value != is_opposite)),
        _ => Some((long(arg)?, true)),
    }
}

/// Returns the option that `key` names, and whether it is negated.
pub(crate) fn resolve<'c>(command: &'c Command, key: &str) -> Option<(&'c Arg, bool)> {
    let long = key.replace('_', "-");
    let find = |long: &str| command.get_arguments().find(|arg| known::is_called(arg, long));
    find(&long).map(|arg| (arg, false)).or_else(|| Some((opposite(command, key)?, true)))
}

/// Returns the flag that switches off `key`.
fn opposite<'c>(command: &'c Command, key: &str) -> Option<&'c Arg> {
    let long = format!("no-{}", key.replace('_', "-"));
    command.get_arguments().find(|arg| known::is_called(arg, &long)).filter(|arg| is_flag(arg))
}

/// Adds the words of one option.
pub(crate) fn push(words: &mut Vec<String>, key: &str, arg: &Arg, value: &Value) -> Result<(), Diagnostic> {
    let long = arg.get_long().unwrap_or_default();
    let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    match (arg.get_action(), value) {
        (ArgAction::SetTrue, Value::Bool(true)) => words.push(format!("--{long}")),
        (ArgAction::SetTrue, Value::Bool(false)) => {}
        (ArgAction::SetTrue, _) => return Err(wrong(format!("`{key}` is true or false"))),
        (ArgAction::Count, Value::Number(count)) => {
            let count = count.as_u64().filter(|count| u8::try_from(*count).is_ok());
            let count = count.ok_or_else(|| wrong(format!("`{key}` is a small number")))?;
            words.extend((0..count).map(|_| format!("--{long}")));
        }
        // Options with an optional value.
        (_, Value::Bool(true)) if is_optional => words.push(format!("--{long}")),
        (_, Value::Bool(false)) if is_optional => {}
        (ArgAction::Append, value) => {
            words.extend(texts(key, value)?.into_iter().map(|text| format!("--{long}={text}")));
        }
        (_, value) => words.push(format!("--{long}={}", text(key, value)?)),
    }
    Ok(())
}

/// Returns the arguments of a repeatable option.
fn texts(key: &str, value: &Value) -> Result<Vec<String>, Diagnostic> {
    match value {
        Value::Array(all) => all.iter().map(|value| text(key, value)).collect(),
        one => Ok(vec![text(key, one)?]),
    }
}

fn text(key: &str, value: &Value) -> Result<String, Diagnostic> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Null => Err(wrong(format!("`{key}` takes a value, not {value}"))),
        other => Ok(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;
    use onnxport_requests::export::Export;
    use serde_json::json;

    use super::*;

    fn command() -> Command {
        let mut command = Export::augment_args(Command::new("export"));
        command.build();
        command
    }

    /// The words of an option with a value.
    fn line(key: &str, value: Value) -> Result<String, String> {
        let command = command();
        let (arg, _) = resolve(&command, key).expect("an option");
        let mut words = Vec::new();
        push(&mut words, key, arg, &value).map_err(|problem| problem.message)?;
        Ok(words.join(" "))
    }

    #[test]
    fn values_are_words_of_a_command_line() {
        for (key, value, words) in [
            ("opset", json!(21), "--opset=21"),
            ("validate", json!(true), "--validate"),
            ("validate", json!(false), ""),
            ("plan", json!(true), "--plan"),
            ("dim", json!(["x:0=n", ["y", 1, "a=b"]]), r#"--dim=x:0=n --dim=["y",1,"a=b"]"#),
            ("input_names", json!(["a", "b,c"]), r#"--input-names=["a","b,c"]"#),
        ] {
            assert_eq!(line(key, value), Ok(words.to_owned()), "{key}");
        }
        assert_eq!(line("validate", json!(1)), Err("`validate` is true or false".to_owned()));
        assert_eq!(line("opset", json!(true)), Err("`opset` takes a value, not true".to_owned()));
    }

    #[test]
    fn a_key_may_be_the_opposite_of_a_flag() {
        let command = command();
        let told = |key: &str, value: Value| says(&command, key, &value);
        let said = |name: &str, is_given: bool| Some((name.to_owned(), is_given));
        assert_eq!(told("verify", json!(false)), said("no-verify", true));
        assert_eq!(told("no_verify", json!(false)), said("no-verify", false));
        assert_eq!(told("optimize", json!(false)), said("no-optimize", true));
        assert_eq!(told("optimize", json!(1)), said("optimize", true));
        assert_eq!(told("optimize", Value::Null), None);
        assert_eq!(told("opse", json!(21)), None);
    }

    #[test]
    fn only_objects_are_options() {
        assert!(parse("{}").is_ok() && parse("[]").is_err() && parse("{").is_err());
    }
}
