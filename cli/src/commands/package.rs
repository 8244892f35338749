//! `onnxport package`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap_lex::OsStrExt;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::ir::Model;
use onnxport_core::lower::{DimName, LowerOptions};
use onnxport_core::optimise::OptimiseOptions;
use onnxport_core::precision::PrecisionOptions;
use onnxport_core::sizes::AxisSize;
use onnxport_core::trace;
use onnxport_core::verify::Ahead;
use onnxport_core::write;
use onnxport_core::{BindOptions, Calls, Conversion, ConvertOptions, Host, NameMap, WeightSet, WriteOptions};
use onnxport_requests::Plugins;
use onnxport_requests::axes::{Axis, PortNames};
use onnxport_requests::converting::Converting;
use onnxport_requests::levels::Levels;
use onnxport_requests::profile::Profiling;
use onnxport_requests::weights::WeightSource;
use onnxport_requests::writing::{Files, Planning};
use serde_json::Value;

use super::buckets::{self, Bucket, Listed, Variant};
use super::optimising;
use super::packaged::{describe, is_file_name};
use super::profiled;
use super::reports::{Contents, ReportArguments};
use super::verifying;
use super::writing;
use crate::backends;
use crate::decomposing;
use crate::exit::Exit;
use crate::format::bold;
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::precision;
use crate::progress::Progress;
use crate::target;

/// Arguments of `package`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The exported programs, optionally with model names, such as encoder=enc.pt2; the default is the file's name
    #[arg(required = true, value_name = "[NAME=]PT2", value_parser = OsStringValueParser::new().try_map(parse_member))]
    programs: Vec<(String, PathBuf)>,
    /// The folder to create
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Names for all inputs of a model in order, or new names for some: encoder/pixels,mask or encoder/x=pixels
    #[arg(long, value_name = "NAME/NAMES", value_parser = parse_names)]
    input_names: Vec<(String, PortNames)>,
    /// Names for the outputs of a model, in the same form
    #[arg(long, value_name = "NAME/NAMES", value_parser = parse_names)]
    output_names: Vec<(String, PortNames)>,
    /// A name for a dynamic dimension of an input, such as encoder/x:0=batch, or a fixed size
    #[arg(long = "dim", value_name = "NAME/INPUT:AXIS=NAME|SIZE", value_parser = parse_axis)]
    dims: Vec<(String, Axis)>,
    /// Make a variant of each model for each of these sizes of a dynamic dimension, such as batch=1,8,32, and list them in
    /// variants.json; can be repeated for all combinations
    #[arg(long, value_name = "DIM=SIZES", value_parser = buckets::parse)]
    buckets: Vec<Bucket>,
    #[command(flatten)]
    converting: Converting,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    planning: Planning,
    #[command(flatten)]
    weights: WeightSource,
    #[command(flatten)]
    profile: Profiling,
    #[command(flatten)]
    reports: ReportArguments,
    #[command(flatten)]
    levels: Levels,
    #[command(flatten)]
    plugins: Plugins,
}

fn parse_member(text: OsString) -> Result<(String, PathBuf), String> {
    let (name, path) = match text.split_once("=") {
        Some((name, path)) => (name, PathBuf::from(path)),
        None => (Path::new(&text).file_stem().unwrap_or_default(), PathBuf::from(&text)),
    };
    let is_usable = |name: &&str| is_file_name(name);
    let name =
        name.to_str().filter(is_usable).ok_or("expected NAME=PT2, where NAME can be the name of a file")?;
    Ok((name.to_owned(), path))
}

fn parse_axis(text: &str) -> Result<(String, Axis), String> {
    let (model, axis) =
        text.split_once('/').ok_or("expected NAME/INPUT:AXIS=NAME or NAME/INPUT:AXIS=SIZE")?;
    Ok((model.to_owned(), axis.parse()?))
}

fn parse_names(text: &str) -> Result<(String, PortNames), String> {
    let (model, names) = text.split_once('/').ok_or("expected NAME/a,b or NAME/old=new")?;
    Ok((model.to_owned(), names.parse()?))
}

/// Converts all programs, writes them into one folder and verifies them there.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    arguments.reports.check_several()?;
    arguments.levels.check()?;
    arguments.converting.check()?;
    let sources: Vec<PathBuf> = arguments.programs.iter().map(|(_, path)| path.clone()).collect();
    let mut result =
        profiled::around(&arguments.profile, "package", &sources, || package(arguments, progress));
    let (Ok(outcome) | Err(outcome)) = &mut result;
    let text = format!("{}{}", outcome.summary, outcome.text);
    let contents = Contents { command: "package", text: &text, page: &String::new };
    arguments.reports.write(&sources, &contents, outcome)?;
    result
}

