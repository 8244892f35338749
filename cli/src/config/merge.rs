//! The effective options of one command: the user's, then the environment's, then those of the tables of a file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path};

use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use serde_json::Value;

use super::check::Entry;
use super::locate;
use crate::known::{self, Kind, Paths, Reach};
use crate::options;

/// The user's options by name, and whether each is given or switched off.
pub(crate) type Said = BTreeMap<String, bool>;

/// The options that a file adds to the user's.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// The options, each once, of the table with the highest precedence.
    pub(crate) entries: Vec<Entry>,
    /// Options that an environment variable sets, with its name.
    pub(crate) variables: Vec<(String, &'static str)>,
}

/// Merges `entries`, lowest precedence first, of the file at `place` with the user's options `said`; `unset` options
/// keep their defaults.
///
/// # Errors
/// `OP004` for a value that the option's parser refuses, `OP005` for an option that is only accepted from a file
/// that the user names, `OP001` for an unknown option in `unset`.
pub(crate) fn merge(
    command: &Command,
    entries: Vec<Entry>,
    said: &Said,
    unset: &[String],
    place: &locate::OptionsFile,
) -> Result<Merged, Report> {
    let find = |name: &str| known::options(command).find(|arg| known::long(arg) == name);
    refuse_unknown(command, unset)?;
    let is_unset = |arg: &Arg| unset.iter().any(|name| known::is_called(arg, name));
    let mut merged = Merged::default();
    let mut strongest: Vec<Entry> = Vec::new();
    for entry in entries.into_iter().rev() {
        let Some(arg) = find(&entry.long) else { continue };
        let is_said = said.contains_key(&entry.long) || is_unset(arg);
        if is_said || strongest.iter().any(|stronger| stronger.long == entry.long) {
            continue;
        }
        let excludes = |long: &str| find(long).is_some_and(|other| known::conflict(command, arg, other));
        let is_excluded = said.iter().any(|(long, given)| *given && excludes(long))
            || strongest
                .iter()
                .any(|other| other.layer > entry.layer && other.is_given() && excludes(&other.long));
        if entry.is_given() && is_excluded {
            continue;
        }
        if let Some(variable) = known::variable(arg).filter(|name| locate::variable(name).is_some()) {
            merged.variables.push((entry.long, variable));
            continue;
        }
        strongest.push(entry);
    }
    strongest.reverse();
    let mut problems = Vec::new();
    for entry in &mut strongest {
        let Some(arg) = find(&entry.long) else { continue };
        let result = reach(arg, entry, place).and_then(|()| {
            relative_to(arg, &mut entry.value, &place.path);
            parse(arg, entry)
        });
        problems.extend(result.err());
    }
    if !problems.is_empty() {
        return Err(Report { diagnostics: problems, ..Report::default() });
    }
    merged.entries = strongest;
    Ok(merged)
}

/// Fails if the command has no such option to unset.
///
/// # Errors
/// `OP001`.
pub(crate) fn refuse_unknown(command: &Command, unset: &[String]) -> Result<(), Diagnostic> {
    let is_unknown = |name: &&String| known::options(command).all(|arg| !known::is_called(arg, name));
    match unset.iter().find(is_unknown) {
        None => Ok(()),
        Some(name) => {
            let problem = format!("`--unset {name}`: `{}` has no such option", command.get_name());
            let help = known::nearest(name, known::options(command).map(known::long))
                .map(|near| format!("did you mean `{near}`?"));
            Err(Diagnostic { help, ..Diagnostic::error(Code::USAGE, problem) })
        }
    }
}

/// The texts in a value.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    all.iter().filter_map(Value::as_str)
}

/// Fails if a file that was found rather than named sets an option that does more than read.
fn reach(arg: &Arg, entry: &Entry, place: &locate::OptionsFile) -> Result<(), Diagnostic> {
    if place.named || !entry.is_given() {
        return Ok(());
    }
    let refuse = |why: &str| {
        let message = format!("{}: `{}` {why}", entry.place, entry.long);
        let help = format!(
            "name the file, if you trust it: `--config {}`, or {} in the environment",
            place.path.display(),
            locate::VARIABLE
        );
        Err(Diagnostic::error(Code::CONFIG_TRUST, message).help(help))
    };
    match known::reach(arg) {
        Some(Reach::Code(None)) => refuse("can run code, so it is only read from a file that you name"),
        Some(Reach::Code(Some(value))) if texts(&entry.value).any(|text| text == value) => {
            refuse(&format!("is `{value}`, which can run code, so it is only read from a file that you name"))
        }
        Some(Reach::Writes) if !texts(&entry.value).all(|path| is_below(&place.path, Path::new(path))) => {
            refuse("is a path outside the file's folder, so it is only read from a file that you name")
        }
        _ => Ok(()),
    }
}

/// Whether `path`, which is relative to the folder of `file`, lies below it, with links resolved.
fn is_below(file: &Path, path: &Path) -> bool {
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return false;
    }
    let folder = folder(file);
    let Ok(root) = folder.canonicalize() else { return false };
    let whole = folder.join(path);
    let existing = whole.ancestors().find_map(|part| {
        let is_there = part.symlink_metadata().is_ok();
        is_there.then(|| part.canonicalize().ok())
    });
    existing.flatten().is_some_and(|existing| existing.starts_with(root))
}

/// The folder of a file.
fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Converts the paths of a value from relative to the folder of `file` to relative to the working directory.
fn relative_to(arg: &Arg, value: &mut Value, file: &Path) {
    let Kind::Path(paths) = known::kind(arg) else { return };
    let around = file.parent().unwrap_or(Path::new(""));
    let join = |path: &str| around.join(path).into_os_string().into_string().ok();
    let change = |text: &mut String| match paths {
        Paths::Whole => *text = join(text).unwrap_or_else(|| text.clone()),
        Paths::Perhaps if around.join(&*text).exists() => *text = join(text).unwrap_or_else(|| text.clone()),
        Paths::Perhaps => {}
        Paths::Behind => {
            if let Some((name, path)) = text.split_once('=') {
                *text = format!("{name}={}", join(path).unwrap_or_else(|| path.to_owned()));
            }
        }
    };
    match value {
        Value::String(text) => change(text),
        Value::Array(all) => all.iter_mut().for_each(|one| {
            if let Value::String(text) = one {
                change(text);
            }
        }),
        _ => {}
    }
}

/// Has the option's own parser read the value.
fn parse(arg: &Arg, entry: &Entry) -> Result<(), Diagnostic> {
    let mut words = Vec::new();
    options::push(&mut words, &entry.long, arg, &entry.value)?;
    let parser: ValueParser = arg.get_value_parser().clone();
    let mut alone = Arg::new("it").long(entry.long.clone()).action(arg.get_action().clone());
    if alone.get_action().takes_values() {
        alone = alone.value_parser(parser).require_equals(arg.is_require_equals_set());
        if let Some(count) = arg.get_num_args() {
            alone = alone.num_args(count);
        }
    }
    let command = Command::new("onnxport").no_binary_name(true).disable_help_flag(true).arg(alone);
    let Err(error) = command.try_get_matches_from(words.iter().map(OsString::from)) else { return Ok(()) };
    let given = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(text)) => format!(" cannot be `{text}`"),
        _ => " has no usable value".to_owned(),
    };
    let why = std::error::Error::source(&error).map(|why| format!(": {why}")).unwrap_or_default();
    Err(Diagnostic::error(Code::CONFIG_VALUE, format!("{}: `{}`{given}{why}", entry.place, entry.long)))
}
