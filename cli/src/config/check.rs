//! Validates an options file against the command line: its tables, its keys and the types of its values.

use clap::{Arg, Command};
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use serde_json::Value;

use super::document::{Data, Key, Node, Position};
use crate::known::{self, Kind};

/// An applicable table for a command, from lowest to highest precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// `[all]`.
    All,
    /// `[convert]`.
    Command,
    /// `[preset.NAME.all]`.
    PresetAll(String),
    /// `[preset.NAME.convert]`.
    Preset(String),
}

impl Layer {
    /// Returns its preset.
    pub(crate) fn preset(&self) -> Option<&str> {
        match self {
            Self::All | Self::Command => None,
            Self::PresetAll(name) | Self::Preset(name) => Some(name),
        }
    }
}

/// The entry for one option in a file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The option: `no-verify` for `verify` in the file.
    pub(crate) long: String,
    /// The value in JSON; a flag that is false is not given.
    pub(crate) value: Value,
    pub(crate) place: Position,
    pub(crate) layer: Layer,
}

impl Entry {
    /// Whether the option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.value != Value::Bool(false) && self.value != 0
    }
}

/// The contents of a file.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// The options of one command, those of weaker tables first.
    pub(crate) entries: Vec<Entry>,
    /// Whether it configures plugins, as a project file does.
    pub(crate) plugins: bool,
    /// The presets.
    pub(crate) presets: Vec<String>,
}

/// Reads the entries of `keys` for the command `words`, with `preset`; everything else is checked as well, except for
/// values that only the option's own parser can judge.
///
/// # Errors
/// `OP003` for unknown tables and keys, `OP004` for values of another type, `OP006` for a missing preset.
pub(crate) fn check(
    keys: &[Key],
    cli: &Command,
    words: &[&str],
    preset: Option<&str>,
) -> Result<Checked, Report> {
    let commands = known::commands(cli);
    let mut checker =
        Checker { cli, commands: &commands, words, found: Checked::default(), problems: Vec::new() };
    for key in keys {
        match key.name.as_str() {
            known::PRESET => checker.presets(key, preset),
            name if known::ABOUT_PLUGINS.contains(&name) => checker.found.plugins = true,
            _ => checker.section(key, None),
        }
    }
    let Checker { mut found, problems, .. } = checker;
    if !problems.is_empty() {
        return Err(Report { diagnostics: problems, ..Report::default() });
    }
    if let Some(name) = preset.filter(|name| found.presets.iter().all(|known| known != name)) {
        return Err(no_preset(name, &found.presets).into());
    }
    found.entries.retain(|entry| entry.layer.preset().is_none_or(|name| Some(name) == preset));
    found.entries.sort_by(|a, b| a.layer.cmp(&b.layer));
    Ok(found)
}

/// Returns the error for an unknown preset.
pub(crate) fn no_preset(name: &str, known: &[String]) -> Diagnostic {
    let problem = Diagnostic::error(Code::CONFIG_PRESET, format!("unknown preset `{name}`"));
    match known::nearest(name, known.iter().map(String::as_str)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if known.is_empty() => problem.help(format!(
            "no file with options has presets: write the table `[preset.{name}.convert]` into {}",
            super::locate::NAME
        )),
        None => problem.help(format!("available: {}", known.join(", "))),
    }
}

/// The limit on reported problems of one file.
const MOST: usize = 100;

