//! Static quantization: activations and weights as 8-bit integers, with scales from samples.
//!
//! The [`rules`](crate::legalise::rules) of the target say which operators are quantized; [`place`] plans the pairs of `QuantizeLinear` and
//! `DequantizeLinear`. The executor that verification uses runs the float model on the [`samples`], one after the other;
//! only statistics ([`observe`]) are kept, from which [`range`] chooses scales. [`edit`] writes the plan into the graph,
//! with [`weights`] that become codes while the model is written. At last both models run, and their results are
//! compared layer by layer ([`report`]).

mod bias;
mod edit;
mod observe;
mod place;
mod range;
mod report;

mod samples;
mod tapped;
mod weights;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use range::Method;
pub use report::{Calibration, Error, Kept, LayerError, OutputError};

pub use samples::Samples;

use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::inline::inline;
use crate::ir::{Model, ValueId};
use crate::legalise::Target;
use crate::onnx::{CHANGED_KEY, Signature};
use crate::ops::infer::{OLDEST_INFERRED, infer_all};
use crate::precision::Changed;
use crate::run::Computed;
use crate::tensor::DType;
use crate::tidy;
use crate::valid::{self, StatedTypes};
use crate::verify::Runtime;
use crate::write::{self, WriteOptions};
use edit::{Numbers, apply};
use observe::{Extremes, Histogram, Means};
use place::Plan;
use range::{Quantised, Range, range};
use report::Sums;
use tapped::Tapped;

/// How many runs errors are measured on.
const COMPARED: usize = 64;
/// How many runs the sensitivity of a layer is measured on.
const SENSED: usize = 8;
/// How many nodes a note lists.
const SHOWN: usize = 4;

/// The means of the channels of activations.
type ChannelMeans = BTreeMap<ValueId, Vec<f64>>;

/// The user's options.
#[derive(Clone, Copy, Debug)]
pub struct CalibrateOptions {
    /// How ranges of activations follow from their statistics.
    pub method: Method,
    /// Correct biases by the mean error of rounded weights.
    pub correct_biases: bool,
    /// Measure the error of the outputs with each single layer quantized.
    pub sensitivity: bool,
    /// The smallest signal-to-noise ratio of an output in decibels.
    pub min_sqnr: f64,
}

