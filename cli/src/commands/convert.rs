//! `onnxport convert`.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use onnxport_core::backend::BackendOptions;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::Host;
use onnxport_core::lower::{LowerOptions, Names};
use onnxport_core::normalise::normalise;
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::verify::{Port, Signature};
use onnxport_core::{Conversion, WriteOptions, WriteReport};

use super::converting::{self, Axis, ConvertingArguments};
use super::verifying;
use super::writing::{self, WriteArguments};
use crate::backends;
use crate::decomposing;
use crate::exit::Exit;
use crate::format::{bold, bytes, count, duration, faint, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::precision;
use crate::progress::Progress;
use crate::target;
use crate::weights::WeightArguments;

/// Inputs and outputs shown in the summary.
const PORTS: usize = 12;

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The exported program, as torch.export.save writes it
    program: PathBuf,
    /// The model to write
    #[arg(short, long, value_name = "ONNX", required_unless_present_any = ["emit", "explain_partition"])]
    output: Option<PathBuf>,
    /// Names for the inputs, in order, or other names for some of them: pixels,mask or x=pixels
    #[arg(long, value_name = "NAMES", value_parser = converting::parse_names)]
    input_names: Option<Names>,
    /// Names for the outputs, in order, or other names for some of them
    #[arg(long, value_name = "NAMES", value_parser = converting::parse_names)]
    output_names: Option<Names>,
    /// A name for a dynamic dimension of an input, such as x:0=batch, or its only size, such as x:0=8
    #[arg(long = "dim", value_name = "INPUT:AXIS=NAME|SIZE", value_parser = converting::parse_axis)]
    dims: Vec<Axis>,
    /// Print a text form instead of converting
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["output", "explain_rule"])]
    emit: Option<Form>,
    #[command(flatten)]
    converting: ConvertingArguments,
    /// Show the regions that backends would take, and why not the rest; nothing is compiled or written
    #[arg(long, requires = "backends", conflicts_with_all = ["output", "emit"], help_heading = "Backends")]
    explain_partition: bool,
    #[command(flatten)]
    writing: WriteArguments,
    #[command(flatten)]
    weights: WeightArguments,
}

/// A text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The program as it was exported
    Program,
    /// The program without side effects
    Normalised,
    /// The ONNX graph
    Ir,
}

