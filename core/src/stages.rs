//! Pipelines: named stages that change a model, in order, among which a caller can put stages.

use std::error::Error;
use std::fmt;

use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::host::Host;
use crate::ir::Model;
use crate::ops::infer::complete_all;
use crate::trace::{self, Stage};
use crate::valid::{self, StatedTypes};

/// The named stages of a conversion or of an optimizer run. The options decide which of them have work to do.
///
/// A caller's stage edits the model in place. The host completes the types of its new values and checks the model
/// after it, against the rules of ONNX and the types that the program states.
///
/// ```
/// use onnxport_core::{Conversion, ConvertPipeline, Host};
///
/// # fn main() -> Result<(), onnxport_core::Report> {
/// let mut pipeline = ConvertPipeline::new();
/// assert_eq!(pipeline.names()[..4], ["fix", "meta", "normalise", "decompose"]);
/// pipeline.insert_after("optimise", "label", |model| {
///     model.metadata.push(("team".to_owned(), "vision".to_owned()));
///     Ok(())
/// })?;
/// pipeline.remove("outline")?;
/// let host = Host::new(&[&onnxport_aten::ROOT])?;
/// let model = Conversion::open("../examples/mlp/mlp.pt2")?.run_with(&host, &pipeline)?;
/// assert!(model.converted.model.metadata.iter().any(|(key, _)| key == "team"));
/// # Ok(())
/// # }
/// ```
pub struct Pipeline<'a, W> {
    /// The stages before there is a model.
    first: &'static [&'static str],
    steps: Vec<Step<'a, W>>,
}

/// The model and its facts that the stages of a pipeline share.
pub trait Work {
    /// The model.
    fn model(&mut self) -> &mut Model;

    /// The types that the program states.
    fn stated(&self) -> &StatedTypes;

    /// Notes that a caller's stage changed the model.
    fn edited(&mut self);

    /// Takes the record of a stage that ended.
    fn ended(&mut self, stage: Stage);
}

/// A stage of the host.
pub(crate) struct Own<W> {
    pub name: &'static str,
    /// Whether the model is correct without it.
    pub optional: bool,
    /// Whether it has work to do.
    pub applies: fn(&W) -> bool,
    pub run: fn(&Host, &mut W) -> Result<(), Report>,
}

impl<W> Clone for Own<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Own<W> {}

/// The work of a caller's stage.
type Edit<'a> = Box<dyn Fn(&mut Model) -> Result<(), Box<dyn Error>> + 'a>;

enum Step<'a, W> {
    Own(Own<W>),
    Caller { name: &'static str, edit: Edit<'a> },
}

impl<W> Step<'_, W> {
    fn name(&self) -> &'static str {
        match self {
            Self::Own(own) => own.name,
            Self::Caller { name, .. } => name,
        }
    }
}

