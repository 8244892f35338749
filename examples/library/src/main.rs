//! Converts a program from Rust: `cargo run -- IN.pt2 OUT.onnx`.

use onnxport_core::{Conversion, Host, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else { return Err("usage: IN.pt2 OUT.onnx".into()) };
    let host = Host::new(&[&onnxport_aten::ROOT])?;
    let model = Conversion::open(input)?.run(&host)?;
    let written = model.write(output, &WriteOptions::default())?;
    println!("{output}: {} bytes", written.model_bytes);
    Ok(())
}
