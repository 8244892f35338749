//! The stages of a conversion, in order. Each takes the result of the one before.
//!
//! ```text
//! archive → program → functional program → decomposed → model → tidy → optimised → narrowed → legal → partitioned → (validated) → files
//!   read   meta  normalise     decompose     lower   tidy   optimise   precision legalise  backend     validate       write
//! ```

use std::collections::BTreeSet;
use std::path::Path;

use crate::backend::{self, BackendOptions, Partitioned};
use crate::decompose::{self, DecomposeOptions, Decomposed};
use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::functions::{self, Selection};
use crate::host::Host;
use crate::ir::opset::{DEFAULT_OPSET, MAX_OPSET, MIN_OPSET};
use crate::ir::{self, Model};
use crate::legalise::{self, LegaliseOptions, Legalised};
use crate::lower::{self, LowerOptions, OutputNames};
use crate::meta::{self, Checked};
use crate::normalise;
use crate::onnx::{CHANGED_KEY, DROPPED_KEY, FIXED_KEY, GUARDS_KEY, SIZES_KEY, SizeRanges};
use crate::optimise::{self, Level, OptimiseOptions, Optimised};
use crate::precision::{self, Changed, PrecisionOptions};
use crate::program::Program;
use crate::provenance;
use crate::pt2::{self, Archive};
use crate::sizes::{self, AxisSize, InputAxis, InterfaceNames};
use crate::states::{self, StateChoice};
use crate::tidy;
use crate::trace::{self, Stage};
use crate::valid;
use crate::weights;

/// The user's options for a conversion.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// The opset and the model's interface.
    pub lower: LowerOptions,
    /// Record on the model the metadata of PyTorch's exporter: [`Metadata::Full`](crate::write::Metadata::Full).
    pub provenance: bool,
    /// Sizes to specialize the model to, of inputs by the model's names or the program's.
    pub fixed: Vec<AxisSize>,
    /// Add an output that tells whether the sizes of inputs are ones that the program takes.
    pub guards: bool,
    /// Axes that must be dynamic, of inputs by the model's names or the program's.
    pub dynamic: Vec<InputAxis>,
    /// The options of decompositions.
    pub decompose: DecomposeOptions,
    /// Which rules and passes run.
    pub optimise: OptimiseOptions,
    /// The types in which weights are stored.
    pub precision: PrecisionOptions,
    /// The target of the model.
    pub legalise: LegaliseOptions,
    /// Which backends take their parts of the model.
    pub backend: BackendOptions,
    /// The modules that become local functions.
    pub functions: Selection,
    /// How to treat buffers, parameters and inputs that the program writes to.
    pub state: StateChoice,
    /// Check the model against the rules of ONNX and the types that the program states.
    pub validate: bool,
    /// Convert a program whose weights are missing, to a model that waits for them.
    pub weightless: bool,
    /// Every parameter and buffer stays a separate initializer, so that it can be supplied by name;
    /// otherwise an initializer that is a transposed view of another one is derived from that.
    pub separate: bool,
}

/// The names of all stages, in order. Reading and writing are around [`convert`].
pub const STAGES: [&str; 12] = [
    "read",
    "meta",
    "normalise",
    "decompose",
    "lower",
    "tidy",
    "optimise",
    "precision",
    "legalise",
    "backend",
    "validate",
    "write",
];

/// How many conditions a message shows.
const SHOWN: usize = 4;

/// A converted model, ready to be written.
#[derive(Debug)]
pub struct Converted {
    /// The model.
    pub model: Model,
    /// The operators that were decomposed.
    pub decomposed: Decomposed,
    /// The plugin that lowered each operator.
    pub provided: Vec<lower::Provided>,
    /// The record of the optimizer.
    pub optimised: Optimised,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// The sizes that the program takes.
    pub sizes: SizeRanges,
    /// The result of checking the program's stated types.
    pub checked: Checked,
    /// The changes to weights.
    pub changed: Changed,
    /// The changes made for the target.
    pub legalised: Legalised,
    /// The regions of backends; `None` if no backend was asked.
    pub partitioned: Option<Partitioned>,
    /// The stages that ran, in order; names are those of [`STAGES`].
    pub stages: Vec<Stage>,
}

/// Reads the archive at `path`. See [`pt2::read`].
///
/// # Errors
/// Those of [`pt2::read`].
pub fn read(path: &Path) -> Result<Archive, Report> {
    pt2::read(path)
}

