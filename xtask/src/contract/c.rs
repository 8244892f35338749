//! `onnxport.h`: the contract for C.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::BANNER;
use super::layouts::{self, Prints};
use super::model::{Answers, Const, Contract, Field, Item, Module, Struct, Type, Value};
use super::names::{c_type, resolve, snake};

/// The types that the specification does not define: texts, the envelope and the root.
const PRELUDE: &str = include_str!("prelude.h");

/// The header.
pub(super) fn header(contract: &Contract, prints: &Prints) -> Result<String, String> {
    let mut names = BTreeSet::new();
    for module in &contract.modules {
        for found in module.structs() {
            let name = c_type(&module.name, &found.name);
            if !names.insert(name.clone()) {
                return Err(format!("two structs are called {name} in C"));
            }
        }
    }
    let current = contract.current;
    let mut out = format!("/* {BANNER} */\n");
    out.push_str("#ifndef ONNXPORT_H\n#define ONNXPORT_H\n\n");
    let _ = writeln!(
        out,
        "#define ONNXPORT_CONTRACT_MAJOR {}u\n#define ONNXPORT_CONTRACT_MINOR {}u\n\n{PRELUDE}",
        current.major, current.minor
    );
    for module in &contract.modules {
        constants(&mut out, module);
    }
    layouts::write(&mut out, contract, prints);
    out.push_str("/* Handles, and all structs. */\n");
    for module in &contract.modules {
        for item in &module.items {
            match item {
                Item::Handle(found) => {
                    let _ = writeln!(out, "typedef void *{};", c_type(&module.name, &found.name));
                }
                Item::Struct(found) => {
                    let name = c_type(&module.name, &found.name);
                    let _ = writeln!(out, "typedef struct {name} {name};");
                }
                Item::Const(_) | Item::Group(_) => {}
            }
        }
    }
    slices(&mut out, contract);
    for (module, found) in in_order(contract) {
        structure(&mut out, contract, module, found);
    }
    out.push_str("#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    Ok(out)
}

fn constants(out: &mut String, module: &Module) {
    let prefix = format!("ONNXPORT_{}", module.name.to_uppercase());
    let _ = writeln!(out, "/* {} */", module.docs.first().map_or("", |line| line.as_str()).replace('`', ""));
    if let Some(interface) = &module.interface {
        let _ = writeln!(out, "#define {prefix}_INTERFACE \"{interface}\"");
    }
    for item in &module.items {
        match item {
            Item::Const(found) => constant(out, &prefix, found),
            Item::Group(group) => {
                let prefix = format!("{prefix}_{}", group.name.to_uppercase());
                group.constants.iter().for_each(|found| constant(out, &prefix, found));
            }
            Item::Handle(_) | Item::Struct(_) => {}
        }
    }
    out.push('\n');
}

fn constant(out: &mut String, prefix: &str, found: &Const) {
    let c = number(&found.ty).unwrap_or("uint32_t");
    let value = match &found.value {
        Value::Number(text) => format!("(({c})({text}))"),
        Value::Max => format!("{}_MAX", c.trim_end_matches("_t").to_uppercase()),
    };
    let _ = writeln!(out, "#define {prefix}_{} {value}", found.name);
}

fn number(name: &str) -> Option<&'static str> {
    Some(match name {
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i8" => "int8_t",
        "i16" => "int16_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        "usize" => "size_t",
        "f32" => "float",
        "f64" => "double",
        "c_void" => "void",
        _ => return None,
    })
}

/// A struct per slice type: a pointer and a number of elements.
fn slices(out: &mut String, contract: &Contract) {
    let mut found = BTreeMap::new();
    for module in &contract.modules {
        for field in module.structs().flat_map(|found| &found.fields) {
            visit(&field.ty, &mut |ty| {
                if let Type::Named { name, argument: Some(element), .. } = ty {
                    let mutable = name == "RSliceMut";
                    let element_type = declare(contract, module, element, "");
                    let constness = if mutable { "" } else { "const " };
                    found.insert(
                        slice(contract, module, name, element),
                        format!("{constness}{element_type} *data"),
                    );
                }
            });
        }
    }
    out.push_str("\n/* Slices: `data` may be null where `length` is 0. */\n");
    for (name, data) in found {
        let _ = writeln!(out, "typedef struct {name} {{ {data}; size_t length; }} {name};");
    }
    out.push('\n');
}

fn visit(ty: &Type, with: &mut impl FnMut(&Type)) {
    with(ty);
    match ty {
        Type::Named { argument, .. } => {
            if let Some(argument) = argument {
                visit(argument, with);
            }
        }
        Type::Reference { to, .. } | Type::Pointer { to, .. } => visit(to, with),
        Type::Function { parameters, result, .. } => {
            for (_, ty) in parameters {
                visit(ty, with);
            }
            if let Some(result) = result {
                visit(result, with);
            }
        }
    }
}

