//! `backend/1`: the backends, claims and regions without a graph, the stated capabilities of each, and its
//! regions of a small model.

use super::Subject;
use super::graph::{Named, entries, without_graph};
use crate::Finding;
use crate::journal::{Event, Journal};
use onnxport_core::backend::{self, BackendOptions, Partitioned};
use onnxport_core::diagnose::{Code, Diagnostic, Severity};
use onnxport_core::host::Host;
use onnxport_core::host::Validated;
use onnxport_core::ir::Model;
use onnxport_core::ops::infer;
use onnxport_core::valid::{StatedTypes, validate};

/// Products, activations, an image and views; fixed sizes and a symbolic one.
const SAMPLE: &str = "\
opset 20
graph {
  constant %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
  constant %b: f32[2] = [0.5, -0.5]
  constant %k: f32[2, 2, 1, 1] = [1.0, 2.0, 3.0, 4.0]
  constant %rows: i64[2] = [-1, 2]
  input %x: f32[s, 2]
  input %image: f32[1, 2, 4, 4]
  %0 = MatMul(%x, %w)
  %1 = Add(%0, %b)
  %2 = Relu(%1)
  %3 = Gemm(%2, %w, %b)
  %4 = Softmax(%3) {axis = -1}
  %5 = Mul(%4, %2)
  %6 = Conv(%image, %k, %b) {kernel_shape = [1, 1]}
  %7 = Relu(%6)
  %8 = Reshape(%7, %rows)
  %9 = Transpose(%8) {perm = [1, 0]}
  output %5 as scores
  output %9 as pixels
}
";

pub(super) fn probe(subject: &Subject, journal: &mut Journal) {
    let Some(table) = subject.plugin.backend else { return };
    // A backend states the opsets of each operator, not its own.
    let named = |entry: &onnxport_abi::backend::BackendEntry| Named { name: entry.id, opsets: (0, u32::MAX) };
    let names: Vec<Named> = table.entries.validated().iter().map(named).collect();
    entries("backend/1 table", &names, journal);
    without_graph("backend/1", "claims", &names, table.claim, journal);
    without_graph("backend/1", "regions", &names, table.compile, journal);
    for entry in table.entries.validated() {
        let id = entry.id.validated();
        let check = format!("backend/1 {id} profile");
        journal.step(&check, |_| {
            Some(match backend::flaw(entry) {
                Some(flaw) => Finding::fail(&check, flaw),
                None => Finding::pass(&check, format!("{} operators", entry.ops.len())),
            })
        });
        if backend::flaw(entry).is_some() {
            continue;
        }
        let check = format!("backend/1 {id} sample");
        journal.step(&check, |journal| Some(sample(subject, id, &check, journal)));
    }
}

/// Partitions the sample twice.
fn sample(subject: &Subject, id: &str, check: &str, journal: &mut Journal) -> Finding {
    let (first, second) = (partition(subject, id), partition(subject, id));
    let (text, partitioned) = match first {
        Ok(made) => made,
        Err(problem) => return Finding::from_diagnostic(check, &problem),
    };
    if second.is_ok_and(|(again, _)| again != text) || text.is_empty() {
        let reason = "the same model becomes something else the second time";
        return Finding::fail(check, reason).next("a backend must not keep anything between calls");
    }
    journal.write(&Event::Seen { key: check.to_owned(), value: text });
    let taken = partitioned.nodes.saturating_sub(partitioned.left);
    Finding::pass(check, format!("it takes {taken} of {} nodes", partitioned.nodes))
}

/// The sample after the backend's edits, as text.
fn partition(subject: &Subject, id: &str) -> Result<(String, Partitioned), Diagnostic> {
    let internal = |what: String| Diagnostic::error(Code::INTERNAL, what);
    let mut model = Model::parse(SAMPLE).map_err(|e| internal(e.to_string()))?;
    let (opset, main) = (model.opset(), model.graph.main());
    for node in model.graph.order(main).collect::<Vec<_>>() {
        infer::infer(&mut model.graph, &mut model.symbols, opset, node);
    }
    let host = Host::index(vec![subject.plugin.clone()], &mut Vec::new());
    let options = BackendOptions {
        backends: vec![id.to_owned()],
        stem: "sample.onnx".to_owned(),
        ..BackendOptions::default()
    };
    let first =
        |diagnostics: Vec<Diagnostic>| diagnostics.into_iter().find(|d| d.severity == Severity::Error);
    let backed = backend::run(&host, &mut model, &options).map_err(|report| {
        first(report.diagnostics).unwrap_or_else(|| internal("there is no reason".to_owned()))
    })?;
    match first(validate(&model, &StatedTypes::default())) {
        Some(problem) => Err(problem),
        None => Ok((model.to_text(), backed.partitioned)),
    }
}