/// Converts, writes and verifies.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let start = Instant::now();
    progress.stage("reading the program");
    let mut conversion = Conversion::open(&arguments.program)?;
    let converting = &arguments.converting;
    let host = plugins::host(&converting.plugins)?;
    let reweighted = arguments.weights.bind(&host, &mut conversion)?;
    let reading = start.elapsed();
    let options = converting.options(arguments.output.as_deref())?;
    let (dims, fixed) = converting::axes(&arguments.dims);
    let options = ConvertOptions {
        lower: LowerOptions {
            input_names: arguments.input_names.clone().unwrap_or_default(),
            output_names: arguments.output_names.clone().unwrap_or_default(),
            dims,
            ..options.lower
        },
        fixed,
        backend: BackendOptions { dry_run: arguments.explain_partition, ..options.backend },
        weightless: arguments.weights.weightless || arguments.emit.is_some() || arguments.explain_partition,
        // A model that waits for weights does not know which of them are one.
        separate: reweighted || arguments.writing.names_weights(),
        ..options
    };
    if arguments.explain_partition {
        return backends::explain(&host, conversion.into_archive().program, &options);
    }
    let path = match (&arguments.output, arguments.emit) {
        (Some(path), None) => path,
        (_, form) => return emit(&host, conversion, &options, form.unwrap_or(Form::Ir)),
    };
    let conversion = conversion.options(options);
    let verified = !converting.verifying.no_verify && arguments.writing.plan().is_none();
    if verified {
        converting.verifying.prepare(&host);
    }
    let conversion = conversion.drawing(converting.verifying.reference.draws());
    let conversion = if verified { conversion } else { conversion.unverified() };

    progress.stage("converting");
    let mut program = conversion.run(&host)?;

    let writing = Instant::now();
    let weightless = arguments.weights.weightless;
    let write_options = WriteOptions { weightless, ..arguments.writing.options() };
    if let Some(planned) = arguments.writing.plan() {
        return writing::plan(&program, path, &write_options, planned);
    }
    let bar = progress.bytes("writing");
    let write_options = WriteOptions { progress: Some(Arc::new(bar)), ..write_options };
    let calls = program.calls.take();
    let mut staged = program.stage(path, &write_options)?;
    let writing_took = writing.elapsed();
    let checked = match calls {
        Some(_) if arguments.writing.no_initializers || staged.files.unbound() > 0 => {
            let why = Diagnostic::error(Code::VERIFY_EXPECTED, "the model is written without its weights");
            let mut outcome = Outcome::ok();
            converting.verifying.skip(&mut outcome, &why);
            outcome
        }
        Some(calls) => {
            let readable = staged.files.readable()?;
            converting.verifying.verify(&host, readable.path(), calls, progress)
        }
        None => Outcome::ok(),
    };
    let publishing = Instant::now();
    let written = match checked.exit {
        Exit::Ok => staged.publish()?,
        _ if converting.verifying.keep_failed => staged.files.publish_failed()?,
        _ => {
            let mut outcome = checked;
            outcome.report.diagnostics.push(verifying::withheld(path, None));
            return Ok(outcome);
        }
    };
    let converted = program.converted;
    let nodes = converted.model.graph.node_count();
    let mut stages = vec![("read", reading)];
    stages.extend(converted.stages.iter().map(|stage| (stage.name, stage.time)));
    stages.push(("write", writing_took + publishing.elapsed()));

    let mut outcome = Outcome::ok();
    let diagnostics = converted.diagnostics.into_iter();
    let diagnostics = diagnostics.chain(written.diagnostics.iter().cloned()).collect();
    outcome.report = Report { diagnostics, origins: converted.model.origins };
    let signature = Signature::read(&written.model)?;
    let facts = Facts { arguments, signature: &signature, written: &written, nodes, stages: &stages };
    outcome.summary = facts.summary();
    if let Some(partitioned) = &converted.partitioned {
        outcome.summary.push_str(&backends::summary(partitioned));
        outcome.put("backends", &partitioned.backends);
    }
    precision::describe(&converted.changed, &mut outcome);
    target::describe(&converted.legalised, &mut outcome);
    outcome.put(
        "unchecked",
        serde_json::json!({
            "calls": converted.checked.unknown,
            "operators": converted.checked.operators,
        }),
    );
    facts.json(&mut outcome);
    decomposing::describe(&converted.decomposed, &mut outcome);
    converting.optimising.describe(&converted.optimised, &mut outcome);
    outcome.add(checked);
    if outcome.exit != Exit::Ok {
        outcome.report.diagnostics.push(verifying::withheld(path, Some(&written.model)));
    }
    Ok(outcome)
}

fn emit(host: &Host, conversion: Conversion, options: &ConvertOptions, form: Form) -> CommandResult {
    let program = conversion.into_archive().program;
    let text = match form {
        Form::Program => program.to_text(),
        Form::Normalised => normalise(program, &host.schemas)?.to_text(),
        Form::Ir => pipeline::convert(host, program, options)?.model.to_text(),
    };
    Ok(Outcome::text(text))
}

/// What the summary says.
struct Facts<'a> {
    arguments: &'a Arguments,
    signature: &'a Signature,
    written: &'a WriteReport,
    nodes: usize,
    stages: &'a [(&'static str, Duration)],
}