fn slice(contract: &Contract, module: &Module, name: &str, element: &Type) -> String {
    let element = declare(contract, module, element, "");
    let element = element.trim_end_matches("_t").trim_start_matches("onnxport_").trim_end().replace(' ', "_");
    format!("onnxport_{}_{element}", snake(name).trim_start_matches("r_"))
}

/// Structs after those that they hold by value.
fn in_order(contract: &Contract) -> Vec<(&Module, &Struct)> {
    let mut done = BTreeSet::new();
    let mut order = Vec::new();
    for module in &contract.modules {
        for found in module.structs() {
            place(contract, module, found, &mut done, &mut order);
        }
    }
    order
}

fn place<'a>(
    contract: &'a Contract,
    module: &'a Module,
    found: &'a Struct,
    done: &mut BTreeSet<String>,
    order: &mut Vec<(&'a Module, &'a Struct)>,
) {
    if !done.insert(c_type(&module.name, &found.name)) {
        return;
    }
    for field in &found.fields {
        let Type::Named { name, argument: None, .. } = &field.ty else { continue };
        let wanted = resolve(contract, module, name);
        for home in &contract.modules {
            for inner in home.structs().filter(|s| Some(c_type(&home.name, &s.name)) == wanted) {
                place(contract, home, inner, done, order);
            }
        }
    }
    order.push((module, found));
}

fn structure(out: &mut String, contract: &Contract, module: &Module, found: &Struct) {
    comment(out, "", &found.docs);
    let _ = writeln!(out, "struct {} {{", c_type(&module.name, &found.name));
    for field in &found.fields {
        let mut lines = field.docs.clone();
        lines.extend(facts(found, field));
        comment(out, "    ", &lines);
        let _ = writeln!(out, "    {};", declare(contract, module, &field.ty, &field.name));
    }
    out.push_str("};\n\n");
}

fn facts(of: &Struct, field: &Field) -> Vec<String> {
    let mut lines = Vec::new();
    if of.is_table() {
        let optional = if field.optional {
            "; optional: null, or beyond the fields of the envelope, where it is not provided"
        } else {
            ""
        };
        lines.push(format!("Since contract {}{optional}.", field.since));
    }
    if let Some(facts) = &field.facts {
        lines.push(format!("Thread: {}.", facts.thread.text()));
        lines.push(format!("Takes: {}. Gives: {}.", facts.takes.text(), facts.gives.text()));
        if let Answers::Statuses(names) = &facts.answers {
            lines.push(format!("Answers {}.", names.join(", ")));
        }
    }
    lines
}

fn comment(out: &mut String, indent: &str, lines: &[String]) {
    let clean = |line: &String| line.replace("[`", "`").replace("`]", "`").replace("*/", "* /");
    let lines: Vec<String> = lines.iter().map(clean).collect();
    let _ = writeln!(out, "{indent}/* {} */", lines.join(&format!("\n{indent} * ")));
}

/// Field names that are words of C or C++; they get an underscore.
const WORDS: &[&str] = &[
    "auto",
    "bool",
    "case",
    "char",
    "class",
    "const",
    "default",
    "delete",
    "double",
    "enum",
    "extern",
    "float",
    "int",
    "long",
    "namespace",
    "new",
    "operator",
    "private",
    "public",
    "register",
    "short",
    "signed",
    "static",
    "struct",
    "template",
    "this",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
];

/// The C name of a field or parameter.
pub(super) fn c_name(name: &str) -> String {
    if WORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// The declaration of `name` with this type; the type alone when `name` is empty.
fn declare(contract: &Contract, module: &Module, ty: &Type, name: &str) -> String {
    let name = &c_name(name);
    let spaced = |text: String| if name.is_empty() { text } else { format!("{text} {name}") };
    match ty {
        Type::Named { name: rust, argument: Some(element), .. } => {
            spaced(slice(contract, module, rust, element))
        }
        Type::Named { name: rust, .. } => spaced(match number(rust) {
            Some(number) => number.to_owned(),
            None => resolve(contract, module, rust).unwrap_or_else(|| rust.clone()),
        }),
        Type::Reference { mutable, to, .. } | Type::Pointer { mutable, to } => {
            let constness = if *mutable { "" } else { "const " };
            format!("{constness}{} *{name}", declare(contract, module, to, ""))
        }
        Type::Function { parameters, result, .. } => {
            let result = result.as_ref().map_or("void".to_owned(), |ty| declare(contract, module, ty, ""));
            let mut list: Vec<String> =
                parameters.iter().map(|(name, ty)| declare(contract, module, ty, name)).collect();
            if list.is_empty() {
                list.push("void".to_owned());
            }
            format!("{result} (*{name})({})", list.join(", "))
        }
    }
}
