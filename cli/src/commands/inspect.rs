//! `onnxport inspect`.

pub(crate) mod beside;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::inspect::{
    DimSummary, FileKind, InputSummary, ModelSummary, OpSummary, ProgramSummary, ValueSummary, WeightTable,
};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::pipeline;
use onnxport_core::weights::WeightSet;
use onnxport_core::write::manifest::{self, Listed};
use onnxport_requests::Plugins;

use crate::exit::Exit;
use crate::format::{bad, bold, bytes, count, good, limited, plain, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::sizes;
use crate::tensors;

/// The number of guards and operators shown by default.
const SHOWN: usize = 20;

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A .pt2 or .onnx file, or weights: .safetensors, an index of shards, a torch.save checkpoint, or a folder of
    /// these
    file: PathBuf,
    /// A second file to compare with: shows the differences, and with `--all` everything
    #[arg(conflicts_with_all = ["weights", "manifest"])]
    other: Option<PathBuf>,
    /// Show every operator, guard and tensor
    #[arg(long)]
    all: bool,
    /// Show every tensor: its source, its view of it, its size, and the tensors that share storage. This is the default
    /// for weight files
    #[arg(long, conflicts_with = "manifest")]
    weights: bool,
    /// The checkpoint entry that holds the weights, with dots between levels
    #[arg(long, value_name = "KEY")]
    weights_key: Option<String>,
    /// Check the files of a model against FILE.sha256, written by `convert --manifest`
    #[arg(long)]
    manifest: bool,
    #[command(flatten)]
    plugins: Plugins,
}

/// Describes a file.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    if arguments.manifest {
        return check(&arguments.file);
    }
    let shown = if arguments.all { usize::MAX } else { SHOWN };
    if let Some(other) = &arguments.other {
        let host = plugins::host(&arguments.plugins)?;
        return Ok(beside::compare((&arguments.file, other), &host, shown, arguments.all)?);
    }
    let kind = FileKind::of(&arguments.file);
    if arguments.weights || kind == FileKind::Weights {
        return weights(arguments, kind, shown);
    }
    if kind == FileKind::Model {
        let summary = ModelSummary::read(&arguments.file)?;
        return Ok(Outcome::text(model(&summary, shown)).with("model", &summary));
    }
    let archive = pipeline::read(&arguments.file)?;
    let host = plugins::host(&arguments.plugins)?;
    let summary = ProgramSummary::from_archive(&archive, &host, DEFAULT_OPSET);
    Ok(Outcome::text(program(&summary, shown)).with("program", &summary))
}

/// Shows every tensor of a file.
fn weights(arguments: &Arguments, kind: FileKind, shown: usize) -> CommandResult {
    let table = match kind {
        FileKind::Program => WeightTable::from(&pipeline::read(&arguments.file)?.program),
        FileKind::Model => WeightTable::read_model(&arguments.file)?,
        FileKind::Weights => {
            let paths = std::slice::from_ref(&arguments.file);
            WeightTable::from(&WeightSet::open(paths, arguments.weights_key.as_deref())?)
        }
    };
    let mut outcome = Outcome::text(tensors::text(&table, shown)).with("weights", &table);
    if let Err(report) = table.check() {
        outcome.exit = Exit::of(&report);
        outcome.report = report;
    }
    Ok(outcome)
}

/// Checks files against the hashes in the manifest beside the model.
fn check(model: &Path) -> CommandResult {
    let files = manifest::check(&manifest::path_of(model))?;
    let row = |file: &Listed| match &file.problem {
        None => vec![good("ok  "), file.name.clone()],
        Some(problem) => vec![bad("FAIL"), file.name.clone(), problem.clone()],
    };
    let text = table(&files.iter().map(row).collect::<Vec<_>>());
    let wrong = files.iter().filter(|file| file.problem.is_some()).count();
    let mut outcome = Outcome::text(text).with("manifest", &files);
    if wrong > 0 {
        let message = format!("{} do not match the manifest", count(wrong, "file"));
        outcome.report = Diagnostic::error(Code::WRITE_MANIFEST, message).into();
        outcome.exit = Exit::of(&outcome.report);
    }
    Ok(outcome)
}

