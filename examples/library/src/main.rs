//! Converts a program from Rust, and publishes the model when it agrees with the program:
//! `cargo run -- IN.pt2 OUT.onnx`.

use onnxport_core::{Conversion, Host, Runtime, VerifyOptions, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else { return Err("usage: IN.pt2 OUT.onnx".into()) };
    // Where there is no ONNX Runtime, the reference evaluator runs the model.
    let host = Host::new(&[&onnxport_aten::ROOT, &onnxport_ort::ROOT, &onnxport_reference::ROOT])?;
    let model = Conversion::open(input)?.run(&host)?;
    let mut staged = model.stage(output, &WriteOptions::default())?;
    let verified = staged.verify(&Runtime::find(&host)?, &VerifyOptions::default())?;
    if !verified.passed() {
        return Err(format!("{input} computes something else than {output}").into());
    }
    let written = staged.publish()?;
    println!("{output}: {} bytes, verified by {}", written.model_bytes, verified.executor);
    Ok(())
}
