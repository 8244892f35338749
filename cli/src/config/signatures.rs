//! Generates `python/onnxport/_signatures.pyi`, the commands with their options as keywords, from the command line.

use std::any::TypeId;
use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command};
use onnxport_requests::value::{Budget, ByteSize, Seconds};

use crate::args::Cli;
use crate::known::{self, Kind};
use crate::options;

const HEAD: &str = include_str!("signatures.pyi");

/// The commands that are functions of the package, each with the class of its signature.
const CALLED: &[(&str, &str)] = &[
    ("bench", "Bench"),
    ("bisect", "Bisect"),
    ("check", "Check"),
    ("convert", "Convert"),
    ("diff", "Diff"),
    ("draw", "Draw"),
    ("inspect", "Inspect"),
    ("legal", "Legal"),
    ("llm", "Llm"),
    ("ops", "Ops"),
    ("package", "Package"),
    ("partition", "Partition"),
    ("plugin check", "PluginCheck"),
    ("plugin info", "PluginInfo"),
    ("plugin list", "PluginList"),
    ("plugin new", "PluginNew"),
    ("profile", "Profile"),
    ("report", "Report"),
    ("rules", "Rules"),
    ("run", "Run"),
    ("verify", "Verify"),
    ("weights bind", "WeightsBind"),
];

/// Python keywords that are also options.
const KEYWORDS: &[&str] = &["as", "class", "def", "from", "global", "import", "in", "is", "lambda", "with"];

/// The longest line of documentation.
const WIDTH: usize = 96;

/// A parameter: its name, its type without `None`, whether it must be given, and its documentation.
struct Parameter {
    name: String,
    of: String,
    is_required: bool,
    help: String,
}

fn command<'c>(cli: &'c Command, name: &str) -> &'c Command {
    name.split(' ').fold(cli, |command, word| command.find_subcommand(word).expect("a command"))
}

fn positional(command: &Command) -> Vec<Parameter> {
    command.get_positionals().map(|arg| parameter(arg, arg.get_id().as_str(), of(command, arg))).collect()
}

fn named(command: &Command) -> Vec<Parameter> {
    let mut all = Vec::new();
    let longs: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
    for arg in command.get_arguments() {
        let Some(long) = arg.get_long().filter(|long| !["help", "version"].contains(long)) else { continue };
        all.push(parameter(arg, long, of(command, arg)));
        let positive = long.strip_prefix("no-").filter(|name| known::is_flag(arg) && !longs.contains(name));
        if let Some(positive) = positive {
            let help = format!("False is `{}=True`", options::key_of(long));
            let of = if positive == "config" { "_Path | Literal[False]" } else { "bool" }.to_owned();
            all.push(Parameter { name: options::key_of(positive), of, is_required: false, help });
        }
    }
    all
}

fn parameter(arg: &Arg, name: &str, of: String) -> Parameter {
    let name = options::key_of(name);
    let name = if KEYWORDS.contains(&name.as_str()) { format!("{name}_") } else { name };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    Parameter { name, of, is_required: arg.is_required_set(), help }
}

/// The type of an argument.
fn of(command: &Command, arg: &Arg) -> String {
    let is_of = |ids: &[TypeId]| ids.iter().any(|id| arg.get_value_parser().type_id() == *id);
    let one = match known::kind(arg) {
        Kind::Flag => "bool".to_owned(),
        Kind::Count | Kind::Integer => "int".to_owned(),
        Kind::Number => "float".to_owned(),
        Kind::Choice(values) => {
            let texts = values.iter().map(|value| format!("{value:?}"));
            let numbers = values.iter().filter(|value| value.parse::<i64>().is_ok()).cloned();
            format!("Literal[{}]", texts.chain(numbers).collect::<Vec<_>>().join(", "))
        }
        Kind::Path(known::Paths::Behind) | Kind::Text => "str".to_owned(),
        Kind::Path(_) => "_Path".to_owned(),
        Kind::Free if is_of(&[TypeId::of::<ByteSize>(), TypeId::of::<Budget>()]) => "str | int".to_owned(),
        Kind::Free if is_of(&[TypeId::of::<Seconds>()]) => "str | float".to_owned(),
        Kind::Free if is_of(&[TypeId::of::<u32>()]) => "int".to_owned(),
        Kind::Free => "_Free".to_owned(),
    };
    let may_be_switched = known::is_optional(arg) && known::kind(arg) != Kind::Count
        || !known::is_flag(arg) && options::resolve(command, &format!("no-{}", known::long(arg))).is_some();
    let one = if may_be_switched { format!("{one} | bool") } else { one };
    let is_many = arg.get_num_args().is_some_and(|count| count.max_values() > 1);
    if known::is_list(arg) || is_many { format!("{one} | Sequence[{one}]") } else { one }
}

/// Wraps the text, with the first line indented by `indent`, the others by `hanging`.
fn wrapped(text: &str, indent: usize, hanging: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("a line");
        if !last.is_empty() && hanging + last.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    let pads = std::iter::once(indent).chain(std::iter::repeat(hanging));
    let indented: Vec<String> =
        lines.iter().zip(pads).map(|(line, pad)| format!("{:pad$}{line}\n", "")).collect();
    indented.concat()
}

