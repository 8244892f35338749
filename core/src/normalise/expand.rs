//! Replaces a call by the calls of a template.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

use super::edit::{Editor, substitute};
use crate::arena::Arena;
use crate::meta;
use crate::program::text::{Condition, Template};
use crate::program::{Arg, Call, Output, Val, Value};
use crate::registry::{Schema, SchemaType, Schemas};
use crate::sym::Symbols;

/// The replacement of a call.
pub(crate) struct Expansion {
    /// The calls, in order.
    pub(crate) calls: Vec<Call>,
    /// The replacements of values that the calls do not compute.
    pub(crate) replaced: FxHashMap<Val, Arg>,
}

/// Returns the arguments of `call` for the parameters of `template`; `None` if the template does not fit the call.
pub(crate) fn fit(
    template: &Template,
    call: &Call,
    schema: Option<&Schema>,
    values: &Arena<Value>,
) -> Option<Vec<Arg>> {
    let argument = |(at, (name, _)): (usize, &(String, Val))| {
        let unnamed = || call.args.get(at).filter(|arg| arg.name.is_empty()).map(|arg| &arg.arg);
        let formal = || schema?.args.iter().find(|arg| arg.name == *name)?.default.as_ref();
        call.arg(name).or_else(unnamed).or_else(formal).cloned()
    };
    let arguments: Vec<Arg> = template.parameters.iter().enumerate().map(argument).collect::<Option<_>>()?;
    let fits = template.conditions.iter().all(|condition| holds(condition, &arguments, values));
    fits.then_some(arguments)
}

fn holds(condition: &Condition, arguments: &[Arg], values: &Arena<Value>) -> bool {
    let argument = |at: &usize| arguments.get(*at);
    let same = |a: &Arg, b: &Arg| match (a, b) {
        (Arg::Int(n), Arg::Float(x)) | (Arg::Float(x), Arg::Int(n)) => *n as f64 == *x,
        (a, b) => a == b,
    };
    let tensor = |at: &usize| {
        let value = argument(at).and_then(Arg::as_value).and_then(|val| values.find(val));
        value.and_then(|v| v.ty.as_tensor())
    };
    match condition {
        Condition::Is(at, arg) => argument(at).is_some_and(|a| same(a, arg)),
        Condition::IsNot(at, arg) => argument(at).is_some_and(|a| !same(a, arg)),
        Condition::Rank(at, rank) => tensor(at).is_some_and(|ty| ty.shape.len() == *rank),
        Condition::DType(at, dtypes) => tensor(at).is_some_and(|ty| dtypes.contains(&ty.dtype)),
        Condition::Shape(a, b) => tensor(a).zip(tensor(b)).is_some_and(|(a, b)| a.shape == b.shape),
        Condition::Size([(a, i), (b, j)]) => {
            let extents =
                tensor(a).and_then(|ty| ty.shape.get(*i)).zip(tensor(b).and_then(|ty| ty.shape.get(*j)));
            extents.is_some_and(|(a, b)| a == b)
        }
    }
}

/// Returns the calls of `template` for `call`, with the arguments that [`fit`] found. A result takes over the value,
/// with its name and type, that it has in the program.
///
/// # Errors
/// The reason why this is impossible: the results differ in form, or the type of a value is not known.
pub(crate) fn expand(
    template: &Template,
    arguments: Vec<Arg>,
    call: &Call,
    schemas: &Schemas,
    symbols: &mut Symbols,
    editor: &mut Editor,
) -> Result<Expansion, String> {
    let parameters: FxHashSet<Val> = template.parameters.iter().map(|(_, val)| *val).collect();
    let known = template.parameters.iter().map(|(_, val)| *val).zip(arguments).collect();
    let pairs = pairs(&call.outputs, &template.body.outputs)?;
    let needed = needed(template, schemas, &pairs);
    let mut expander = Expander { template, schemas, symbols, editor, known, needed };
    for (wanted, result) in &pairs {
        if let Arg::Value(own) = result
            && !parameters.contains(own)
        {
            expander.known.entry(*own).or_insert_with(|| wanted.clone());
        }
    }
    let mut calls = Vec::with_capacity(template.body.calls.len());
    for inner in &template.body.calls {
        if !expander.is_needed(inner) {
            continue;
        }
        let mut new = inner.clone();
        new.origin = call.origin;
        new.args.iter_mut().for_each(|arg| substitute(&mut arg.arg, &expander.known));
        if expander.define(&mut new)? {
            calls.push(new);
        }
    }
    let mut replaced = FxHashMap::default();
    for (wanted, result) in pairs {
        let mut result = result.clone();
        substitute(&mut result, &expander.known);
        replace(&wanted, result, &mut replaced)?;
    }
    Ok(Expansion { calls, replaced })
}