fn program(summary: &ProgramSummary, shown: usize) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "exported program, PyTorch {}, schema {}", summary.torch, summary.schema);
    section(&mut out, "inputs", &rows(&summary.inputs));
    section(&mut out, "outputs", &values(&summary.outputs));
    section(&mut out, "state", &rows(&summary.states));
    section(&mut out, "dynamic dimensions", &summary.dims.iter().map(dim).collect::<Vec<_>>());
    out.push_str(&sizes::text(&summary.sizes, shown));
    let _ = writeln!(
        out,
        "{}  {}, {}, {}, {}",
        bold("weights"),
        count(summary.parameters, "parameter"),
        count(summary.buffers, "buffer"),
        count(summary.constants, "constant"),
        bytes(summary.weight_bytes)
    );
    let guards: Vec<_> = summary.guards.iter().map(|guard| vec![plain(guard)]).collect();
    limited(&mut out, "guards", guards.into_iter(), shown);
    limited(&mut out, "operators", ops(&summary.ops, true).into_iter(), shown);
    out
}

fn model(summary: &ModelSummary, shown: usize) -> String {
    let mut out = String::new();
    let opsets: Vec<String> = summary
        .opsets
        .iter()
        .map(|(domain, version)| match domain.as_str() {
            "" => format!("opset {version}"),
            domain => format!("{domain} {version}"),
        })
        .collect();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "ONNX model, {}, IR version {}, by {}",
        opsets.join(", "),
        summary.ir_version,
        summary.producer
    );
    section(&mut out, "inputs", &values(&summary.inputs));
    section(&mut out, "outputs", &values(&summary.outputs));
    section(&mut out, "state", &rows(&summary.states));
    out.push_str(&sizes::text(&summary.sizes, shown));
    let files = match summary.data_files.as_slice() {
        [] => String::new(),
        files => format!(" in {}", files.join(", ")),
    };
    let _ = writeln!(
        out,
        "{}  {}, {}{files}",
        bold("weights"),
        count(summary.initializers, "initializer"),
        bytes(summary.weight_bytes)
    );
    let functions: Vec<_> = summary.functions.iter().map(|name| vec![plain(name)]).collect();
    limited(&mut out, "functions", functions.into_iter(), shown);
    let metadata: Vec<_> = summary.metadata.iter().map(|(k, v)| vec![plain(k), plain(v)]).collect();
    limited(&mut out, "metadata", metadata.into_iter(), shown);
    limited(&mut out, "operators", ops(&summary.ops, false).into_iter(), shown);
    out
}

fn section(out: &mut String, title: &str, rows: &[Vec<String>]) {
    limited(out, title, rows.iter().cloned(), usize::MAX);
}

fn rows(inputs: &[InputSummary]) -> Vec<Vec<String>> {
    let row = |input: &InputSummary| vec![plain(&input.name), plain(&input.ty), input.kind.to_owned()];
    inputs.iter().map(row).collect()
}

fn values(values: &[ValueSummary]) -> Vec<Vec<String>> {
    values.iter().map(|value| vec![plain(&value.name), plain(&value.ty)]).collect()
}

fn dim(dim: &DimSummary) -> Vec<String> {
    let bound = |value: Option<i64>| value.map_or_else(|| "..".to_owned(), |n| n.to_string());
    let traced = dim.traced.map_or_else(String::new, |n| format!("traced at {n}"));
    vec![dim.name.clone(), format!("{} to {}", bound(dim.min), bound(dim.max)), traced, dim.axes.join(" ")]
}

fn ops(ops: &[OpSummary], providers: bool) -> Vec<Vec<String>> {
    let row = |op: &OpSummary| {
        let mut row = vec![op.count.to_string(), plain(&op.target)];
        if providers {
            row.push(op.provider.clone().unwrap_or_else(|| bad("nobody")));
        }
        row
    };
    ops.iter().map(row).collect()
}