/// Reads the ONNX model at `path` and checks it. Its weights stay in their files. Recorded shapes that contradict
/// the nodes are corrected.
///
/// # Errors
/// `OP101` if it cannot be read; `OP110` for every defect that makes it unusable.
pub fn import(path: &Path) -> Result<Model, Report> {
    import_with_warnings(path).map(|(model, _)| model)
}

/// [`import`], with a warning for each shape that was corrected.
///
/// # Errors
/// Those of [`import`].
pub fn import_with_warnings(path: &Path) -> Result<(Model, Vec<Diagnostic>), Report> {
    let mut model = ir::import::import(path)?;
    // An imported model breaks the rules by its own fault.
    let of_file = |finding| Diagnostic { code: Code::READ_ONNX, ..finding };
    let mut found = valid::validate(&model, &valid::StatedTypes::default());
    let mut corrected = Vec::new();
    if !found.is_empty() {
        corrected = valid::correct_misrecorded(&mut model);
        found = valid::validate(&model, &valid::StatedTypes::default());
    }
    if found.is_empty() {
        let warned = corrected.into_iter().map(|wrong| Diagnostic {
            severity: Severity::Warning,
            ..of_file(wrong)
                .help("the model has the shape that the node makes; report this to the model's exporter")
        });
        return Ok((model, warned.collect()));
    }
    Err(Report { diagnostics: found.into_iter().map(of_file).collect(), origins: model.origins })
}

/// Converts a program to a model.
///
/// # Errors
/// A report of every problem of the first stage that has any.
pub fn convert(host: &Host, mut program: Program, options: &ConvertOptions) -> Result<Converted, Report> {
    check_opset(options.lower.opset)?;
    let lacking = weights::missing(&program).filter(|_| !options.weightless);
    if let Some(lacking) = lacking.or_else(|| weights::missing_constants(&program)) {
        return Err(lacking.into());
    }
    // Missing weights will be supplied in the program's form, and weights to be stored in another form are chosen by
    // name.
    let waits = program.tensors.values().any(|tensor| tensor.unbound().is_some());
    let mut clock = Clock::default();
    let (fixed, note) = fix(host, &mut program, options)?;
    let effective = sizes_of(host, &program, options)?;
    let names = OutputNames::of(&program);
    let checked = clock.time("meta", || contradictions(&program, host))?;
    if options.provenance {
        provenance::print_calls(&mut program, &host.schemas);
    }
    let mut program = clock.time("normalise", || normalise::normalise(program, &host.schemas))?;
    let dropped = states::apply(&mut program, options.state)?;
    let about = options.provenance.then(|| provenance::graph(&program));
    let opset = options.lower.opset;
    let lowering = LowerOptions { provenance: options.provenance, ..options.lower.clone() };
    let decomposing = || decompose::run(host, program, opset, &options.decompose);
    let (program, decomposed) = clock.time("decompose", decomposing)?;
    let lowered = clock.time("lower", || lower::lower(host, program, &lowering, &names));
    let lowered = lowered.map_err(|report| attributed(&checked, report))?;
    let mut model = lowered.model;
    if let Some(about) = about {
        let main = model.graph.main();
        model.graph.notes.blocks.insert(main, ir::BlockNote { name: String::new(), about });
    }
    if !dropped.states.is_empty() {
        model.metadata.push((DROPPED_KEY.to_owned(), serde_json::json!(dropped.states).to_string()));
    }
    if !fixed.is_empty() {
        model.metadata.push((FIXED_KEY.to_owned(), serde_json::json!(fixed).to_string()));
    }
    let sizes = effective.stated.clone();
    if sizes.are_restricted() {
        model.metadata.push((SIZES_KEY.to_owned(), serde_json::json!(sizes).to_string()));
    }
    let (mut diagnostics, mut stated) = (effective.diagnostics(), lowered.stated);
    diagnostics.extend(dropped.diagnostics);
    diagnostics.extend(lowered.diagnostics);
    diagnostics.extend(note);
    clock.time("tidy", || {
        tidy::model(&mut model);
        if !options.separate {
            tidy::layouts(&mut model.graph);
        }
        if options.validate { valid_as_lowered(&model, &stated, &checked) } else { Ok(()) }
    })?;
    diagnostics.extend(precision::known(&model, &options.precision)?);
    let optimising = OptimiseOptions {
        target: options.legalise.target.clone(),
        separate: options.separate || waits || !options.precision.is_empty() || options.optimise.separate,
        ..options.optimise.clone()
    };
    let mut work = || optimise::optimise(host, &mut model, &mut stated, &optimising);
    let optimised = if host.catalog.is_empty() { work() } else { clock.time("optimise", work) };
    let (mut optimised, found) = optimised?;
    diagnostics.extend(found);
    let mut changed = Changed::default();
    // Unless weights are supplied separately, they are stored as the target takes them.
    let transpose = options.optimise.level == Level::Target && !options.separate;
    if transpose || !options.precision.is_empty() {
        let work = || precision::apply(host, &mut model, &options.precision, transpose);
        let (weights, notes) = clock.time("precision", work)?;
        if weights != Changed::default() {
            model.metadata.push((CHANGED_KEY.to_owned(), weights.to_json()));
            model.metadata.sort();
        }
        changed = weights;
        diagnostics.extend(notes);
    }
    let legal = clock.time("legalise", || legalise::legalise(&mut model, &options.legalise))?;
    let (legalised, notes) = legal;
    if !legalised.computed.is_empty() || !legalised.replaced.is_empty() {
        optimise::clean_forms(&mut model, &optimising, &mut optimised);
    }
    diagnostics.extend(notes);
    let mut partitioned = None;
    if !options.backend.backends.is_empty() {
        let backed = clock.time("backend", || backend::run(host, &mut model, &options.backend))?;
        diagnostics.extend(backed.diagnostics);
        partitioned = Some(backed.partitioned);
    }
    optimised.memory = optimise::order(&mut model, &optimising);
    let functions = functions::functions(&mut model, &options.functions)?;
    diagnostics.extend(functions.diagnostics);
    optimised.functions = functions.made;
    optimised.outlined = optimise::outline(&mut model, &optimising);
    if options.guards {
        diagnostics.extend(check_sizes(&mut model, &effective));
    }
    if options.validate {
        let found = clock.time("validate", || valid::validate(&model, &stated));
        let report = Report { diagnostics: found, origins: model.origins.clone() };
        if report.has_errors() {
            return Err(report);
        }
        diagnostics.extend(report.diagnostics);
    }
    Ok(Converted {
        model,
        decomposed,
        provided: lowered.provided,
        optimised,
        diagnostics,
        sizes,
        checked,
        changed,
        legalised,
        partitioned,
        stages: clock.stages,
    })
}