/// Quantizes `model` for `target`, with scales from the files `samples`, on which `runtime` runs it. `go_on` is called
/// between runs, and its error ends the work. On an error, the model is not usable.
///
/// # Errors
/// `OP670` if the samples do not fit the model, `OP671` if an activation is NaN or infinite, `OP672` if the target has no
/// rules, `OP673` if nothing can be quantized, `OP674` if the error is too large or cannot be measured; those of the
/// runtime, and of reading weights.
pub fn calibrate(
    model: &mut Model,
    target: &Target,
    runtime: &Runtime,
    samples: &[PathBuf],
    options: &CalibrateOptions,
    go_on: &mut dyn FnMut() -> Result<(), Diagnostic>,
) -> Result<(Calibration, Vec<Diagnostic>), Report> {
    let plan = planned(model, target)?;
    let folder = folder()?;
    let types = target.quantization().types;
    let mut tapped: Vec<ValueId> = plan.values.keys().copied().collect();
    tapped.extend(plan.layers.iter().map(|layer| layer.output));
    write::settle_names(model, &tapped);
    let float = folder.path().join("float.onnx");
    write::write(model, &float, &WriteOptions::default())?;
    let samples = &Samples::read(samples, &Signature::read(&float)?)?;
    let mut work = Work { runtime, samples, options, go_on, folder };
    let (ranges, means) = work.observe(model, &plan, &float, target)?;
    let scales: Vec<Quantised> =
        ranges.iter().map(|range| Quantised::of_range(*range, types.activations)).collect();
    let numbers = Numbers { types, scales: &scales, means: &means };

    let mut quantised = model.clone();
    let read = apply(&mut quantised, &plan, &numbers)?;
    // The float weights.
    tidy::tidy(&mut quantised.graph);
    let found = valid::validate(&quantised, &StatedTypes::default());
    if found.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(Report { diagnostics: found, origins: model.origins.clone() });
    }
    let fresh: Vec<ValueId> = read.values().copied().collect();
    write::settle_names(&mut quantised, &fresh);
    let path = work.write(&quantised, "quantised.onnx")?;
    let outputs = outputs(model);
    let name = |model: &Model, value: ValueId| {
        model.graph.values[value].name.as_deref().unwrap_or_default().to_owned()
    };
    let values = plan.layers.iter().map(|layer| layer.output);
    let ours = values.clone().map(|value| name(model, value)).chain(outputs.clone()).collect();
    let theirs = values
        .map(|value| name(&quantised, read.get(&value).copied().unwrap_or(value)))
        .chain(outputs.clone())
        .collect();
    let compared = samples.len().min(COMPARED);
    let sums = work.compare(model, [(&float, ours), (&path, theirs)], compared)?;
    let (of_layers, of_outputs) = sums.split_at(plan.layers.len().min(sums.len()));
    let mut layers = Vec::new();
    for (layer, sums) in plan.layers.iter().zip(of_layers) {
        let sensitivity = if options.sensitivity {
            let mut single = model.clone();
            apply(&mut single, &plan.only(layer), &numbers)?;
            tidy::tidy(&mut single.graph);
            let path = work.write(&single, "single.onnx")?;
            let paths = [(&float, outputs.clone()), (&path, outputs.clone())];
            let sums = work.compare(model, paths, samples.len().min(SENSED))?;
            sums.iter().filter_map(|sums| sums.error().sqnr).min_by(f64::total_cmp)
        } else {
            None
        };
        layers.push(LayerError {
            operator: model.graph.nodes[layer.node].op.to_string(),
            value: name(model, layer.output),
            weight: layer.weight.as_ref().map(|weight| name(model, weight.value)),
            error: sums.error(),
            sensitivity,
        });
    }
    let kept = plan.kept.iter().map(|(node, why)| {
        let found = &model.graph.nodes[*node];
        let value = found.outputs.first().copied().flatten();
        let value = value.map(|value| name(model, value)).unwrap_or_default();
        Kept { operator: found.op.to_string(), value, why: (*why).to_owned() }
    });
    let calibration = Calibration {
        target: target.to_string(),
        source: format!("{} ({})", target.quantization().source, target.quantization().date),
        runtime: runtime.describe()?,
        method: options.method.to_string(),
        samples: samples.len(),
        compared,
        scales: scales.len(),
        layers,
        outputs: outputs
            .iter()
            .zip(of_outputs)
            .map(|(name, sums)| OutputError { name: name.clone(), error: sums.error() })
            .collect(),
        kept: kept.collect(),
        min_sqnr: options.min_sqnr,
    };
    if let Some(problem) = refusal(&calibration) {
        return Err(problem.into());
    }
    let changed = Changed { quantised: calibration.layers.len(), ..Changed::default() };
    quantised.metadata.retain(|(key, _)| key != CHANGED_KEY);
    quantised.metadata.push((CHANGED_KEY.to_owned(), changed.to_json()));
    quantised.metadata.sort();
    *model = quantised;
    let notes = kept_note(&calibration).into_iter().collect();
    Ok((calibration, notes))
}

/// The plan for a model, whose functions are inlined and whose types are inferred for it.
fn planned(model: &mut Model, target: &Target) -> Result<Plan, Diagnostic> {
    let rules = target.quantization();
    if rules.is_empty() {
        let message = format!("the target {target} has no rules for quantization");
        return Err(Diagnostic::error(Code::CALIBRATE_TARGET, message)
            .help("add `quantize` lines to a table of your own with `base NAME`: see docs/targets.md"));
    }
    let refuse = |message: String| Diagnostic::error(Code::CALIBRATE_NOTHING, message);
    let opset = model.opset();
    if opset < OLDEST_INFERRED {
        return Err(refuse(format!("models of opset {opset} are not quantized"))
            .help(format!("convert the model with opset {OLDEST_INFERRED} or later")));
    }
    inline(model, usize::MAX);
    infer_all(&mut model.graph, &mut model.symbols, opset);
    let plan = Plan::of(model, rules);
    if plan.layers.is_empty() {
        let kept = plan.kept.iter().take(SHOWN);
        let problem = refuse(format!("{target} quantizes no node of the model"));
        return Err(kept.fold(problem, |problem, (node, why)| {
            problem.note(format!("`{}`: {why}", model.graph.nodes[*node].op))
        }));
    }
    Ok(plan)
}

fn folder() -> Result<tempfile::TempDir, Diagnostic> {
    tempfile::tempdir().map_err(|error| {
        Diagnostic::error(Code::WRITE_IO, format!("no folder for the models to compare: {error}"))
    })
}

