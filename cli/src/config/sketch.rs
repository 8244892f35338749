//! A tolerant first reading of the command line: missing arguments may come from a file.

use std::ffi::{OsStr, OsString};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// Returns the syntax of `command` only: nothing is required, and nothing excludes anything. The command line must be
/// built.
pub(crate) fn of(command: &Command) -> Command {
    let mut sketch = Command::new(command.get_name().to_owned())
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .disable_version_flag(true);
    let is_answered = |arg: &&Arg| !matches!(arg.get_action(), ArgAction::Help | ArgAction::Version);
    for arg in command.get_arguments().filter(is_answered) {
        sketch = sketch.arg(argument(arg));
    }
    for below in command.get_subcommands() {
        sketch = sketch.subcommand(of(below));
    }
    sketch
}

fn argument(arg: &Arg) -> Arg {
    let mut sketch = Arg::new(arg.get_id().clone())
        .action(arg.get_action().clone())
        .global(arg.is_global_set())
        .last(arg.is_last_set())
        .trailing_var_arg(arg.is_trailing_var_arg_set());
    if let Some(short) = arg.get_short() {
        sketch = sketch.short(short).short_aliases(arg.get_all_short_aliases().unwrap_or_default());
    }
    if let Some(long) = arg.get_long() {
        let aliases: Vec<String> =
            arg.get_all_aliases().unwrap_or_default().into_iter().map(str::to_owned).collect();
        sketch = sketch.long(long.to_owned()).aliases(aliases);
    }
    if let Some(index) = arg.get_index() {
        sketch = sketch.index(index);
    }
    if takes_value(arg) {
        sketch = sketch
            .value_parser(arg.get_value_parser().clone())
            .require_equals(arg.is_require_equals_set())
            .allow_hyphen_values(arg.is_allow_hyphen_values_set())
            .ignore_case(arg.is_ignore_case_set());
        if let Some(count) = arg.get_num_args() {
            sketch = sketch.num_args(count);
        }
        if let Some(delimiter) = arg.get_value_delimiter() {
            sketch = sketch.value_delimiter(delimiter);
        }
    }
    sketch
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// The user's options for one command.
pub(crate) struct Line<'c> {
    pub(crate) command: &'c Command,
    pub(crate) matches: ArgMatches,
    /// The position after the command's name: later words belong to it.
    pub(crate) behind: usize,
    pub(crate) words: Vec<String>,
}

/// Parses `arguments`, which start with the name of the program, as the command line `cli`. `None` if there is no command that
/// takes options from a file, or if the syntax is wrong, for which the parser itself has a better message.
pub(crate) fn read<'c>(cli: &'c Command, arguments: &[OsString]) -> Option<Line<'c>> {
    let sketch = of(cli);
    let mut matches = sketch.clone().try_get_matches_from(arguments).ok()?;
    let (mut command, mut words) = (cli, Vec::new());
    while let Some((name, below)) = matches.remove_subcommand() {
        command = command.find_subcommand(&name)?;
        words.push(name);
        matches = below;
    }
    if words.is_empty() || command.has_subcommands() {
        return None;
    }
    let behind = (2..=arguments.len()).find(|end| {
        let Some(before) = arguments.get(..*end) else { return false };
        let is_last = before.last().map(OsString::as_os_str) == words.last().map(OsStr::new);
        is_last && names(&sketch, before).as_ref() == Some(&words)
    })?;
    Some(Line { command, matches, behind, words })
}

/// The words of the command in `arguments`.
fn names(sketch: &Command, arguments: &[OsString]) -> Option<Vec<String>> {
    let mut matches = sketch.clone().try_get_matches_from(arguments).ok()?;
    let mut words = Vec::new();
    while let Some((name, below)) = matches.remove_subcommand() {
        words.push(name);
        matches = below;
    }
    Some(words)
}

impl Line<'_> {
    /// Whether the user gives `arg`.
    pub(crate) fn says(&self, arg: &Arg) -> bool {
        self.matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    }

    /// Returns the values that the user gives.
    pub(crate) fn values(&self, id: &str) -> Vec<String> {
        let raw = self.matches.try_get_raw(id).ok().flatten();
        raw.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect()
    }
}

#[cfg(test)]
mod tests {

    use super::super::known;
    use super::*;
    use crate::args::Cli;

    fn line(words: &str) -> Option<(String, usize)> {
        let cli = Cli::built();
        let arguments: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        read(cli, &arguments).map(|line| (line.words.join(" "), line.behind))
    }

    #[test]
    fn a_command_is_found_among_options() {
        assert_eq!(line("onnxport convert a.pt2"), Some(("convert".to_owned(), 2)));
        assert_eq!(line("onnxport --color never -q convert --opset 18"), Some(("convert".to_owned(), 5)));
        assert_eq!(line("onnxport weights --json bind bind"), Some(("weights bind".to_owned(), 4)));
        assert_eq!(line("onnxport convert convert --plan=tensors -vv"), Some(("convert".to_owned(), 2)));
        for none in [
            "onnxport",
            "onnxport --version",
            "onnxport convert --help",
            "onnxport plugin",
            "onnxport nothing",
        ] {
            assert_eq!(line(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_given_is_told_from_defaults() {
        let cli = Cli::built();
        let words = ["onnxport", "--json", "convert", "a.pt2", "--opset", "20", "-D", "OP408"];
        let line = read(cli, &words.map(OsString::from)).unwrap();
        let said: Vec<&str> =
            known::options(line.command).filter(|arg| line.says(arg)).filter_map(Arg::get_long).collect();
        assert_eq!(said, ["opset", "deny", "json"]);
        assert_eq!(line.values("opset"), ["20"]);
    }
}