/// Finds everything in a program that cannot be converted: unlike [`convert`], it continues with the
/// operators if a write cannot be expressed.
///
/// # Errors
/// A report of every problem of every stage.
pub fn check(host: &Host, mut program: Program, options: &ConvertOptions) -> Result<Converted, Report> {
    check_opset(options.lower.opset)?;
    fix(host, &mut program, options)?;
    let checked = contradictions(&program, host)?;
    let (attempted, mut problems) = normalise::attempt(program.clone(), &host.schemas, |_| true);
    if problems.is_empty() {
        let options = ConvertOptions { weightless: true, ..options.clone() };
        return convert(host, program, &options);
    }
    let (attempted, _, more) = decompose::decompose(host, attempted, options.lower.opset, &options.decompose);
    problems.extend(more);
    let origins = attempted.origins.clone();
    let known: BTreeSet<_> = problems.iter().filter_map(|d| d.origin).collect();
    if let Err(report) = lower::lower(host, attempted, &options.lower, &OutputNames::default()) {
        let report = attributed(&checked, report);
        // Calls that normalisation could not remove have no lowering; those errors say nothing new.
        let more = report.diagnostics.into_iter();
        problems.extend(more.filter(|d| d.origin.is_none_or(|o| !known.contains(&o))));
    }
    Err(Report { diagnostics: problems, origins })
}

/// Specializes the program to the sizes and equal dimensions of the options, unless it already is; returns the sizes by
/// the program's names of inputs, and a note on them, if any.
///
/// # Errors
/// Those of [`sizes::fix`] and [`sizes::merge`].
pub fn fix(
    host: &Host,
    program: &mut Program,
    options: &ConvertOptions,
) -> Result<(Vec<AxisSize>, Option<Diagnostic>), Report> {
    let own = |input: &str| {
        let own = lower::program_input(program, &options.lower.input_names, input);
        own.map_or(input, |(own, _)| own).to_owned()
    };
    let named = |size: &AxisSize| AxisSize { input: own(&size.input), ..size.clone() };
    let fixed: Vec<AxisSize> = options.fixed.iter().map(named).collect();
    let inputs: Vec<String> = options.lower.dims.iter().map(|dim| own(&dim.input)).collect();
    let axes: Vec<(&str, usize, &str)> = (inputs.iter().zip(&options.lower.dims))
        .map(|(input, dim)| (input.as_str(), dim.axis, dim.name.as_str()))
        .collect();
    sizes::merge(program, &host.schemas, &axes)?;
    let note = sizes::fix(program, &host.schemas, &fixed)?;
    Ok((fixed, note))
}

