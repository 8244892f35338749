//! Names of plugins.

use onnxport_ir::diagnose::{Code, Diagnostic};

/// Plugins that come with onnxport; one of the same id would take their place.
const BUNDLED: &[&str] = &["aten", "ort"];

/// Names that cannot be a crate or a namespace of operators.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "torch",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// The name where only letters, digits and `_` may stand.
pub(super) fn identifier(name: &str) -> String {
    name.replace('-', "_")
}

/// Refuses a name that is not valid for a crate, a plugin and a namespace of operators.
pub(super) fn check(name: &str) -> Result<(), Diagnostic> {
    let fail = |why: &str| {
        let message = format!("`{name}` cannot be the name of a plugin: {why}");
        Err(Diagnostic::error(Code::PLUGIN_NEW, message).help("use a name such as `mylib`"))
    };
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return fail("it does not begin with a lower-case letter");
    }
    if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-') {
        return fail("it may only contain lower-case letters, digits, `_` and `-`");
    }
    if name.len() > 64 {
        return fail("it is longer than 64 characters");
    }
    if RESERVED.contains(&identifier(name).as_str()) {
        return fail("it is a word of Rust or Python");
    }
    if BUNDLED.contains(&name) || name.starts_with("onnxport") {
        return fail("it belongs to onnxport");
    }
    Ok(())
}
