//! Plugins in plain C, built with `cc` alone: `examples/c-plugin`, invalid roots, and arguments on both sides of
//! the contract.
#![cfg(unix)]

mod kinds;
mod roots;

use std::path::{Path, PathBuf};
use std::process::Command;

use onnxport_core::diagnose::Report;
use onnxport_core::host::{Host, Search};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;

use crate::files::{errors, repository};

/// Compiles `source` to a library in `folder`, with every warning an error.
fn compile(source: &Path, folder: &Path, arguments: &[&str]) -> PathBuf {
    let library = folder.join("plugin.so");
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(&library);
    cc.arg("-I").arg(repository().join("plugin-sdk/abi/include")).args(arguments).arg(source);
    let output = cc.output().expect("the C compiler starts; Rust links with it");
    assert!(output.status.success(), "{cc:?}: {}", String::from_utf8_lossy(&output.stderr));
    library
}

fn load(library: &Path) -> Result<Host, Report> {
    let search = Search { plugins: vec![library.to_owned()], ..Search::default() };
    Host::with(&[&onnxport_aten::ROOT], &search)
}

/// The model of a program in text form, or every problem.
fn lowered(host: &Host, program: &str) -> String {
    let program = Program::parse(program).unwrap_or_else(|error| panic!("{error}: {program}"));
    let mut options = ConvertOptions { validate: true, ..ConvertOptions::default() };
    options.lower.opset = DEFAULT_OPSET;
    match pipeline::convert(host, program, &options) {
        Ok(converted) => converted.model.to_text(),
        Err(report) => errors(&report),
    }
}

#[test]
fn the_example_lowers_and_rewrites() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = compile(&repository().join("examples/c-plugin/plugin.c"), folder.path(), &["-pedantic"]);
    let host = load(&library).unwrap_or_else(|report| panic!("{}", errors(&report)));
    let program = |limit: &str, ty: &str| {
        format!(
            "graph {{\n  input %x: {ty} = user\n  %n: {ty} = aten.abs.default(self=%x)\n  \
             %a: {ty} = aten.relu.default(self=%n)\n  \
             %y: {ty} = cexample.softclip.default(x=%a, limit={limit})\n  output %y = user\n}}\n"
        )
    };
    let model = lowered(&host, &program("4.0", "f32[2, 3]"));
    let ops: Vec<&str> = model
        .lines()
        .filter_map(|line| line.split_once("] = ")?.1.split_once('('))
        .map(|(op, _)| op)
        .collect();
    assert_eq!(ops, ["Abs", "Abs", "Mul", "Add", "Div"], "{model}");
    assert!(!model.contains("Relu("), "the rule was applied: {model}");
    let refused = lowered(&host, &program("-1.0", "f32[2, 3]"));
    assert!(refused.starts_with("cexample:E02: "), "{refused}");
    assert!(refused.contains("argument `limit` is not a positive number"), "{refused}");
    let refused = lowered(&host, &program("4.0", "f64[2, 3]"));
    assert!(refused.starts_with("cexample:E01: "), "{refused}");
}
