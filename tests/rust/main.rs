//! The tests in Rust, in one program: a module for each subject, and a test for each file of `tests/files`.
//! `tests/README.md` is the index.

#[macro_use]
extern crate onnxport_harness;

#[macro_use]
mod files;

mod abi;
mod archives;
mod backend;
mod bisect;
mod c_plugins;
mod comparer;
mod conformance;
mod contradictions;
mod decompose;
mod facts;
mod frozen;
mod functions;
mod fuzz;
mod hostile;
mod ir;
mod legal;
mod legalise;
mod lower;
mod meta;
mod normalise;
mod older;
mod onnx_nodes;
mod op_sets;
mod openvino;
mod operator_names;
mod operators;
mod optimise;
mod overloads;
mod pipeline;
mod plugins;
mod quantiser_plugin;
mod sizes;
mod suggested;
mod testkit;
mod weight_graph;
mod weights;
mod weights_plugin;

fn main() -> std::process::ExitCode {
    onnxport_harness::main()
}
