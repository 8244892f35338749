//! The stages of a conversion, in order.

use super::{
    ConvertOptions, Converted, attributed, check_opset, contradictions, fix, set_ir_version, worked,
};
use crate::backend;
use crate::decompose;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::functions::{self, Selection};
use crate::host::Host;
use crate::ir::opset::MIN_OPSET;
use crate::ir::{self, Model};
use crate::legalise::{self, Legalised, older};
use crate::lower::{self, LowerOptions, OutputNames};
use crate::meta::Checked;
use crate::normalise;
use crate::onnx::{CHANGED_KEY, DROPPED_KEY, FIXED_KEY, GUARDS_KEY, SIZES_KEY};
use crate::optimise::{self, Level, OptimiseOptions, Optimised};
use crate::precision::{self, Changed};
use crate::program::Program;
use crate::provenance;
use crate::sizes::{self, Effective, InputAxis, InterfaceNames};
use crate::stages::{Own, Pipeline, Work};
use crate::states;
use crate::tidy;
use crate::trace::{self, Stage};
use crate::valid::{self, StatedTypes};
use crate::weights;

/// How many conditions a message shows.
const SHOWN: usize = 4;

/// The stages of a conversion.
pub type ConvertPipeline<'a> = Pipeline<'a, Converting>;

/// The stages of programs, up to the one that makes a model.
pub(super) const PROGRAM: &[&str] = &["fix", "meta", "normalise", "decompose", "lower"];

/// The stages of models.
pub(super) const MODEL: &[Own<Converting>] = &[
    Own { name: "tidy", optional: false, applies: |_| true, run: Converting::tidy },
    Own { name: "optimise", optional: true, applies: |_| true, run: Converting::optimise },
    Own { name: "precision", optional: true, applies: Converting::narrows, run: Converting::narrow },
    Own { name: "legalise", optional: false, applies: |_| true, run: Converting::legalise },
    Own {
        name: "backend",
        optional: true,
        applies: |work| !work.options.backend.backends.is_empty(),
        run: Converting::backend,
    },
    Own {
        name: "order",
        optional: true,
        applies: |work| work.optimising.reorder,
        run: |_, work| {
            work.converted.optimised.memory = optimise::order(&mut work.converted.model, &work.optimising);
            Ok(())
        },
    },
    Own {
        name: "functions",
        optional: true,
        applies: |work| work.options.functions != Selection::Nothing,
        run: Converting::functions,
    },
    Own {
        name: "outline",
        optional: true,
        applies: |work| work.optimising.outline.is_some(),
        run: |_, work| {
            work.converted.optimised.outlined =
                optimise::outline(&mut work.converted.model, &work.optimising);
            Ok(())
        },
    },
    Own {
        name: "guards",
        optional: true,
        applies: |work| work.options.guards,
        run: |_, work| {
            let found = check_sizes(&mut work.converted.model, &work.effective);
            work.converted.diagnostics.extend(found);
            Ok(())
        },
    },
    Own {
        name: "translate",
        optional: true,
        applies: |work| work.options.lower.opset < MIN_OPSET || work.options.ir_version.is_some(),
        run: Converting::translate,
    },
    Own {
        name: "validate",
        optional: false,
        applies: |work| work.options.validate,
        run: Converting::validate,
    },
];

/// A program that is being converted.
#[derive(Debug)]
pub struct Converting {
    options: ConvertOptions,
    optimising: OptimiseOptions,
    stated: StatedTypes,
    effective: Effective,
    converted: Converted,
}

impl Work for Converting {
    fn model(&mut self) -> &mut Model {
        &mut self.converted.model
    }

    fn stated(&self) -> &StatedTypes {
        &self.stated
    }

    fn edited(&mut self) {
        // The final model is checked even if the user does not ask for it.
        self.options.validate = true;
    }

    fn ended(&mut self, stage: Stage) {
        self.converted.stages.push(stage);
    }
}

impl Default for ConvertPipeline<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl ConvertPipeline<'_> {
    /// The standard stages. Reading and writing are not among them.
    pub fn new() -> Self {
        Self::standard(PROGRAM, MODEL)
    }

    /// Converts a program to a model.
    ///
    /// # Errors
    /// A report of every problem of the first stage that has any.
    pub fn run(&self, host: &Host, program: Program, options: &ConvertOptions) -> Result<Converted, Report> {
        let mut work = Converting::lower(host, program, options)?;
        self.run_steps(host, &mut work)?;
        Ok(work.converted)
    }
}

