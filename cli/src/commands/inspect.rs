//! `onnxport inspect`.

use std::fmt::Write;

use clap::Args;
use onnxport_core::Host;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::inspect::{
    DimSummary, InputSummary, ModelSummary, OpSummary, ProgramSummary, ValueSummary,
};
use onnxport_core::write::manifest::Listed;
use onnxport_requests::inspect::{Comparison, InspectRequest, Inspected, Row, SECTIONS};
use onnxport_requests::{Hosted, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::exit::Exit;
use crate::format::{bad, bold, bytes, count, faint, good, limited, plain, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;
use crate::sizes;
use crate::tensors;

/// The number of guards and operators shown by default.
const SHOWN: usize = 20;

/// Arguments of `inspect`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// Show every operator, guard and tensor
    #[arg(long)]
    #[serde(default)]
    all: bool,
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<InspectRequest>,
}

/// Describes a file.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let Arguments { all, hosted: Hosted { request, plugins } } = arguments;
    let host = if request.uses_plugins() { plugins::host(plugins)? } else { Host::new(&[])? };
    let shown = if *all { usize::MAX } else { SHOWN };
    Ok(match request.run(&host, &mut progress.clone())? {
        Inspected::Program(summary) => Outcome::text(program(&summary, shown)).with("program", &summary),
        Inspected::Model(summary) => Outcome::text(model(&summary, shown)).with("model", &summary),
        Inspected::Weights(table) => {
            let mut outcome = Outcome::text(tensors::text(&table, shown)).with("weights", &table);
            if let Err(report) = table.check() {
                outcome.exit = Exit::of(&report);
                outcome.report = report;
            }
            outcome
        }
        Inspected::Manifest(files) => manifest(&files),
        Inspected::Compared(compared) => {
            let paths = std::iter::once(&request.file).chain(&request.other);
            let files: Vec<String> = paths.map(|path| path.display().to_string()).collect();
            comparison(&files, &compared, shown, *all)
        }
    })
}

/// Describes the files in a manifest.
fn manifest(files: &[Listed]) -> Outcome {
    let row = |file: &Listed| match &file.problem {
        None => vec![good("ok  "), file.name.clone()],
        Some(problem) => vec![bad("FAIL"), file.name.clone(), problem.clone()],
    };
    let text = table(&files.iter().map(row).collect::<Vec<_>>());
    let wrong = files.iter().filter(|file| file.problem.is_some()).count();
    let mut outcome = Outcome::text(text).with("manifest", files);
    if wrong > 0 {
        let message = format!("{} do not match the manifest", count(wrong, "file"));
        outcome.report = Diagnostic::error(Code::WRITE_MANIFEST, message).into();
        outcome.exit = Exit::of(&outcome.report);
    }
    outcome
}

/// Describes the facts about two files; `all` also shows equal ones.
fn comparison(files: &[String], compared: &Comparison, shown: usize, all: bool) -> Outcome {
    let mut out = String::new();
    // Writing to a String cannot fail.
    for (letter, file) in ["a", "b"].iter().zip(files) {
        let _ = writeln!(out, "{}  {file}", bold(letter));
    }
    for section in SECTIONS {
        let side = |side: &Option<String>| side.as_deref().map_or_else(|| faint("-"), plain);
        let listed = compared.rows.iter().filter(|row| row.section == section && (all || row.differs()));
        let lines: Vec<Vec<String>> =
            listed.map(|row| vec![plain(&row.name), side(&row.a), side(&row.b)]).collect();
        limited(&mut out, section, lines.into_iter(), shown);
    }
    let differences: Vec<&Row> = compared.differences().collect();
    let _ = writeln!(out, "{}, {} the same", count(differences.len(), "difference"), compared.same);
    Outcome::text(out).with("files", files).with("differences", differences).with("same", compared.same)
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