/// The outputs of f32.
fn outputs(model: &Model) -> Vec<String> {
    let main = model.graph.main();
    let values = model.graph.blocks[main].outputs().iter().zip(&model.output_names);
    values
        .filter(|(value, _)| model.graph.values[**value].ty.dtype() == Some(DType::F32))
        .map(|(_, name)| name.clone())
        .collect()
}

/// The reason against the quantized model, if there is one.
fn refusal(calibration: &Calibration) -> Option<Diagnostic> {
    if !calibration.is_compared() {
        let message = "the quantized model cannot be judged: no element of the samples' results is finite";
        return Some(Diagnostic::error(Code::CALIBRATE_ERROR, message).help("give other samples"));
    }
    let sqnr = calibration.sqnr().filter(|sqnr| *sqnr < calibration.min_sqnr)?;
    let mut worst: Vec<&LayerError> = calibration.layers.iter().collect();
    let ratio = |layer: &LayerError| layer.error.sqnr.unwrap_or(f64::INFINITY);
    worst.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let message = format!(
        "the quantized model has a signal-to-noise ratio of {sqnr:.1} dB, less than {} dB",
        calibration.min_sqnr
    );
    let problem = Diagnostic::error(Code::CALIBRATE_ERROR, message);
    let problem = worst.iter().take(SHOWN).fold(problem, |problem, layer| {
        problem.note(format!("`{}` ({}): {:.1} dB", layer.value, layer.operator, ratio(layer)))
    });
    Some(problem.help("use other or more samples, another --calibrate-method, or a smaller --min-sqnr"))
}

fn kept_note(calibration: &Calibration) -> Option<Diagnostic> {
    let kept = &calibration.kept;
    if kept.is_empty() {
        return None;
    }
    let nodes = if kept.len() == 1 { "1 node stays a float" } else { "nodes stay floats" };
    let count = if kept.len() == 1 { String::new() } else { format!("{} ", kept.len()) };
    let message = format!("{count}{nodes} although the target has rules for the operators");
    let note = Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::CALIBRATE_KEPT, message) };
    let shown = kept.iter().take(SHOWN);
    Some(
        shown.fold(note, |note, kept| {
            note.note(format!("`{}` ({}): {}", kept.value, kept.operator, kept.why))
        }),
    )
}

struct Work<'a, 'r> {
    runtime: &'r Runtime,
    samples: &'a Samples,
    options: &'a CalibrateOptions,
    go_on: &'a mut dyn FnMut() -> Result<(), Diagnostic>,
    folder: tempfile::TempDir,
}

impl Work<'_, '_> {
    fn write(&self, model: &Model, name: &str) -> Result<PathBuf, Report> {
        let path = self.folder.path().join(name);
        write::write(model, &path, &WriteOptions::default())?;
        Ok(path)
    }

    /// Runs the float model on all samples; returns the ranges, by the numbers of the scales, and the means of the
    /// activations of layers with a bias.
    fn observe(
        &mut self,
        model: &Model,
        plan: &Plan,
        path: &Path,
        target: &Target,
    ) -> Result<(Vec<Range>, ChannelMeans), Report> {
        let codes = target.quantization().types.activations;
        let values: Vec<ValueId> = plan.values.keys().copied().collect();
        let name = |value: ValueId| model.graph.values[value].name.as_deref().unwrap_or_default().to_owned();
        let names: Vec<String> = values.iter().map(|value| name(*value)).collect();
        let mut extremes = vec![Extremes::default(); values.len()];
        let mut means: BTreeMap<usize, Means> = BTreeMap::new();
        for layer in plan.layers.iter().filter(|_| self.options.correct_biases) {
            let at = layer.inputs.first().and_then(|input| values.iter().position(|value| value == input));
            if let (Some(at), Some(weight)) = (at, &layer.weight) {
                means.entry(at).or_insert_with(|| Means::new(weight.channels_of_input()));
            }
        }
        self.each(model, path, &names, self.samples.len(), &mut |at, floats| {
            if let Some(extremes) = extremes.get_mut(at) {
                extremes.add(floats.iter());
            }
            if let Some(means) = means.get_mut(&at) {
                means.add(floats.dims, floats.iter());
            }
        })?;
        let mut own: Vec<Range> = Vec::new();
        for ((value, name), extremes) in values.iter().zip(&names).zip(&extremes) {
            own.push(finite(model, *value, name, extremes)?);
        }
        if self.options.method.needs_histogram() {
            let mut histograms: Vec<Histogram> = own.iter().map(|range| Histogram::new(*range)).collect();
            self.each(model, path, &names, self.samples.len(), &mut |at, floats| {
                if let Some(histogram) = histograms.get_mut(at) {
                    floats.iter().for_each(|value| histogram.add(f64::from(value)));
                }
            })?;
            own = histograms.iter().map(|histogram| range(histogram, self.options.method, codes)).collect();
        }
        let mut ranges: Vec<Option<Range>> = vec![None; plan.scales()];
        for (number, own) in plan.values.values().zip(own) {
            if let Some(range) = ranges.get_mut(*number) {
                *range = Some(range.map_or(own, |range| range.join(own)));
            }
        }
        let ranges = ranges.into_iter().map(|range| range.unwrap_or(Range { low: 0.0, high: 0.0 })).collect();
        let means = means.into_iter().filter_map(|(at, means)| Some((*values.get(at)?, means.means())));
        Ok((ranges, means.collect()))
    }