fn package(arguments: &Arguments, progress: &Progress) -> CommandResult {
    refuse_names(arguments)?;
    buckets::check(&arguments.buckets)?;
    refuse_existing(arguments)?;
    let converting = &arguments.converting;
    let host = plugins::host(&arguments.plugins)?;
    if arguments.planning.plan.is_none() && !converting.verifying.no_verify {
        plugins::prepare(&host, &converting.verifying.running);
    }
    let given = arguments.weights.open(&host)?;
    let mut failures: Vec<(String, Report)> = Vec::new();
    let mut programs = Vec::with_capacity(arguments.programs.len());
    for (name, path) in &arguments.programs {
        let _reading = trace::stage("read");
        match Conversion::open(path) {
            Ok(conversion) => programs.push((name.as_str(), conversion)),
            Err(report) => failures.push((name.clone(), report)),
        }
    }
    let all = if failures.is_empty() { variants(arguments, &programs)? } else { Vec::new() };
    let mut members = Vec::with_capacity(all.len());
    // One process runs all programs for expected values: PyTorch takes seconds to start.
    let mut ahead = None;
    for (model, conversion, variant) in all {
        let name = variant.name(model);
        progress.stage(format!("converting {name}"));
        let _span = trace::span_of("program", || name.clone());
        match convert(arguments, &host, given.as_ref(), (model, conversion.clone(), variant), &mut ahead) {
            Ok(member) => members.push(member),
            Err(report) => failures.push((name, report)),
        }
    }
    drop((ahead, programs));
    if !failures.is_empty() {
        return Err(failed(failures).into());
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
    refuse_patterns(&mut members)?;
    for member in &mut members {
        member.outcome.judge(&arguments.levels);
    }
    if members.iter().any(|member| member.outcome.exit != Exit::Ok) {
        return Err(refused(members));
    }
    let options = arguments.converting.metadata.apply(arguments.files.options());
    let (mut models, mut rest) = (Vec::new(), Vec::new());
    for Member { base, variant, model, outcome, calls, .. } in members {
        models.push((variant.name(&base), model));
        rest.push(Rest { base, variant, outcome, calls });
    }
    if let Some(shown) = arguments.planning.plan {
        let plan = write::plan_package(models, &arguments.output, &options)?;
        let mut report = Report::default();
        for Rest { base, variant, outcome, .. } in rest {
            gather(&mut report, outcome.report, &variant.name(&base));
        }
        return Ok(writing::planned(&plan, &options, shown, report));
    }
    let bar = progress.bytes("writing");
    let options = WriteOptions { progress: Some(Arc::new(bar)), ..options };
    let writing = trace::stage("write");
    let mut staged = write::stage_package(models, &arguments.output, &options)?;
    drop(writing);
    let mut members = Vec::with_capacity(rest.len());
    let mut listed = Vec::new();
    for (path, Rest { base, variant, outcome: mut own, calls }) in staged.models().zip(rest) {
        if let Some(calls) = calls {
            let _stage = trace::stage("verify");
            let (levels, progress) = (&arguments.levels, &mut progress.clone());
            own.add(verifying::describe(converting.verifying.verify(&host, &path, calls, levels, progress)));
        }
        if !arguments.buckets.is_empty() {
            listed.push(Listed::new(&base, &variant, &path, &own)?);
            own.put("model", &base);
            own.put("sizes", &variant);
        }
        members.push((variant.name(&base), own));
    }
    if !arguments.buckets.is_empty() {
        let data: Vec<String> = staged.data().map(|path| path.display().to_string()).collect();
        let manifest = buckets::manifest(&arguments.buckets, &data, &listed);
        staged.add(buckets::MANIFEST, manifest.as_bytes())?;
    }
    let exit = members.iter().map(|(_, own)| own.exit).max().unwrap_or(Exit::Ok);
    let written = match exit {
        Exit::Ok => Some(staged.publish()?),
        _ if converting.verifying.keep_failed => Some(staged.publish_failed()?),
        _ => None,
    };
    let mut outcome = written.as_ref().map_or_else(Outcome::ok, describe);
    let mut listed = Vec::with_capacity(members.len());
    for (at, (name, mut own)) in members.into_iter().enumerate() {
        if !own.summary.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(outcome.summary, "{}\n{}", bold(&name), own.summary);
        }
        own.put("name", &name);
        if let Some((path, size)) = written.as_ref().and_then(|written| written.models.get(at)) {
            own.put("path", path.display().to_string());
            own.put("bytes", size);
        }
        listed.push(Value::Object(own.json));
        gather(&mut outcome.report, own.report, &name);
    }
    outcome.put("models", listed);
    outcome.exit = exit;
    if exit != Exit::Ok {
        let kept = written.is_some().then(|| write::failed_package(&arguments.output));
        outcome.report.diagnostics.push(verifying::withheld(&arguments.output, kept.as_deref()));
    }
    Ok(outcome)
}

