//! The valid contents of an options file: the command line's options, and the types of their values.

use std::any::TypeId;

use clap::builder::ValueHint;
use clap::{Arg, ArgAction, Command};

use onnxport_core::precision::Scheme;
use onnxport_requests::axes::{Axis, DynamicAxis, PortNames};
use onnxport_requests::feeding::DimSize;
use onnxport_requests::levels::LevelCode;
pub(crate) use onnxport_requests::object::nearest;
use onnxport_requests::package::{Bucket, ForModel};
use onnxport_requests::plugins::{Choice, PluginOption};
use onnxport_requests::precision::Transform;
use onnxport_requests::value::{Draw, NameValue, Parsed, Tolerance};

use crate::documents;

/// Options about the file itself, and those that clap adds.
const ABOUT_FILES: &[&str] = &["config", "no-config", "preset", "print-config", "unset", "help", "version"];

/// Commands that only describe onnxport, or that it starts itself: a defective file must not stop them.
const WITHOUT: &[&str] = &["completions", "explain", "help", "man", "probe", "schema", "serve"];

/// Tables and keys of the file that are about plugins, as `--project` reads them.
pub(crate) const ABOUT_PLUGINS: &[&str] = &["plugins", "use", "options", "allow"];

/// The table for every command.
pub(crate) const ALL: &str = "all";

/// The table of presets.
pub(crate) const PRESET: &str = "preset";

/// The effect of an option that is not accepted from a file that was merely found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It loads code, or has code executed. With a value, only that value does.
    Code(Option<&'static str>),
    /// It names an output location.
    Writes,
}

/// The options with effects beyond reading, by their names. A test checks that every option with a path is in this list
/// or in that of options whose paths are only read.
const FAR: &[(&str, Reach)] = &[
    ("plugin", Reach::Code(None)),
    ("project", Reach::Code(None)),
    ("plugin-option", Reach::Code(None)),
    ("ort-library", Reach::Code(None)),
    ("executor-option", Reach::Code(None)),
    ("comparer-option", Reach::Code(None)),
    ("reference", Reach::Code(Some("torch"))),
    ("sdk", Reach::Code(None)),
    ("record", Reach::Code(None)),
    ("modules", Reach::Code(None)),
    ("code", Reach::Code(None)),
    ("output", Reach::Writes),
    ("report", Reach::Writes),
    ("dump-matches", Reach::Writes),
    ("profile", Reach::Writes),
    ("picture", Reach::Writes),
    ("backend-cache", Reach::Writes),
    ("path", Reach::Writes),
];

/// Options that an environment variable sets as well, with precedence over a file.
const VARIABLES: &[(&str, &str)] = &[
    ("color", "NO_COLOR"),
    ("ort-library", "ORT_DYLIB_PATH"),
    ("plugin", "ONNXPORT_PLUGIN_PATH"),
    ("reference", "ONNXPORT_REFERENCE"),
];

/// The type of an option's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// True or false.
    Flag,
    /// The number of times it is given.
    Count,
    Integer,
    Number,
    /// One of these.
    Choice(Vec<String>),
    Text,
    /// A path; with `Some`, one in `NAME=PATH`, or a value that may also be something else.
    Path(Paths),
    /// Any value that its parser accepts: text, a number, or lists and tables if it reads JSON.
    Free,
}

/// The position of the path in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    /// The value is one.
    Whole,
    /// After the first `=`.
    Behind,
    /// The value may be a name; it is a path if that exists.
    Perhaps,
}

/// Returns the options of `command` that a file may contain. The command line must be built.
pub(crate) fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| arg.get_long().is_some_and(|long| !ABOUT_FILES.contains(&long)))
}

/// Whether `command` takes options from a file.
pub(crate) fn takes(command: &Command) -> bool {
    !command.is_hide_set() && !WITHOUT.contains(&command.get_name())
}

