//! Operators in the sources: names are checked when they are compiled, and nothing keeps a list of names or restates
//! a default beside the definitions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use onnxport_core::ir::opset;

use crate::files::repository;

/// Lists of names of operators outside their definitions, by file, with a justification: code for each operator.
const LISTS: &[(&str, usize, &str)] = &[
    ("core/src/legalise/rules.rs", 1, "operators with a weight, whose position differs"),
    ("plugins/aten/src/quantize/coding.rs", 1, "`lowering/1` does not tell the traits of a node"),
    ("plugins/aten/src/reduce/mod.rs", 1, "the overloads that the operators lower"),
    ("plugins/aten/src/support.rs", 1, "the types in which lowerings compute"),
    (
        "plugins/cuda-parity/src/executor/ops/formula.rs",
        1,
        "functions of the kernels' prelude, called like the operators",
    ),
    ("plugins/cuda-parity/src/executor/ops/recurrent.rs", 1, "default activations"),
];

/// The files of Rust below a folder that hold code of the product.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["tests", "target", "template"].contains(&name.as_str()) {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "rs")
            && name != "tests.rs"
            && name != "generated.rs"
        {
            found.push(path);
        }
    }
}

/// A part of a source, as far as names of operators are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    /// A literal, without its quotes.
    Literal(&'a str),
    /// `op::Name`, or `microsoft::Name`.
    Checked(&'a str),
    /// A comma, a bar or white space.
    Separator,
    Other,
}

/// The parts of the code of a file, without comments and the tests at its end.
fn parts(source: &str) -> Vec<Part<'_>> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(rest.len());
        let (part, length) = if rest.starts_with("//") {
            (Part::Separator, rest.find('\n').unwrap_or(rest.len()))
        } else if first == '"' {
            let mut escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            let end = end.map_or(rest.len(), |(at, _)| at + 1);
            (Part::Literal(rest[1..end].trim_end_matches('"')), end)
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            (Part::Other, raw.find("\"#").map_or(rest.len(), |at| at + 5))
        } else if rest.starts_with("'\"'") {
            (Part::Other, 3)
        } else if rest.starts_with("'\\\\'") || rest.starts_with("'\\\"'") {
            (Part::Other, 4)
        } else if first.is_whitespace() || first == ',' || first == '|' {
            (Part::Separator, first.len_utf8())
        } else if word > 0 {
            let name = rest[..word].strip_prefix("op::").unwrap_or(&rest[..word]);
            let name = name.strip_prefix("microsoft::").unwrap_or(name);
            let is_checked = name.len() < word && name.starts_with(|c: char| c.is_ascii_uppercase());
            (if is_checked { Part::Checked(name) } else { Part::Other }, word)
        } else {
            (Part::Other, first.len_utf8())
        };
        found.push(part);
        rest = &rest[length..];
    }
    found
}

/// How many lists of three or more names of operators a file has: names with nothing but commas or bars between them.
fn lists(source: &str, is_operator: impl Fn(&str) -> bool) -> usize {
    let (mut found, mut run) = (0, 0);
    for part in parts(source).into_iter().chain([Part::Other]) {
        match part {
            Part::Checked(_) => run += 1,
            Part::Literal(name) if is_operator(name) => run += 1,
            Part::Separator => {}
            Part::Literal(_) | Part::Other => {
                found += usize::from(run >= 3);
                run = 0;
            }
        }
    }
    found
}

/// Names of ONNX's operators in the host that are not checked when it is compiled, by file, and why.
const LITERALS: &[(&str, usize, &str)] = &[
    ("core/ir/src/sym/read.rs", 7, "functions of SymPy"),
    ("core/report/src/model/tables.rs", 1, "a column of a table"),
    ("core/src/pt2/pickle/global.rs", 1, "a class of PyTorch"),
];

/// How many literals of a file are names of operators.
fn literals(source: &str) -> usize {
    parts(source).into_iter().filter(|part| matches!(part, Part::Literal(name) if is_operator(name))).count()
}

/// Whether a file has definitions of operators.
fn defines(file: &str) -> bool {
    ["core/ir/src/ops/", "core/ir/src/op/"].iter().any(|folder| file.starts_with(folder))
        || file == "plugin-sdk/macros/src/operators.rs"
}

#[test]
fn the_host_names_operators_by_constants() {
    let mut found: Vec<(String, usize)> = Vec::new();
    for (file, source) in sources_in(&["core"]) {
        let count = if defines(&file) { 0 } else { literals(&source) };
        if count > 0 {
            found.push((file, count));
        }
    }
    let justified: Vec<(String, usize)> =
        LITERALS.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect();
    assert_eq!(
        found, justified,
        "write `op::Softmax` in place of \"Softmax\": a misspelt one does not compile"
    );
}