impl Converting {
    /// Runs the stages of the program.
    fn lower(host: &Host, mut program: Program, options: &ConvertOptions) -> Result<Self, Report> {
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
        let opset = worked(options.lower.opset);
        let lowering = LowerOptions { opset, provenance: options.provenance, ..options.lower.clone() };
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
        let mut diagnostics = effective.diagnostics();
        diagnostics.extend(dropped.diagnostics);
        diagnostics.extend(lowered.diagnostics);
        diagnostics.extend(note);
        let optimising = OptimiseOptions {
            target: options.legalise.target.clone(),
            separate: options.separate || waits || !options.precision.is_empty() || options.optimise.separate,
            ..options.optimise.clone()
        };
        Ok(Self {
            options: options.clone(),
            optimising,
            stated: lowered.stated,
            effective,
            converted: Converted {
                model,
                decomposed,
                provided: lowered.provided,
                optimised: Optimised::default(),
                diagnostics,
                sizes,
                checked,
                changed: Changed::default(),
                legalised: Legalised::default(),
                partitioned: None,
                stages: clock.stages,
            },
        })
    }

    fn tidy(_: &Host, work: &mut Self) -> Result<(), Report> {
        let converted = &mut work.converted;
        let model = &mut converted.model;
        tidy::model(model);
        if !work.options.separate {
            tidy::layouts(&mut model.graph);
        }
        if work.options.validate {
            valid_as_lowered(model, &work.stated, &converted.checked)?;
        }
        converted.diagnostics.extend(precision::known(model, &work.options.precision)?);
        Ok(())
    }

    fn optimise(host: &Host, work: &mut Self) -> Result<(), Report> {
        let converted = &mut work.converted;
        let (optimised, found) =
            optimise::optimise(host, &mut converted.model, &mut work.stated, &work.optimising)?;
        converted.optimised = optimised;
        converted.diagnostics.extend(found);
        Ok(())
    }

    /// Unless weights are supplied separately, they are stored as the target takes them.
    fn transposes(&self) -> bool {
        self.options.optimise.level == Level::Target && !self.options.separate
    }

    fn narrows(&self) -> bool {
        self.transposes() || !self.options.precision.is_empty()
    }

    fn narrow(host: &Host, work: &mut Self) -> Result<(), Report> {
        let transpose = work.transposes();
        let converted = &mut work.converted;
        let model = &mut converted.model;
        let (changed, notes) = precision::apply(host, model, &work.options.precision, transpose)?;
        if changed != Changed::default() {
            model.metadata.push((CHANGED_KEY.to_owned(), changed.to_json()));
            model.metadata.sort();
        }
        converted.changed = changed;
        converted.diagnostics.extend(notes);
        Ok(())
    }

    fn legalise(_: &Host, work: &mut Self) -> Result<(), Report> {
        let converted = &mut work.converted;
        let (legalised, notes) = legalise::legalise(&mut converted.model, &work.options.legalise)?;
        if !legalised.computed.is_empty() || !legalised.replaced.is_empty() {
            optimise::clean_forms(&mut converted.model, &work.optimising, &mut converted.optimised);
        }
        converted.legalised = legalised;
        converted.diagnostics.extend(notes);
        Ok(())
    }

    fn backend(host: &Host, work: &mut Self) -> Result<(), Report> {
        let converted = &mut work.converted;
        let backed = backend::run(host, &mut converted.model, &work.options.backend)?;
        converted.diagnostics.extend(backed.diagnostics);
        converted.partitioned = Some(backed.partitioned);
        Ok(())
    }

    fn functions(_: &Host, work: &mut Self) -> Result<(), Report> {
        let converted = &mut work.converted;
        let functions = functions::functions(&mut converted.model, &work.options.functions)?;
        converted.diagnostics.extend(functions.diagnostics);
        converted.optimised.functions = functions.made;
        Ok(())
    }

    fn translate(_: &Host, work: &mut Self) -> Result<(), Report> {
        let (opset, model) = (work.options.lower.opset, &mut work.converted.model);
        if opset < MIN_OPSET {
            let _used = older::translate(model, opset)?;
        }
        work.options.ir_version.map_or(Ok(()), |version| set_ir_version(model, version))
    }

    fn validate(_: &Host, work: &mut Self) -> Result<(), Report> {
        let converted = &mut work.converted;
        let found = valid::validate(&converted.model, &work.stated);
        let report = Report { diagnostics: found, origins: converted.model.origins.clone() };
        if report.has_errors() {
            return Err(report);
        }
        converted.diagnostics.extend(report.diagnostics);
        Ok(())
    }
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

/// Checks the lowered graph before another stage edits it, so that a fault is blamed on the lowering or the program.
fn valid_as_lowered(model: &Model, stated: &valid::StatedTypes, checked: &Checked) -> Result<(), Report> {
    let report = Report { diagnostics: valid::validate(model, stated), origins: model.origins.clone() };
    if report.has_errors() { Err(attributed(checked, report)) } else { Ok(()) }
}

#[derive(Default)]
struct Clock {
    stages: Vec<Stage>,
}

impl Clock {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        assert!(PROGRAM.contains(&name), "{name} is not among the stages");
        let stage = trace::stage(name);
        let result = work();
        self.stages.push(stage.end());
        result
    }
}
