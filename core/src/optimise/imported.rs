//! Models that were read. A file states fewer types than a model that was made here has, and nothing of what is a
//! parameter; and what the rules leave alone stays as it was.

use super::{Level, OptimiseOptions, Optimised, optimise, order, outline};
use crate::clean::once;
use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::host::Host;
use crate::ir::{Initializer, Model, Type, ValueId};
use crate::ops::infer::{OLDEST_INFERRED, infer_all};
use crate::tensor::DType;
use crate::valid::{self, Stated};

/// A model that was read, and what rules and passes did to it.
#[derive(Debug)]
pub struct Rewritten {
    /// The model.
    pub model: Model,
    /// What was done.
    pub optimised: Optimised,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Applies the rules and passes of `host` to a model that was read, and checks what comes out.
///
/// Its types are inferred, so that patches can be held against them; what the file did not state is forgotten again. An
/// initializer counts as a parameter, whose bytes are not looked at and whose name stays, unless it is a single element, or
/// a list of integers as operators take for axes and shapes. A model of an opset below 13, whose types are not inferred,
/// stays as it is, and a note says so.
///
/// # Errors
/// Those of [`optimise`], and `OP401` when what comes out is not a model.
pub fn imported(host: &Host, mut model: Model, options: &OptimiseOptions) -> Result<Rewritten, Report> {
    if options.level == Level::Nothing {
        return Ok(Rewritten { model, optimised: Optimised::default(), diagnostics: Vec::new() });
    }
    if model.opset() < OLDEST_INFERRED {
        let message = format!("types are not inferred at opset {}: the model stays as it is", model.opset());
        let note =
            Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::OPTIMISE_OPSET, message) };
        let note = note.help(format!("rules and passes take models from opset {OLDEST_INFERRED} on"));
        return Ok(Rewritten { model, optimised: Optimised::default(), diagnostics: vec![note] });
    }
    for initializer in &mut model.graph.initializers {
        initializer.weight |= !is_plain(initializer);
    }
    let recorded: Vec<(ValueId, Type, bool)> = (model.graph.values.iter())
        .map(|(id, value)| (id, value.ty.clone(), model.graph.is_returned(id)))
        .collect();
    let opset = model.opset();
    infer_all(&mut model.graph, &mut model.symbols, opset);
    // With types of its own the graph is checked as one that was made here.
    let header = model.header.take();
    let mut stated = Stated::default();
    let result = optimise(host, &mut model, &mut stated, options);
    model.header = header;
    let (mut optimised, mut diagnostics) = result?;
    once(&mut model.graph);
    optimised.memory = order(&mut model, options);
    optimised.outlined = outline(&mut model, options);
    for (id, ty, was_returned) in recorded {
        // An output has a type, also when it is another value than before.
        if was_returned || !model.graph.is_returned(id) {
            model.graph.values[id].ty = ty;
        }
    }
    let report = Report { diagnostics: valid::validate(&model, &stated), origins: model.origins.clone() };
    if report.has_errors() {
        return Err(report);
    }
    diagnostics.extend(report.diagnostics);
    Ok(Rewritten { model, optimised, diagnostics })
}

/// Whether an initializer is a number, or a list of integers such as operators take for axes and shapes.
fn is_plain(initializer: &Initializer) -> bool {
    let data = &initializer.data;
    let is_list = matches!(data.dtype, DType::I64 | DType::I32) && data.shape.len() <= 1;
    is_list || data.shape.iter().all(|extent| *extent == 1)
}
