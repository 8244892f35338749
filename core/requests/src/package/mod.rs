//! Converting several programs into one folder, in which equal weights are stored once.

mod buckets;
mod naming;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use onnxport_core::backend::Partitioned;
use onnxport_core::decompose::Decomposed;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::ir::Model;
use onnxport_core::legalise::Legalised;
use onnxport_core::lower::{DimName, LowerOptions, Names};
use onnxport_core::optimise::OptimiseOptions;
use onnxport_core::precision::Changed;
use onnxport_core::sizes::AxisSize;
use onnxport_core::trace::{span_of, stage};
use onnxport_core::verify::Ahead;
use onnxport_core::write::{self, PackageReport};
use onnxport_core::{
    BindOptions, Calls, Conversion, ConvertOptions, Converted, Host, NameMap, Optimised, PrecisionOptions,
    WeightSet, WriteOptions,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use buckets::{Bucket, Variant};
pub use naming::{ForModel, NamedProgram, is_file_name};

use crate::Request;
use crate::axes::{Axis, PortNames};
use crate::converting::Converting;
use crate::export::Plan;
use crate::levels::{Levels, has_error};
use crate::object::needs;
use crate::profiling::Profiling;
use crate::progress::{Progress, Restart};
use crate::value::Parsed;
use crate::verifying::Checked;
use crate::weights::WeightSource;
use crate::writing::{Files, Planning};

/// Converts several programs into one folder with shared weights.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct PackageRequest {
    /// The exported programs, optionally with model names, such as encoder=enc.pt2; the default is the file's name
    #[arg(required = true, value_name = "[NAME=]PT2", value_parser = OsStringValueParser::new().try_map(|text| NamedProgram::parse(&text)))]
    pub programs: Vec<NamedProgram>,
    /// The folder to create
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Names for all inputs of a model in order, or new names for some: encoder/pixels,mask or encoder/x=pixels
    #[arg(long, value_name = "NAME/NAMES")]
    pub input_names: Vec<Parsed<ForModel<PortNames>>>,
    /// Names for the outputs of a model, in the same form
    #[arg(long, value_name = "NAME/NAMES")]
    pub output_names: Vec<Parsed<ForModel<PortNames>>>,
    /// A name for a dynamic dimension of an input, such as encoder/x:0=batch, or a fixed size
    #[arg(long = "dim", value_name = "NAME/INPUT:AXIS=NAME|SIZE")]
    #[serde(rename = "dim")]
    pub dims: Vec<Parsed<ForModel<Axis>>>,
    /// Make a variant of each model for each of these sizes of a dynamic dimension, such as batch=1,8,32, and list them in
    /// variants.json; can be repeated for all combinations
    #[arg(long, value_name = "DIM=SIZES")]
    pub buckets: Vec<Bucket>,
    /// Also join the variants of each model into NAME.onnx, which runs the variant for the sizes of its inputs and refuses
    /// others
    #[arg(long, requires = "buckets")]
    pub dispatch: bool,
    /// The conversion.
    #[command(flatten)]
    #[serde(flatten)]
    pub converting: Converting,
    /// The files.
    #[command(flatten)]
    #[serde(flatten)]
    pub files: Files,
    /// A plan instead of files.
    #[command(flatten)]
    #[serde(flatten)]
    pub planning: Planning,
    /// The weights.
    #[command(flatten)]
    #[serde(flatten)]
    pub weights: WeightSource,
    /// A record of the work.
    #[command(flatten)]
    #[serde(flatten)]
    pub profiling: Profiling,
    /// The levels of diagnostics.
    #[command(flatten)]
    #[serde(flatten)]
    pub levels: Levels,
}

/// Converted programs.
#[derive(Debug)]
pub struct Packaged {
    /// The models, in the order of the programs.
    pub models: Vec<PackagedModel>,
    /// The result.
    pub done: Done,
    /// Failures besides those of the models: a trace that could not be written.
    pub failures: Vec<Diagnostic>,
    /// The file with the trace, if requested.
    pub profile: Option<PathBuf>,
}

