//! Meta functions: compute the types of a call's results from its arguments and the facts of its operator.
//!
//! Lowerings trust the types that the program states. A file whose arguments and types contradict each other
//! would silently become another computation than PyTorch's, so the two are compared before anything is
//! changed. Nothing that could be correct is refused: sizes differ only if they do so within the ranges of
//! their symbols, or at the traced sizes.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod cx;
mod dtype;
mod judge;
mod number;
mod operands;
mod region;
mod result;
mod shape;

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use self::cx::{Cx, Stop};
use self::dtype::Expected;
use self::judge::{Extent, Judge};
use self::shape::Shapes;
use crate::arena::Arena;
use crate::diagnose::{Code, Diagnostic, OriginId, Origins};
use crate::program::{Arg, Body, Call, Output, Program, Val, Value};
use crate::registry::{Schema, SchemaArg, Schemas, Term};
use crate::sym::{Dim, Symbols};
use crate::tensor::DType;

pub use dtype::promote;
pub use number::{Number, number};
pub use result::results;

/// Whether the operator is elementwise, in the type to which its operands are promoted.
pub(crate) fn is_pointwise(schema: &Schema) -> bool {
    let named = |key: &str, names: &[&str]| matches!(schema.facts.terms(key), [term] if names.contains(&term.name.as_str()));
    named("dtype", &["bool", "promote", "float"]) && named("shape", &["broadcast"])
}

/// Returns the element type in which an operator that compares or promotes its operands computes.
pub(crate) fn computed_dtype(call: &Call, schema: &Schema, values: &Arena<Value>) -> Option<DType> {
    let term = schema.facts.term("dtype")?;
    if matches!(term.name.as_str(), "bool" | "promote" | "float") {
        return dtype_of(call, schema, 0, values);
    }
    None
}

/// Returns the element type of a result, if the facts of the operator determine it.
pub(crate) fn dtype_of(call: &Call, schema: &Schema, result: usize, values: &Arena<Value>) -> Option<DType> {
    let term = of_result(schema.facts.terms("dtype"), result)?;
    let mut judge = Judge::new(&Symbols::default());
    let cx = Cx { call, schema, values, judge: &mut judge, term: &term.args };
    match dtype::infer(&cx, &term.name) {
        Ok(Expected::Is(dtype)) => Some(dtype),
        _ => None,
    }
}

/// The result of checking a program's stated types.
#[derive(Debug, Default)]
pub struct Checked {
    /// Every contradiction.
    pub diagnostics: Vec<Diagnostic>,
    /// The calls about whose results something was known.
    pub known: usize,
    /// The number of calls with tensor results about which nothing is known.
    pub unknown: usize,
    /// The operators of those.
    pub operators: BTreeSet<String>,
    /// The origins of the calls whose results all have the computed element types and shapes.
    pub confirmed: FxHashSet<OriginId>,
    /// Where the calls come from whose results all have known shapes, which are as stated.
    pub shaped: FxHashSet<OriginId>,
}

impl Checked {
    /// Blames the file as well as the plugin for nodes that are invalid or of unexpected type, if the call's
    /// stated types could not be confirmed without its lowering.
    pub fn attribute(&self, diagnostics: &mut [Diagnostic], origins: &Origins) {
        for diagnostic in diagnostics.iter_mut().filter(|d| d.code == Code::VALIDATE) {
            let Some(origin) = diagnostic.origin.filter(|origin| !self.confirmed.contains(origin)) else {
                continue;
            };
            let target = &origins.get(origin).target;
            diagnostic.code = Code::READ_CONTRADICTION;
            diagnostic.message = format!(
                "the call of `{target}` contradicts the types that are stated, or its lowering is wrong: {}",
                diagnostic.message
            );
            let help = "export the program again; if the message stays, the plugin that lowers the operator is at fault";
            diagnostic.help = Some(help.to_owned());
        }
    }
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

/// Returns the sizes that the calls of `program` force to be equal.
pub fn implied(program: &Program, schemas: &Schemas) -> Implied {
    let mut checker = Checker { schemas, judge: Judge::new(&program.symbols), checked: Checked::default() };
    checker.body(&program.body, false, false);
    let mut pairs: Vec<_> = checker.judge.equal.into_iter().collect();
    pairs.sort_unstable();
    Implied { symbols: checker.judge.symbols, pairs }
}

/// Checks the stated types of the results of every call of `program`.
pub fn check(program: &Program, schemas: &Schemas) -> Checked {
    let mut checker = Checker { schemas, judge: Judge::new(&program.symbols), checked: Checked::default() };
    checker.body(&program.body, false, false);
    checker.checked
}

struct Checker<'a> {
    schemas: &'a Schemas,
    judge: Judge,
    checked: Checked,
}

