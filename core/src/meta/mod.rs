//! Meta functions: what the types of a call's results must be, by its arguments and the facts of its operator.
//!
//! Lowerings take what the program states about values for true. A file whose arguments and types contradict
//! each other would therefore become another computation than PyTorch's, without a word. So they are held
//! against each other before anything is changed. Nothing is refused that could be right: sizes differ only
//! if they do so within the ranges of their symbols, or at the sizes that were traced.

mod cx;
mod dtype;
mod judge;
mod number;
mod result;
mod shape;

use std::collections::BTreeSet;

use self::cx::{Cx, Stop};
use self::dtype::Expected;
use self::judge::{Extent, Judge};
use self::shape::Shapes;
use crate::arena::Arena;
use crate::diagnose::{Code, Diagnostic};
use crate::program::{Arg, Body, Call, Output, Program, Val, Value};
use crate::registry::{Schema, Schemas, Term};
use crate::sym::{Dim, Symbols};
use crate::tensor::DType;

pub use dtype::promote;
pub use number::{Number, number};
pub use result::results;

/// Whether the operator computes each element of its result of those at the same place, in the type to which its
/// operands are promoted.
pub(crate) fn is_pointwise(schema: &Schema) -> bool {
    let named = |key: &str, names: &[&str]| matches!(schema.facts.terms(key), [term] if names.contains(&term.name.as_str()));
    named("dtype", &["bool", "promote", "float"]) && named("shape", &["broadcast"])
}

/// The element type in which an operator that compares its operands or promotes them computes.
pub(crate) fn computed_dtype(call: &Call, schema: &Schema, values: &Arena<Value>) -> Option<DType> {
    let term = schema.facts.term("dtype")?;
    if matches!(term.name.as_str(), "bool" | "promote" | "float") {
        return dtype_of(call, schema, 0, values);
    }
    None
}

/// The element type of a result, where the facts of the operator tell it.
pub(crate) fn dtype_of(call: &Call, schema: &Schema, result: usize, values: &Arena<Value>) -> Option<DType> {
    let term = of_result(schema.facts.terms("dtype"), result)?;
    let mut judge = Judge::new(&Symbols::default());
    let cx = Cx { call, schema, values, judge: &mut judge, term: &term.args };
    match dtype::infer(&cx, &term.name) {
        Ok(Expected::Is(dtype)) => Some(dtype),
        _ => None,
    }
}

/// What came of holding a program against itself.
#[derive(Debug, Default)]
pub struct Checked {
    /// Every contradiction.
    pub diagnostics: Vec<Diagnostic>,
    /// The calls about whose results something was known.
    pub known: usize,
    /// The calls with tensors among their results of which nothing is known.
    pub unknown: usize,
    /// The operators of those.
    pub operators: BTreeSet<String>,
}

/// Equalities between sizes that the calls of a program imply.
#[derive(Debug)]
pub struct Implied {
    /// The symbols and expressions.
    pub symbols: Symbols,
    /// The pairs that must be equal, sorted.
    pub pairs: Vec<(Dim, Dim)>,
}

impl Implied {
    /// No equalities.
    pub fn nothing(symbols: &Symbols) -> Self {
        Self { symbols: symbols.clone(), pairs: Vec::new() }
    }
}

/// The sizes that every call of `program` leaves no choice but to be equal.
pub fn implied(program: &Program, schemas: &Schemas) -> Implied {
    let mut checker = Checker { schemas, judge: Judge::new(&program.symbols), checked: Checked::default() };
    checker.body(&program.body, false);
    let mut pairs: Vec<_> = checker.judge.equal.into_iter().collect();
    pairs.sort_unstable();
    Implied { symbols: checker.judge.symbols, pairs }
}

/// Holds every call of `program` against what it states about the results.
pub fn check(program: &Program, schemas: &Schemas) -> Checked {
    let mut checker = Checker { schemas, judge: Judge::new(&program.symbols), checked: Checked::default() };
    checker.body(&program.body, false);
    checker.checked
}

struct Checker<'a> {
    schemas: &'a Schemas,
    judge: Judge,
    checked: Checked,
}