/// Returns the commands that take options from a file, each by its words; the command line must be built.
pub(crate) fn commands(cli: &Command) -> Vec<(Vec<String>, &Command)> {
    let mut found = Vec::new();
    for command in cli.get_subcommands().filter(|command| takes(command)) {
        let name = command.get_name().to_owned();
        if command.has_subcommands() {
            for (words, below) in commands(command) {
                found.push((std::iter::once(name.clone()).chain(words).collect(), below));
            }
        } else {
            found.push((vec![name], command));
        }
    }
    found
}

/// Returns the tables of a file with options: those of commands, that of all, and that of presets.
pub(crate) fn tables() -> Vec<String> {
    let first = |name: &'static str| name.split(' ').next().unwrap_or(name);
    let commands = documents::names().map(first).filter(|name| !WITHOUT.contains(name));
    commands.chain([ALL, PRESET]).map(str::to_owned).collect()
}

/// Whether it is a flag, which takes no value.
pub(crate) fn is_flag(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// The name of an option.
pub(crate) fn long(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_default()
}

/// Whether `name` is the name of an option, or an old one.
pub(crate) fn is_called(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|names| names.contains(&name))
}

/// Whether it can be given more than once.
pub(crate) fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

/// Whether its value is optional.
pub(crate) fn is_optional(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.min_values() == 0) && !is_flag(arg)
}

/// Returns the type of the value of `arg`.
pub(crate) fn kind(arg: &Arg) -> Kind {
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => return Kind::Flag,
        ArgAction::Count => return Kind::Count,
        _ => {}
    }
    let values = arg.get_possible_values();
    if !values.is_empty() {
        return Kind::Choice(values.iter().map(|value| value.get_name().to_owned()).collect());
    }
    let stated = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let is_of = |id: TypeId| arg.get_value_parser().type_id() == id;
    if arg.get_value_hint() != ValueHint::Unknown {
        let may_be_other =
            ["NAME", "PLUGIN", "URL"].iter().any(|other| stated.split('|').any(|part| part == *other));
        return Kind::Path(match stated.contains('=') {
            true => Paths::Behind,
            false if may_be_other => Paths::Perhaps,
            false => Paths::Whole,
        });
    }
    if is_of(TypeId::of::<Tolerance>()) {
        return Kind::Number;
    }
    let integers = [TypeId::of::<i64>(), TypeId::of::<u64>(), TypeId::of::<usize>(), TypeId::of::<u8>()];
    // A size is a number of bytes with its unit.
    if integers.into_iter().any(is_of) && stated != "SIZE" {
        return Kind::Integer;
    }
    if is_of(TypeId::of::<f64>()) {
        return Kind::Number;
    }
    if texts().into_iter().any(is_of) { Kind::Text } else { Kind::Free }
}

/// Returns the types of values that are texts of a certain form.
fn texts() -> [TypeId; 13] {
    [
        TypeId::of::<String>(),
        TypeId::of::<Bucket>(),
        TypeId::of::<Choice>(),
        TypeId::of::<DimSize>(),
        TypeId::of::<Draw>(),
        TypeId::of::<DynamicAxis>(),
        TypeId::of::<LevelCode>(),
        TypeId::of::<NameValue>(),
        TypeId::of::<Parsed<ForModel<Axis>>>(),
        TypeId::of::<Parsed<ForModel<PortNames>>>(),
        TypeId::of::<Parsed<Scheme>>(),
        TypeId::of::<PluginOption>(),
        TypeId::of::<Transform>(),
    ]
}

/// Returns the effect of `arg` beyond reading.
pub(crate) fn reach(arg: &Arg) -> Option<Reach> {
    FAR.iter().find(|(name, _)| arg.get_long() == Some(name)).map(|(_, reach)| *reach)
}

/// Returns the environment variable that sets `arg` as well.
pub(crate) fn variable(arg: &Arg) -> Option<&'static str> {
    VARIABLES.iter().find(|(name, _)| arg.get_long() == Some(name)).map(|(_, variable)| *variable)
}

