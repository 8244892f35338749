//! `docs/contract.md`: every interface, record and function of the contract.

use std::fmt::Write;

use super::BANNER;
use super::model::{Answers, Const, Contract, Field, Item, Kind, Module, Struct, Value};

/// The introduction of the page.
const HEAD: &str = "\
The interfaces between the host and its plugins. Each side requests a table of the other by its name; tables only grow at
their end. The SDK uses them for plugins in Rust; `docs/c-plugins.md` is the guide for C. The source is
`plugin-sdk/abi/contract.rs`; the Rust modules, `plugin-sdk/abi/include/onnxport.h` and this page are generated from it.

For every function, the page states the first revision that has it, the thread on which it may be called, the
lifetimes of its arguments and results, and the [statuses](#status) that it returns. A function that was appended
to a table is *optional*: the other side may be older and lack it.
";

/// The page.
pub(super) fn page(contract: &Contract) -> String {
    let mut out =
        format!("<!-- {BANNER} -->\n\n# The binary contract, revision {}\n\n{HEAD}", contract.current);
    out.push_str("\n| interface | since | |\n|---|---|---|\n");
    for module in &contract.modules {
        let title = title(module);
        let anchor: String =
            title.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
        let first = prose(&module.docs[..1]);
        let first = first.split_once(": ").map_or(first.as_str(), |(_, rest)| rest);
        let _ = writeln!(out, "| [`{title}`](#{anchor}) | {} | {first} |", module.since);
    }
    for module in &contract.modules {
        self::module(&mut out, module);
    }
    out
}

fn title(module: &Module) -> &str {
    module.interface.as_ref().unwrap_or(&module.name)
}

fn module(out: &mut String, module: &Module) {
    let _ = writeln!(out, "\n## `{}`\n\n{}", title(module), prose(&module.docs));
    let loose: Vec<&Const> = module
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Const(found) => Some(found),
            _ => None,
        })
        .collect();
    if !loose.is_empty() {
        out.push('\n');
        constants(out, &loose);
    }
    for item in &module.items {
        match item {
            Item::Const(_) => {}
            Item::Group(found) => {
                let _ = writeln!(out, "\n### `{}`\n\n{}\n", found.name, prose(&found.docs));
                constants(out, &found.constants.iter().collect::<Vec<_>>());
            }
            Item::Handle(found) => {
                let _ = writeln!(out, "\n### `{}` (handle)\n\n{}", found.name, prose(&found.docs));
            }
            Item::Struct(found) => structure(out, found),
        }
    }
}

fn constants(out: &mut String, constants: &[&Const]) {
    out.push_str("| constant | value | |\n|---|---|---|\n");
    for found in constants {
        let value = match &found.value {
            Value::Number(text) => text.clone(),
            Value::Max => format!("{}::MAX", found.ty),
        };
        let _ = writeln!(out, "| `{}` | {value} | {} |", found.name, prose(&found.docs).replace('\n', " "));
    }
}

fn structure(out: &mut String, found: &Struct) {
    let kind = match found.kind {
        Kind::Record => "record",
        Kind::PluginTable => "table of the plugin",
        Kind::HostTable => "table of the host",
    };
    let _ = writeln!(out, "\n### `{}` ({kind})\n\n{}", found.name, prose(&found.docs));
    let data: Vec<&Field> = found.fields.iter().filter(|field| field.facts.is_none()).collect();
    if !data.is_empty() {
        let since = found.is_table();
        out.push_str(if since {
            "\n| field | type | since | |\n|---|---|---|---|\n"
        } else {
            "\n| field | type | |\n|---|---|---|\n"
        });
        for field in data {
            let text = prose(&field.docs).replace('\n', " ");
            let revision = if since { format!(" {} |", field.since) } else { String::new() };
            let _ = writeln!(out, "| `{}` | `{}` |{revision} {text} |", field.name, field.ty);
        }
    }
    for field in &found.fields {
        function(out, found, field);
    }
}

fn function(out: &mut String, of: &Struct, field: &Field) {
    let Some(facts) = &field.facts else { return };
    let signature = field.ty.to_string().replace("extern \"C\" fn", &format!("fn {}", field.name));
    let _ = writeln!(out, "\n#### `{}`\n\n```rust\n{signature}\n```\n\n{}\n", field.name, prose(&field.docs));
    if of.is_table() {
        let optional = if field.optional { ", optional" } else { "" };
        let _ = writeln!(out, "- since: {}{optional}", field.since);
    }
    let _ = writeln!(out, "- thread: {}", facts.thread.text());
    let _ = writeln!(out, "- takes: {}", facts.takes.text());
    let _ = writeln!(out, "- gives: {}", facts.gives.text());
    match &facts.answers {
        Answers::Never => out.push_str("- answers: cannot fail\n"),
        Answers::Number => out.push_str("- answers: a number that is not a status\n"),
        Answers::Statuses(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(out, "- answers: {}", names.join(", "));
        }
    }
}

/// Documentation without links, which lead nowhere outside of rustdoc: ``[`X`](y)`` and ``[`X`]`` become `` `X` ``.
fn prose(lines: &[String]) -> String {
    let text = lines.join("\n");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find("[`") {
        let Some(length) = rest[start..].find("`]") else { break };
        out.push_str(&rest[..start]);
        out.push_str(&rest[start + 1..=start + length]);
        rest = &rest[start + length + 2..];
        if rest.starts_with('(') {
            rest = rest.split_once(')').map_or(rest, |(_, after)| after);
        }
    }
    out + rest
}