/// The result of packaging.
#[derive(Debug)]
pub enum Done {
    /// The plan of writing.
    Planned(Box<Plan>),
    /// The levels make a diagnostic of a model an error, so nothing is written.
    Refused,
    /// A model failed its verification, so nothing is written.
    Withheld,
    /// A model failed its verification; the models are kept under a name that says so.
    Kept(Box<PackageReport>),
    /// The files.
    Written(Box<PackageReport>),
}

/// A model of a package.
#[derive(Debug)]
pub struct PackagedModel {
    /// The name of the model, without the sizes of the variant.
    pub base: String,
    /// The sizes of the variant.
    pub variant: Variant,
    /// The diagnostics of the conversion, at the levels that the user chose.
    pub report: Report,
    /// The regions of backends; `None` if no backend was requested.
    pub partitioned: Option<Partitioned>,
    /// The changes to weights.
    pub changed: Changed,
    /// The changes made for the target.
    pub legalised: Legalised,
    /// The operators that were decomposed.
    pub decomposed: Decomposed,
    /// The record of the optimizer.
    pub optimised: Optimised,
    /// The result of the verification; empty if none was requested.
    pub checked: Checked,
}

impl PackagedModel {
    /// The name of the model in the package.
    pub fn name(&self) -> String {
        self.variant.name(&self.base)
    }
}

impl Packaged {
    /// Whether everything requested was done without a failure.
    pub fn passed(&self) -> bool {
        matches!(self.done, Done::Planned(_) | Done::Written(_)) && self.failures.is_empty()
    }
}

/// A converted program.
struct Member {
    model: Model,
    record: PackagedModel,
    /// The calls to verify it with, if it is to be verified.
    calls: Option<Calls>,
    /// Whether it took weights from the given files.
    reweighted: bool,
}

impl PackageRequest {
    /// The programs, which a report or a trace must not replace.
    pub fn sources(&self) -> Vec<PathBuf> {
        self.programs.iter().map(|program| program.path.clone()).collect()
    }

    /// Whether the models are written and run.
    pub fn verifies(&self) -> bool {
        !self.converting.verifying.no_verify && self.planning.plan.is_none()
    }

