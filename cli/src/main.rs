//! Interim command line: convert only, until the real one lands.
use onnxport_core::{host::Host, pipeline, write};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (mut input, mut output, mut opset) = (String::new(), String::new(), 20);
    let mut it = args.iter().skip(2);
    while let Some(a) = it.next() {
        match a.as_str() {
            "-o" => output = it.next().cloned().unwrap_or_default(),
            "--opset" => opset = it.next().and_then(|s| s.parse().ok()).unwrap_or(20),
            s if s.starts_with('-') => {}
            s => input = s.to_owned(),
        }
    }
    let run = || {
        let host = Host::new(&[&onnxport_aten::ROOT])?;
        let archive = pipeline::read(input.as_ref())?;
        let mut options = pipeline::ConvertOptions::default();
        options.lower.opset = opset;
        options.validate = true;
        let converted = pipeline::convert(&host, archive.program, &options)?;
        write::write(&converted.model, output.as_ref(), &write::WriteOptions::default())
    };
    if let Err(report) = run() {
        for d in &report.diagnostics {
            let o = d.origin.map(|o| report.origins.get(o));
            eprintln!("{} {} [{:?}] {:?}", d.code, d.message, o.map(|o| (&o.node, &o.module)), d.help);
        }
        std::process::exit(3);
    }
}