fn class(command: &Command, name: &str) -> String {
    let mut out =
        format!("\nclass {name}(Command):\n    def __call__(  # type: ignore[override]\n        self,\n");
    let (positional, named) = (positional(command), named(command));
    let mut line = |Parameter { name, of, is_required, .. }: &Parameter| {
        let _ = match is_required {
            true => writeln!(out, "        {name}: {of},"),
            false => writeln!(out, "        {name}: {of} | None = None,"),
        };
    };
    positional.iter().for_each(&mut line);
    line(&Parameter { name: "*".to_owned(), of: String::new(), is_required: true, help: String::new() });
    named.iter().for_each(&mut line);
    let mut out = out.replace("        *: ,\n", "        *,\n");
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = write!(out, "    ) -> Result:\n        \"\"\"{about}.\n\n        Args:\n");
    for Parameter { name, help, .. } in positional.iter().chain(&named) {
        out.push_str(&wrapped(&format!("{name}: {help}."), 12, 16));
    }
    out.push_str("        \"\"\"\n");
    out
}

/// The options of a command as the type of `**options`.
fn dictionary(command: &Command, name: &str, without: &[&str]) -> String {
    let mut out = format!("\nclass {name}(TypedDict, total=False):\n");
    for Parameter { name, of, help, .. } in named(command).iter().filter(|p| !without.contains(&&*p.name)) {
        let _ = writeln!(out, "    {name}: {of} | None");
        let help = wrapped(&format!("\"\"\"{help}.\"\"\""), 4, 4);
        out.push_str(&help.replace('\\', "\\\\"));
    }
    out
}

fn page() -> String {
    let cli = Cli::built();
    let mut page = String::from(HEAD);
    for (name, of) in CALLED {
        page.push_str(&class(command(cli, name), of));
    }
    page.push_str(&dictionary(command(cli, "explain"), "ExplainOptions", &[]));
    page.push_str(&dictionary(command(cli, "optimize"), "OptimizeOptions", &["output"]));
    page
}

/// `UPDATE=1` writes the signatures.
#[test]
fn signatures_are_those_of_the_command_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/onnxport/_signatures.pyi");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the file is writable");
    }
    assert!(std::fs::read_to_string(&path).unwrap_or_default() == page, "UPDATE=1 writes {}", path.display());
}

/// The keywords of a command are the properties of its request, beside the options of every command.
#[test]
fn keywords_are_the_properties_of_requests() {
    use onnxport_requests::{
        BenchRequest, DiffRequest, DrawRequest, ExplainRequest, Hosted, LlmRequest, OpsRequest,
        OptimizeRequest, PluginCheckRequest, PluginInfoRequest, PluginListRequest, PluginNewRequest,
        ReportRequest, RulesRequest, RunRequest, object,
    };

    let cli = Cli::built();
    let requests = [
        ("completions", object::properties::<crate::commands::completions::Arguments>()),
        ("draw", object::properties::<Hosted<DrawRequest>>()),
        ("explain", object::properties::<Hosted<ExplainRequest>>()),
        ("legal", object::properties::<crate::commands::legal::Arguments>()),
        ("partition", object::properties::<crate::commands::partition::Arguments>()),
        ("ops", object::properties::<Hosted<OpsRequest>>()),
        ("report", object::properties::<ReportRequest>()),
        ("rules", object::properties::<Hosted<RulesRequest>>()),
        ("schema", object::properties::<crate::commands::schema::Arguments>()),
        ("plugin check", object::properties::<PluginCheckRequest>()),
        ("plugin info", object::properties::<PluginInfoRequest>()),
        ("plugin list", object::properties::<Hosted<PluginListRequest>>()),
        ("plugin new", object::properties::<PluginNewRequest>()),
        ("bisect", object::properties::<crate::commands::bisect::Arguments>()),
        ("check", object::properties::<crate::commands::check::Arguments>()),
        ("convert", object::properties::<crate::commands::convert::Arguments>()),
        ("diff", object::properties::<Hosted<DiffRequest>>()),
        ("inspect", object::properties::<crate::commands::inspect::Arguments>()),
        ("bench", object::properties::<Hosted<BenchRequest>>()),
        ("llm", object::properties::<Hosted<LlmRequest>>()),
        ("optimize", object::properties::<Hosted<OptimizeRequest>>()),
        ("package", object::properties::<crate::commands::package::Arguments>()),
        ("profile", object::properties::<crate::commands::profile::Arguments>()),
        ("run", object::properties::<Hosted<RunRequest>>()),
        ("weights bind", object::properties::<onnxport_requests::BindRequest>()),
        ("verify", object::properties::<crate::commands::verify::Arguments>()),
    ];
    for (name, properties) in requests {
        let command = command(cli, name);
        let is_global =
            |arg: &Arg| arg.is_global_set() || ["help", "version"].contains(&arg.get_id().as_str());
        let mut keywords: Vec<String> =
            command.get_arguments().filter(|arg| !is_global(arg)).map(object::key_of).collect();
        let mut keys: Vec<String> = properties.keys().cloned().collect();
        keywords.sort();
        keys.sort();
        assert_eq!(keywords, keys, "{name}");
    }
}