    fn package(
        &self,
        host: &Host,
        progress: &mut dyn Progress,
    ) -> Result<(Vec<PackagedModel>, Done), Report> {
        self.refuse_existing()?;
        let mut members = self.convert_all(host, progress)?;
        refuse_patterns(&mut members)?;
        for member in &mut members {
            self.levels.judge(&mut member.record.report.diagnostics);
        }
        let is_refused = members.iter().any(|member| has_error(&member.record.report.diagnostics));
        let (mut models, mut records, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for member in members {
            models.push((member.record.name(), member.model));
            records.push(member.record);
            calls.push(member.calls);
        }
        if is_refused {
            return Ok((records, Done::Refused));
        }
        let options = self.converting.metadata.apply(self.files.options());
        if self.planning.plan.is_some() {
            let plan = write::plan_package(models, &self.output, &options)?;
            return Ok((records, Done::Planned(Box::new(plan))));
        }
        let options = WriteOptions { progress: progress.bytes("writing"), ..options };
        let writing = stage("write");
        let mut staged = write::stage_package(models, &self.output, &options)?;
        drop(writing);
        let mut listed = Vec::new();
        for ((path, record), calls) in staged.models().zip(&mut records).zip(calls) {
            if let Some(calls) = calls {
                let _stage = stage("verify");
                let verifying = &self.converting.verifying;
                record.checked = verifying.verify(host, &path, calls, &self.levels, progress);
            }
            if !self.buckets.is_empty() {
                let PackagedModel { base, variant, checked, .. } = &*record;
                listed.push(buckets::Listed::new(base, variant, &path, checked)?);
            }
        }
        if !self.buckets.is_empty() {
            let data: Vec<String> = staged.data().map(|path| path.display().to_string()).collect();
            let manifest = buckets::manifest(&self.buckets, &data, &listed);
            staged.add(buckets::MANIFEST, manifest.as_bytes())?;
            if self.dispatch {
                for (name, bytes) in buckets::dispatchers(&records, &staged)? {
                    staged.add(&name, &bytes)?;
                }
            }
        }
        let passed = records.iter().all(|record| record.checked.passed());
        let done = match passed {
            true => Done::Written(Box::new(staged.publish()?)),
            false if self.converting.verifying.keep_failed => Done::Kept(Box::new(staged.publish_failed()?)),
            false => Done::Withheld,
        };
        Ok((records, done))
    }

    /// Converts all variants of all programs; collects the problems of all.
    fn convert_all(&self, host: &Host, progress: &mut dyn Progress) -> Result<Vec<Member>, Report> {
        let given = self.weights.open(host)?;
        let mut problems = Report::default();
        let mut programs = Vec::with_capacity(self.programs.len());
        for NamedProgram { name, path } in &self.programs {
            let _reading = stage("read");
            match Conversion::open(path) {
                Ok(conversion) => programs.push((name.as_str(), conversion)),
                Err(report) => gather(&mut problems, report, name),
            }
        }
        let all = if problems.diagnostics.is_empty() { self.variants(&programs)? } else { Vec::new() };
        let mut members = Vec::with_capacity(all.len());
        // One process runs all programs for expected values: PyTorch takes seconds to start.
        let mut ahead = None;
        for (model, conversion, variant) in all {
            let name = variant.name(model);
            progress.stage(&format!("converting {name}"));
            let _span = span_of("program", || name.clone());
            let member = (model, conversion.clone(), variant);
            match self.convert(host, given.as_ref(), member, progress.restart(), &mut ahead) {
                Ok(member) => members.push(member),
                Err(report) => gather(&mut problems, report, &name),
            }
        }
        if !problems.diagnostics.is_empty() {
            return Err(problems);
        }
        if let Some((_, names)) = &given {
            names.check_used()?;
            if !members.iter().any(|member| member.reweighted) {
                let message = "the weight files contain none of the programs' tensors";
                return Err(Diagnostic::error(Code::WEIGHTS_KEYS, message)
                    .help("map names with `--weights-map`, add files with `--weights`")
                    .into());
            }
        }
        Ok(members)
    }

    /// Returns the models to make: the names and programs of the models with all their variants.
    fn variants<'p>(
        &self,
        programs: &'p [(&'p str, Conversion)],
    ) -> Result<Vec<(&'p str, &'p Conversion, Variant)>, Diagnostic> {
        let mut used = BTreeSet::new();
        let mut all = Vec::new();
        for (model, conversion) in programs {
            let (dims, _) = self.axes(model);
            let own = buckets::variants(&self.buckets, conversion.program(), &dims, &mut used);
            all.extend(own.into_iter().map(|variant| (*model, conversion, variant)));
        }
        let programs = programs.iter().map(|(_, conversion)| conversion.program());
        buckets::check_used(&self.buckets, &used, programs)?;
        let mut names = BTreeSet::new();
        let name = |(model, _, variant): &(&str, _, Variant)| variant.name(model);
        match all.iter().map(name).find(|name| !names.insert(name.clone())) {
            Some(twice) => Err(naming::same_name(&twice)),
            None => Ok(all),
        }
    }

    /// The names and sizes of axes of `model`.
    fn axes(&self, model: &str) -> (Vec<DimName>, Vec<AxisSize>) {
        let own = self.dims.iter().filter(|dim| dim.value.model == model);
        Axis::split(own.map(|dim| &dim.value.value))
    }

    fn convert(
        &self,
        host: &Host,
        given: Option<&(WeightSet, NameMap)>,
        (name, mut conversion, variant): (&str, Conversion, Variant),
        restart: Restart,
        ahead: &mut Option<Ahead>,
    ) -> Result<Member, Report> {
        let converting = &self.converting;
        let mut reweighted = false;
        if let Some((set, names)) = given {
            let options = BindOptions { several: true, ..self.weights.options() };
            reweighted = conversion.bind(set, names, options)?;
        }
        let path = format!("{}.onnx", variant.name(name));
        let options = converting.options(Some(Path::new(&path)), restart)?;
        let (dims, fixed) = self.axes(name);
        let (input_names, output_names) = (names(&self.input_names, name), names(&self.output_names, name));
        let lower = LowerOptions { dims, input_names, output_names, ..options.lower };
        let options = ConvertOptions {
            lower: converting.name(lower, conversion.program()),
            fixed,
            precision: PrecisionOptions { several: true, ..options.precision },
            separate: reweighted,
            // A weight that several models take is shared only if it is the same in all.
            optimise: OptimiseOptions { separate: true, ..options.optimise },
            ..options
        };
        let options = variant.apply(conversion.program(), options);
        let options = if converting.freeze_all { conversion.freeze(host, options)? } else { options };
        let referring = &converting.verifying.referring;
        let conversion = conversion.options(options).drawing(referring.draws());
        let conversion = match referring.source() {
            Ok(reference) if self.verifies() => conversion.refer_ahead_together(reference, ahead),
            // A misspelled source is reported where it is used.
            _ => conversion,
        };
        let conversion = if self.verifies() { conversion } else { conversion.unverified() };
        let program = conversion.run(host)?;
        let Converted {
            model, mut diagnostics, partitioned, changed, legalised, decomposed, optimised, ..
        } = program.converted;
        // Another program may use the weights that this one does not.
        diagnostics.retain(|found| found.code != Code::WEIGHTS_EXTRA);
        let report = Report { diagnostics, origins: model.origins.clone() };
        let (base, checked) = (name.to_owned(), Checked::default());
        let record = PackagedModel {
            base,
            variant,
            report,
            partitioned,
            changed,
            legalised,
            decomposed,
            optimised,
            checked,
        };
        Ok(Member { model, record, calls: program.calls, reweighted })
    }

    /// Fails if a folder to be created exists, before any conversion.
    fn refuse_existing(&self) -> Result<(), Report> {
        write::refuse_existing(&self.output)?;
        if self.converting.verifying.keep_failed {
            write::refuse_existing(&write::failed_package(&self.output))?;
        }
        Ok(())
    }
}

