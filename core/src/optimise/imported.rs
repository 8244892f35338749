//! Models read from ONNX files. Unlike a converted model, a file states few types and does not mark its
//! parameters; and everything that the rules leave alone must not change.

use rustc_hash::FxHashSet;

use super::{Level, OptimiseOptions, Optimised, clean_forms, equal, optimise, order, outline, rewrite_forms};
use crate::backend::{self, BackendOptions, Partitioned};
use crate::clean::once;
use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::host::Host;
use crate::inline::inline;
use crate::ir::{Initializer, Model, Type, ValueId};
use crate::legalise::{LegaliseOptions, Legalised, legalise};
use crate::ops::infer::{OLDEST_INFERRED, infer_all};
use crate::stages::{Own, Pipeline, Work};
use crate::tensor::DType;
use crate::trace::Stage;
use crate::valid::{self, StatedTypes};

/// An imported model after rules and passes.
#[derive(Debug)]
pub struct Rewritten {
    /// The model.
    pub model: Model,
    /// The record of the optimizer.
    pub optimised: Optimised,
    /// The changes made for the target.
    pub legalised: Legalised,
    /// The regions of backends; `None` if no backend was asked.
    pub partitioned: Option<Partitioned>,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// The stages of an optimizer run on an imported model.
pub type OptimizePipeline<'a> = Pipeline<'a, Rewriting>;

/// The stages.
const STAGES: &[Own<Rewriting>] = &[
    Own {
        name: "infer",
        optional: false,
        applies: |work| work.changes || work.partitions(),
        run: Rewriting::infer,
    },
    Own { name: "optimise", optional: true, applies: Rewriting::changes, run: Rewriting::optimise },
    Own { name: "legalise", optional: false, applies: Rewriting::changes, run: Rewriting::legalise },
    Own { name: "backend", optional: true, applies: Rewriting::partitions, run: Rewriting::partition },
    Own {
        name: "order",
        optional: true,
        applies: Rewriting::changes,
        run: |_, work| {
            work.done.optimised.memory = order(&mut work.done.model, &work.options);
            Ok(())
        },
    },
    Own {
        name: "outline",
        optional: true,
        applies: Rewriting::changes,
        run: |_, work| {
            work.done.optimised.outlined = outline(&mut work.done.model, &work.options);
            Ok(())
        },
    },
    Own {
        name: "validate",
        optional: false,
        applies: |work| work.changes || work.is_edited || work.partitions(),
        run: Rewriting::validate,
    },
];

/// An imported model that is being optimized.
#[derive(Debug)]
pub struct Rewriting {
    options: OptimiseOptions,
    target: LegaliseOptions,
    /// None for a model whose types are not inferred.
    backend: BackendOptions,
    /// Whether the host's own stages may change the model.
    changes: bool,
    is_edited: bool,
    stated: StatedTypes,
    /// The types that the file states, and the values that it returns.
    recorded: Vec<(ValueId, Type)>,
    returned: FxHashSet<ValueId>,
    done: Rewritten,
}

impl Work for Rewriting {
    fn model(&mut self) -> &mut Model {
        &mut self.done.model
    }

    fn stated(&self) -> &StatedTypes {
        &self.stated
    }

    fn edited(&mut self) {
        self.is_edited = true;
        // They may be about other values now.
        self.recorded.clear();
    }

    fn ended(&mut self, _: Stage) {}
}

impl Default for OptimizePipeline<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl OptimizePipeline<'_> {
    /// The standard stages. Reading and writing are not among them.
    pub fn new() -> Self {
        Self::standard(&[], STAGES)
    }

