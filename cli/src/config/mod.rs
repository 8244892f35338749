//! Options in a file, `onnxport.toml`: found or named, validated against the command line, and merged with the user's
//! options.
//!
//! The command line's options are the only list of options. [`known`](crate::known) derives from it the valid contents
//! of a file, [`check`] validates a file, and [`merge`] converts the remaining entries to arguments, which the parser
//! reads with the user's own. So options of a file have the meanings, the defaults and the conflicts of the command
//! line.

mod check;
mod document;
mod locate;
mod merge;
#[cfg(test)]
mod page;
mod print;
mod schema;
#[cfg(test)]
mod signatures;
mod sketch;

use std::ffi::OsString;

use clap::Command;
use onnxport_core::diagnose::{Code, Diagnostic, Report, Severity};
use serde_json::{Map, Value};

pub(crate) use schema::schema;

use crate::args::Cli;
use crate::documents::{ConfigJson, OptionJson, Origin};
use crate::format::bold;
use crate::known;
use crate::options;
use crate::outcome::Outcome;
use check::Entry;
use locate::FileChoice;
use merge::{Merged, Said};
use print::From;

/// Names of the options about the file.
const CONFIG: &str = "config";
const NO_CONFIG: &str = "no_config";
const PRESET: &str = "preset";
const UNSET: &str = "unset";
const PRINT: &str = "print_config";

/// The applicable options of a file for a command.
#[derive(Clone, Debug)]
pub(crate) struct Used(ConfigJson);

impl Used {
    /// Adds the file and its options to `outcome`.
    fn describe(self, outcome: &mut Outcome) {
        let Self(ConfigJson { file, preset, options }) = &self;
        if !outcome.summary.is_empty() {
            let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
            let file = file.as_deref().unwrap_or_default();
            let of = preset.as_ref().map(|name| format!(", preset {name}")).unwrap_or_default();
            let line = format!("{}  {} of {file}{of}\n", bold("options"), names.join(", "));
            outcome.summary.push_str(&line);
        }
        outcome.config = Some(self.0);
    }

    /// Which of the options a `problem` of the command line is about, as a note.
    pub(crate) fn note(&self, problem: &str) -> Option<String> {
        let is_named = |option: &&OptionJson| {
            let word = format!("--{}", option.name);
            problem.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|part| part == word)
        };
        let place = |option: &OptionJson| option.place.clone().unwrap_or_default();
        let named: Vec<String> = (self.0.options.iter().filter(is_named))
            .map(|option| format!("`{}` is set at {}", option.name, place(option)))
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    }
}

/// The action for a command line.
pub(crate) enum Line {
    /// The command is run, with these arguments.
    Run(Vec<OsString>, Joined),
    /// This is the answer.
    Show(String, Box<Outcome>),
}

/// The effect of a file on a command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joined {
    /// The options that it supplied.
    pub(crate) used: Option<Used>,
    /// Notes for the user.
    pub(crate) notes: Vec<Diagnostic>,
}

impl Joined {
    /// Adds the notes and the origin of options to `outcome`.
    pub(crate) fn describe(self, outcome: &mut Outcome) {
        outcome.report.diagnostics.extend(self.notes);
        if let Some(used) = self.used {
            used.describe(outcome);
        }
    }
}

/// Merges the options of the applicable file into `arguments`, the name of the program first.
///
/// # Errors
/// `OP001` to `OP006`.
pub(crate) fn line(arguments: Vec<OsString>) -> Result<Line, Report> {
    let asks = |argument: &OsString| {
        let text = argument.to_string_lossy();
        ["--config", "--preset", "--unset", "--print-config"].iter().any(|option| text.starts_with(option))
    };
    let is_about_files = arguments.iter().any(asks) || locate::variable(locate::PRESET).is_some();
    if !is_about_files && locate::file(FileChoice::Search).is_none() {
        return Ok(Line::Run(arguments, Joined::default()));
    }
    let cli = Cli::built();
    let Some(said) = sketch::read(cli, &arguments) else {
        return Ok(Line::Run(arguments, Joined::default()));
    };
    let wanted = match said.values(CONFIG).pop() {
        _ if said.matches.get_flag(NO_CONFIG) => FileChoice::Nothing,
        Some(path) => FileChoice::File(path.into()),
        None => FileChoice::Search,
    };
    let request = Request {
        command: said.command,
        words: &said.words,
        said: known::options(said.command)
            .filter(|arg| said.says(arg))
            .map(|arg| (known::long(arg).to_owned(), true))
            .collect(),
        wanted,
        preset: said.values(PRESET).pop(),
        unset: said.values(UNSET),
        is_asked: said.matches.get_flag(PRINT),
    };
    let Some(joined) = request.join(cli)? else { return Ok(Line::Run(arguments, Joined::default())) };
    if request.is_asked {
        let values = |arg: &clap::Arg| said.says(arg).then(|| print::given(arg, &said));
        return Ok(Line::Show(said.words.join(" "), Box::new(joined.print(&request, values))));
    }
    let mut words = Vec::new();
    for entry in &joined.merged.entries {
        push(&mut words, said.command, entry)?;
    }
    if let Some(path) = &joined.project {
        words.push(format!("--project={path}"));
    }
    let (before, behind) = arguments.split_at(said.behind.min(arguments.len()));
    let line =
        before.iter().cloned().chain(words.into_iter().map(OsString::from)).chain(behind.iter().cloned());
    Ok(Line::Run(line.collect(), joined.told()))
}