struct Checker<'c> {
    cli: &'c Command,
    /// The commands that take options from a file, by their words.
    commands: &'c [(Vec<String>, &'c Command)],
    words: &'c [&'c str],
    found: Checked,
    problems: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn problem(&mut self, code: Code, place: &Position, message: &str, help: Option<String>) {
        self.problems.push(Diagnostic { help, ..Diagnostic::error(code, format!("{place}: {message}")) });
    }

    /// The keys of a table.
    fn table<'k>(&mut self, key: &'k Key, shown: &str) -> &'k [Key] {
        match &key.value.data {
            Data::Table(keys) => keys,
            other => {
                let message = format!("`{shown}` is a table, not {}", other.kind());
                self.problem(Code::CONFIG_VALUE, &key.value.place, &message, None);
                &[]
            }
        }
    }

    fn presets(&mut self, key: &Key, wanted: Option<&str>) {
        for preset in self.table(key, known::PRESET) {
            self.found.presets.push(preset.name.clone());
            let shown = format!("{}.{}", known::PRESET, preset.name);
            let name = wanted.filter(|name| *name == preset.name).unwrap_or(&preset.name);
            for key in self.table(preset, &shown) {
                self.section(key, Some(name));
            }
        }
    }

    /// The table of a command, or of all.
    fn section(&mut self, key: &Key, preset: Option<&str>) {
        if self.problems.len() >= MOST {
            return;
        }
        let commands = self.commands;
        let before = preset.map_or_else(String::new, |name| format!("{}.{name}.", known::PRESET));
        if key.name == known::ALL {
            let layer = preset.map_or(Layer::All, |name| Layer::PresetAll(name.to_owned()));
            let all: Vec<_> = commands.iter().map(|(words, command)| (words.join(" "), *command)).collect();
            let shown = format!("{before}{}", known::ALL);
            for option in self.table(key, &shown) {
                self.option(option, &all, &shown, &layer);
            }
            return;
        }
        let of_name: Vec<_> = commands.iter().filter(|(words, _)| words.first() == Some(&key.name)).collect();
        let shown = format!("{before}{}", key.name);
        match of_name.as_slice() {
            [] => {
                let names = commands.iter().filter_map(|(words, _)| words.first());
                let names = names.map(String::as_str).chain([known::ALL]);
                let special = if preset.is_none() { known::ABOUT_PLUGINS } else { &[] };
                let names = names.chain(special.iter().copied());
                let names = names.chain(preset.is_none().then_some(known::PRESET));
                self.unknown(key, &shown, names.collect(), preset);
            }
            [(words, command)] if words.len() == 1 => self.command(key, command, words, &shown, preset),
            many => {
                for below in self.table(key, &shown) {
                    let found = many.iter().find(|(words, _)| words.get(1) == Some(&below.name));
                    let shown = format!("{shown}.{}", below.name);
                    match found {
                        Some((words, command)) => self.command(below, command, words, &shown, preset),
                        None => {
                            let names = many.iter().filter_map(|(words, _)| words.get(1));
                            self.unknown(below, &shown, names.map(String::as_str).collect(), preset);
                        }
                    }
                }
            }
        }
    }

    fn unknown(&mut self, key: &Key, shown: &str, names: Vec<&str>, preset: Option<&str>) {
        let cli = self.cli;
        let is_option = self.commands.iter().any(|(_, command)| resolve(command, &key.name).is_some());
        if !matches!(key.value.data, Data::Table(_)) && is_option && preset.is_none() {
            let message = format!("the option `{}` is outside a table", key.name);
            let help = "move it to a command's table, such as `[convert]`, or to `[all]` for every command";
            return self.problem(Code::CONFIG_KEY, &key.place, &message, Some(help.to_owned()));
        }
        if let Some(known) = cli.find_subcommand(&key.name).filter(|command| !known::takes(command)) {
            let message = format!("`{}` takes no options from a file", known.get_name());
            return self.problem(Code::CONFIG_KEY, &key.place, &message, None);
        }
        let near = known::nearest(&key.name, names.iter().copied());
        let help = near.map(|near| format!("did you mean `{near}`?"));
        let help = help.unwrap_or_else(|| format!("available: {}", names.join(", ")));
        let message = format!("no command has a table `[{shown}]`");
        self.problem(Code::CONFIG_KEY, &key.place, &message, Some(help));
    }

    fn command(&mut self, key: &Key, command: &Command, words: &[String], shown: &str, preset: Option<&str>) {
        let layer = preset.map_or(Layer::Command, |name| Layer::Preset(name.to_owned()));
        for option in self.table(key, shown) {
            self.option(option, &[(words.join(" "), command)], shown, &layer);
        }
    }

    /// Checks an option against each of `commands` that has it.
    fn option(&mut self, key: &Key, commands: &[(String, &Command)], shown: &str, layer: &Layer) {
        let mut is_known = false;
        for (name, command) in commands {
            if resolve(command, &key.name).is_none() {
                continue;
            }
            is_known = true;
            match read(command, key) {
                Ok((arg, value)) if *name == self.words.join(" ") => self.found.entries.push(Entry {
                    long: known::long(arg).to_owned(),
                    value,
                    place: key.place.clone(),
                    layer: layer.clone(),
                }),
                Ok(_) => {}
                Err((place, message, help)) => {
                    let message = format!("`{}` of `onnxport {name}` {message}", key.name);
                    return self.problem(Code::CONFIG_VALUE, &place, &message, help);
                }
            }
        }
        if is_known {
            return;
        }
        let mut places = commands.iter().flat_map(|(_, command)| command.get_positionals());
        if places.any(|arg| arg.get_id() == key.name.as_str()) {
            let message = format!("`{}` is a positional argument and cannot come from a file", key.name);
            return self.problem(Code::CONFIG_KEY, &key.place, &message, None);
        }
        let names = commands.iter().flat_map(|(_, command)| known::names(command));
        let help = known::nearest(&key.name, names).map(|near| format!("did you mean `{near}`?"));
        let message = format!("`[{shown}]` has no option `{}`", key.name);
        let help = help.or_else(|| Some("`onnxport schema onnxport.toml` lists the options".to_owned()));
        self.problem(Code::CONFIG_KEY, &key.place, &message, help);
    }
}