    /// Applies the rules and passes of `host` to an imported model, makes it fit for its target, and checks the result.
    ///
    /// If nobody named the target, a model at [`Level::Nothing`] does not change. Types are inferred so that patches can
    /// be checked against them; types that the file did not state are dropped again, unless a stage of the caller ran.
    /// An initializer counts as a parameter, whose bytes are not read and whose name stays, unless it is a single
    /// element, or a list of integers such as axes and shapes. A model of an opset below 13, whose types are not
    /// inferred, does not change, and a note says so.
    ///
    /// # Errors
    /// Those of [`optimise`] and [`legalise`], and `OP401` if the result is not a valid model.
    pub fn run(
        &self,
        host: &Host,
        model: Model,
        options: &OptimiseOptions,
        target: &LegaliseOptions,
    ) -> Result<Rewritten, Report> {
        self.run_with_backends(host, model, options, target, &BackendOptions::default())
    }

    /// Does the same, and lets backends take their regions of the model. For them, calls of local functions are inlined.
    ///
    /// # Errors
    /// Those of [`run`](Self::run) and of [`backend::run`].
    pub fn run_with_backends(
        &self,
        host: &Host,
        mut model: Model,
        options: &OptimiseOptions,
        target: &LegaliseOptions,
        backend: &BackendOptions,
    ) -> Result<Rewritten, Report> {
        let mut diagnostics = Vec::new();
        let is_asked = options.level != Level::Nothing || target.demanded;
        let is_old = model.opset() < OLDEST_INFERRED;
        if is_asked && is_old {
            let opset = model.opset();
            let message = format!("types are not inferred at opset {opset}: the model is unchanged");
            let note =
                Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::OPTIMISE_OPSET, message) };
            diagnostics
                .push(note.help(format!("rules and passes take models from opset {OLDEST_INFERRED} on")));
        }
        if !backend.backends.is_empty() {
            if is_old {
                let opset = model.opset();
                let message = format!(
                    "backends take nothing of a model of opset {opset}, whose types are not inferred"
                );
                diagnostics.push(Diagnostic::warning(Code::BACKEND_NOTHING, message));
            } else {
                inline(&mut model, usize::MAX);
            }
        }
        let backend = if is_old { BackendOptions::default() } else { backend.clone() };
        let mut work = Rewriting {
            backend,
            options: OptimiseOptions { target: target.target.clone(), ..options.clone() },
            target: LegaliseOptions { keep_bits: options.level <= Level::Exact, ..target.clone() },
            changes: is_asked && !is_old,
            is_edited: false,
            stated: StatedTypes::default(),
            recorded: Vec::new(),
            returned: FxHashSet::default(),
            done: Rewritten {
                model,
                optimised: Optimised::default(),
                legalised: Legalised::default(),
                partitioned: None,
                diagnostics,
            },
        };
        self.run_steps(host, &mut work)?;
        Ok(work.done)
    }
}

/// Optimizes an imported model with the standard [`OptimizePipeline`].
///
/// # Errors
/// Those of [`OptimizePipeline::run`].
pub fn imported(
    host: &Host,
    model: Model,
    options: &OptimiseOptions,
    target: &LegaliseOptions,
) -> Result<Rewritten, Report> {
    OptimizePipeline::new().run(host, model, options, target)
}

/// Optimizes a model, which [`Model::read`] reads, for the target of `options`.
///
/// ```
/// use onnxport_core::{Host, Model, OptimiseOptions, WriteOptions, optimize};
///
/// # fn main() -> Result<(), onnxport_core::Report> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let (input, output) = (folder.path().join("a.onnx"), folder.path().join("b.onnx"));
/// # let text = "opset 20\ngraph {\n input %x: f32[3]\n %a: f32[3] = Neg(%x)\n %b: f32[3] = Neg(%a)\n output %b as y\n}\n";
/// # onnxport_core::write::write(&Model::parse(text).unwrap(), &input, &WriteOptions::default())?;
/// let host = Host::new(&[&onnxport_optimise::ROOT])?;
/// let optimized = optimize(&host, Model::read(&input)?, &OptimiseOptions::default())?;
/// println!("{} patches", optimized.optimised.applied);
/// onnxport_core::write::write(&optimized.model, &output, &WriteOptions::default())?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`OptimizePipeline::run`].
pub fn optimize(host: &Host, model: Model, options: &OptimiseOptions) -> Result<Rewritten, Report> {
    let target = LegaliseOptions { target: options.target.clone(), ..LegaliseOptions::default() };
    OptimizePipeline::new().run(host, model, options, &target)
}