fn push(words: &mut Vec<String>, command: &Command, entry: &Entry) -> Result<(), Diagnostic> {
    match known::options(command).find(|arg| known::long(arg) == entry.long) {
        Some(arg) => options::push(words, &entry.long, arg, &entry.value),
        None => Ok(()),
    }
}

/// The action for options in JSON.
pub(crate) enum Object {
    /// The command is run, with these options.
    Run(Map<String, Value>, Joined),
    /// This is the answer.
    Show(Box<Outcome>),
}

/// Merges the options of the applicable file into those of `object`, for the command `name`; only the options of
/// `taken` are accepted.
///
/// # Errors
/// `OP001` to `OP006`.
pub(crate) fn object(
    name: &str,
    mut object: Map<String, Value>,
    taken: impl Fn(&str) -> bool,
) -> Result<Object, Report> {
    let cli = Cli::built();
    let command = name.split(' ').try_fold(cli, |command, word| command.find_subcommand(word));
    let unknown = || {
        Diagnostic::error(Code::USAGE, format!("unknown command `{name}`"))
            .help("`onnxport --help` lists the commands")
    };
    let command = command.ok_or_else(unknown)?;
    let words: Vec<String> = name.split(' ').map(str::to_owned).collect();
    let wanted = match (object.remove(CONFIG), object.remove(NO_CONFIG)) {
        (Some(Value::Bool(false)), _) | (_, Some(Value::Bool(true))) => FileChoice::Nothing,
        (Some(Value::String(path)), _) => FileChoice::File(path.into()),
        (None | Some(Value::Null), _) => FileChoice::Search,
        (Some(other), _) => {
            let message = format!("`config` takes a path or false, not {other}");
            return Err(Diagnostic::error(Code::USAGE, message).into());
        }
    };
    let preset = match object.remove(PRESET) {
        Some(Value::String(name)) => Some(name),
        None | Some(Value::Null) => None,
        Some(other) => {
            let message = format!("`preset` takes a name, not {other}");
            return Err(Diagnostic::error(Code::USAGE, message).into());
        }
    };
    let unset = match object.remove(UNSET) {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(options::long_of).collect(),
        Some(Value::String(one)) => vec![options::long_of(&one)],
        _ => Vec::new(),
    };
    let is_asked = object.remove(PRINT) == Some(Value::Bool(true));
    let said: Said = object.iter().filter_map(|(key, value)| options::says(command, key, value)).collect();
    let request = Request { command, words: &words, said, wanted, preset, unset, is_asked };
    let Some(joined) = request.join(cli)? else { return Ok(Object::Run(object, Joined::default())) };
    if request.is_asked {
        let values = |arg: &clap::Arg| {
            let key = options::key_of(known::long(arg));
            object.get(&key).filter(|value| !value.is_null()).cloned()
        };
        return Ok(Object::Show(Box::new(joined.print(&request, values))));
    }
    for entry in joined.merged.entries.iter().filter(|entry| taken(&entry.long)) {
        object.insert(options::key_of(&entry.long), entry.value.clone());
    }
    if let Some(path) = joined.project.as_ref().filter(|_| taken("project")) {
        object.insert("project".to_owned(), path.as_str().into());
    }
    Ok(Object::Run(object, joined.told()))
}

/// A command, and the user's options for it.
struct Request<'c> {
    command: &'c Command,
    words: &'c [String],
    said: Said,
    wanted: FileChoice,
    preset: Option<String>,
    unset: Vec<String>,
    /// Whether the options are to be printed.
    is_asked: bool,
}

/// The options of the applicable file for a command.
struct FileOptions {
    place: Option<locate::OptionsFile>,
    preset: Option<String>,
    merged: Merged,
    /// The file as a project file with plugins.
    project: Option<String>,
    notes: Vec<Diagnostic>,
}