impl Checker<'_> {
    /// Checks a graph. Under `autocast`, operators compute in other types than their arguments have. A graph is `nested` if
    /// its inputs are not known to have the types of the arguments that are passed.
    fn body(&mut self, body: &Body, autocast: bool, nested: bool) {
        for call in &body.calls {
            let region = self.schemas.get(&call.target).and_then(|s| s.facts.term("region"));
            if region.is_some()
                && let Some(problem) = region::contradiction(call, &body.values, &mut self.judge)
            {
                self.contradiction(call, &problem);
            }
            let autocast = autocast || region.is_some_and(|term| term.name == "autocast");
            let graph = region.filter(|_| !nested).and_then(|_| region::bound(call, &body.values));
            for arg in &call.args {
                self.nested(&arg.arg, autocast, graph.is_none());
            }
            if graph.is_some_and(|graph| region::returns(call, &body.values, graph)) {
                self.checked.shaped.insert(call.origin);
            }
            self.call(body, call, autocast, nested);
        }
    }

    fn nested(&mut self, arg: &Arg, autocast: bool, nested: bool) {
        match arg {
            Arg::Graph(graph) => self.body(&graph.body, autocast, nested),
            Arg::List(items) => items.iter().for_each(|item| self.nested(item, autocast, nested)),
            Arg::Dict(items) => items.iter().for_each(|(_, item)| self.nested(item, autocast, nested)),
            _ => {}
        }
    }

    fn call(&mut self, body: &Body, call: &Call, autocast: bool, nested: bool) {
        let is_tensor = |val: &Val| body.values.find(*val).is_some_and(|v| v.ty.as_tensor().is_some());
        let mut tensors = false;
        call.outputs.iter().for_each(|o| o.each_value(&mut |v| tensors |= is_tensor(&v)));
        if !tensors {
            return;
        }
        let known = self.schemas.get(&call.target).map(|schema| self.results(body, call, schema, autocast));
        if let Some(Ok((_, true))) = known
            && !nested
        {
            self.checked.shaped.insert(call.origin);
        }
        match known.map(|known| known.map(|(known, _)| known)) {
            Some(Ok(Coverage::Full)) => {
                self.checked.known = self.checked.known.saturating_add(1);
                if !nested {
                    self.checked.confirmed.insert(call.origin);
                }
            }
            Some(Ok(Coverage::Partial)) => self.checked.known = self.checked.known.saturating_add(1),
            Some(Ok(Coverage::None)) | None => {
                self.checked.unknown = self.checked.unknown.saturating_add(1);
                if !self.checked.operators.contains(call.target.as_str()) {
                    self.checked.operators.insert(call.target.to_string());
                }
            }
            Some(Err(problem)) => self.contradiction(call, &problem),
        }
    }

    fn contradiction(&mut self, call: &Call, problem: &str) {
        let message =
            format!("the call of `{}` contradicts the types that are stated: {problem}", call.target);
        let help = "the file was changed, or written wrongly: export the program again";
        let diagnostic = Diagnostic::error(Code::READ_CONTRADICTION, message).at(call.origin).help(help);
        self.checked.diagnostics.push(diagnostic);
    }

    /// Checks the results of `call`, and returns which of their types were known, and whether all shapes were.
    ///
    /// # Errors
    /// The contradiction, in words.
    fn results(
        &mut self,
        body: &Body,
        call: &Call,
        schema: &Schema,
        autocast: bool,
    ) -> Result<(Coverage, bool), String> {
        let (shapes, dtypes) = (schema.facts.terms("shape"), schema.facts.terms("dtype"));
        let (mut any, mut all, mut shaped) = (false, true, true);
        if !autocast {
            for term in schema.facts.terms("operands") {
                let mut cx =
                    Cx { call, schema, values: &body.values, judge: &mut self.judge, term: &term.args };
                settle(operands::check(&mut cx, &term.name))?;
            }
        }
        // A result that aliases a written argument has the argument's type, unless the operator changes its shape or
        // strides.
        let own = schema.args.iter().find(|a| a.is_written()).filter(|_| is_in_place(schema));
        let own = own.map(|arg| Term { name: "same".to_owned(), args: vec![arg.name.clone()] });
        for (i, output) in call.outputs.iter().enumerate().filter(|(_, output)| **output != Output::None) {
            let mut cx = Cx { call, schema, values: &body.values, judge: &mut self.judge, term: &[] };
            let shape = own.as_ref().or_else(|| of_result(shapes, i));
            let dtype = own.as_ref().or_else(|| of_result(dtypes, i).filter(|_| !autocast));
            let shape = shape.map_or(Ok(false), |term| settle(cx.shape(term, output)))?;
            let dtype = dtype.map_or(Ok(false), |term| settle(cx.dtype(term, output)))?;
            any |= shape | dtype;
            all &= shape & dtype;
            shaped &= shape;
        }
        Ok((
            match (
                any,
                all && examines(schema, call, &["shape"]) && examines(schema, call, &["dtype", "operands"]),
            ) {
                (false, _) => Coverage::None,
                (true, false) => Coverage::Partial,
                (true, true) => Coverage::Full,
            },
            shaped,
        ))
    }
}

