//! Options as a JSON object, for callers that are programs: the arguments of the command line by their names, with `_`
//! for `-`.
//!
//! The command line's options are the only list of options: an object is converted to a command line and parsed.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Args, Command};
use onnxport_core::diagnose::{Code, Diagnostic};
use serde_json::{Map, Value};

use crate::known::{self, is_flag};

/// Reads the object `json` as the arguments `A` of `name`.
///
/// - The key of `--input-names` is `input_names`. `null` means that the option is not given.
/// - A flag is `true` or `false`; `no_verify` may be given as `verify` with the opposite value. An option with a value
///   and such a flag, like `optimize`, accepts both.
/// - A repeatable option takes a list. Another list or object goes as JSON to the option that takes it.
///
/// # Errors
/// `OP001` for an unknown key, and for a value that the command line would refuse.
pub(crate) fn read<A: Args>(name: &'static str, json: &str) -> Result<A, Diagnostic> {
    let mut known = A::augment_args(Command::new(name).no_binary_name(true).disable_help_flag(true));
    known.build();
    let words = words(&known, &parse(json)?)?;
    let matches = known.try_get_matches_from(words).map_err(|error| refused(&error))?;
    A::from_arg_matches(&matches).map_err(|error| refused(&error))
}

/// The command line of `command` with the options of `object`.
///
/// # Errors
/// As [`read`].
pub(crate) fn line(command: &mut Command, object: &Map<String, Value>) -> Result<Vec<String>, Diagnostic> {
    command.build();
    words(command, object)
}

/// Returns clap's error, without advice for a terminal user.
pub(crate) fn refused(error: &clap::Error) -> Diagnostic {
    let mut diagnostic = diagnostic(error);
    diagnostic.notes.retain(|note| !note.starts_with("Usage:"));
    Diagnostic { help: None, ..diagnostic }
}

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

fn words(command: &Command, object: &Map<String, Value>) -> Result<Vec<String>, Diagnostic> {
    let (mut words, mut places) = (Vec::new(), Vec::new());
    for (key, value) in object {
        if value.is_null() {
            continue;
        }
        if let Some(place) = command.get_positionals().find(|arg| arg.get_id() == key.as_str()) {
            places.push((place.get_index(), texts(key, value)?));
            continue;
        }
        match (resolve(command, key), value) {
            // An option with a value that can be switched off: `optimize` is a level, or false.
            (Some((arg, false)), Value::Bool(value)) if !is_flag(arg) && opposite(command, key).is_some() => {
                words.extend((!value).then(|| format!("--no-{}", key.replace('_', "-"))));
            }
            (Some((arg, false)), value) => push(&mut words, key, arg, value)?,
            (Some((arg, true)), Value::Bool(value)) => push(&mut words, key, arg, &Value::Bool(!value))?,
            (Some((_, true)), _) => return Err(wrong(format!("`{key}` is true or false"))),
            (None, _) => return Err(unknown(command, key)),
        }
    }
    places.sort_by_key(|(index, _)| *index);
    words.push("--".to_owned());
    words.extend(places.into_iter().flat_map(|(_, texts)| texts));
    Ok(words)
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

fn unknown(command: &Command, key: &str) -> Diagnostic {
    let problem = wrong(format!("unknown option `{key}` for {}", command.get_name()));
    match known::nearest(&key.replace('_', "-"), known::names(command)) {
        Some(near) => problem.help(format!("did you mean `{}`?", key_of(near))),
        None => problem.help("docs/options.md lists the options of each command"),
    }
}

#[cfg(test)]
mod tests {
    use onnxport_requests::export::Export;

    use super::*;

    fn line(json: &str) -> Result<Vec<String>, String> {
        let mut command = Export::augment_args(Command::new("export"));
        parse(json).and_then(|object| super::line(&mut command, &object)).map_err(|problem| problem.message)
    }

    #[test]
    fn an_object_is_a_command_line() {
        let words = |json: &str| line(json).unwrap().join(" ");
        assert_eq!(
            words(r#"{"opset": 21, "input_names": null, "validate": true}"#),
            "--opset=21 --validate --"
        );
        assert_eq!(words(r#"{"verify": false, "no_optimize": false}"#), "--no-verify --");
        assert_eq!(words(r#"{"optimize": "target"}"#), "--optimize=target --");
        assert_eq!(words(r#"{"optimize": 1, "opset": 21}"#), "--opset=21 --optimize=1 --");
        assert_eq!(words(r#"{"optimize": false}"#), "--no-optimize --");
        assert_eq!(words(r#"{"optimize": true}"#), "--");
        assert_eq!(words(r#"{"dim": ["x:0=n", ["y", 1, "a=b"]]}"#), r#"--dim=x:0=n --dim=["y",1,"a=b"] --"#);
        assert_eq!(words(r#"{"input_names": ["a", "b,c"]}"#), r#"--input-names=["a","b,c"] --"#);
        assert_eq!(words(r#"{"plan": true, "external_data": "inline"}"#), "--external-data=inline --plan --");
    }

    #[test]
    fn unknown_options_are_refused() {
        assert_eq!(line(r#"{"opse": 21}"#), Err("unknown option `opse` for export".to_owned()));
        assert_eq!(line(r#"{"validate": 1}"#), Err("`validate` is true or false".to_owned()));
        assert_eq!(line(r#"{"opset": true}"#), Err("`opset` takes a value, not true".to_owned()));
        assert!(line("[]").is_err() && line("{").is_err());
        let problem = read::<Export>("export", r#"{"opset": "new"}"#).unwrap_err();
        assert_eq!(problem.code, Code::USAGE);
        assert!(problem.message.contains("invalid value 'new' for '--opset <OPSET>'"), "{problem:?}");
    }

    #[test]
    fn options_may_conflict() {
        let problem = read::<Export>("export", r#"{"verify": false, "keep_failed": true}"#).unwrap_err();
        assert!(problem.message.contains("cannot be used with"), "{problem:?}");
        assert!(read::<Export>("export", "{}").is_ok());
    }
}
