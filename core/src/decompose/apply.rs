//! Puts the calls of a decomposition in the place of a call.

use rustc_hash::FxHashMap;

use super::{DecomposeOptions, Decomposed, Mode};
use crate::arena::Arena;
use crate::diagnose::{Code, Diagnostic};
use crate::host::Host;
use crate::meta;
use crate::normalise::edit::{Editor, each_nested, substitute};
use crate::program::text::{Condition, Template};
use crate::program::{Arg, Body, Call, Output, Val, Value, ValueType};
use crate::registry::{Decompositions, Resolved};
use crate::sym::{Dim, Symbols};

/// How deep decompositions may lead to others.
const DEPTH: usize = 16;

/// Decompositions at work on a program.
pub(super) struct Work<'a> {
    host: &'a Host,
    opset: i64,
    mode: Mode,
    tables: Vec<&'a Decompositions>,
    symbols: &'a mut Symbols,
    done: Decomposed,
    problems: Vec<Diagnostic>,
}

/// Calls, and what stands for values that they no longer compute.
struct Made {
    calls: Vec<Call>,
    replaced: FxHashMap<Val, Arg>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        host: &'a Host,
        opset: i64,
        options: &'a DecomposeOptions,
        symbols: &'a mut Symbols,
    ) -> Self {
        let own = options.tables.iter().rev();
        let tables = own.chain(&host.decompositions).filter(|table| !table.is_empty()).collect();
        let (done, problems) = (Decomposed::default(), Vec::new());
        Self { host, opset, mode: options.mode, tables, symbols, done, problems }
    }

    /// Whether there is nothing to use.
    pub(super) fn is_idle(&self) -> bool {
        self.tables.is_empty()
    }

    pub(super) fn finish(self) -> (Decomposed, Vec<Diagnostic>) {
        (self.done, self.problems)
    }

    /// Decomposes the calls of `body`, those of nested graphs first.
    pub(super) fn body(&mut self, body: &mut Body, depth: usize) {
        for call in &mut body.calls {
            each_nested(call, &mut |nested| self.body(nested, depth));
        }
        if !body.calls.iter().any(|call| self.is_wanted(call, &body.values)) {
            return;
        }
        let calls = std::mem::take(&mut body.calls);
        let mut editor = Editor::new(body);
        let mut replaced = FxHashMap::default();
        for mut call in calls {
            call.args.iter_mut().for_each(|arg| substitute(&mut arg.arg, &replaced));
            self.call(call, &mut editor, &mut replaced, depth);
        }
        body.outputs.iter_mut().for_each(|output| substitute(output, &replaced));
        editor.finish(body);
    }

    /// Adds `call`, or what it is made of.
    fn call(&mut self, call: Call, editor: &mut Editor, replaced: &mut FxHashMap<Val, Arg>, depth: usize) {
        if !self.is_wanted(&call, &editor.values) {
            editor.calls.push(call);
            return;
        }
        let fitting = self.fitting(&call, &editor.values);
        let Some((template, arguments)) = fitting else {
            editor.calls.push(call);
            return;
        };
        let made = if depth < DEPTH {
            self.instantiate(template, arguments, &call, editor)
        } else {
            Err("decompositions lead to each other without end".to_owned())
        };
        match made {
            Ok(made) => {
                *self.done.operators.entry(call.target.into()).or_default() += 1;
                replaced.extend(made.replaced);
                for mut inner in made.calls {
                    inner.args.iter_mut().for_each(|arg| substitute(&mut arg.arg, replaced));
                    self.call(inner, editor, replaced, depth + 1);
                }
            }
            Err(reason) => {
                let message = format!("the decomposition of `{}` cannot be used: {reason}", call.target);
                self.problems.push(Diagnostic::error(Code::DECOMPOSE, message).at(call.origin));
                editor.calls.push(call);
            }
        }
    }

    /// Whether there is a decomposition, and the call is one of those that are to be decomposed.
    fn is_wanted(&self, call: &Call, values: &Arena<Value>) -> bool {
        if self.tables.iter().all(|table| table.of(&call.target).is_empty()) {
            return false;
        }
        if self.mode == Mode::All {
            return true;
        }
        let mut complex = false;
        let mut visit = |val: Val| {
            complex |= values.find(val).and_then(|v| v.ty.as_tensor()).is_some_and(|t| t.dtype.is_complex());
        };
        call.args.iter().for_each(|arg| arg.arg.each_value(&mut visit));
        call.outputs.iter().for_each(|output| output.each_value(&mut visit));
        let found = self.host.registry.resolve(&call.target, self.opset, complex, &self.host.choice);
        !matches!(found, Resolved::Use(_) | Resolved::Conflict(..))
    }

    /// The first decomposition whose conditions hold, with the arguments for its parameters.
    fn fitting(&self, call: &Call, values: &Arena<Value>) -> Option<(&'a Template, Vec<Arg>)> {
        let templates = self.tables.iter().flat_map(|table| table.of(&call.target));
        let schema = self.host.schemas.get(&call.target);
        for template in templates {
            let argument = |(at, (name, _)): (usize, &(String, Val))| {
                let unnamed = || call.args.get(at).filter(|arg| arg.name.is_empty()).map(|arg| &arg.arg);
                let formal = || schema?.args.iter().find(|arg| arg.name == *name)?.default.as_ref();
                call.arg(name).or_else(unnamed).or_else(formal).cloned()
            };
            let arguments: Option<Vec<Arg>> = template.parameters.iter().enumerate().map(argument).collect();
            let Some(arguments) = arguments else { continue };
            if template.conditions.iter().all(|condition| holds(condition, &arguments, values)) {
                return Some((template, arguments));
            }
        }
        None
    }

    /// The calls of `template` for `call`. A result takes over the value, and so the name and the type, that it has
    /// in the program.
    fn instantiate(
        &mut self,
        template: &Template,
        arguments: Vec<Arg>,
        call: &Call,
        editor: &mut Editor,
    ) -> Result<Made, String> {
        let outputs = single_values(&call.outputs)?;
        let given = template.body.outputs.len();
        if given < outputs.len() {
            return Err(format!("it has {given} results, and {} are wanted", outputs.len()));
        }
        let mut values: FxHashMap<Val, Arg> =
            template.parameters.iter().map(|(_, val)| *val).zip(arguments).collect();
        let parameters: Vec<Val> = values.keys().copied().collect();
        for (wanted, result) in outputs.iter().zip(&template.body.outputs) {
            if let (Some(wanted), Arg::Value(own)) = (wanted, result)
                && !parameters.contains(own)
            {
                values.entry(*own).or_insert(Arg::Value(*wanted));
            }
        }
        let mut calls = Vec::with_capacity(template.body.calls.len());
        for inner in &template.body.calls {
            let mut new = inner.clone();
            new.origin = call.origin;
            for arg in &mut new.args {
                substitute(&mut arg.arg, &values);
            }
            if self.define(&mut new, &template.body.values, &mut values, editor)? {
                calls.push(new);
            }
        }
        let mut replaced = FxHashMap::default();
        for (wanted, result) in outputs.iter().zip(&template.body.outputs) {
            let mut result = result.clone();
            substitute(&mut result, &values);
            if let Some(wanted) = wanted.filter(|wanted| result != Arg::Value(*wanted)) {
                replaced.insert(wanted, result);
            }
        }
        Ok(Made { calls, replaced })
    }

    /// Gives the results of `call` values of the program, with types; tells whether it is needed.
    fn define(
        &mut self,
        call: &mut Call,
        names: &Arena<Value>,
        values: &mut FxHashMap<Val, Arg>,
        editor: &mut Editor,
    ) -> Result<bool, String> {
        let mut own = Vec::new();
        call.outputs.iter().for_each(|output| output.each_value(&mut |val| own.push(val)));
        if own.iter().any(|val| !values.contains_key(val)) {
            let schema = self.host.schemas.get(&call.target);
            let schema = schema.ok_or_else(|| format!("the schema of `{}` is not known", call.target))?;
            let types = meta::results(call, schema, &editor.values, self.symbols)?;
            if types.len() != own.len() {
                return Err(format!("`{}` gives {} results, not {}", call.target, types.len(), own.len()));
            }
            for (val, ty) in own.iter().zip(types) {
                if let ValueType::SymInt(Dim::Const(n)) = ty {
                    values.insert(*val, Arg::Int(n));
                    return Ok(false);
                }
                values.entry(*val).or_insert_with(|| Arg::Value(editor.fresh(&names[*val].name, ty)));
            }
        }
        let new = |val: Val| values.get(&val).and_then(Arg::as_value).unwrap_or(val);
        for output in &mut call.outputs {
            match output {
                Output::None => {}
                Output::Value(val) => *val = new(*val),
                Output::List(items) => items.iter_mut().flatten().for_each(|val| *val = new(*val)),
            }
        }
        Ok(true)
    }
}

/// The value of each result; `None` where there is none.
fn single_values(outputs: &[Output]) -> Result<Vec<Option<Val>>, String> {
    let single = |output: &Output| match output {
        Output::None => Ok(None),
        Output::Value(val) => Ok(Some(*val)),
        Output::List(_) => Err("it gives a list".to_owned()),
    };
    outputs.iter().map(single).collect()
}

fn holds(condition: &Condition, arguments: &[Arg], values: &Arena<Value>) -> bool {
    let argument = |at: &usize| arguments.get(*at);
    let same = |a: &Arg, b: &Arg| match (a, b) {
        (Arg::Int(n), Arg::Float(x)) | (Arg::Float(x), Arg::Int(n)) => *n as f64 == *x,
        (a, b) => a == b,
    };
    match condition {
        Condition::Is(at, arg) => argument(at).is_some_and(|a| same(a, arg)),
        Condition::IsNot(at, arg) => argument(at).is_some_and(|a| !same(a, arg)),
        Condition::Rank(at, rank) => {
            let value = argument(at).and_then(Arg::as_value).and_then(|val| values.find(val));
            value.and_then(|v| v.ty.as_tensor()).is_some_and(|ty| ty.shape.len() == *rank)
        }
    }
}
