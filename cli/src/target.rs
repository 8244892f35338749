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
    target: Option<Named>,
}

/// A target, and the name or file by which it was asked for.
#[derive(Clone, Debug)]
struct Named {
    said: String,
    target: Arc<Target>,
}

fn open(text: &str) -> Result<Named, String> {
    let target = match Target::named(text) {
        Some(target) => target,
        None => match Target::read(Path::new(text)) {
            Ok(target) => Arc::new(target),
            Err(why) => {
                return Err(format!(
                    "{}; the targets that need no file are {}",
                    why.message,
                    BUILT_IN.join(", ")
                ));
            }
        },
    };
    Ok(Named { said: text.to_owned(), target })
}

impl TargetArguments {
    /// What is asked of the stage.
    pub(crate) fn options(&self) -> LegaliseOptions {
        match &self.target {
            Some(Named { target, .. }) => LegaliseOptions { target: target.clone(), demanded: true },
            None => LegaliseOptions::default(),
        }
    }

    /// The name or file that was said, for another conversion.
    pub(crate) fn said(&self) -> Option<&str> {
        self.target.as_ref().map(|named| named.said.as_str())
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
