//! Options of every command.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use onnxport_requests::value::Seconds;

/// Options about output.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Global {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Print nothing but results and problems
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Show what plugins say besides warnings; twice for what their authors want to know
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// The longest that one call of a plugin may take, in seconds; running a model does not count
    #[arg(long, global = true, value_name = "SECONDS", help_heading = "Plugins")]
    pub plugin_timeout: Option<Seconds>,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On terminals, unless NO_COLOR is set
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
    /// Read options from this file, instead of an onnxport.toml in the working directory or in a folder around it, up to
    /// the root of the repository. Also `ONNXPORT_CONFIG`
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Read no options from a file
    #[arg(long, global = true)]
    no_config: bool,
    /// Use the options below [preset.NAME] of the file as well, which go before the others. Also `ONNXPORT_PRESET`
    #[arg(long, global = true, value_name = "NAME")]
    preset: Option<String>,
    /// Leave an option as it is by default, whatever the file says; can be repeated
    #[arg(long, global = true, value_name = "OPTION")]
    unset: Vec<String>,
    /// Print the options that count, and where each comes from, instead of running the command
    #[arg(long, global = true)]
    print_config: bool,
}