/// Adds the report about the model `name` to the report about all.
fn gather(all: &mut Report, own: Report, name: &str) {
    for mut found in own.diagnostics {
        found.origin = found.origin.map(|id| all.origins.push(own.origins.get(id).clone()));
        found.notes.push(format!("in `{name}`"));
        all.diagnostics.push(found);
    }
}

/// Returns the report about the programs that cannot be converted.
fn failed(failures: Vec<(String, Report)>) -> Report {
    let mut all = Report::default();
    for (name, report) in failures {
        gather(&mut all, report, &name);
    }
    all
}

/// Returns the models to make: the names and programs of the models with all their variants.
fn variants<'p>(
    arguments: &Arguments,
    programs: &'p [(&'p str, Conversion)],
) -> Result<Vec<(&'p str, &'p Conversion, Variant)>, Diagnostic> {
    let mut used = BTreeSet::new();
    let mut all = Vec::new();
    for (model, conversion) in programs {
        let (dims, _) = arguments.axes(model);
        let own = buckets::variants(&arguments.buckets, conversion.program(), &dims, &mut used);
        all.extend(own.into_iter().map(|variant| (*model, conversion, variant)));
    }
    let programs = programs.iter().map(|(_, conversion)| conversion.program());
    buckets::check_used(&arguments.buckets, &used, programs)?;
    let mut names = BTreeSet::new();
    let name = |(model, _, variant): &(&str, _, Variant)| variant.name(model);
    if let Some(twice) = all.iter().map(name).find(|name| !names.insert(name.clone())) {
        let message = format!("two models are called `{twice}`");
        return Err(Diagnostic::error(Code::LOWER_NAME, message).help("name the models: `first=a.pt2`"));
    }
    Ok(all)
}

/// Merges the reports of all models when the levels that the user set refuse one of them.
fn refused(members: Vec<Member>) -> Outcome {
    let mut outcome = Outcome::ok();
    for Member { base, variant, outcome: own, .. } in members {
        outcome.exit = outcome.exit.max(own.exit);
        gather(&mut outcome.report, own.report, &variant.name(&base));
    }
    outcome
}

/// Fails if two models have the same name, or if no model has one of the dimensions.
fn refuse_names(arguments: &Arguments) -> Result<(), Diagnostic> {
    let mut names = BTreeSet::new();
    if let Some((name, _)) = arguments.programs.iter().find(|(name, _)| !names.insert(name)) {
        let message = format!("two models are called `{name}`");
        return Err(Diagnostic::error(Code::LOWER_NAME, message).help("name the models: `first=a.pt2`"));
    }
    if let Some((model, axis)) = arguments.dims.iter().find(|(model, _)| !names.contains(model)) {
        let message = format!("`--dim` for `{}`: unknown model `{model}`", axis.input());
        return Err(Diagnostic::error(Code::LOWER_NAME, message).help("write `--dim NAME/INPUT:AXIS=NAME`"));
    }
    for (flag, given) in [("input", &arguments.input_names), ("output", &arguments.output_names)] {
        let mut seen = BTreeSet::new();
        for (model, _) in given {
            let message = if !names.contains(model) {
                format!("`--{flag}-names`: unknown model `{model}`")
            } else if !seen.insert(model) {
                format!("`--{flag}-names` is given twice for the model `{model}`")
            } else {
                continue;
            };
            let help = format!("write `--{flag}-names NAME/a,b` or `--{flag}-names NAME/old=new`");
            return Err(Diagnostic::error(Code::LOWER_NAME, message).help(help));
        }
    }
    Ok(())
}

/// Fails if a folder to be created exists, before any conversion.
fn refuse_existing(arguments: &Arguments) -> Result<(), Report> {
    write::refuse_existing(&arguments.output)?;
    if arguments.converting.verifying.keep_failed {
        write::refuse_existing(&write::failed_package(&arguments.output))?;
    }
    Ok(())
}

