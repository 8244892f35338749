//! The list of structs and tables that the tests of `plugin-sdk/abi` go through.

use std::fmt::Write;

use super::BANNER;
use super::c::c_name;
use super::model::Contract;
use super::names::c_type;

/// The Rust text. Not formatted yet.
pub(super) fn text(contract: &Contract) -> String {
    let mut out = String::from("//! Every struct and table of the contract, for the tests.\n");
    let _ = writeln!(out, "// {BANNER}\n");
    out.push_str("use std::mem::offset_of;\n\nuse onnxport_abi::{Interface, Version};\n\n");
    out.push_str("use super::{Struct, Table};\n\n");
    out.push_str(
        "/// The structs, with their names in C.\npub(crate) fn structs() -> Vec<Struct> {\nvec![\n",
    );
    for module in &contract.modules {
        for found in module.structs() {
            let lifetime = if found.lifetime.is_some() { "<'static>" } else { "" };
            let path = format!("onnxport_abi::{}::{}{lifetime}", module.name, found.name);
            let fields: Vec<String> = found
                .fields
                .iter()
                .map(|field| format!("({:?}, offset_of!({path}, {}))", c_name(&field.name), field.name))
                .collect();
            let _ = writeln!(
                out,
                "Struct {{ name: {:?}, size: size_of::<{path}>(), fields: vec![{}] }},",
                c_type(&module.name, &found.name),
                fields.join(", ")
            );
        }
    }
    out.push_str("]\n}\n\n/// The tables, with the revision of each field.\n");
    out.push_str("pub(crate) fn tables() -> Vec<Table> {\nvec![\n");
    for module in &contract.modules {
        for found in module.structs().filter(|found| found.is_table()) {
            let since: Vec<String> = found
                .fields
                .iter()
                .map(|field| {
                    format!("Version {{ major: {}, minor: {} }}", field.since.major, field.since.minor)
                })
                .collect();
            let path = format!("onnxport_abi::{}::{}", module.name, found.name);
            let _ = writeln!(
                out,
                "Table {{ interface: onnxport_abi::{}::INTERFACE, name: {:?}, shape: {path}::shape(), \
                 base: {path}::BASE, bytes: size_of::<{path}>(), read: super::read::<{path}>, since: vec![{}] }},",
                module.name,
                found.name,
                since.join(", ")
            );
        }
    }
    out.push_str("]\n}\n");
    out
}
