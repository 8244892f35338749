//! The options about plugins, from which the host is built.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use onnxport_core::Search;
use onnxport_core::host::OnPanic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::value::as_text;

/// The plugins of a host, beside those that are linked in.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Plugins")]
#[serde(default)]
pub struct Plugins {
    /// A plugin library, or a folder of libraries with manifests; can be repeated. Also read from ONNXPORT_PLUGIN_PATH
    #[arg(long, value_name = "PATH")]
    pub plugin: Vec<PathBuf>,
    /// The plugin to use for an operator that several plugins lower, such as aten.add.Tensor=mylib; can be repeated
    #[arg(long = "use", value_name = "OP=PLUGIN")]
    #[serde(rename = "use")]
    pub choices: Vec<Choice>,
    /// A plugin option; can be repeated. `onnxport plugin info` lists them
    #[arg(long, value_name = "ID.NAME=VALUE")]
    pub plugin_option: Vec<PluginOption>,
    /// An onnxport.toml whose plugins to load; without this option or --config, plugins in a file are ignored
    #[arg(long, value_name = "FILE")]
    pub project: Option<PathBuf>,
    /// A list of libraries that may be loaded, as id = "SHA-256"; without it, every library that you name may be
    #[arg(long, value_name = "FILE")]
    pub plugin_allow: Option<PathBuf>,
    /// What to do after a plugin panics
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub on_plugin_panic: OnPluginPanic,
}

/// The reaction to a plugin's panic.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum OnPluginPanic {
    /// Disable the plugin and continue without it as far as possible
    #[default]
    Continue,
    /// Stop at once
    Stop,
}

/// `OP=PLUGIN`: the plugin that lowers an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The operator, such as `aten.add.Tensor`.
    pub operator: String,
    /// The plugin's id.
    pub plugin: String,
}

impl FromStr for Choice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            Some((operator, plugin)) if !operator.is_empty() && !plugin.is_empty() => {
                Ok(Self { operator: operator.to_owned(), plugin: plugin.to_owned() })
            }
            _ => Err("expected OP=PLUGIN"),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.operator, self.plugin)
    }
}

/// `ID.NAME=VALUE`: an option of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginOption {
    /// The plugin's id.
    pub plugin: String,
    /// The name of the option.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl FromStr for PluginOption {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let parts = text.split_once('=').and_then(|(key, value)| Some((key.rsplit_once('.')?, value)));
        match parts {
            Some(((plugin, name), value)) if !plugin.is_empty() && !name.is_empty() => {
                let [plugin, name, value] = [plugin, name, value].map(str::to_owned);
                Ok(Self { plugin, name, value })
            }
            _ => Err("expected ID.NAME=VALUE"),
        }
    }
}

impl fmt::Display for PluginOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}={}", self.plugin, self.name, self.value)
    }
}

as_text! {
    Choice: { "type": "string" }
    PluginOption: { "type": "string" }
}

impl Plugins {
    /// Returns the options that differ from their defaults, except for the libraries, by name.
    pub fn further(&self) -> Map<String, Value> {
        let options = |plugins: &Self| match serde_json::to_value(plugins) {
            Ok(Value::Object(options)) => options,
            _ => Map::new(),
        };
        let defaults = options(&Self::default());
        let without = Self { plugin: Vec::new(), ..self.clone() };
        options(&without).into_iter().filter(|(name, value)| defaults.get(name) != Some(value)).collect()
    }

    /// Returns the search for them, and for those that the environment names.
    pub fn search(&self) -> Search {
        Search {
            plugins: self.plugin.clone(),
            project: self.project.clone(),
            choices: self
                .choices
                .iter()
                .map(|Choice { operator, plugin }| (operator.clone(), plugin.clone()))
                .collect(),
            options: (self.plugin_option.iter())
                .map(|PluginOption { plugin, name, value }| (plugin.clone(), name.clone(), value.clone()))
                .collect(),
            allow: self.plugin_allow.clone(),
            on_panic: match self.on_plugin_panic {
                OnPluginPanic::Continue => OnPanic::Continue,
                OnPluginPanic::Stop => OnPanic::Stop,
            },
            ..Search::of_environment()
        }
    }
}
