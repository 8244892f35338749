//! For what a model is made.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueHint};
use onnxport_core::legalise::{BUILT_IN, LegaliseOptions, Legalised, Target};

use crate::format::{bold, count};
use crate::outcome::Outcome;

/// Arguments about what runs the model.
#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// What is to run the model: onnxruntime, onnxruntime-cpu, onnx (what ONNX means, whatever runs it), or a
    /// file that says what a runtime takes. Named, it must run the model; unnamed, it is onnxruntime, and
    /// what it does not run is a note
    #[arg(long, value_name = "NAME|FILE", value_parser = open, value_hint = ValueHint::FilePath)]
    target: Option<Arc<Target>>,
}

fn open(text: &str) -> Result<Arc<Target>, String> {
    match Target::named(text) {
        Some(target) => Ok(target),
        None => match Target::read(Path::new(text)) {
            Ok(target) => Ok(Arc::new(target)),
            Err(why) => {
                Err(format!("{}; the targets that need no file are {}", why.message, BUILT_IN.join(", ")))
            }
        },
    }
}

impl TargetArguments {
    /// What is asked of the stage.
    pub(crate) fn options(&self) -> LegaliseOptions {
        match &self.target {
            Some(target) => LegaliseOptions { target: target.clone(), demanded: true },
            None => LegaliseOptions::default(),
        }
    }
}

/// Adds to `outcome` what was done; the text says nothing where there was nothing to do.
pub(crate) fn describe(done: &Legalised, outcome: &mut Outcome) {
    outcome.put("target", done);
    if done.computed.is_empty() {
        return;
    }
    let nodes = done.computed.iter().map(|c| c.nodes).sum();
    let each: Vec<String> =
        done.computed.iter().map(|c| format!("{} of {} in {}", c.operator, c.of, c.within)).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(
        outcome.summary,
        "{}  {} computed in another type for {}: {}",
        bold("target"),
        count(nodes, "node"),
        done.target,
        each.join(", ")
    );
}