impl<W> fmt::Debug for Pipeline<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl<'a, W: Work> Pipeline<'a, W> {
    pub(crate) fn standard(first: &'static [&'static str], own: &[Own<W>]) -> Self {
        Self { first, steps: own.iter().copied().map(Step::Own).collect() }
    }

    /// Inserts a stage before the stage `before`.
    ///
    /// # Errors
    /// `OP001` for an unknown stage, a name that is taken, or a stage that runs before there is a model.
    pub fn insert_before(
        &mut self,
        before: &str,
        name: &'static str,
        edit: impl Fn(&mut Model) -> Result<(), Box<dyn Error>> + 'a,
    ) -> Result<(), Diagnostic> {
        let index = self.index(before)?;
        self.insert(index, name, Box::new(edit))
    }

    /// Inserts a stage after the stage `after`.
    ///
    /// # Errors
    /// Those of [`insert_before`](Self::insert_before).
    pub fn insert_after(
        &mut self,
        after: &str,
        name: &'static str,
        edit: impl Fn(&mut Model) -> Result<(), Box<dyn Error>> + 'a,
    ) -> Result<(), Diagnostic> {
        let index = if self.first.last() == Some(&after) { 0 } else { self.index(after)? + 1 };
        self.insert(index, name, Box::new(edit))
    }

    /// Replaces a stage that [`remove`](Self::remove) may remove.
    ///
    /// # Errors
    /// Those of [`insert_before`](Self::insert_before) and [`remove`](Self::remove).
    pub fn replace(
        &mut self,
        old: &str,
        name: &'static str,
        edit: impl Fn(&mut Model) -> Result<(), Box<dyn Error>> + 'a,
    ) -> Result<(), Diagnostic> {
        let index = self.removable(old)?;
        if name != old {
            self.check_new(name)?;
        }
        if let Some(step) = self.steps.get_mut(index) {
            *step = Step::Caller { name, edit: Box::new(edit) };
        }
        Ok(())
    }

    /// Removes a stage. Stages that a correct model needs, such as `validate`, cannot be removed.
    ///
    /// # Errors
    /// `OP001` for an unknown stage, and for one that is needed.
    pub fn remove(&mut self, name: &str) -> Result<(), Diagnostic> {
        let index = self.removable(name)?;
        self.steps.remove(index);
        Ok(())
    }

    /// Runs the stages on `work`.
    pub(crate) fn run_steps(&self, host: &Host, work: &mut W) -> Result<(), Report> {
        for step in &self.steps {
            match step {
                Step::Own(own) if !(own.applies)(work) => {}
                Step::Own(own) => {
                    let stage = trace::stage(own.name);
                    (own.run)(host, work)?;
                    work.ended(stage.end());
                }
                Step::Caller { name, edit } => {
                    let stage = trace::stage(name);
                    let values = work.model().graph.values.len();
                    edit(work.model()).map_err(|error| failed(name, &*error))?;
                    check(name, values, work)?;
                    work.edited();
                    work.ended(stage.end());
                }
            }
        }
        Ok(())
    }

    fn insert(&mut self, index: usize, name: &'static str, edit: Edit<'a>) -> Result<(), Diagnostic> {
        self.check_new(name)?;
        self.steps.insert(index, Step::Caller { name, edit });
        Ok(())
    }

    fn check_new(&self, name: &str) -> Result<(), Diagnostic> {
        if self.names().contains(&name) {
            let message = format!("the pipeline has a stage `{name}` already");
            return Err(Diagnostic::error(Code::USAGE, message).help("give the stage a name of its own"));
        }
        Ok(())
    }

    fn index(&self, name: &str) -> Result<usize, Diagnostic> {
        if let Some(index) = self.steps.iter().position(|step| step.name() == name) {
            return Ok(index);
        }
        if let Some(last) = self.first.last().filter(|_| self.first.contains(&name)) {
            let message = format!("the stage `{name}` runs before there is a model");
            return Err(Diagnostic::error(Code::USAGE, message)
                .help(format!("stages of callers take a model, which exists after `{last}`")));
        }
        let message = format!("unknown stage `{name}`");
        Err(Diagnostic::error(Code::USAGE, message)
            .help(format!("the stages are {}", self.names().join(", "))))
    }

    fn removable(&self, name: &str) -> Result<usize, Diagnostic> {
        let index = if self.first.contains(&name) { None } else { Some(self.index(name)?) };
        let is_needed =
            |index: &usize| matches!(self.steps.get(*index), Some(Step::Own(Own { optional: false, .. })));
        index.filter(|index| !is_needed(index)).ok_or_else(|| {
            Diagnostic::error(Code::USAGE, format!("the stage `{name}` cannot be removed"))
                .help("the model would not be correct without it")
        })
    }
}

impl<W> Pipeline<'_, W> {
    /// The names of the stages, in order.
    pub fn names(&self) -> Vec<&'static str> {
        self.first.iter().copied().chain(self.steps.iter().map(Step::name)).collect()
    }
}

/// A stage's own error under its name. The stage may have left the model in any state.
fn failed(name: &str, error: &(dyn Error + 'static)) -> Report {
    let failed = match error.downcast_ref::<Diagnostic>() {
        Some(found) => Diagnostic {
            severity: Severity::Error,
            message: format!("the stage `{name}` failed: {}", found.message),
            // The origin may not be one of the model.
            origin: None,
            ..found.clone()
        },
        None => Diagnostic::error(Code::STAGE, format!("the stage `{name}` failed: {error}")),
    };
    failed.into()
}

/// Checks the model after a caller's stage; it had this number of values before.
fn check<W: Work>(name: &str, values: usize, work: &mut W) -> Result<(), Report> {
    let model = work.model();
    if model.graph.values.len() < values {
        let message = format!("the stage `{name}` replaced the graph");
        return Err(Diagnostic::error(Code::STAGE, message).help("edit the graph in place").into());
    }
    let structure = valid::structure(model);
    if structure.is_empty() {
        let opset = model.opset();
        complete_all(&mut model.graph, &mut model.symbols, opset);
    }
    let stated = work.stated().clone();
    let model = work.model();
    let mut found = if structure.is_empty() { valid::validate(model, &stated) } else { structure };
    found.retain(|finding| finding.severity == Severity::Error);
    for finding in &mut found {
        finding.code = Code::STAGE;
        finding.message = format!("the stage `{name}` left an invalid model: {}", finding.message);
    }
    if found.is_empty() { Ok(()) } else { Err(Report { diagnostics: found, origins: model.origins.clone() }) }
}
