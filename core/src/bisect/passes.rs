//! Which step of the optimizer is the first after which a model computes something else.
//!
//! The same input is made into a model again and again, with rules and passes stopped after some number of patches;
//! between a number after which the model still computes what the unoptimised one does, and one after which it does not,
//! halving finds the patch.

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

/// What is made into a model.
pub enum Source<'a> {
    /// A program, with the options of its conversion.
    Program(&'a Program, &'a ConvertOptions),
    /// A model that rules and passes are applied to.
    Model(&'a Model, &'a OptimiseOptions),
}

/// What broke parity.
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
    /// Computing in advance what hangs on constants alone.
    Folding {
        /// The nodes before and after.
        nodes: Diff,
    },
    /// What comes after the rules: precision of weights, the target, backends.
    Legalisation {
        /// The target that was asked for.
        target: String,
        /// The nodes before and after.
        nodes: Diff,
    },
}

/// What a search among the steps found.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Steps {
    /// The first step after which the model computes something else; `None` where none does.
    pub broken: Option<Broken>,
    /// How many patches there are in all.
    pub patches: usize,
    /// How often the model was made and run.
    pub runs: usize,
    /// How far the whole model's outputs are from those of the unoptimised one, relative to their largest magnitude.
    pub error: f64,
    /// How far they may be.
    pub allowed: f64,
    /// What ran the models.
    pub executor: String,
}

/// Finds the first step that changes what the model computes on inputs that are given, recorded, or drawn.
///
/// # Errors
/// Those of the conversion and of the runtime.
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
        .map_err(|e| Diagnostic::error(Code::WRITE_IO, format!("no temporary folder can be made: {e}")))?;
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

/// How far a conversion goes.
#[derive(Clone, Copy)]
enum Stage {
    /// So many patches and nothing behind them.
    Patches(usize),
    /// All patches, and what hangs on constants.
    Folded,
    /// All of it.
    Finished,
}

struct Made {
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
    /// How far each output may be off.
    allowed: Vec<f64>,
    runs: usize,
}

impl Search<'_> {
    /// The first step after which the outputs are off, which they are in the end.
    fn first(&mut self, patches: usize, all: &Made, finished: &Made) -> Result<Broken, Report> {
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

    fn make(&mut self, stage: Stage) -> Result<Made, Report> {
        let optimising = |options: &OptimiseOptions| match stage {
            Stage::Patches(limit) => OptimiseOptions {
                // What does not stop is not folded either.
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
                Ok(Made { model: made.model, optimised: made.optimised })
            }
            Source::Model(model, options) => {
                let target = LegaliseOptions { target: options.target.clone(), ..LegaliseOptions::default() };
                let done = optimise::imported(self.host, (*model).clone(), &optimising(options), &target)?;
                Ok(Made { model: done.model, optimised: done.optimised })
            }
        }
    }

    fn write(&self, model: &Model) -> Result<(), Report> {
        let options = WriteOptions { weightless: true, ..WriteOptions::default() };
        write::write(model, &self.path, &options)?;
        Ok(())
    }

    /// What a model computes, in the order of its outputs.
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

    /// What rounding explains at each output.
    fn floor(&mut self, model: &Model) -> Result<Vec<f64>, Report> {
        let inputs = std::mem::take(&mut self.inputs);
        self.inputs = all_shaken(&inputs);
        let moved = self.outputs(model);
        self.inputs = inputs;
        let outputs = self.expected.iter().zip(moved?);
        Ok(outputs.map(|(expected, moved)| explained(expected, Some(&moved), 1)).collect())
    }

    /// How far the outputs of a model are from what is expected, at most, and how far that one may be.
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

    /// What differs between two models as they are written.
    fn nodes(&self, before: &Made, after: &Made) -> Result<Diff, Report> {
        let read = |made: &Made, path: &Path| -> Result<Model, Report> {
            let options = WriteOptions { weightless: true, ..WriteOptions::default() };
            write::write(&made.model, path, &options)?;
            Ok(import(path)?)
        };
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let (a, b) = (read(before, &folder.join("before.onnx"))?, read(after, &folder.join("after.onnx"))?);
        Ok(diff(&a, &b, &Alignment::of(&a, &b)))
    }
}

/// The rule or pass that was applied once more.
fn more(before: &[Count], after: &[Count]) -> Option<Count> {
    let times = |counts: &[Count], of: &Count| {
        counts.iter().find(|c| (&c.plugin, &c.name) == (&of.plugin, &of.name)).map_or(0, |c| c.applied)
    };
    let grown = after.iter().find(|count| count.applied > times(before, count))?;
    Some(Count { applied: 1, ..grown.clone() })
}
