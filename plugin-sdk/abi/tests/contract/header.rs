//! `onnxport.h` compiles, and lays structs out as Rust does.

use std::fmt::Write;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use onnxport_abi::{HostRoot, PluginRoot, Table, Version};
use onnxport_abi::{RSlice, RStr};

use super::Struct;
use super::listing::structs;

/// The structs that the header defines besides the specification.
fn machinery() -> Vec<Struct> {
    vec![
        Struct {
            name: "onnxport_table",
            size: size_of::<Table>(),
            fields: vec![
                ("version", offset_of!(Table, version)),
                ("size", offset_of!(Table, size)),
                ("pointer", offset_of!(Table, pointer)),
                ("layout", offset_of!(Table, layout)),
            ],
        },
        Struct {
            name: "onnxport_version",
            size: size_of::<Version>(),
            fields: vec![("major", offset_of!(Version, major)), ("minor", offset_of!(Version, minor))],
        },
        Struct {
            name: "onnxport_host_root",
            size: size_of::<HostRoot>(),
            fields: vec![("version", offset_of!(HostRoot, version)), ("query", offset_of!(HostRoot, query))],
        },
        Struct {
            name: "onnxport_plugin_root",
            size: size_of::<PluginRoot>(),
            fields: vec![
                ("query", offset_of!(PluginRoot, query)),
                ("attach", offset_of!(PluginRoot, attach)),
            ],
        },
        Struct { name: "onnxport_str", size: size_of::<RStr<'_>>(), fields: Vec::new() },
        Struct { name: "onnxport_layout", size: size_of::<RSlice<'_, u64>>(), fields: Vec::new() },
    ]
}

/// Compiles a file that includes the header and asserts `structs`; returns the compiler's errors.
fn compile(structs: &[Struct]) -> Result<(), String> {
    let mut source = String::from("#include \"onnxport.h\"\n");
    for Struct { name, size, fields } in structs {
        let _ = writeln!(source, "_Static_assert(sizeof({name}) == {size}, \"size of {name}\");");
        for (field, offset) in fields {
            let at = format!("offsetof({name}, {field}) == {offset}");
            let _ = writeln!(source, "_Static_assert({at}, \"{name}.{field}\");");
        }
    }
    // Something to compile: an empty unit is pedantically wrong.
    source.push_str("int unit(void);\nint unit(void) { return 0; }\n");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let unit = folder.join(format!("header-{}-{}.c", std::process::id(), structs.len()));
    std::fs::write(&unit, source).expect("the file is written");
    let output = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg(&unit)
        .output()
        .expect("the C compiler starts; Rust links with it");
    std::fs::remove_file(&unit).expect("the file is removed");
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

// Rust links with other tools elsewhere.
#[cfg(unix)]
#[test]
fn the_header_lays_structs_out_as_rust_does() {
    let mut all = structs();
    assert!(all.len() > 20, "the list has the structs");
    all.extend(machinery());
    if let Err(why) = compile(&all) {
        panic!("{why}");
    }
}

#[cfg(unix)]
#[test]
fn a_difference_would_be_found() {
    let mut wrong = machinery();
    wrong.truncate(1);
    wrong[0].fields[1].1 += 8;
    assert!(compile(&wrong).is_err_and(|why| why.contains("onnxport_table.size")));
}
