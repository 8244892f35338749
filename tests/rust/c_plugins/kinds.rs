//! The Rust and C types of an argument of each schema type: a plugin in each language takes it. The table in
//! `docs/c-plugins.md` is generated from the same list; `UPDATE=1` writes it.

use std::fmt::Write;

use onnxport_core::host::Host;
use onnxport_sdk::prelude::*;

use super::{compile, load, lowered, repository};

/// A schema type, an argument of it, and its types in both languages.
struct Row {
    /// The operator of the test.
    name: &'static str,
    schema: &'static str,
    /// As programs write it in text form.
    argument: &'static str,
    rust: &'static str,
    /// The ends of constants `ONNXPORT_LOWERING_ARG_KIND_…`, and the fields that say the rest.
    kinds: &'static str,
    fields: &'static str,
    /// The argument as the plugin in C sees it.
    seen: &'static str,
}

macro_rules! rows {
    ($($name:ident $target:tt: $schema:literal = $argument:literal,
        $rust:ty, $kinds:literal: $fields:literal, $seen:literal;)*) => {
        const ROWS: &[Row] = &[$(Row {
            name: stringify!($name),
            schema: $schema,
            argument: $argument,
            rust: stringify!($rust),
            kinds: $kinds,
            fields: $fields,
            seen: $seen,
        }),*];

        const SCHEMAS: &str = concat!($("kinds::", stringify!($name), "(", $schema, " a) -> Tensor\n"),*);

        $(
            #[lowering($target)]
            fn $name(_: &Lower, a: $rust) -> Res<Value> {
                let _ = a;
                Err("it is taken".into())
            }
        )*
    };
}

rows! {
    bool_ "kinds.bool_.default": "bool" = "true", bool, "BOOL": "`int_`, 0 or 1", "kind 7, int 1";
    bools "kinds.bools.default": "bool[]" = "[true]", Vec<bool>, "LIST": "`first`, `len`", "kind 14, len 1";
    complex "kinds.complex.default": "complex" = "complex(1.5, 2.0)",
        Scalar, "COMPLEX": "`float_`, `imaginary`", "kind 9, float 1.5, imaginary 2";
    device "kinds.device.default": "Device" = "device(\"cpu\")", Str<'_>, "DEVICE": "`text`", "kind 11, text cpu";
    dtype "kinds.dtype.default": "ScalarType" = "f64",
        DType, "DTYPE": "`int_`, of `TensorProto.DataType`", "kind 10, int 11";
    float "kinds.float.default": "float" = "0.5", f64, "FLOAT": "`float_`", "kind 6, float 0.5";
    floats "kinds.floats.default": "float[]" = "[0.5]", Vec<f64>, "LIST": "`first`, `len`", "kind 14, len 1";
    int "kinds.int.default": "int" = "3", i64, "INT": "`int_`", "kind 5, int 3";
    ints "kinds.ints.default": "int[]" = "[3, 4]", Vec<i64>, "LIST": "`first`, `len`", "kind 14, len 2";
    layout "kinds.layout.default": "Layout" = "layout(\"strided\")",
        Str<'_>, "LAYOUT": "`text`", "kind 12, text strided";
    maybe_int "kinds.maybe_int.default": "int?" = "none",
        Option<i64>, "NONE, or that of the type": "those of the type", "kind 0";
    memory "kinds.memory.default": "MemoryFormat" = "format(\"preserve\")",
        Str<'_>, "MEMORY_FORMAT": "`text`", "kind 13, text preserve";
    scalar "kinds.scalar.default": "Scalar" = "2.5",
        Scalar, "INT, FLOAT, BOOL, COMPLEX, SYM_…": "as for these", "kind 6, float 2.5";
    string "kinds.string.default": "str" = "\"mean\"", Str<'_>, "STR": "`text`", "kind 8, text mean";
    sym_int "kinds.sym_int.default": "SymInt" = "%n",
        SymInt, "SYM_INT, or INT": "`value`, an i64 tensor of shape `[1]`; `int_`", "kind 2";
    sym_ints "kinds.sym_ints.default": "SymInt[]" = "[%n, 4]",
        Vec<SymInt>, "LIST": "`first`, `len`", "kind 14, len 2";
    tensor "kinds.tensor.default": "Tensor" = "%x",
        Value, "TENSOR": "`value`; `int_` is the element type", "kind 1, int 1";
    tensors "kinds.tensors.default": "Tensor[]" = "[%x, %x]",
        Vec<Value>, "LIST": "`first`, `len`", "kind 14, len 2";
}

onnxport_sdk::export_plugin! { id: "kinds", schemas: SCHEMAS }

fn program(row: &Row) -> String {
    let Row { name, argument, .. } = row;
    format!(
        "symbol s0 2..64\ngraph {{\n  input %x: f32[s0, 4] = user\n  \
         %n: symint(s0) = aten.sym_size.int(self=%x, dim=0)\n  \
         %y: f32[s0, 4] = kinds.{name}.default(a={argument})\n  output %y = user\n}}\n"
    )
}

#[test]
fn an_argument_is_in_c_what_the_table_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let operators = ROWS.iter().map(|row| format!("OPERATOR({:?}, {:?})\n", row.name, row.schema));
    std::fs::write(folder.path().join("operators.h"), operators.collect::<String>()).expect("a file");
    let include = format!("-I{}", folder.path().display());
    let library = compile(&repository().join("tests/rust/c_plugins/kinds.c"), folder.path(), &[&include]);
    let host = load(&library).unwrap_or_else(|report| panic!("{}", crate::files::errors(&report)));
    for row in ROWS {
        let said = lowered(&host, &program(row));
        for fact in row.seen.split(", ") {
            assert!(said.contains(fact), "{}: {fact} is not in {said}", row.schema);
        }
    }
}

#[test]
fn an_argument_is_in_rust_what_the_table_says() {
    let host = Host::new(&[&onnxport_aten::ROOT, &ROOT]).expect("the plugins fit");
    for row in ROWS {
        let said = lowered(&host, &program(row));
        assert!(said.contains("it is taken"), "{} as {}: {said}", row.schema, row.rust);
    }
}

#[test]
fn the_guide_has_the_table() {
    let mut table = String::from("| schema | Rust | C: the kind | C: the fields |\n|---|---|---|---|\n");
    for Row { schema, rust, kinds, fields, .. } in ROWS {
        let rust = rust.replace("'_", "'h").replace("<'h>", "");
        let _ = writeln!(table, "| `{schema}` | `{rust}` | {kinds} | {fields} |");
    }
    let path = repository().join("docs/c-plugins.md");
    let page = std::fs::read_to_string(&path).expect("the guide");
    let (begin, end) = ("<!-- schema types -->\n\n", "\n<!-- end -->");
    let (before, rest) = page.split_once(begin).expect("where the table begins");
    let (found, after) = rest.split_once(end).expect("where the table ends");
    if std::env::var_os("UPDATE").is_some() {
        let page = format!("{before}{begin}{table}{end}{after}");
        std::fs::write(&path, page).expect("the guide is written");
    } else {
        assert_eq!(found, table, "UPDATE=1 writes it");
    }
}