/// Whether two options exclude each other.
pub(crate) fn conflict(command: &Command, a: &Arg, b: &Arg) -> bool {
    let against = |a: &Arg, b: &Arg| {
        !a.is_global_set() && command.get_arg_conflicts_with(a).iter().any(|arg| arg.get_id() == b.get_id())
    };
    let loud = ["quiet", "verbose"];
    let are_loud = loud.contains(&long(a)) && loud.contains(&long(b)) && a.get_id() != b.get_id();
    against(a, b) || against(b, a) || are_loud
}

/// Returns the names for the options of `command` in a file or an object: `verify` as well as `no-verify`.
pub(crate) fn names(command: &Command) -> impl Iterator<Item = &str> {
    options(command).flat_map(|arg| {
        let name = long(arg);
        let opposite = name.strip_prefix("no-").filter(|_| kind(arg) == Kind::Flag);
        [Some(name), opposite].into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::args::Cli;

    /// Options with paths that are only read.
    const READ: &[&str] = &[
        "adapter",
        "against",
        "beside",
        "calibrate",
        "decompositions",
        "from",
        "input",
        "inputs",
        "merge-adapter",
        "plugin-allow",
        "source-root",
        "target",
        "weights",
        "weights-map",
        "check",
    ];

    #[test]
    fn each_path_is_read_or_reaches_further() {
        let cli = Cli::built();
        for (words, command) in commands(cli) {
            for arg in options(command) {
                let is_path = matches!(kind(arg), Kind::Path(_));
                let is_known = reach(arg).is_some() != READ.contains(&long(arg));
                assert!(
                    !is_path || is_known,
                    "{words:?} --{}: is it read, or does it reach further?",
                    long(arg)
                );
            }
        }
    }

    #[test]
    fn each_command_that_takes_options_has_a_table() {
        let cli = Cli::built();
        let mut found: Vec<String> =
            commands(cli).into_iter().filter_map(|(words, _)| words.into_iter().next()).collect();
        found.extend([ALL, PRESET].map(str::to_owned));
        let sorted = |mut all: Vec<String>| {
            all.sort();
            all.dedup();
            all
        };
        assert_eq!(sorted(tables()), sorted(found));
    }

    #[test]
    fn what_is_listed_exists() {
        let cli = Cli::built();
        let all = commands(cli);
        let exists =
            |name: &str| all.iter().any(|(_, command)| options(command).any(|arg| long(arg) == name));
        for name in FAR.iter().map(|(name, _)| name).chain(READ).chain(VARIABLES.iter().map(|(name, _)| name))
        {
            assert!(exists(name), "--{name}");
        }
        let tables = ABOUT_PLUGINS.iter().chain(&[ALL, PRESET]);
        assert!(tables.into_iter().all(|table| cli.find_subcommand(table).is_none()));
    }

    #[test]
    fn kinds_follow_from_the_command_line() {
        let cli = Cli::built();
        let kind = |command: &str, name: &str| {
            let command = cli.find_subcommand(command).unwrap();
            super::kind(options(command).find(|arg| long(arg) == name).unwrap())
        };
        assert_eq!(kind("convert", "validate"), Kind::Flag);
        assert_eq!(kind("convert", "opset"), Kind::Integer);
        assert_eq!(kind("convert", "accuracy-level"), Kind::Integer);
        assert_eq!(kind("convert", "max-growth"), Kind::Integer);
        assert_eq!(kind("convert", "max-memory"), Kind::Free);
        assert_eq!(kind("verify", "rtol"), Kind::Number);
        assert_eq!(kind("convert", "output"), Kind::Path(Paths::Whole));
        assert_eq!(kind("convert", "target"), Kind::Path(Paths::Perhaps));
        assert_eq!(kind("bisect", "against"), Kind::Path(Paths::Perhaps));
        assert_eq!(kind("verify", "against"), Kind::Path(Paths::Whole));
        assert_eq!(kind("run", "input"), Kind::Path(Paths::Behind));
        assert_eq!(kind("convert", "dim"), Kind::Free);
        assert_eq!(kind("convert", "weights-prefix"), Kind::Text);
    }
}
