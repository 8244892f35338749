//! The JSON schema of `onnxport.toml`, generated from the definition of the command line.

use clap::{Arg, Command};
use serde_json::{Map, Value, json};

use super::check;
use crate::args::Cli;
use crate::known::{self, Kind};

/// The schema, of draft 2020-12.
pub(crate) fn schema() -> Value {
    let cli = Cli::built();
    let definitions = tables(cli);
    let refer = |name: &String| (name.clone(), json!({ "$ref": format!("#/$defs/{name}") }));
    let mut tables: Map<String, Value> = definitions.keys().map(refer).collect();
    let below = tables.clone();
    let project = [
        (
            "plugins",
            json!({ "type": "array", "items": { "type": "string" }, "description": "Plugins to load, relative to the file" }),
        ),
        (
            "use",
            json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "Operators, and the plugins that lower them" }),
        ),
        (
            "options",
            json!({ "type": "object", "additionalProperties": { "type": "object" }, "description": "Options of plugins" }),
        ),
        (
            "allow",
            json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "The libraries that may be loaded, by SHA-256" }),
        ),
    ];
    tables.extend(project.into_iter().map(|(name, value)| (name.to_owned(), value)));
    let presets = json!({
        "type": "object",
        "description": "Tables that --preset selects",
        "additionalProperties": closed(below),
    });
    tables.insert(known::PRESET.to_owned(), presets);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "onnxport.toml",
        "description": "Options of onnxport",
        "type": "object",
        "properties": tables,
        "additionalProperties": false,
        "$defs": definitions,
    })
}

fn closed(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Returns a table for every command, and the one for all.
fn tables(cli: &Command) -> Map<String, Value> {
    let commands = known::commands(cli);
    let mut tables = Map::new();
    let mut all = Map::new();
    for (words, command) in &commands {
        let table = closed(properties(command));
        for (name, value) in properties(command) {
            let known = all.entry(name).or_insert_with(|| value.clone());
            if *known != value && known["type"] != value["type"] {
                *known = json!({});
            }
        }
        match words.as_slice() {
            [one] => drop(tables.insert(one.clone(), table)),
            [first, second, ..] => {
                let group = tables.entry(first.clone()).or_insert_with(|| closed(Map::new()));
                if let Some(group) = group["properties"].as_object_mut() {
                    group.insert(second.clone(), table);
                }
            }
            [] => {}
        }
    }
    tables.insert(known::ALL.to_owned(), closed(all));
    tables
}

fn properties(command: &Command) -> Map<String, Value> {
    let mut properties = Map::new();
    for arg in known::options(command) {
        properties.insert(known::long(arg).to_owned(), option(command, arg));
        let is_flag = known::kind(arg) == Kind::Flag;
        let Some(positive) = known::long(arg).strip_prefix("no-").filter(|_| is_flag) else { continue };
        if known::options(command).all(|other| known::long(other) != positive) {
            let help = format!("false is the same as no-{positive} = true");
            properties.insert(positive.to_owned(), json!({ "type": "boolean", "description": help }));
        }
    }
    properties
}

fn option(command: &Command, arg: &Arg) -> Value {
    let mut one = match known::kind(arg) {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count => json!({ "type": "integer", "minimum": 0, "maximum": 255 }),
        Kind::Integer => json!({ "type": "integer" }),
        Kind::Number => json!({ "type": "number" }),
        Kind::Choice(values) => {
            let numbers = values.iter().filter_map(|value| value.parse::<i64>().ok()).map(Value::from);
            json!({ "enum": values.iter().cloned().map(Value::from).chain(numbers).collect::<Vec<_>>() })
        }
        Kind::Text | Kind::Path(_) => json!({ "type": "string" }),
        Kind::Free => json!({ "type": ["string", "number", "array", "object"] }),
    };
    let may_be_switched = known::is_optional(arg)
        || known::kind(arg) != Kind::Flag && check::opposite(command, known::long(arg)).is_some();
    if may_be_switched {
        one = json!({ "anyOf": [one, { "type": "boolean" }] });
    }
    if known::is_list(arg) {
        one = json!({ "anyOf": [one.clone(), { "type": "array", "items": one }] });
    }
    if let (Some(object), Some(help)) = (one.as_object_mut(), arg.get_help()) {
        object.insert("description".to_owned(), help.to_string().into());
        if let Some(default) = super::print::default(arg) {
            object.insert("default".to_owned(), default);
        }
    }
    one
}