/// Whether the facts of these keys read every tensor that the call takes.
fn examines(schema: &Schema, call: &Call, keys: &[&str]) -> bool {
    let terms: Vec<&Term> = keys.iter().flat_map(|key| schema.facts.terms(key)).collect();
    let names: FxHashSet<&str> = terms
        .iter()
        .flat_map(|t| &t.args)
        .map(|name| name.split_once(':').map_or(name.as_str(), |(name, _)| name))
        .collect();
    let holds_tensors = |arg: &Arg| match arg {
        Arg::Value(_) => true,
        Arg::List(items) => items.iter().any(|item| matches!(item, Arg::Value(_))),
        _ => false,
    };
    // A term of a shape that names no tensor argument refers to the first one.
    let given = |i: usize, formal: &SchemaArg| {
        let unnamed = || call.args.get(i).filter(|a| a.name.is_empty()).map(|a| &a.arg);
        call.arg(&formal.name).or_else(unnamed).is_some_and(holds_tensors)
    };
    let tensors: Vec<usize> =
        schema.args.iter().enumerate().filter(|(i, formal)| given(*i, formal)).map(|(i, _)| i).collect();
    let named = |i: &usize| schema.args.get(*i).is_some_and(|formal| names.contains(formal.name.as_str()));
    let implied = keys == ["shape"] && !tensors.iter().any(named);
    tensors.iter().all(|i| named(i) || implied && *i == 0)
}

/// The size to which the facts of an operator determine the results of a call.
enum Coverage {
    /// Neither an element type nor a shape.
    None,
    /// Some of them.
    Partial,
    /// The element type and the shape of every result.
    Full,
}

/// Whether all results of the operator are the argument that it writes, with only its elements changed.
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
    /// Checks the stated shapes of a result against those of `term`.
    fn shape(&mut self, term: &'a Term, output: &Output) -> Result<(), Stop> {
        self.term = &term.args;
        match (shape::infer(self, &term.name)?, output) {
            (Shapes::One(extents), Output::Value(val)) => self.same_shape(&extents, *val),
            (Shapes::List(shapes), Output::List(items)) => {
                if shapes.len() != items.len() {
                    let message =
                        format!("it returns {} tensors, but {} are stated", shapes.len(), items.len());
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

    /// Checks the stated element types of a result against that of `term`.
    fn dtype(&mut self, term: &'a Term, output: &Output) -> Result<(), Stop> {
        self.term = &term.args;
        let mut vals = Vec::new();
        output.each_value(&mut |v| vals.push(v));
        let expected = match term.name.as_str() {
            "each" => self.tensors(0)?.into_iter().map(|ty| Expected::Is(ty.dtype)).collect(),
            name => vec![dtype::infer(self, name)?; vals.len()],
        };
        for (value, expected) in
            vals.into_iter().zip(expected).filter_map(|(v, e)| Some((self.values.find(v)?, e)))
        {
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
