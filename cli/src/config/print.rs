//! `--print-config`: the effective options and their origins, in the form of an options file.

use std::fmt::Write;

use clap::{Arg, ArgAction};
use serde_json::Value;

use super::check::Entry;
use super::sketch;
use crate::documents::{ConfigJson, OptionJson, Origin};
use crate::format::faint;
use crate::known::{self, Kind};
use crate::outcome::Outcome;

/// The origin of an option.
pub(super) enum From {
    CommandLine,
    /// An environment variable, whose value is up to its reader.
    Environment(&'static str),
    File(Entry),
    /// `--unset` leaves it as it is.
    Unset,
    Default,
}

impl From {
    fn origin(&self) -> Origin {
        match self {
            Self::CommandLine => Origin::CommandLine,
            Self::Environment(_) => Origin::Environment,
            Self::File(entry) if entry.layer.preset().is_some() => Origin::Preset,
            Self::File(_) => Origin::File,
            Self::Unset => Origin::Unset,
            Self::Default => Origin::Default,
        }
    }

    /// Returns the position or the variable.
    fn place(&self) -> Option<String> {
        match self {
            Self::Environment(name) => Some((*name).to_owned()),
            Self::File(entry) => Some(entry.place.to_string()),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::File(entry) => match entry.layer.preset() {
                Some(name) => format!("preset {name}, {}", entry.place),
                None => entry.place.to_string(),
            },
            Self::Environment(name) => format!("environment: {name}"),
            Self::CommandLine => "command line".to_owned(),
            Self::Unset => "unset".to_owned(),
            Self::Default => "default".to_owned(),
        }
    }
}

/// An option.
pub(super) struct Row<'a> {
    pub(super) arg: &'a Arg,
    pub(super) value: Value,
    pub(super) from: From,
}

/// Returns the user's value on the command line, in JSON.
pub(super) fn given(arg: &Arg, line: &sketch::Line<'_>) -> Value {
    let id = arg.get_id().as_str();
    match arg.get_action() {
        ArgAction::SetTrue => Value::Bool(true),
        ArgAction::Count => line.matches.get_count(id).into(),
        ArgAction::Append => line.values(id).iter().map(|text| of_text(arg, text)).collect(),
        _ => line.values(id).first().map_or(Value::Bool(true), |text| of_text(arg, text)),
    }
}

/// Returns the default value.
pub(super) fn default(arg: &Arg) -> Option<Value> {
    let text = arg.get_default_values().first()?.to_str()?;
    // The defaults of flags are those of every flag.
    arg.get_action().takes_values().then(|| of_text(arg, text))
}

fn of_text(arg: &Arg, text: &str) -> Value {
    let is_number = matches!(known::kind(arg), Kind::Integer | Kind::Number);
    let number = || serde_json::from_str(text).ok().filter(Value::is_number);
    is_number.then(number).flatten().unwrap_or_else(|| text.into())
}

/// The answer.
pub(super) fn outcome(
    words: &[String],
    file: Option<String>,
    preset: Option<&str>,
    rows: &[Row<'_>],
) -> Outcome {
    // Paths are relative to the working directory by now.
    let mut text = faint("# the equivalent onnxport.toml in the working directory");
    let _ = writeln!(text, "\n[{}]", words.join("."));
    let mut lines = Vec::new();
    for Row { arg, value, from } in rows {
        let long = known::long(arg);
        let line = match toml::Value::try_from(value) {
            Ok(shown) if !value.is_null() => format!("{long} = {shown}"),
            _ => format!("{long} ="),
        };
        // Defaults are commented out: stating one can require or conflict with other options.
        let is_said = matches!(from, From::CommandLine | From::File(_));
        lines.push((if is_said { line } else { format!("# {line}") }, from.text(), is_said));
    }
    lines.sort_by_key(|(_, _, is_said)| !is_said);
    let width = lines.iter().map(|(line, _, _)| line.chars().count()).max().unwrap_or_default().min(40);
    for (line, from, _) in &lines {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line:width$}  {}", faint(&format!("# {from}")));
    }
    let option = |Row { arg, value, from }: &Row<'_>| OptionJson {
        name: known::long(arg).to_owned(),
        value: value.clone(),
        from: from.origin(),
        place: from.place(),
    };
    let options = rows.iter().map(option).collect();
    let config = ConfigJson { file, preset: preset.map(str::to_owned), options };
    Outcome { config: Some(config), ..Outcome::text(text) }
}
