//! Finds the first step of the optimizer after which a model diverges.
//!
//! The same input is converted repeatedly, with rules and passes stopped after a given number of patches. A binary
//! search between a number that preserves the unoptimized model's results and one that does not finds the patch.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::Options;
use super::open::fill;
use super::rounding::{all_shaken, explained};
use crate::backend::BackendOptions;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::diff::{Alignment, Diff, diff};
use crate::host::Host;
use crate::ir::Model;
use crate::ir::import::import;
use crate::legalise::LegaliseOptions;
use crate::onnx::Signature;
use crate::optimise::{self, Count, OptimiseOptions, Optimised};
use crate::pipeline::{self, ConvertOptions};
use crate::precision::PrecisionOptions;
use crate::program::Program;
use crate::run::{Computed, Draw, inputs_or_drawn};
use crate::taps::{ModelSide, Recorded, distance};
use crate::verify::Runtime;
use crate::write::{self, WriteOptions};

/// The input of each conversion.
pub enum Source<'a> {
    /// A program, with the options of its conversion.
    Program(&'a Program, &'a ConvertOptions),
    /// A model to which rules and passes are applied.
    Model(&'a Model, &'a OptimiseOptions),
}

/// The step that broke parity.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum Broken {
    /// A patch of a rule, or a pass.
    Patch {
        /// Its number, from 1.
        number: usize,
        /// The rule or pass, and its plugin.
        applied: Count,
        /// The nodes before and after.
        nodes: Diff,
    },
    /// Constant folding.
    Folding {
        /// The nodes before and after.
        nodes: Diff,
    },
    /// The stages after the rules: precision of weights, the target, backends.
    Legalisation {
        /// The requested target.
        target: String,
        /// The nodes before and after.
        nodes: Diff,
    },
}

/// The result of a search among the steps.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Steps {
    /// The first step after which the model diverges; `None` if there is none.
    pub broken: Option<Broken>,
    /// The number of patches in all.
    pub patches: usize,
    /// The number of conversions with a run.
    pub runs: usize,
    /// The error of the whole model's outputs against those of the unoptimized one, relative to their largest
    /// magnitude.
    pub error: f64,
    /// The bound on this error.
    pub allowed: f64,
    /// The executor of the models.
    pub executor: String,
}

/// Finds the first step that changes the results of the model on given, recorded or drawn inputs.
///
/// # Errors
/// Errors of the conversion and of the runtime.
pub fn passes(
    host: &Host,
    source: &Source<'_>,
    runtime: &Runtime,
    recorded: Option<&Recorded>,
    options: &Options,
) -> Result<Steps, Report> {
    let folder = tempfile::Builder::new()
        .prefix("onnxport-bisect-")
        .tempdir()
        .map_err(|e| Diagnostic::error(Code::WRITE_IO, format!("cannot create a temporary folder: {e}")))?;
    let mut search = Search {
        host,
        source,
        runtime,
        path: folder.path().join("step.onnx"),
        inputs: Vec::new(),
        expected: Vec::new(),
        allowed: Vec::new(),
        runs: 0,
    };
    let plain = search.make(Stage::Patches(0))?;
    search.write(&plain.model)?;
    let mut given = options.given.clone();
    if let Some(recorded) = recorded {
        fill(&mut given, recorded, &Signature::read(&search.path)?);
    }
    let draw = Some(Draw { seed: options.seed });
    (_, search.inputs) = inputs_or_drawn(&search.path, &given, &options.sizes, draw)?;
    search.expected = search.outputs(&plain.model)?;
    search.allowed = search.floor(&plain.model)?;
    let all = search.make(Stage::Patches(usize::MAX))?;
    let patches = all.optimised.applied;
    let finished = search.make(Stage::Finished)?;
    let (error, allowed) = search.error(&finished.model)?;
    let mut steps = Steps { broken: None, patches, runs: 0, error, allowed, executor: runtime.describe()? };
    if error > allowed {
        steps.broken = Some(search.first(patches, &all, &finished)?);
    }
    steps.runs = search.runs;
    Ok(steps)
}

/// The size of a conversion.
#[derive(Clone, Copy)]
enum Stage {
    /// Only this many patches, and no later stage.
    Patches(usize),
    /// All patches, and constant folding.
    Folded,
    /// All of it.
    Finished,
}

struct Rewritten {
    model: Model,
    optimised: Optimised,
}

struct Search<'a> {
    host: &'a Host,
    source: &'a Source<'a>,
    runtime: &'a Runtime,
    path: std::path::PathBuf,
    inputs: Vec<Computed>,
    expected: Vec<Computed>,
    /// The bound on the error of each output.
    allowed: Vec<f64>,
    runs: usize,
}

