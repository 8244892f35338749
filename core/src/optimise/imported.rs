//! Models read from ONNX files. Unlike a converted model, a file states few types and does not mark its
//! parameters; and everything that the rules leave alone must not change.

use rustc_hash::FxHashSet;

use super::{Level, OptimiseOptions, Optimised, clean_forms, equal, optimise, order, outline, rewrite_forms};
use crate::clean::once;
use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::host::Host;
use crate::ir::{Initializer, Model, Type, ValueId};
use crate::legalise::{LegaliseOptions, Legalised, legalise};
use crate::ops::infer::{OLDEST_INFERRED, infer_all};
use crate::tensor::DType;
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
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Applies the rules and passes of `host` to an imported model, makes it fit for its target, and checks the result.
///
/// If nobody named the target, a model at [`Level::Nothing`] does not change. Types are inferred so that patches can be
/// checked against them; types that the file did not state are dropped again. An initializer counts as a parameter,
/// whose bytes are not read and whose name stays, unless it is a single element, or a list of integers such as axes and
/// shapes. A model of an opset below 13, whose types are not inferred, does not change, and a note says so.
///
/// # Errors
/// Those of [`optimise`] and [`legalise`], and `OP401` if the result is not a valid model.
pub fn imported(
    host: &Host,
    mut model: Model,
    options: &OptimiseOptions,
    target: &LegaliseOptions,
) -> Result<Rewritten, Report> {
    let unchanged = |model, diagnostics| Rewritten {
        model,
        optimised: Optimised::default(),
        legalised: Legalised::default(),
        diagnostics,
    };
    if options.level == Level::Nothing && !target.demanded {
        return Ok(unchanged(model, Vec::new()));
    }
    if model.opset() < OLDEST_INFERRED {
        let message = format!("types are not inferred at opset {}: the model is unchanged", model.opset());
        let note =
            Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::OPTIMISE_OPSET, message) };
        let note = note.help(format!("rules and passes take models from opset {OLDEST_INFERRED} on"));
        return Ok(unchanged(model, vec![note]));
    }
    for initializer in &mut model.graph.initializers {
        initializer.weight |= !is_plain(initializer);
    }
    let mut recorded: Vec<(ValueId, Type)> =
        model.graph.values.iter().map(|(id, value)| (id, value.ty.clone())).collect();
    let returned = outputs(&model);
    let opset = model.opset();
    infer_all(&mut model.graph, &mut model.symbols, opset);
    // With inferred types, the graph is checked like a converted one.
    let origin = std::mem::take(&mut model.origin);
    let mut stated = StatedTypes::default();
    let options = &OptimiseOptions { target: target.target.clone(), ..options.clone() };
    let (mut equated, equalities) = equal::equate(&mut model, &mut stated);
    for (_, ty) in &mut recorded {
        equated.apply(&mut model.symbols, ty);
    }
    let target = &LegaliseOptions { keep_bits: options.level <= Level::Exact, ..target.clone() };
    let result = optimise(host, &mut model, &mut stated, options);
    let legalised = result.map_err(Report::from).and_then(|done| Ok((done, legalise(&mut model, target)?)));
    model.origin = origin;
    let ((mut optimised, mut diagnostics), (legalised, notes)) = legalised?;
    diagnostics.splice(0..0, equalities);
    diagnostics.extend(notes);
    if !legalised.computed.is_empty() || !legalised.replaced.is_empty() {
        clean_forms(&mut model, options, &mut optimised);
        // Otherwise, the next run would find these matches.
        diagnostics.extend(rewrite_forms(host, &mut model, &mut stated, options, &mut optimised));
    }
    once(&mut model.graph);
    optimised.memory = order(&mut model, options);
    optimised.outlined = outline(&mut model, options);
    let returns = outputs(&model);
    for (id, ty) in recorded {
        // An output of the model must have a type, even if it is now another value.
        if returned.contains(&id) || !returns.contains(&id) {
            model.graph.values[id].ty = ty;
        }
    }
    let report = Report { diagnostics: valid::validate(&model, &stated), origins: model.origins.clone() };
    if report.has_errors() {
        return Err(report);
    }
    diagnostics.extend(report.diagnostics);
    Ok(Rewritten { model, optimised, legalised, diagnostics })
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
