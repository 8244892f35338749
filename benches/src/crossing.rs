//! `plugin`: the cost of loading a plugin as a library: a crossing of the boundary, loading, and the lowering of a
//! long program.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Args;
use onnxport_abi::RStr;
use onnxport_abi::abi_stable::library::{LibHeader, lib_header_from_path};
use onnxport_abi::{PluginRoot, PluginRootRef};
use onnxport_benches::chain::Chain;
use onnxport_core::host::{Host, Search};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use serde::Serialize;

use crate::measure;
use crate::ours::{self, Onnxport};
use crate::statistics::{median, table};

/// Crossings per measurement.
const CROSSINGS: u32 = 2_000_000;

/// The options of `plugin`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The number of calls of the long program
    #[arg(long, default_value_t = 10_000)]
    nodes: usize,
    /// How often everything is measured
    #[arg(long, default_value_t = 11, value_name = "N")]
    repeat: usize,
    /// Also write the measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A quantity with the plugin linked in and with it loaded, medians.
#[derive(Debug, Serialize)]
struct Row {
    what: String,
    unit: &'static str,
    linked: f64,
    loaded: f64,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let onnxport = Onnxport::build()?;
    let (aten, own) = (library("onnxport-aten")?, library("onnxport-bench-plugin")?);
    let mut rows = crossings(&own, arguments.repeat)?;
    rows.extend(processes(&onnxport, &aten, arguments)?);
    println!("{}", report(&rows));
    crate::save_json(arguments.json.as_deref(), &rows)
}

/// Builds a plugin of the workspace as a shared library.
fn library(package: &str) -> io::Result<PathBuf> {
    let mut cargo = ours::cargo();
    cargo.args(["rustc", "--quiet", "--release", "-p", package, "--lib"]);
    cargo.args(["--crate-type", "cdylib", "--features", "cdylib"]);
    let name = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", package.replace('-', "_"));
    let library = std::env::current_exe()?.with_file_name(name);
    if !cargo.status()?.success() || !library.exists() {
        return Err(io::Error::other(format!("{} is not built", library.display())));
    }
    Ok(library)
}

/// Calls into a plugin and back into the host, in this process.
fn crossings(library: &Path, repeat: usize) -> io::Result<Vec<Row>> {
    let failed = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    let linked_root = onnxport_bench_plugin::ROOT;
    let loaded_root = lib_header_from_path(library)
        .and_then(LibHeader::init_root_module::<PluginRootRef>)
        .map_err(|error| failed(&error))?
        .get();
    let host = |search: &Search| {
        Host::with(&[&onnxport_bench_plugin::ROOT], search)
            .map_err(|report| io::Error::other(format!("{:?}", report.diagnostics)))
    };
    let linked = host(&Search::default())?;
    let loaded = host(&Search { plugins: vec![library.to_owned()], ..Search::default() })?;
    let mut rows = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..repeat {
        rows[0].push(queries(&linked_root));
        rows[1].push(queries(&loaded_root));
        rows[2].push(answers(&linked)?);
        rows[3].push(answers(&loaded)?);
    }
    let [a, b, c, d] = rows.map(|values| median(values).unwrap_or_default());
    let row = |what: &str, linked, loaded| Row { what: what.to_owned(), unit: "ns", linked, loaded };
    Ok(vec![row("a call into the plugin", a, b), row("a question of the plugin to the host", c, d)])
}

/// Returns the nanoseconds per call of `query` for an unknown name.
fn queries(root: &PluginRoot) -> f64 {
    let start = Instant::now();
    for _ in 0..CROSSINGS {
        black_box((black_box(root.query))(RStr::from_str("nothing/1")));
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(CROSSINGS)
}

/// Nanoseconds per question for the type of a value, during a lowering.
fn answers(host: &Host) -> io::Result<f64> {
    let seconds = |times: u32| -> io::Result<f64> {
        let text = format!(
            "graph {{\n  input %x: f32[] = user\n  %y: f32[] = bench.ask.default(x=%x, times={times})\n  output %y = user\n}}\n"
        );
        let program = Program::parse(&text).map_err(|error| io::Error::other(error.to_string()))?;
        let mut options = ConvertOptions::default();
        options.lower.opset = DEFAULT_OPSET;
        let start = Instant::now();
        let converted = pipeline::convert(host, program, &options);
        converted.map_err(|report| io::Error::other(format!("{:?}", report.diagnostics)))?;
        Ok(start.elapsed().as_secs_f64())
    };
    Ok((seconds(CROSSINGS)? - seconds(0)?) * 1e9 / f64::from(CROSSINGS))
}

/// Whole runs of the command, which alternate between linked in and loaded.
fn processes(onnxport: &Onnxport, aten: &Path, arguments: &Arguments) -> io::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let chain = folder.path().join("chain.pt2");
    Chain { nodes: arguments.nodes, writes: true }.write(&chain)?;
    let output = folder.path().join("model.onnx");
    let commands: [(String, &dyn Fn() -> Command); 2] = [
        ("starting, and loading `aten`".to_owned(), &|| {
            let mut command = onnxport.command();
            command.args(["plugin", "list", "--json"]);
            command
        }),
        (format!("converting {} calls", arguments.nodes), &|| {
            let mut command = onnxport.command();
            command.args(["convert", "--no-verify", "--json"]).arg(&chain).arg("-o").arg(&output);
            command
        }),
    ];
    let mut rows = Vec::new();
    for (what, command) in commands {
        let (mut linked, mut loaded) = (Vec::new(), Vec::new());
        // The first runs read the files from disk, and are not counted.
        for at in 0..=arguments.repeat {
            let runs = [
                measure::run(&mut command(), false)?,
                measure::run(command().arg("--plugin").arg(aten), false)?,
            ];
            if let Some(failed) = runs.iter().find(|run| !run.success) {
                return Err(io::Error::other(format!("{what}: {}", failed.stdout)));
            }
            if at > 0 {
                linked.push(runs[0].cpu * 1e3);
                loaded.push(runs[1].cpu * 1e3);
            }
        }
        let [linked, loaded] = [linked, loaded].map(|values| median(values).unwrap_or_default());
        rows.push(Row { what, unit: "CPU ms", linked, loaded });
    }
    Ok(rows)
}

fn report(rows: &[Row]) -> String {
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.what.clone(),
                row.unit.to_owned(),
                format!("{:.1}", row.linked),
                format!("{:.1}", row.loaded),
                format!("{:.3}", row.loaded / row.linked),
            ]
        })
        .collect();
    table(&["what", "unit", "linked in", "loaded", "ratio"], &lines)
}
