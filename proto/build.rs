//! Compiles the pinned `onnx.proto` with a pure-Rust protobuf compiler.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=onnx.proto");
    let descriptors = protox::compile(["onnx.proto"], ["."])?;
    prost_build::Config::new().bytes(["."]).compile_fds(descriptors)?;
    Ok(())
}
