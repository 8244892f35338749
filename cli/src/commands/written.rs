//! The description of a model that was written.

use std::collections::BTreeMap;
use std::fmt::Write;

use onnxport_core::WriteReport;
use onnxport_core::trace::{Stage, StageMemory};
use onnxport_core::verify::{Port, Signature};
use serde_json::{Map, Value};

use crate::documents::{PortJson, StateJson};
use crate::format::{bold, bytes, count, duration, faint, table};
use crate::outcome::Outcome;
use crate::sizes;

/// Inputs and outputs shown in the summary.
const PORTS: usize = 12;

/// The facts about it.
pub(super) struct Facts<'a> {
    /// Its source.
    pub(super) source: &'a str,
    pub(super) opset: i64,
    pub(super) signature: &'a Signature,
    pub(super) written: &'a WriteReport,
    pub(super) nodes: usize,
    pub(super) stages: &'a [Stage],
}

impl Facts<'_> {
    pub(super) fn summary(&self) -> String {
        let path = &self.written.model;
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}  {} -> {}", bold("converted"), self.source, path.display());
        out.push_str(&ports("inputs", self.signature.user_inputs()));
        let outputs = self.signature.outputs.iter().filter(|o| self.signature.state_of(&o.name).is_none());
        out.push_str(&ports("outputs", outputs));
        out.push_str(&sizes::text(&self.signature.sizes, usize::MAX));
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
            n => format!(", {n} of them unbound"),
        };
        let _ = writeln!(
            out,
            "{}  opset {}, {}, {}{unbound}{tied}, {} of weights",
            bold("model"),
            self.opset,
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
            let _ = write!(files, ", {} read in place", bytes(self.written.source_bytes));
        }
        if let Some(manifest) = &self.written.manifest {
            let _ = write!(files, ", {}", manifest.display());
        }
        for beside in &self.written.artefacts {
            let _ = write!(files, ", {}", beside.display());
        }
        let _ = writeln!(out, "{}  {files}", bold("files"));
        let stages: Vec<String> =
            self.stages.iter().map(|stage| format!("{} {}", stage.name, duration(stage.time))).collect();
        let _ = writeln!(out, "{}  {}", bold("time"), stages.join(", "));
        let memory: Vec<String> = self.stages.iter().filter_map(held).collect();
        if !memory.is_empty() {
            let _ = writeln!(out, "{}  {}", bold("memory"), memory.join(", "));
        }
        out
    }

    pub(super) fn json(&self, outcome: &mut Outcome) {
        let states: Vec<StateJson> = self.signature.states.iter().map(StateJson::from).collect();
        let files: Vec<String> = std::iter::once(&self.written.model)
            .chain(&self.written.data)
            .chain(&self.written.manifest)
            .chain(&self.written.artefacts)
            .map(|path| path.display().to_string())
            .collect();
        outcome.put("opset", self.opset);
        outcome.put("inputs", self.signature.user_inputs().map(PortJson::from).collect::<Vec<_>>());
        outcome.put("outputs", self.signature.outputs.iter().map(PortJson::from).collect::<Vec<_>>());
        outcome.put("states", states);
        outcome.put("sizes", &self.signature.sizes);
        outcome.put("nodes", self.nodes);
        outcome.put("initializers", self.written.tensors);
        outcome.put("weight_bytes", self.written.weight_bytes);
        outcome.put("unbound", self.written.unbound);
        outcome.put("sources", &self.written.sources);
        outcome.put("source_bytes", self.written.source_bytes);
        outcome.put("files", files);
        put_stages(self.stages, outcome);
    }
}

/// Adds the seconds of each stage, and the anonymous memory in bytes if it was recorded.
pub(super) fn put_stages(stages: &[Stage], outcome: &mut Outcome) {
    let seconds: Map<String, Value> =
        stages.iter().map(|stage| (stage.name.to_owned(), stage.time.as_secs_f64().into())).collect();
    outcome.put("seconds", seconds);
    let memory: BTreeMap<&str, StageMemory> =
        stages.iter().filter_map(|stage| Some((stage.name, stage.memory?))).collect();
    if !memory.is_empty() {
        outcome.put("memory", memory);
    }
}

/// Formats the growth of the anonymous memory in a stage, and its peak.
fn held(stage: &Stage) -> Option<String> {
    let memory = stage.memory?;
    let sign = if memory.growth < 0 { "-" } else { "+" };
    let growth = bytes(memory.growth.unsigned_abs());
    Some(format!("{} {sign}{growth} (peak {})", stage.name, bytes(memory.peak)))
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