impl Search<'_> {
    /// The first step after which the outputs are off, which they are in the end.
    fn first(&mut self, patches: usize, all: &Rewritten, finished: &Rewritten) -> Result<Broken, Report> {
        if self.is_off(&all.model)? {
            // After `good` patches the outputs are right, after `bad` they are not.
            let (mut good, mut bad) = (0, patches);
            while bad - good > 1 {
                let middle = good + (bad - good) / 2;
                let made = self.make(Stage::Patches(middle))?;
                if self.is_off(&made.model)? { bad = middle } else { good = middle }
            }
            let (before, after) = (self.make(Stage::Patches(good))?, self.make(Stage::Patches(bad))?);
            let applied = more(&before.optimised.counts, &after.optimised.counts).ok_or_else(|| {
                let message = format!("patch {bad} is not one of a rule or a pass that is known");
                Diagnostic::error(Code::INTERNAL, message)
            })?;
            return Ok(Broken::Patch { number: bad, applied, nodes: self.nodes(&before, &after)? });
        }
        let folded = self.make(Stage::Folded)?;
        if self.is_off(&folded.model)? {
            return Ok(Broken::Folding { nodes: self.nodes(all, &folded)? });
        }
        let target = match self.source {
            Source::Program(_, options) => options.legalise.target.to_string(),
            Source::Model(..) => String::new(),
        };
        Ok(Broken::Legalisation { target, nodes: self.nodes(&folded, finished)? })
    }

    fn make(&mut self, stage: Stage) -> Result<Rewritten, Report> {
        let optimising = |options: &OptimiseOptions| match stage {
            Stage::Patches(limit) => OptimiseOptions {
                // No folding, even if all patches run.
                fold: 0,
                stop_after: Some(limit).filter(|limit| *limit != usize::MAX),
                ..options.clone()
            },
            Stage::Folded | Stage::Finished => options.clone(),
        };
        match self.source {
            Source::Program(program, options) => {
                let mut options =
                    ConvertOptions { optimise: optimising(&options.optimise), ..(*options).clone() };
                if !matches!(stage, Stage::Finished) {
                    options.legalise = LegaliseOptions::default();
                    options.precision = PrecisionOptions::default();
                    options.backend = BackendOptions::default();
                }
                let made = pipeline::convert(self.host, (*program).clone(), &options)?;
                Ok(Rewritten { model: made.model, optimised: made.optimised })
            }
            Source::Model(model, options) => {
                let target = LegaliseOptions { target: options.target.clone(), ..LegaliseOptions::default() };
                let done = optimise::imported(self.host, (*model).clone(), &optimising(options), &target)?;
                Ok(Rewritten { model: done.model, optimised: done.optimised })
            }
        }
    }

    fn write(&self, model: &Model) -> Result<(), Report> {
        let options = WriteOptions { weightless: true, ..WriteOptions::default() };
        write::write(model, &self.path, &options)?;
        Ok(())
    }

    /// Computes the outputs of a model, in order.
    fn outputs(&mut self, model: &Model) -> Result<Vec<Computed>, Report> {
        self.runs += 1;
        self.write(model)?;
        let names = import(&self.path)?.output_names;
        let side = ModelSide::new(self.runtime, &self.path, self.inputs.clone(), names.clone());
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut found: Vec<Computed> = Vec::new();
        side.each(&wanted, &mut |value| found.push(value))?;
        found.sort_by_key(|value| names.iter().position(|name| *name == value.name));
        Ok(found)
    }

    /// Returns the error of each output that rounding explains.
    fn floor(&mut self, model: &Model) -> Result<Vec<f64>, Report> {
        let inputs = std::mem::take(&mut self.inputs);
        self.inputs = all_shaken(&inputs);
        let moved = self.outputs(model);
        self.inputs = inputs;
        let outputs = self.expected.iter().zip(moved?);
        Ok(outputs.map(|(expected, moved)| explained(expected, Some(&moved), 1)).collect())
    }

    /// Returns the largest error of a model's outputs, and its bound.
    fn error(&mut self, model: &Model) -> Result<(f64, f64), Report> {
        let found = self.outputs(model)?;
        let mut worst = (0.0, 0.0);
        if found.len() != self.expected.len() {
            return Ok((1.0, 0.0));
        }
        for ((got, expected), allowed) in found.iter().zip(&self.expected).zip(&self.allowed) {
            let (error, allowed) = (distance(got, expected).error, *allowed);
            if error - allowed > worst.0 - worst.1 || worst == (0.0, 0.0) {
                worst = (error, allowed);
            }
        }
        Ok(worst)
    }

    fn is_off(&mut self, model: &Model) -> Result<bool, Report> {
        self.error(model).map(|(error, allowed)| error > allowed)
    }

    /// Returns the difference between two models as they are written.
    fn nodes(&self, before: &Rewritten, after: &Rewritten) -> Result<Diff, Report> {
        let read = |made: &Rewritten, path: &Path| -> Result<Model, Report> {
            let options = WriteOptions { weightless: true, ..WriteOptions::default() };
            write::write(&made.model, path, &options)?;
            Ok(import(path)?)
        };
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let (a, b) = (read(before, &folder.join("before.onnx"))?, read(after, &folder.join("after.onnx"))?);
        Ok(diff(&a, &b, &Alignment::between(&a, &b)))
    }
}

/// Returns the rule or pass that was applied once more.
fn more(before: &[Count], after: &[Count]) -> Option<Count> {
    let times = |counts: &[Count], of: &Count| {
        counts.iter().find(|c| (&c.plugin, &c.name) == (&of.plugin, &of.name)).map_or(0, |c| c.applied)
    };
    let grown = after.iter().find(|count| count.applied > times(before, count))?;
    Some(Count { applied: 1, ..grown.clone() })
}
