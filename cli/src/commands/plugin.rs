//! `onnxport plugin`.

mod check;
mod new;

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::{self, Absent, Manifest, Plugin, manifest};
use onnxport_requests::Plugins;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::documents::{LibraryJson, PluginJson};
use crate::format::{bold, count, faint, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;

/// Arguments of `plugin`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the available plugins
    List(ListArguments),
    /// Load a plugin library and describe it
    Info(InfoArguments),
    /// Check a plugin library, with each step in a separate process
    Check(check::Arguments),
    #[command(hide = true)]
    Probe(check::ProbeArguments),
    #[command(hide = true)]
    Serve,
    /// Create a plugin project
    New(new::Arguments),
}

#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    #[serde(flatten)]
    plugins: Plugins,
}

#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct InfoArguments {
    /// The library
    #[serde(default)]
    library: PathBuf,
}

impl From<Command> for Arguments {
    fn from(command: Command) -> Self {
        Self { command }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.command {
        Command::List(arguments) => list(arguments),
        Command::Info(arguments) => info(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Probe(arguments) => check::probe(arguments),
        Command::Serve => plugins::serve(),
        Command::New(arguments) => new::run(arguments),
    }
}

fn list(arguments: &ListArguments) -> CommandResult {
    let host = plugins::host(&arguments.plugins)?;
    let rows: Vec<Vec<String>> = host
        .plugins
        .iter()
        .map(|plugin| {
            let place = plugin.library.as_ref().map(|path| format!(" {}", path.display()));
            let replaces = if plugin.replaces_linked { ", replaces the linked-in one" } else { "" };
            vec![
                bold(plugin.id),
                plugin.version.to_owned(),
                provides(plugin),
                faint(&format!("{}{}{replaces}", plugin.source, place.unwrap_or_default())),
            ]
        })
        .collect();
    let mut outcome = Outcome::ok()
        .with("plugins", host.plugins.iter().map(PluginJson::from).collect::<Vec<_>>())
        .with("absent", &host.absent);
    outcome.summary = format!("{}\n", bold(&count(rows.len(), "plugin")));
    outcome.text = table(&rows);
    for Absent { id, help } in &host.absent {
        let _ = writeln!(outcome.text, "{}: {help}", bold(id));
    }
    Ok(outcome)
}

fn info(arguments: &InfoArguments) -> CommandResult {
    let library = &arguments.library;
    if !library.is_file() {
        let message = format!("plugin library not found: {}", library.display());
        return Err(Diagnostic::error(Code::PLUGIN_FILE, message).into());
    }
    let (plugin, stated) = onnxport_core::session::inspect(library)?;
    let sha256 = manifest::sha256(library)?;
    let mut rows = vec![
        ("id", plugin.id.to_owned()),
        ("version", plugin.version.to_owned()),
        ("description", plugin.description.to_owned()),
        ("contract", format!("{} (this host has {})", plugin.contract, host::CONTRACT)),
        ("provides", provides(&plugin)),
        ("target", manifest::TARGET.to_owned()),
        ("sha256", sha256.clone()),
    ];
    let [toml, _] = Manifest::paths(library);
    rows.push((
        "manifest",
        match &stated {
            None => format!("none; expected at {}", toml.display()),
            Some(manifest) if manifest.sha256.is_some() => "matches, with its hash".to_owned(),
            Some(_) => "matches, without a hash".to_owned(),
        },
    ));
    for option in &plugin.options {
        rows.push(("option", format!("{}: {} ({})", option.name, option.doc, option.summary())));
    }
    if let Some(weights) = &plugin.weights {
        rows.extend(weights.transforms().map(|name| ("transform", format!("{}/{name}", plugin.id))));
        rows.extend(weights.quantisers().map(|(name, doc)| {
            let does = if doc.is_empty() { String::new() } else { format!(": {doc}") };
            ("quantiser", format!("{}/{name}{does}", plugin.id))
        }));
    }
    rows.retain(|(_, value)| !value.is_empty());
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![bold(name), value]).collect();
    let mut outcome = Outcome::text(table(&rows));
    let target = manifest::TARGET.to_owned();
    let library = LibraryJson { plugin: PluginJson::from(&plugin), sha256, target, manifest: stated };
    if let Ok(Value::Object(object)) = serde_json::to_value(library) {
        outcome.json = object;
    }
    Ok(outcome)
}

/// Lists the interfaces of the plugin, with their contents.
fn provides(plugin: &Plugin) -> String {
    let interface = |name: &&str| match (&plugin.lowering, &plugin.weights) {
        (Some(table), _) if name.starts_with("lowering/") => {
            format!("{name} ({})", count(table.entries.len(), "lowering"))
        }
        (_, Some(weights)) if name.starts_with("weights/") => {
            let parts = [
                (weights.tensors().count(), "tensor"),
                (weights.transforms().count(), "transform"),
                (weights.quantisers().count(), "quantiser"),
            ];
            let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(*n, what));
            format!("{name} ({})", parts.collect::<Vec<_>>().join(", "))
        }
        _ => (*name).to_owned(),
    };
    plugin.provides.iter().map(interface).collect::<Vec<_>>().join(", ")
}
