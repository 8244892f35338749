//! Names in C.

use super::model::{Contract, Item, Module};

/// Types of the contract that the specification does not define: their names in Rust and in C.
pub(super) const MACHINERY: &[(&str, &str)] =
    &[("RStr", "onnxport_str"), ("Version", "onnxport_version"), ("Table", "onnxport_table")];

/// `TypeRecord` of `lowering`: `onnxport_lowering_type_record`; `LoweringTable`: `onnxport_lowering_table`.
pub(super) fn c_type(module: &str, name: &str) -> String {
    let snake = snake(name);
    let own = snake.strip_prefix(&format!("{module}_")).unwrap_or(&snake);
    format!("onnxport_{module}_{own}")
}

/// The C name of the type that `module` calls `name`; `None` for numbers.
pub(super) fn resolve(contract: &Contract, module: &Module, name: &str) -> Option<String> {
    if let Some((_, c)) = MACHINERY.iter().find(|(rust, _)| *rust == name) {
        return Some((*c).to_owned());
    }
    let import = module.imports.iter().find(|import| import.name == name);
    let home = import.map_or(module.name.as_str(), |import| &import.module);
    let home = contract.modules.iter().find(|module| module.name == home)?;
    let defines = home.items.iter().any(|item| match item {
        Item::Struct(found) => found.name == name,
        Item::Handle(found) => found.name == name,
        _ => false,
    });
    defines.then(|| c_type(&home.name, name))
}

/// `TypeRecord`: `type_record`.
pub(super) fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