/// Returns the values that the call defines, each with the result of the template; a list may be one result.
fn pairs<'t>(outputs: &[Output], results: &'t [Arg]) -> Result<Vec<(Arg, &'t Arg)>, String> {
    let given = results.len();
    let mut pairs = Vec::new();
    for (i, output) in outputs.iter().enumerate() {
        let wanted = match output {
            Output::None => continue,
            Output::Value(val) => Arg::Value(*val),
            Output::List(items) => {
                Arg::List(items.iter().map(|item| item.map_or(Arg::None, Arg::Value)).collect())
            }
        };
        let result =
            results.get(i).ok_or_else(|| format!("it has {given} results instead of {}", outputs.len()))?;
        match (wanted, result) {
            (Arg::List(items), Arg::List(own)) => {
                if items.len() != own.len() {
                    return Err(format!("it returns {} tensors, but {} are needed", own.len(), items.len()));
                }
                pairs.extend(items.into_iter().zip(own));
            }
            (wanted, result) => pairs.push((wanted, result)),
        }
    }
    Ok(pairs)
}

/// Returns the values of the template that its results, or calls that write, depend on.
fn needed(template: &Template, schemas: &Schemas, pairs: &[(Arg, &Arg)]) -> FxHashSet<Val> {
    let mut needed = FxHashSet::default();
    for (wanted, result) in pairs {
        if *wanted != Arg::None {
            result.each_value(&mut |val| _ = needed.insert(val));
        }
    }
    for call in template.body.calls.iter().rev() {
        let mut wanted = writes(call, schemas);
        call.outputs.iter().for_each(|o| o.each_value(&mut |val| wanted |= needed.contains(&val)));
        if wanted {
            call.args.iter().for_each(|arg| arg.arg.each_value(&mut |val| _ = needed.insert(val)));
        }
    }
    needed
}

fn writes(call: &Call, schemas: &Schemas) -> bool {
    schemas.get(&call.target).is_some_and(Schema::is_mutating)
}

/// Replaces the values of `wanted` by `result`.
fn replace(wanted: &Arg, result: Arg, replaced: &mut FxHashMap<Val, Arg>) -> Result<(), String> {
    match (wanted, result) {
        (Arg::Value(val), result) if result != Arg::Value(*val) => {
            if matches!(result, Arg::List(_)) {
                return Err("it returns a list for a single result".to_owned());
            }
            replaced.insert(*val, result);
            Ok(())
        }
        (Arg::List(items), Arg::List(results)) if items.len() == results.len() => {
            items.iter().zip(results).try_for_each(|(item, result)| replace(item, result, replaced))
        }
        (Arg::List(_), _) => Err("it returns a list of another length".to_owned()),
        _ => Ok(()),
    }
}

struct Expander<'a> {
    template: &'a Template,
    schemas: &'a Schemas,
    symbols: &'a mut Symbols,
    editor: &'a mut Editor,
    /// The arguments bound to the values of the template: values of the program, numbers, lists.
    known: FxHashMap<Val, Arg>,
    needed: FxHashSet<Val>,
}