/// Returns the names of `model`.
fn names(given: &[Parsed<ForModel<PortNames>>], model: &str) -> Names {
    let own = given.iter().find(|names| names.value.model == model);
    own.map(|names| names.value.value.0.clone()).unwrap_or_default()
}

/// Adds the report about the model `name` to the report about all.
pub fn gather(all: &mut Report, own: Report, name: &str) {
    for mut found in own.diagnostics {
        found.origin = found.origin.map(|id| all.origins.push(own.origins.get(id).clone()));
        found.notes.push(format!("in `{name}`"));
        all.diagnostics.push(found);
    }
}

/// Fails if a pattern matches no weight of any model; matching some models is enough.
fn refuse_patterns(members: &mut [Member]) -> Result<(), Report> {
    let mut unmatched: BTreeMap<String, (usize, Diagnostic)> = BTreeMap::new();
    for member in members.iter_mut() {
        let all = std::mem::take(&mut member.record.report.diagnostics);
        for diagnostic in all {
            if diagnostic.code == Code::WEIGHT_PATTERN {
                let message = diagnostic.message.clone();
                unmatched.entry(message).or_insert((0, diagnostic)).0 += 1;
            } else {
                member.record.report.diagnostics.push(diagnostic);
            }
        }
    }
    let nowhere = unmatched.into_values().filter(|(count, _)| *count == members.len());
    let errors = nowhere.map(|(_, found)| Diagnostic {
        notes: Vec::new(),
        ..Diagnostic::error(found.code, found.message).help(found.help.unwrap_or_default())
    });
    let report = Report { diagnostics: errors.collect(), ..Report::default() };
    if report.diagnostics.is_empty() { Ok(()) } else { Err(report) }
}

impl Request for PackageRequest {
    type Outcome = Packaged;

    fn check(&self) -> Result<(), Diagnostic> {
        self.levels.check()?;
        self.converting.check()?;
        naming::check(self)?;
        needs("buckets", !self.buckets.is_empty(), &[("dispatch", self.dispatch)])?;
        buckets::check(&self.buckets)
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Packaged, Report> {
        self.check()?;
        let work = || self.package(host, progress);
        let ((models, done), recorded) = self.profiling.record("package", &self.sources(), work)?;
        Ok(Packaged { models, done, failures: recorded.problems, profile: recorded.path })
    }
}
