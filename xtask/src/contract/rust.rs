//! The Rust modules of the contract, in `plugin-sdk/abi/src/interfaces`.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::model::{
    Answers, Const, Contract, Facts, Field, Gives, Group, Handle, Item, Module, Struct, Type, Value,
};
use super::{BANNER, Output};

/// The folder of the modules.
pub(super) const FOLDER: &str = "plugin-sdk/abi/src/interfaces";

/// The modules, and the file that lists them. Not formatted yet.
pub(super) fn outputs(contract: &Contract) -> Vec<Output> {
    let mut list = String::from("//! The interfaces of the contract, generated from its specification.\n");
    let _ = writeln!(list, "// {BANNER}\n");
    for module in &contract.modules {
        let _ = writeln!(list, "pub mod {};", module.name);
    }
    let current = contract.current;
    let _ = writeln!(
        list,
        "\n/// The newest revision that the specification states.\n\
         pub(crate) const CURRENT: crate::Version = crate::Version {{ major: {}, minor: {} }};",
        current.major, current.minor
    );
    let mut outputs = vec![Output::rust(format!("{FOLDER}/mod.rs"), list)];
    for module in &contract.modules {
        outputs.push(Output::rust(format!("{FOLDER}/{}.rs", module.name), text(module)));
    }
    outputs
}

fn text(module: &Module) -> String {
    let mut out = String::new();
    doc(&mut out, "//!", &module.docs);
    let _ = writeln!(out, "// {BANNER}\n");
    uses(&mut out, module);
    if let Some(interface) = &module.interface {
        let _ = writeln!(
            out,
            "/// The name of the interface.\npub const INTERFACE: &str = {interface:?};\n\n\
             /// The revision of the contract that brought the interface.\n\
             pub const SINCE: crate::Version = crate::Version {{ major: {}, minor: {} }};\n",
            module.since.major, module.since.minor
        );
    }
    for item in &module.items {
        match item {
            Item::Const(found) => {
                constant(&mut out, found);
                out.push('\n');
            }
            Item::Group(found) => group(&mut out, found),
            Item::Handle(found) => handle(&mut out, found),
            Item::Struct(found) => structure(&mut out, found),
        }
    }
    out
}

/// Imports the types that the module uses.
fn uses(out: &mut String, module: &Module) {
    let mut names = BTreeSet::new();
    for field in module.structs().flat_map(|found| &found.fields) {
        collect(&field.ty, &mut names);
    }
    let handles = module.items.iter().any(|item| matches!(item, Item::Handle(_)));
    if handles || names.contains("c_void") {
        out.push_str("use std::ffi::c_void;\n\n");
    }
    if handles || module.structs().next().is_some() {
        out.push_str("use abi_stable::StableAbi;\n");
    }
    let shared = ["RSlice", "RSliceMut", "RStr", "Table", "Version"];
    let used: Vec<&str> = shared.into_iter().filter(|name| names.contains(name)).collect();
    if !used.is_empty() {
        let _ = writeln!(out, "use crate::{{{}}};", used.join(", "));
    }
    for import in &module.imports {
        let _ = writeln!(out, "use crate::{}::{};", import.module, import.name);
    }
    out.push('\n');
}

fn collect<'a>(ty: &'a Type, names: &mut BTreeSet<&'a str>) {
    match ty {
        Type::Named { name, argument, .. } => {
            names.insert(name);
            if let Some(argument) = argument {
                collect(argument, names);
            }
        }
        Type::Reference { to, .. } | Type::Pointer { to, .. } => collect(to, names),
        Type::Function { parameters, result, .. } => {
            for (_, ty) in parameters {
                collect(ty, names);
            }
            if let Some(result) = result {
                collect(result, names);
            }
        }
    }
}

fn constant(out: &mut String, found: &Const) {
    doc(out, "///", &found.docs);
    let value = match &found.value {
        Value::Number(text) => text.clone(),
        Value::Max => format!("{}::MAX", found.ty),
    };
    let _ = writeln!(out, "pub const {}: {} = {value};", found.name, found.ty);
}

fn group(out: &mut String, found: &Group) {
    doc(out, "///", &found.docs);
    let _ = writeln!(out, "pub mod {} {{", found.name);
    for constant in &found.constants {
        self::constant(out, constant);
    }
    out.push_str("}\n\n");
}

fn handle(out: &mut String, found: &Handle) {
    let name = &found.name;
    doc(out, "///", &found.docs);
    derive(out, "transparent", &found.derives);
    let _ = writeln!(out, "pub struct {name}(pub *mut c_void);\n");
    if found.null {
        let _ = writeln!(
            out,
            "impl {name} {{\n/// The handle of nothing.\n\
             pub const NULL: Self = Self(std::ptr::null_mut());\n}}\n"
        );
    }
}

fn structure(out: &mut String, found: &Struct) {
    let name = &found.name;
    doc(out, "///", &found.docs);
    derive(out, "C", &found.derives);
    let lifetime = found.lifetime.as_ref().map(|name| format!("<'{name}>")).unwrap_or_default();
    let _ = writeln!(out, "pub struct {name}{lifetime} {{");
    for field in &found.fields {
        self::field(out, found, field);
    }
    out.push_str("}\n\n");
    if found.is_table() {
        let _ = writeln!(out, "crate::table::interface!({name}, INTERFACE, base: {});\n", found.base());
    }
}

fn field(out: &mut String, of: &Struct, field: &Field) {
    doc(out, "///", &field.docs);
    if let Some(facts) = &field.facts {
        out.push_str("///\n");
        for line in lines(of, field, facts) {
            let _ = writeln!(out, "/// - {line}");
        }
    } else if of.is_table() && field.optional {
        let _ = writeln!(out, "///\n/// - Since contract {}; zero where it is not provided.", field.since);
    }
    match (&field.ty, field.optional) {
        (ty @ Type::Function { .. }, true) => {
            let _ = writeln!(out, "pub {}: Option<{ty}>,", field.name);
        }
        (ty, _) => {
            let _ = writeln!(out, "pub {}: {ty},", field.name);
        }
    }
}

/// The facts of a function, a line each.
fn lines(of: &Struct, field: &Field, facts: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    if of.is_table() {
        let absent = if field.optional { "; `None` where it is not provided" } else { "" };
        lines.push(format!("Since contract {}{absent}.", field.since));
    }
    lines.push(format!("Thread: {}.", facts.thread.text()));
    lines.push(format!("Takes: {}.", facts.takes.text()));
    if !matches!(facts.gives, Gives::Nothing) {
        lines.push(format!("Gives: {}.", facts.gives.text()));
    }
    lines.push(match &facts.answers {
        Answers::Never => "Cannot fail.".to_owned(),
        Answers::Number => "Answers a number that is not a status.".to_owned(),
        Answers::Statuses(names) => {
            let links: Vec<String> =
                names.iter().map(|name| format!("[`{name}`](crate::status::{name})")).collect();
            format!("Answers {}.", links.join(", "))
        }
    });
    lines
}

fn derive(out: &mut String, repr: &str, more: &[String]) {
    let mut names = vec!["Clone", "Copy"];
    names.extend(more.iter().map(String::as_str));
    names.push("StableAbi");
    let _ = writeln!(out, "#[repr({repr})]\n#[derive({})]", names.join(", "));
}

fn doc(out: &mut String, sign: &str, lines: &[String]) {
    for line in lines {
        let _ = writeln!(out, "{}", format!("{sign} {line}").trim_end());
    }
}