impl Expander<'_> {
    fn is_needed(&self, call: &Call) -> bool {
        let mut needed = writes(call, self.schemas);
        call.outputs.iter().for_each(|o| o.each_value(&mut |val| needed |= self.needed.contains(&val)));
        needed
    }

    fn fresh(&mut self, own: Val, ty: crate::program::ValueType) -> Val {
        let stem = self.template.body.values.find(own).map_or("", |v| v.name.as_str());
        self.editor.fresh(stem, ty)
    }

    /// Assigns values of the program to the results of `call`; returns whether the call is needed.
    fn define(&mut self, call: &mut Call) -> Result<bool, String> {
        if !writes(call, self.schemas) {
            let unneeded =
                |output: &&mut Output| matches!(output, Output::Value(val) if !self.needed.contains(val));
            call.outputs.iter_mut().filter(unneeded).for_each(|output| *output = Output::None);
        }
        if let Some(number) = meta::number(call, &self.editor.values, self.symbols)? {
            let [Output::Value(own)] = call.outputs.as_slice() else {
                return Err(format!("`{}` returns one number", call.target));
            };
            let own = *own;
            if let Some(arg) = number.known() {
                self.known.insert(own, arg);
                return Ok(false);
            }
            let val = match self.known.get(&own).and_then(Arg::as_value) {
                Some(val) => val,
                None => self.fresh(own, number.ty()),
            };
            self.known.insert(own, Arg::Value(val));
            call.outputs = smallvec![Output::Value(val)];
            return Ok(true);
        }
        let mut own = Vec::new();
        call.outputs.iter().for_each(|output| output.each_value(&mut |val| own.push(val)));
        if own.iter().any(|val| !self.known.contains_key(val)) {
            self.define_typed(call)?;
        }
        let schema = self.schemas.get(&call.target);
        for (i, output) in call.outputs.iter_mut().enumerate() {
            let returned = schema.and_then(|s| s.returns.get(i));
            let gives_list = returned.map(|r| matches!(r.ty, SchemaType::List(..)));
            self.rename(output);
            if gives_list
                .is_some_and(|list| list != matches!(output, Output::List(_)) && *output != Output::None)
            {
                let form = if gives_list == Some(true) { "a list" } else { "one tensor" };
                return Err(format!("`{}` returns {form}, but the other is needed", call.target));
            }
        }
        Ok(true)
    }

    /// Assigns new values to the other results of `call`, with the types that facts determine.
    fn define_typed(&mut self, call: &Call) -> Result<(), String> {
        let schema = self.schemas.get(&call.target);
        let schema = schema.ok_or_else(|| format!("the schema of `{}` is not known", call.target))?;
        let all = meta::results(call, schema, &self.editor.values, self.symbols)?;
        for (i, (output, types)) in call.outputs.iter().zip(all).enumerate() {
            let is_list = schema.returns.get(i).is_some_and(|r| matches!(r.ty, SchemaType::List(..)));
            let count = types.len();
            let owns: Vec<Val> = match output {
                Output::None => continue,
                Output::Value(own) if is_list => {
                    if !self.known.contains_key(own) {
                        let items = types.into_iter().map(|ty| Arg::Value(self.fresh(*own, ty))).collect();
                        self.known.insert(*own, Arg::List(items));
                    }
                    continue;
                }
                Output::Value(own) => vec![*own],
                Output::List(items) => items.iter().flatten().copied().collect(),
            };
            if owns.len() != count {
                return Err(format!(
                    "`{}` returns {count} tensors, but {} are used",
                    call.target,
                    owns.len()
                ));
            }
            for (own, ty) in owns.into_iter().zip(types) {
                if !self.known.contains_key(&own) {
                    let val = self.fresh(own, ty);
                    self.known.insert(own, Arg::Value(val));
                }
            }
        }
        Ok(())
    }

    fn rename(&self, output: &mut Output) {
        let new = |val: Val| self.known.get(&val).and_then(Arg::as_value).unwrap_or(val);
        match output {
            Output::None => {}
            Output::Value(val) => match self.known.get(val) {
                Some(Arg::List(items)) => *output = Output::List(items.iter().map(Arg::as_value).collect()),
                _ => *val = new(*val),
            },
            Output::List(items) => items.iter_mut().flatten().for_each(|val| *val = new(*val)),
        }
    }
}