/// The sizes that the program takes, by the model's names.
///
/// # Errors
/// Those of [`sizes::require`].
fn sizes_of(host: &Host, program: &Program, options: &ConvertOptions) -> Result<sizes::Effective, Report> {
    let own = |input: &str| {
        let own = lower::program_input(program, &options.lower.input_names, input);
        own.map_or(input, |(own, _)| own).to_owned()
    };
    let dims = options.lower.dims.iter().map(|dim| (own(&dim.input), dim.axis, dim.name.clone()));
    let inputs = lower::input_names(program, &options.lower.input_names);
    let effective =
        sizes::effective(program, &host.schemas, &InterfaceNames { inputs, dims: dims.collect() });
    let named = |axis: &InputAxis| InputAxis { input: own(&axis.input), ..axis.clone() };
    let required: Vec<InputAxis> = options.dynamic.iter().map(named).collect();
    sizes::require(program, &effective, &required)?;
    Ok(effective)
}

/// Adds the output that checks sizes; returns a warning about conditions that it does not check.
fn check_sizes(model: &mut Model, effective: &sizes::Effective) -> Option<Diagnostic> {
    let emitted = sizes::emit(model, &effective.checks);
    if let Some(guard) = &emitted.output {
        model.metadata.push((GUARDS_KEY.to_owned(), serde_json::json!(guard).to_string()));
        model.metadata.sort();
    }
    if emitted.unchecked.is_empty() {
        return None;
    }
    let message = "`--emit-guards`: the model does not check some conditions on sizes";
    let warning = Diagnostic::warning(Code::LOWER_RANGE, message);
    let warning = emitted.unchecked.iter().take(SHOWN).fold(warning, |all, one| all.note(one.clone()));
    Some(
        warning.help("check them before you run the model; the metadata `onnxport.guards` lists all of them"),
    )
}

/// Holds the program against itself.
fn contradictions(program: &Program, host: &Host) -> Result<Checked, Report> {
    let mut checked = meta::check(program, &host.schemas);
    if checked.diagnostics.is_empty() {
        return Ok(checked);
    }
    let diagnostics = std::mem::take(&mut checked.diagnostics);
    Err(Report { diagnostics, origins: program.origins.clone() })
}

/// Checks the lowered graph before another stage edits it, so that a fault is blamed on the lowering or the program.
fn valid_as_lowered(model: &Model, stated: &valid::StatedTypes, checked: &Checked) -> Result<(), Report> {
    let report = Report { diagnostics: valid::validate(model, stated), origins: model.origins.clone() };
    if report.has_errors() { Err(attributed(checked, report)) } else { Ok(()) }
}

/// Returns a report about a lowered program, which blames the program too for nodes whose types could not be checked.
fn attributed(checked: &Checked, mut report: Report) -> Report {
    checked.attribute(&mut report.diagnostics, &report.origins);
    report
}

fn check_opset(opset: i64) -> Result<(), Report> {
    if (MIN_OPSET..=MAX_OPSET).contains(&opset) {
        return Ok(());
    }
    let message = format!("opset {opset} is not one of {MIN_OPSET} to {MAX_OPSET}");
    let nearest = opset.clamp(MIN_OPSET, MAX_OPSET);
    let help = if opset < nearest {
        format!(
            "convert with opset {nearest}, or use the default, {DEFAULT_OPSET}, which released runtimes support; for an older runtime, downgrade the model with `onnx.version_converter`"
        )
    } else {
        format!(
            "convert with opset {nearest}, or use the default, {DEFAULT_OPSET}, which released runtimes support"
        )
    };
    Err(Diagnostic::error(Code::LOWER_OPSET, message).help(help).into())
}

#[derive(Default)]
struct Clock {
    stages: Vec<Stage>,
}

impl Clock {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        debug_assert!(STAGES.contains(&name), "{name} is not among the stages");
        let stage = trace::stage(name);
        let result = work();
        self.stages.push(stage.end());
        result
    }
}