/// Returns the option that `name` refers to, and whether it is negated.
fn resolve<'c>(command: &'c Command, name: &str) -> Option<(&'c Arg, bool)> {
    let find = |long: &str| known::options(command).find(|arg| known::is_called(arg, long));
    find(name).map(|arg| (arg, false)).or_else(|| Some((opposite(command, name)?, true)))
}

/// Returns the flag that switches off `name`.
pub(crate) fn opposite<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let long = format!("no-{name}");
    let found = known::options(command).find(|arg| known::is_called(arg, &long))?;
    (known::kind(found) == Kind::Flag).then_some(found)
}

type Wrong = (Position, String, Option<String>);

/// Returns the option of a key, with its value in JSON.
fn read<'c>(command: &'c Command, key: &Key) -> Result<(&'c Arg, Value), Wrong> {
    let wrong = |what: String| (key.value.place.clone(), what, None);
    match (resolve(command, &key.name), &key.value.data) {
        (Some((arg, true)), Data::Bool(value)) => Ok((arg, Value::Bool(!value))),
        (Some((_, true)), other) => Err(wrong(format!("takes true or false, not {}", other.kind()))),
        (Some((arg, false)), Data::Bool(value)) if known::kind(arg) != Kind::Flag => {
            match opposite(command, &key.name) {
                Some(off) => Ok((off, Value::Bool(!value))),
                None if known::is_optional(arg) => Ok((arg, Value::Bool(*value))),
                None => Ok((arg, one(arg, &key.value)?)),
            }
        }
        (Some((arg, false)), Data::List(all)) if known::is_list(arg) => {
            Ok((arg, Value::Array(all.iter().map(|node| one(arg, node)).collect::<Result<_, _>>()?)))
        }
        (Some((arg, false)), _) if known::is_list(arg) => {
            Ok((arg, Value::Array(vec![one(arg, &key.value)?])))
        }
        (Some((arg, false)), _) => Ok((arg, one(arg, &key.value)?)),
        (None, _) => Err(wrong("is not an option".to_owned())),
    }
}

/// Returns a single value of the option.
fn one(arg: &Arg, node: &Node) -> Result<Value, Wrong> {
    let data = &node.data;
    let kind = known::kind(arg);
    let fits = match (&kind, data) {
        (Kind::Flag, Data::Bool(_))
        | (Kind::Number, Data::Number(_))
        | (Kind::Text | Kind::Path(_), Data::Text(_))
        | (Kind::Free, Data::Text(_) | Data::Number(_) | Data::List(_) | Data::Table(_)) => data.json(),
        (Kind::Integer, Data::Number(number)) if !number.is_f64() => data.json(),
        (Kind::Count, Data::Number(number)) if number.as_u64().is_some_and(|n| n <= u8::MAX.into()) => {
            data.json()
        }
        (Kind::Choice(values), Data::Text(_) | Data::Number(_)) => {
            let text =
                data.json().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            let text = text.unwrap_or_default();
            if values.contains(&text) {
                Some(Value::String(text))
            } else {
                let near = known::nearest(&text, values.iter().map(String::as_str));
                let help = near.map(|near| format!("did you mean `{near}`?"));
                let message = format!("cannot be `{text}`: it is one of {}", values.join(", "));
                return Err((node.place.clone(), message, help));
            }
        }
        _ => None,
    };
    let takes = match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Count => "a number from 0 to 255".to_owned(),
        Kind::Integer => "an integer".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::Choice(values) => format!("one of {}", values.join(", ")),
        Kind::Text | Kind::Free => "a string".to_owned(),
        Kind::Path(_) => "a path".to_owned(),
    };
    fits.ok_or_else(|| (node.place.clone(), format!("takes {takes}, not {}", data.kind()), None))
}