impl Request<'_> {
    /// Reads the applicable file. `None` if the command takes none, and none was requested.
    fn join(&self, cli: &Command) -> Result<Option<FileOptions>, Report> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        if known::commands(cli).iter().all(|(known, _)| known != self.words) {
            if self.is_asked {
                let message = format!("`onnxport {}` takes no options from a file", words.join(" "));
                return Err(Diagnostic::error(Code::USAGE, message).help("leave out this option").into());
            }
            return Ok(None);
        }
        let of_environment = || Some(locate::variable(locate::PRESET)?.to_string_lossy().into_owned());
        let wants_none = self.wanted == FileChoice::Nothing;
        let preset = self.preset.clone().or_else(|| of_environment().filter(|_| !wants_none));
        let mut found =
            FileOptions { place: None, preset, merged: Merged::default(), project: None, notes: Vec::new() };
        let Some(place) = locate::file(self.wanted.clone()) else {
            if let Some(name) = &found.preset {
                return Err(check::no_preset(name, &[]).into());
            }
            merge::refuse_unknown(self.command, &self.unset)?;
            return Ok(Some(found));
        };
        let keys = document::read(&place.path)?;
        let checked = check::check(&keys, cli, &words, found.preset.as_deref())?;
        found.merged = merge::merge(self.command, checked.entries, &self.said, &self.unset, &place)?;
        let is_said = |name: &str| {
            self.said.contains_key(name) || found.merged.entries.iter().any(|entry| entry.long == name)
        };
        let takes_plugins = known::options(self.command).any(|arg| known::long(arg) == "project");
        if checked.plugins && takes_plugins && !is_said("project") {
            if place.named {
                found.project = Some(place.path.display().to_string());
            } else {
                let message = format!(
                    "ignored the plugins of {}: plugins are only loaded from a file that you name",
                    place.path.display()
                );
                let help = format!(
                    "`--project {0}` loads its plugins; `--config {0}` also applies its options",
                    place.path.display()
                );
                let note = Diagnostic::error(Code::CONFIG_TRUST, message).help(help);
                found.notes.push(Diagnostic { severity: Severity::Note, ..note });
            }
        }
        found.place = Some(place);
        Ok(Some(found))
    }
}

impl FileOptions {
    fn told(self) -> Joined {
        let given = self.merged.entries.iter().filter(|entry| entry.is_given());
        let project = |path: &String| OptionJson {
            name: "project".to_owned(),
            value: path.as_str().into(),
            from: Origin::File,
            place: Some(path.clone()),
        };
        let options: Vec<OptionJson> = given.map(option).chain(self.project.iter().map(project)).collect();
        let used = self.place.filter(|_| !options.is_empty()).map(|place| {
            let file = Some(place.path.display().to_string());
            Used(ConfigJson { file, preset: self.preset, options })
        });
        Joined { used, notes: self.notes }
    }

    /// Prints the effective options, with those of the user.
    fn print(self, request: &Request<'_>, said: impl Fn(&clap::Arg) -> Option<Value>) -> Outcome {
        let mut rows = Vec::new();
        for arg in known::options(request.command) {
            let long = known::long(arg);
            let entry = self.merged.entries.iter().find(|entry| entry.long == long);
            let variable = self.merged.variables.iter().find(|(name, _)| name == long);
            let variable = variable
                .map(|(_, name)| *name)
                .or_else(|| known::variable(arg).filter(|name| locate::variable(name).is_some()));
            let unset = request.unset.iter().any(|name| known::is_called(arg, name));
            let row = match (said(arg), variable, entry) {
                (Some(value), _, _) => Some((value, From::CommandLine)),
                (None, Some(name), _) => Some((Value::Null, From::Environment(name))),
                (None, None, Some(entry)) => Some((entry.value.clone(), From::File(entry.clone()))),
                (None, None, None) if unset => Some((print::default(arg).unwrap_or_default(), From::Unset)),
                (None, None, None) => print::default(arg).map(|value| (value, From::Default)),
            };
            rows.extend(row.map(|(value, from)| print::Row { arg, value, from }));
        }
        let file = self.place.as_ref().map(|place| place.path.display().to_string());
        let mut outcome = print::outcome(request.words, file, self.preset.as_deref(), &rows);
        outcome.report.diagnostics = self.notes;
        outcome
    }
}

/// Converts an entry of a file to JSON.
fn option(entry: &Entry) -> OptionJson {
    let from = if entry.layer.preset().is_some() { Origin::Preset } else { Origin::File };
    OptionJson {
        name: entry.long.clone(),
        value: entry.value.clone(),
        from,
        place: Some(entry.place.to_string()),
    }
}