/// The nodes of ONNX Runtime's own domain in a text of models: their operators, and the names of their attributes.
fn runtime_nodes(text: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let lines = text.lines().filter(|line| line.contains(" = "));
    lines.filter_map(|line| {
        let (_, call) = line.split_once("com.microsoft::")?;
        let (name, rest) = call.split_once('(')?;
        let attributes = rest.split_once('{').map_or("", |(_, attributes)| attributes);
        let names = attributes.split(" = ").filter_map(|part| part.rsplit([' ', '{', ',']).next());
        let count = attributes.matches(" = ").count();
        Some((name, names.take(count).collect()))
    })
}

#[test]
fn operators_of_onnx_runtime_that_are_written_are_defined() {
    let mut files = Vec::new();
    let mut folders = vec![repository().join("tests/files")];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            if entry.is_dir() { folders.push(entry) } else { files.push(entry) }
        }
    }
    let mut checked = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        for (name, attributes) in runtime_nodes(&text) {
            let Some(schema) = opset::runtime(name) else {
                panic!("{}: `{name}` has no definition: list it in runtime_definitions.py", file.display())
            };
            for attribute in attributes {
                let known = schema.attributes.iter().any(|known| known.name == attribute);
                assert!(known, "{}: `{name}` has no attribute `{attribute}`", file.display());
            }
            checked.insert(name.to_owned());
        }
    }
    assert!(checked.contains("MultiHeadAttention") && checked.contains("RotaryEmbedding"), "{checked:?}");
}

/// The folders of the product.
const PRODUCT: [&str; 5] = ["core", "plugins", "plugin-sdk", "cli/src", "python/src"];

/// The Rust sources in `folders`, with their paths in the repository, in order.
fn sources_in(folders: &[&str]) -> Vec<(String, String)> {
    let root = repository();
    let mut files = Vec::new();
    for folder in folders {
        sources(&root.join(folder), &mut files);
    }
    files.sort();
    let read = |file: PathBuf| {
        let name =
            file.strip_prefix(&root).expect("a file of the repository").to_string_lossy().replace('\\', "/");
        (name, std::fs::read_to_string(&file).expect("a source"))
    };
    files.into_iter().map(read).collect()
}

/// Whether ONNX's own domain has had the operator in any version.
fn is_operator(name: &str) -> bool {
    opset::all().binary_search_by(|schema| schema.name.cmp(name)).is_ok()
}

#[test]
fn nodes_that_are_emitted_are_of_operators_of_onnx() {
    for (file, source) in sources_in(&PRODUCT) {
        for call in source.split(".op(\"").skip(1) {
            let name = call.split('"').next().unwrap_or_default();
            assert!(is_operator(name), "{file} emits `{name}`, which ONNX does not have");
        }
    }
}

#[test]
fn nothing_lists_operators_outside_their_definitions() {
    let mut found: Vec<(String, usize)> = Vec::new();
    for (file, source) in sources_in(&PRODUCT) {
        let count = if defines(&file) { 0 } else { lists(&source, is_operator) };
        if count > 0 {
            found.push((file, count));
        }
    }
    let justified: Vec<(String, usize)> =
        LISTS.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect();
    assert_eq!(
        found, justified,
        "ask `ops::traits` in place of a list, or give its operators a trait in `core/ir/src/ops`"
    );
}

/// Places that state a value for an attribute that is absent, and why.
const STATED: &[(&str, &str, &str)] = &[
    (
        "core/ir/src/ops/random.rs",
        r#"float_if_any("ratio").unwrap_or(0.5)"#,
        "an input since opset 12, which is 0.5 where it is absent",
    ),
    (
        "plugins/cuda-parity/src/executor/ops/index.rs",
        r#"text_if_any("reduction").unwrap_or("none")"#,
        "`Scatter` and `TensorScatter` do not have it",
    ),
    (
        "core/ir/src/ops/boxes.rs",
        r#"text_if_any("coordinate_transformation_mode").unwrap_or("output_half_pixel")"#,
        "before opset 16 there is no such attribute",
    ),
    (
        "core/ir/src/ops/slice.rs",
        r#"int_if_any("axis").unwrap_or(1)"#,
        "ONNX states it in prose, before opset 4",
    ),
    (
        "core/ir/src/ops/slice.rs",
        r#"float_if_any("value").unwrap_or(0.0)"#,
        "an input since opset 11, which is 0 where it is absent",
    ),
    (
        "core/ir/src/ops/window.rs",
        r#"text_if_any("auto_pad").unwrap_or("NOTSET")"#,
        "`Col2Im` does not have it",
    ),
    (
        "core/ir/src/ops/index.rs",
        r#"text_if_any("reduction").unwrap_or("none")"#,
        "`TensorScatter` does not have it",
    ),
    (
        "core/ir/src/layout/kind.rs",
        r#"int("keepdims").is_none_or(|n| n == 1)"#,
        "operators without it keep the rank",
    ),
];