impl Rewriting {
    fn changes(&self) -> bool {
        self.changes
    }

    fn partitions(&self) -> bool {
        !self.backend.backends.is_empty()
    }

    fn partition(host: &Host, work: &mut Self) -> Result<(), Report> {
        let backed = backend::run(host, &mut work.done.model, &work.backend)?;
        let regions = || backed.partitioned.backends.iter().flat_map(|backend| &backend.regions);
        if regions().any(|region| region.replaced_by.is_some()) {
            // Runtimes do not infer the types of compiled nodes, so that the file states all of them.
            work.recorded.clear();
        }
        work.done.partitioned = Some(backed.partitioned);
        work.done.diagnostics.extend(backed.diagnostics);
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "other stages fail")]
    fn infer(_: &Host, work: &mut Self) -> Result<(), Report> {
        let model = &mut work.done.model;
        for initializer in &mut model.graph.initializers {
            initializer.weight |= !is_plain(initializer);
        }
        work.recorded = model.graph.values.iter().map(|(id, value)| (id, value.ty.clone())).collect();
        work.returned = outputs(model);
        let opset = model.opset();
        infer_all(&mut model.graph, &mut model.symbols, opset);
        let (mut equated, equalities) = equal::equate(model, &mut work.stated);
        for (_, ty) in &mut work.recorded {
            equated.apply(&mut model.symbols, ty);
        }
        work.done.diagnostics.extend(equalities);
        Ok(())
    }

    fn optimise(host: &Host, work: &mut Self) -> Result<(), Report> {
        let Self { done, stated, options, .. } = work;
        let run = |model: &mut Model| optimise(host, model, stated, options);
        let (optimised, found) = as_converted(&mut done.model, run)?;
        done.optimised = optimised;
        done.diagnostics.extend(found);
        Ok(())
    }

    fn legalise(host: &Host, work: &mut Self) -> Result<(), Report> {
        let Self { done, stated, options, target, .. } = work;
        let (legalised, notes) = as_converted(&mut done.model, |model| legalise(model, target))?;
        done.diagnostics.extend(notes);
        if !legalised.computed.is_empty() || !legalised.replaced.is_empty() {
            clean_forms(&mut done.model, options, &mut done.optimised);
            // Otherwise, the next run would find these matches.
            let found = rewrite_forms(host, &mut done.model, stated, options, &mut done.optimised);
            done.diagnostics.extend(found);
        }
        done.legalised = legalised;
        once(&mut done.model.graph);
        Ok(())
    }

    fn validate(_: &Host, work: &mut Self) -> Result<(), Report> {
        let model = &mut work.done.model;
        let returns = outputs(model);
        for (id, ty) in std::mem::take(&mut work.recorded) {
            // An output of the model must have a type, even if it is now another value.
            if work.returned.contains(&id) || !returns.contains(&id) {
                model.graph.values[id].ty = ty;
            }
        }
        let report =
            Report { diagnostics: valid::validate(model, &work.stated), origins: model.origins.clone() };
        if report.has_errors() {
            return Err(report);
        }
        work.done.diagnostics.extend(report.diagnostics);
        Ok(())
    }
}

/// With inferred types, the graph is checked like a converted one.
fn as_converted<T>(model: &mut Model, work: impl FnOnce(&mut Model) -> T) -> T {
    let origin = std::mem::take(&mut model.origin);
    let result = work(model);
    model.origin = origin;
    result
}

/// The values that the model returns.
fn outputs(model: &Model) -> FxHashSet<ValueId> {
    model.graph.blocks[model.graph.main()].outputs().iter().copied().collect()
}

/// Whether an initializer is a number, or a list of integers such as operators take for axes and shapes.
fn is_plain(initializer: &Initializer) -> bool {
    let data = &initializer.data;
    let is_list = matches!(data.dtype, DType::I64 | DType::I32) && data.shape.len() <= 1;
    is_list || data.shape.iter().all(|extent| *extent == 1)
}
