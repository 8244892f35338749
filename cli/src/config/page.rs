//! Generates `docs/options.md`, the page on options in files, from the command line.

use std::fmt::Write;
use std::path::Path;

use clap::Arg;

use crate::args::Cli;
use crate::known::{self, Kind, Reach};

const HEAD: &str = include_str!("page.md");

fn page() -> String {
    let cli = Cli::built();
    let commands = known::commands(cli);
    let mut page = String::from(HEAD);
    let is_everywhere = |arg: &&Arg| arg.is_global_set();
    page.push_str("\nEvery command accepts these options, usually set in `[all]`:\n");
    if let Some((_, first)) = commands.first() {
        page.push_str(&table(known::options(first).filter(is_everywhere)));
    }
    for (words, command) in &commands {
        let own: Vec<&Arg> = known::options(command).filter(|arg| !arg.is_global_set()).collect();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = write!(page, "\n### `[{}]`\n\n{about}.\n", words.join("."));
        if !own.is_empty() {
            page.push_str(&table(own.into_iter()));
        }
    }
    page
}

fn table<'a>(options: impl Iterator<Item = &'a Arg>) -> String {
    let mut out = String::from("\n| option | value | |\n|---|---|---|\n");
    for arg in options {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let default = super::print::default(arg).map(|value| {
            format!(" (default {})", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let far = match known::reach(arg) {
            Some(Reach::Code(None)) => "; in a named file only".to_owned(),
            Some(Reach::Code(Some(value))) => format!("; `{value}` in a named file only"),
            Some(Reach::Writes) | None => String::new(),
        };
        let _ = writeln!(
            out,
            "| `{}` | {}{} | {}{far} |",
            known::long(arg),
            kind(arg),
            default.unwrap_or_default(),
            help.replace('\n', " ").replace('|', "\\|")
        );
    }
    out
}

fn kind(arg: &Arg) -> String {
    let stated = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let one = match known::kind(arg) {
        Kind::Flag => "true or false".to_owned(),
        Kind::Count => "how often".to_owned(),
        Kind::Choice(values) => values.join(", "),
        Kind::Integer => "an integer".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::Text | Kind::Path(_) | Kind::Free => format!("`{}`", stated.replace('|', "\\|")),
    };
    if known::is_list(arg) { format!("a list of {one}") } else { one }
}

/// `UPDATE=1` writes the page.
#[test]
fn the_page_is_that_of_the_command_line() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/options.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page is writable");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "UPDATE=1 writes the page");
}