/// Calls in `source` that restate a default: an accessor of an attribute that has a default in some version, followed by a
/// literal for an absent one.
fn restated(source: &str) -> Vec<String> {
    let has_default = |name: &str| {
        let mut schemas = opset::domains().into_iter().flat_map(|(_, schemas)| schemas);
        schemas.any(|schema| {
            schema.attributes.iter().any(|a| a.name == name && (a.default.is_some() || a.required))
        })
    };
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: String =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).map(str::trim).collect();
    let mut found = Vec::new();
    for accessor in ["int", "float", "text", "str", "int_if_any", "float_if_any", "text_if_any"] {
        for (at, _) in code.match_indices(&format!("{accessor}(\"")) {
            let bounded = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = &code[at + accessor.len() + 2..];
            let Some((name, rest)) = rest.split_once('"').filter(|(name, _)| bounded && has_default(name))
            else {
                continue;
            };
            let fallback = rest.strip_prefix(").").and_then(|rest| {
                ["unwrap_or(", "map_or(", "is_none_or("]
                    .into_iter()
                    .find(|method| rest.starts_with(method))
                    .map(|_| rest)
            });
            let Some(tail) = fallback else { continue };
            let literal = tail.split_once('(').map_or(tail, |(_, literal)| literal).trim_start_matches('-');
            if literal.starts_with(|c: char| c.is_ascii_digit() || c == '"' || c == '|') {
                let end = tail.find(')').map_or(tail.len(), |end| end + 1);
                found.push(format!("{accessor}(\"{name}\").{}", &tail[..end]));
            }
        }
    }
    found
}

#[test]
fn nothing_restates_the_default_of_an_attribute() {
    let mut found: Vec<(String, String)> = Vec::new();
    // The tests of operators quote restated defaults.
    let folders = [&PRODUCT[..], &["examples", "tests/rust"]].concat();
    for (file, source) in
        sources_in(&folders).into_iter().filter(|(file, _)| file != "tests/rust/operator_names.rs")
    {
        found.extend(restated(&source).into_iter().map(|text| (file.clone(), text)));
    }
    let mut justified: Vec<(String, String)> =
        STATED.iter().map(|(file, text, _)| ((*file).to_owned(), (*text).to_owned())).collect();
    found.sort();
    justified.sort();
    assert_eq!(
        found, justified,
        "take the default from the operator's definition: `node.at(version)` in the host, `node.int(name)` in plugins"
    );
}

#[test]
fn a_restated_default_is_a_literal_behind_an_attribute() {
    assert_eq!(restated(r#"let axis = node.int("axis").unwrap_or(-1);"#).len(), 1);
    assert_eq!(restated("node\n    .str(\"mode\")\n    .is_none_or(|mode| mode == \"nearest\")").len(), 1);
    assert!(
        restated(r#"c.int("axis")?; c.int_if_any("end").unwrap_or(rank); arg("axis").unwrap_or(0)"#)
            .is_empty()
    );
}

#[test]
fn a_list_is_three_names_in_a_row() {
    let is_operator = |name: &str| name.chars().all(char::is_alphabetic);
    assert_eq!(lists(r#"const A: [&str; 3] = ["Add", "Sub", "Mul"];"#, is_operator), 1);
    assert_eq!(lists(r#"matches!(op, "Add" | "Sub" | "Mul")"#, is_operator), 1);
    assert_eq!(lists(r#"match op { "Add" => a, "Sub" => b, "Mul" => c }"#, is_operator), 0);
    assert_eq!(lists(r#"["Add", "Sub"]; ["Mul", "Div"]"#, is_operator), 0);
    assert_eq!(lists("// [\"Add\", \"Sub\", \"Mul\"]\n", is_operator), 0);
    assert_eq!(lists("matches!(op, op::Add | op::Sub | microsoft::Gelu)", |_| false), 1);
    assert_eq!(lists("match op { op::Add => a, op::Sub => b, op::Mul => c }", |_| false), 0);
    assert_eq!(lists(r#"(b'x', '"', ["Add", "Sub", "Mul"])"#, is_operator), 1);
    assert_eq!(literals(r#"node.is("Add") && name == "sum" && node.is(op::Sub) && text == "Add, Sub""#), 1);
}