/// A converted program.
struct Member {
    /// The name of the model, without the sizes of the variant.
    base: String,
    variant: Variant,
    model: Model,
    /// The outcome.
    outcome: Outcome,
    /// The calls to verify it with, if it is to be verified.
    calls: Option<Calls>,
    /// Whether it took weights from the given files.
    reweighted: bool,
}

/// The parts of a member besides its model.
struct Rest {
    base: String,
    variant: Variant,
    outcome: Outcome,
    calls: Option<Calls>,
}

impl Arguments {
    /// The names and sizes of axes of `model`.
    fn axes(&self, model: &str) -> (Vec<DimName>, Vec<AxisSize>) {
        Axis::split(self.dims.iter().filter(|(of, _)| of == model).map(|(_, axis)| axis))
    }
}

fn convert(
    arguments: &Arguments,
    host: &Host,
    given: Option<&(WeightSet, NameMap)>,
    (name, mut conversion, variant): (&str, Conversion, Variant),
    ahead: &mut Option<Ahead>,
) -> Result<Member, Report> {
    let converting = &arguments.converting;
    let mut reweighted = false;
    if let Some((set, names)) = given {
        let options = BindOptions { several: true, ..arguments.weights.options() };
        reweighted = conversion.bind(set, names, options)?;
    }
    let verified = !converting.verifying.no_verify && arguments.planning.plan.is_none();
    let options = converting.options(Some(Path::new(&format!("{}.onnx", variant.name(name)))))?;
    let (dims, fixed) = arguments.axes(name);
    let names = |given: &[(String, PortNames)]| {
        given.iter().find(|(model, _)| model == name).map(|(_, names)| names.clone().0).unwrap_or_default()
    };
    let (input_names, output_names) = (names(&arguments.input_names), names(&arguments.output_names));
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
    let conversion = conversion.options(options);
    let referring = &converting.verifying.referring;
    let conversion = conversion.drawing(referring.draws());
    let conversion = match referring.source() {
        Ok(reference) if verified => conversion.refer_ahead_together(reference, ahead),
        // A source that is misspelled is reported where it is used.
        _ => conversion,
    };
    let conversion = if verified { conversion } else { conversion.unverified() };
    let program = conversion.run(host)?;
    let (calls, converted) = (program.calls, program.converted);
    // Another program may use the weights that this one does not.
    let found = converted.diagnostics.into_iter().filter(|found| found.code != Code::WEIGHTS_EXTRA).collect();
    let mut outcome = Outcome::ok();
    outcome.report = Report { diagnostics: found, origins: converted.model.origins.clone() };
    if let Some(partitioned) = &converted.partitioned {
        outcome.summary.push_str(&backends::summary(partitioned));
        outcome.put("backends", &partitioned.backends);
    }
    precision::describe(&converted.changed, &mut outcome);
    target::describe(&converted.legalised, &mut outcome);
    decomposing::describe(&converted.decomposed, &mut outcome);
    optimising::describe(&converting.optimizing, &converted.optimised, &variant.name(name), &mut outcome);
    Ok(Member { base: name.to_owned(), variant, model: converted.model, outcome, calls, reweighted })
}

/// Fails if a pattern matches no weight of any model; matching some models is enough.
fn refuse_patterns(members: &mut [Member]) -> Result<(), Report> {
    let mut unmatched: BTreeMap<String, (usize, Diagnostic)> = BTreeMap::new();
    for member in members.iter_mut() {
        let all = std::mem::take(&mut member.outcome.report.diagnostics);
        for diagnostic in all {
            if diagnostic.code == Code::WEIGHT_PATTERN {
                let message = diagnostic.message.clone();
                unmatched.entry(message).or_insert((0, diagnostic)).0 += 1;
            } else {
                member.outcome.report.diagnostics.push(diagnostic);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_names() {
        let member = |text: &str| parse_member(text.into()).ok();
        assert_eq!(member("a=b/c.pt2"), Some(("a".to_owned(), "b/c.pt2".into())));
        assert_eq!(member("b/c.pt2"), Some(("c".to_owned(), "b/c.pt2".into())));
        for wrong in ["=a.pt2", "../a=b.pt2", ".a=b.pt2", ""] {
            assert!(member(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_dim_belongs_to_a_model() {
        let (model, axis) = parse_axis("a/x/y:0=batch").expect("an axis");
        assert_eq!((model.as_str(), axis.input()), ("a", "x/y"));
        assert!(parse_axis("x:0=batch").is_err());
        assert_eq!(parse_names("a/x=y").expect("names").0, "a");
        assert!(parse_names("x=y").is_err());
    }
}
