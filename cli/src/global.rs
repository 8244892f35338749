//! Options of every command.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use onnxport_requests::value::Seconds;
use schemars::JsonSchema;
use serde::Deserialize;

/// Options about output.
#[derive(Clone, Copy, Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Output")]
#[serde(default)]
pub(crate) struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only results and problems
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Show notes from plugins as well as warnings; repeat it for debug messages
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
    /// Time limit for one plugin call, in seconds; does not apply to running a model
    #[arg(long, global = true, value_name = "SECONDS", help_heading = "Plugins")]
    pub plugin_timeout: Option<Seconds>,
    /// Confine the process: it reads its inputs, writes into the folders of its outputs, and has no network (Linux 6.2)
    #[arg(long, global = true, help_heading = "Security")]
    pub sandbox: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Color {
    /// On terminals, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Arguments about options in a file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options in a file")]
pub(crate) struct ConfigArguments {
    /// Read options from this file instead of the nearest onnxport.toml in the working directory or its parents, up to
    /// the root of the repository. Also read from `ONNXPORT_CONFIG`
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Do not read options from a file
    #[arg(long, global = true)]
    no_config: bool,
    /// Also apply the file's [preset.NAME] tables, which override the others. Also read from `ONNXPORT_PRESET`
    #[arg(long, global = true, value_name = "NAME")]
    preset: Option<String>,
    /// Reset an option to its default, ignoring the file; can be repeated
    #[arg(long, global = true, value_name = "OPTION")]
    unset: Vec<String>,
    /// Print the effective options and their origins instead of running the command
    #[arg(long, global = true)]
    print_config: bool,
}