impl Facts<'_> {
    fn summary(&self) -> String {
        let path = &self.written.model;
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{}  {} -> {}",
            bold("converted"),
            self.arguments.program.display(),
            path.display()
        );
        out.push_str(&ports("inputs", self.signature.user_inputs()));
        let outputs = self.signature.outputs.iter().filter(|o| self.signature.state_of(&o.name).is_none());
        out.push_str(&ports("outputs", outputs));
        if !self.signature.states.is_empty() {
            let names: Vec<String> = self
                .signature
                .states
                .iter()
                .map(|s| format!("{} ({} -> {})", s.name, s.input, s.output))
                .collect();
            let _ = writeln!(out, "{}  {}", bold("state"), names.join(", "));
        }
        let tied = match self.written.tied {
            0 => String::new(),
            n => format!(", {n} tied"),
        };
        let unbound = match self.written.unbound {
            0 => String::new(),
            n => format!(", {n} of them still to be given"),
        };
        let _ = writeln!(
            out,
            "{}  opset {}, {}, {}{unbound}{tied}, {} of weights",
            bold("model"),
            self.arguments.converting.opset,
            count(self.nodes, "node"),
            count(self.written.tensors, "initializer"),
            bytes(self.written.weight_bytes)
        );
        let mut files = format!("{} ({})", path.display(), bytes(self.written.model_bytes));
        match self.written.data.as_slice() {
            [] => {}
            [data] => {
                let _ = write!(files, ", {} ({})", data.display(), bytes(self.written.data_bytes));
            }
            [first, .., last] => {
                let (first, last) = (first.display(), last.display());
                let _ = write!(files, ", {first} to {last} ({})", bytes(self.written.data_bytes));
            }
        }
        if !self.written.sources.is_empty() {
            let _ = write!(files, ", {} read where they are", bytes(self.written.source_bytes));
        }
        if let Some(manifest) = &self.written.manifest {
            let _ = write!(files, ", {}", manifest.display());
        }
        for beside in &self.written.artefacts {
            let _ = write!(files, ", {}", beside.display());
        }
        let _ = writeln!(out, "{}  {files}", bold("files"));
        let stages: Vec<String> =
            self.stages.iter().map(|(name, time)| format!("{name} {}", duration(*time))).collect();
        let _ = writeln!(out, "{}  {}", bold("time"), stages.join(", "));
        out
    }

    fn json(&self, outcome: &mut Outcome) {
        let port = |port: &Port| serde_json::json!({ "name": port.name, "type": port.type_text() });
        let states: Vec<_> = self
            .signature
            .states
            .iter()
            .map(|s| serde_json::json!({ "name": s.name, "kind": s.kind, "input": s.input, "output": s.output }))
            .collect();
        let seconds: serde_json::Map<String, serde_json::Value> =
            self.stages.iter().map(|(name, time)| ((*name).to_owned(), time.as_secs_f64().into())).collect();
        let files: Vec<String> = std::iter::once(&self.written.model)
            .chain(&self.written.data)
            .chain(&self.written.manifest)
            .chain(&self.written.artefacts)
            .map(|path| path.display().to_string())
            .collect();
        outcome.put("opset", self.arguments.converting.opset);
        outcome.put("inputs", self.signature.user_inputs().map(port).collect::<Vec<_>>());
        outcome.put("outputs", self.signature.outputs.iter().map(port).collect::<Vec<_>>());
        outcome.put("states", states);
        outcome.put("nodes", self.nodes);
        outcome.put("initializers", self.written.tensors);
        outcome.put("weight_bytes", self.written.weight_bytes);
        outcome.put("unbound", self.written.unbound);
        outcome.put("sources", &self.written.sources);
        outcome.put("source_bytes", self.written.source_bytes);
        outcome.put("files", files);
        outcome.put("seconds", seconds);
    }
}

fn ports<'a>(title: &str, ports: impl Iterator<Item = &'a Port>) -> String {
    let rows: Vec<Vec<String>> = ports.map(|p| vec![p.name.clone(), p.type_text()]).collect();
    let mut out = format!("{}\n{}", bold(title), table(&rows[..rows.len().min(PORTS)]));
    if rows.len() > PORTS {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {}", faint(&format!("... and {} more", rows.len() - PORTS)));
    }
    out
}