impl Checker<'_> {
    /// Checks a graph. Under `autocast`, operators compute in other types than their arguments have.
    fn body(&mut self, body: &Body, autocast: bool) {
        for call in &body.calls {
            let region = self.schemas.get(&call.target).and_then(|s| s.facts.term("region"));
            let autocast = autocast || region.is_some_and(|term| term.name == "autocast");
            for arg in &call.args {
                self.nested(&arg.arg, autocast);
            }
            self.call(body, call, autocast);
        }
    }

    fn nested(&mut self, arg: &Arg, autocast: bool) {
        match arg {
            Arg::Graph(graph) => self.body(&graph.body, autocast),
            Arg::List(items) => items.iter().for_each(|item| self.nested(item, autocast)),
            Arg::Dict(items) => items.iter().for_each(|(_, item)| self.nested(item, autocast)),
            _ => {}
        }
    }

    fn call(&mut self, body: &Body, call: &Call, autocast: bool) {
        let is_tensor = |val: &Val| body.values.find(*val).is_some_and(|v| v.ty.as_tensor().is_some());
        let mut tensors = false;
        call.outputs.iter().for_each(|o| o.each_value(&mut |v| tensors |= is_tensor(&v)));
        if !tensors {
            return;
        }
        let known = self.schemas.get(&call.target).map(|schema| self.results(body, call, schema, autocast));
        match known {
            Some(Ok(true)) => self.checked.known += 1,
            Some(Ok(false)) | None => {
                self.checked.unknown += 1;
                if !self.checked.operators.contains(call.target.as_str()) {
                    self.checked.operators.insert(call.target.to_string());
                }
            }
            Some(Err(problem)) => {
                let message =
                    format!("the call of `{}` contradicts the types that are stated: {problem}", call.target);
                let help = "the file was changed, or written wrongly: export the program again";
                let diagnostic =
                    Diagnostic::error(Code::READ_CONTRADICTION, message).at(call.origin).help(help);
                self.checked.diagnostics.push(diagnostic);
            }
        }
    }

    /// Whether anything is known about the results of `call`; what contradicts it.
    fn results(&mut self, body: &Body, call: &Call, schema: &Schema, autocast: bool) -> Result<bool, String> {
        let (shapes, dtypes) = (schema.facts.terms("shape"), schema.facts.terms("dtype"));
        let mut known = false;
        // What an operator returns of what it wrote is of the same type, unless it changes how a tensor looks.
        let own = schema.args.iter().find(|a| a.is_written()).filter(|_| is_in_place(schema));
        let own = own.map(|arg| Term { name: "same".to_owned(), args: vec![arg.name.clone()] });
        for (i, output) in call.outputs.iter().enumerate() {
            if let Some(term) = &own {
                let mut cx = Cx { call, schema, values: &body.values, judge: &mut self.judge, term: &[] };
                known |= settle(cx.shape(term, output))? | settle(cx.dtype(term, output))?;
                continue;
            }
            let mut cx = Cx { call, schema, values: &body.values, judge: &mut self.judge, term: &[] };
            if let Some(term) = of_result(shapes, i) {
                known |= settle(cx.shape(term, output))?;
            }
            if let (Some(term), false) = (of_result(dtypes, i), autocast) {
                known |= settle(cx.dtype(term, output))?;
            }
        }
        Ok(known)
    }
}

/// Whether all results of the operator are the argument that it writes, as it was but for its elements.
fn is_in_place(schema: &Schema) -> bool {
    let twin = schema.facts.term("twin").map_or("", |t| t.name.as_str());
    let written =
        |set: &str| schema.args.iter().any(|a| a.alias.as_ref().is_some_and(|a| a.write && a.set == set));
    schema.args.iter().filter(|a| a.is_written()).count() == 1
        && !matches!(twin, "view" | "extent" | "memory" | "out")
        && schema.returns.iter().all(|r| r.alias.as_ref().is_some_and(|a| written(&a.set)))
}

/// The term for a result: one alone holds of all.
fn of_result(terms: &[Term], index: usize) -> Option<&Term> {
    match terms {
        [only] => Some(only),
        all => all.get(index),
    }
}

fn settle(outcome: Result<(), Stop>) -> Result<bool, String> {
    match outcome {
        Ok(()) => Ok(true),
        Err(Stop::Unknown) => Ok(false),
        Err(Stop::Contradiction(problem)) => Err(problem),
    }
}

impl<'a> Cx<'a> {
    /// Holds the stated shapes of a result against those that `term` gives.
    fn shape(&mut self, term: &'a Term, output: &Output) -> Result<(), Stop> {
        self.term = &term.args;
        match (shape::infer(self, &term.name)?, output) {
            (Shapes::One(extents), Output::Value(val)) => self.same_shape(&extents, *val),
            (Shapes::List(shapes), Output::List(items)) => {
                if shapes.len() != items.len() {
                    let message =
                        format!("it gives {} tensors, and {} are stated", shapes.len(), items.len());
                    return Err(Stop::Contradiction(message));
                }
                shapes.iter().zip(items).try_for_each(|(extents, item)| match item {
                    Some(val) => self.same_shape(extents, *val),
                    None => Ok(()),
                })
            }
            _ => Err(Stop::Unknown),
        }
    }

    fn same_shape(&mut self, extents: &[Extent], val: Val) -> Result<(), Stop> {
        let Some(value) = self.values.find(val) else { return Err(Stop::Unknown) };
        let Some(stated) = value.ty.as_tensor() else { return Err(Stop::Unknown) };
        if extents.len() != stated.shape.len() {
            let (ours, theirs) = (extents.len(), stated.shape.len());
            let message =
                format!("`{}` has rank {ours} by its arguments, and rank {theirs} is stated", value.name);
            return Err(Stop::Contradiction(message));
        }
        for (axis, (extent, dim)) in extents.iter().zip(&stated.shape).enumerate() {
            if self.judge.differ(*extent, *dim) {
                let (ours, theirs) = (self.judge.show(*extent), self.judge.symbols.display(*dim));
                let name = &value.name;
                let message =
                    format!("axis {axis} of `{name}` is {ours} by its arguments, and {theirs} is stated");
                return Err(Stop::Contradiction(message));
            }
        }
        Ok(())
    }

    /// Holds the stated element types of a result against the one that `term` gives.
    fn dtype(&mut self, term: &'a Term, output: &Output) -> Result<(), Stop> {
        self.term = &term.args;
        let expected = dtype::infer(self, &term.name)?;
        let mut vals = Vec::new();
        output.each_value(&mut |v| vals.push(v));
        for value in vals.into_iter().filter_map(|v| self.values.find(v)) {
            let Some(stated) = value.ty.as_tensor() else { return Err(Stop::Unknown) };
            if !expected.admits(stated.dtype) {
                let name = &value.name;
                let message =
                    format!("`{name}` is {expected} by its arguments, and {} is stated", stated.dtype);
                return Err(Stop::Contradiction(message));
            }
        }
        Ok(())
    }
}