    /// Runs a model on the first `count` samples, and passes the values called `names` to `take`. Inputs are read as they
    /// are given.
    fn each(
        &mut self,
        model: &Model,
        path: &Path,
        names: &[String],
        count: usize,
        take: &mut dyn FnMut(usize, tapped::Floats<'_>),
    ) -> Result<(), Report> {
        let inputs = inputs(model);
        let inside: Vec<usize> =
            (0..names.len()).filter(|at| names.get(*at).is_some_and(|name| !inputs.contains(name))).collect();
        let own = inside.iter().filter_map(|at| names.get(*at).cloned()).collect();
        let mut tapped = Tapped::load(self.runtime, path, own, &model.output_names)?;
        for run in 0..count {
            (self.go_on)()?;
            let feeds = self.samples.run(run)?;
            for (at, name) in names.iter().enumerate() {
                if let Some(feed) = feeds.iter().find(|feed| feed.name == *name && inputs.contains(name)) {
                    let dims: Vec<i64> = feed.shape.iter().map(|d| *d as i64).collect();
                    take(at, tapped::Floats::new(&dims, &feed.bytes));
                }
            }
            tapped.run(&feeds, &mut |at, floats| {
                if let Some(at) = inside.get(at) {
                    take(*at, floats);
                }
            })?;
        }
        Ok(())
    }

    /// Runs two models on the first `count` samples, and compares values by their positions.
    fn compare(
        &mut self,
        model: &Model,
        [(float, ours), (quantised, theirs)]: [(&PathBuf, Vec<String>); 2],
        count: usize,
    ) -> Result<Vec<Sums>, Report> {
        let mut sums = vec![Sums::default(); ours.len()];
        let mut expected = vec![Vec::new(); ours.len()];
        let mut float = Tapped::load(self.runtime, float, ours, &model.output_names)?;
        let mut quantised = Tapped::load(self.runtime, quantised, theirs, &model.output_names)?;
        for run in 0..count {
            (self.go_on)()?;
            let feeds: Vec<Computed> = self.samples.run(run)?;
            float.run(&feeds, &mut |at, floats| {
                if let Some(expected) = expected.get_mut(at) {
                    expected.clear();
                    expected.extend(floats.iter());
                }
            })?;
            quantised.run(&feeds, &mut |at, floats| {
                if let (Some(sums), Some(expected)) = (sums.get_mut(at), expected.get(at)) {
                    sums.add_all(expected, floats.iter());
                }
            })?;
        }
        Ok(sums)
    }
}

/// The names of the model's inputs.
fn inputs(model: &Model) -> Vec<String> {
    let graph = &model.graph;
    let inputs = graph.blocks[graph.main()].inputs.iter();
    inputs.filter_map(|value| graph.values[*value].name.as_deref().map(str::to_owned)).collect()
}

/// The range of a value, whose elements must be finite.
fn finite(model: &Model, value: ValueId, name: &str, extremes: &Extremes) -> Result<Range, Diagnostic> {
    let problem = |message: String| {
        let problem = Diagnostic::error(Code::CALIBRATE_VALUE, message);
        match model.graph.values[value].def {
            crate::ir::Def::Node(node, _) => match model.graph.nodes[node].origin {
                Some(origin) => problem.at(origin),
                None => problem,
            },
            _ => problem,
        }
    };
    if extremes.not_finite > 0 {
        let (bad, all) = (extremes.not_finite, extremes.count);
        return Err(problem(format!(
            "{bad} of {all} elements of `{name}` are NaN or infinite on the samples, so it has no scale"
        ))
        .help("give other samples, or find their origin with `onnxport run --taps`"));
    }
    // An empty value is zero.
    Ok(extremes.range().unwrap_or(Range { low: 0.0, high: 0.0 }))
}
