//! Helpers of the steps: fresh names, new calls, and replacing values.

use ecow::eco_format;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

use crate::Name;
use crate::arena::Arena;
use crate::diagnose::OriginId;
use crate::program::{Arg, Body, Call, NamedArg, Output, Val, Value, ValueType};

/// Builds the new calls of a body.
pub(crate) struct Editor {
    /// Every value of the body.
    pub(crate) values: Arena<Value>,
    /// The new calls.
    pub(crate) calls: Vec<Call>,
    /// The names in use, with the next suffix to try.
    names: FxHashMap<Name, u32>,
}

impl Editor {
    /// Takes the values of `body`, and returns its calls to be rewritten; [`Editor::finish`] puts both
    /// back.
    pub(crate) fn rewrite(body: &mut Body) -> (Self, Vec<Call>) {
        let values = std::mem::take(&mut body.values);
        let names = values.iter().map(|(_, v)| (v.name.clone(), 1)).collect();
        let calls = std::mem::take(&mut body.calls);
        // Reserves the capacity: a growing list is in memory twice whenever it moves.
        (Self { values, calls: Vec::with_capacity(calls.len()), names }, calls)
    }

    /// Puts the values and the new calls into `body`.
    pub(crate) fn finish(self, body: &mut Body) {
        body.values = self.values;
        body.calls = self.calls;
    }

    /// A new value, named `stem` or `stem_1`, `stem_2`, ….
    pub(crate) fn fresh(&mut self, stem: &str, ty: ValueType) -> Val {
        let name = match self.names.get_mut(stem) {
            None => Name::from(stem),
            Some(next) => {
                let mut n = *next;
                let mut name = eco_format!("{stem}_{n}");
                while self.names.contains_key(&name) {
                    n += 1;
                    name = eco_format!("{stem}_{n}");
                }
                self.names.insert(stem.into(), n + 1);
                name
            }
        };
        self.names.insert(name.clone(), 1);
        self.values.push(Value { name, ty })
    }

    /// Adds a call with a single new result of type `ty` and returns the result.
    pub(super) fn emit(&mut self, target: &str, args: Vec<NamedArg>, ty: ValueType, origin: OriginId) -> Val {
        let stem = target.split('.').nth(1).unwrap_or(target);
        let val = self.fresh(stem, ty);
        self.calls.push(Call { target: target.into(), args, outputs: smallvec![Output::Value(val)], origin });
        val
    }

    /// The type of `val`, which must be a value of this body.
    pub(super) fn ty(&self, val: Val) -> &ValueType {
        &self.values[val].ty
    }
}

/// A named argument.
pub(super) fn named(name: &str, arg: impl Into<Arg>) -> NamedArg {
    NamedArg { name: name.into(), arg: arg.into() }
}

impl From<Val> for Arg {
    fn from(val: Val) -> Self {
        Arg::Value(val)
    }
}

impl From<i64> for Arg {
    fn from(n: i64) -> Self {
        Arg::Int(n)
    }
}

impl From<f64> for Arg {
    fn from(x: f64) -> Self {
        Arg::Float(x)
    }
}

impl From<bool> for Arg {
    fn from(b: bool) -> Self {
        Arg::Bool(b)
    }
}

/// A list argument of integers.
pub(super) fn ints(items: impl IntoIterator<Item = i64>) -> Arg {
    Arg::List(items.into_iter().map(Arg::Int).collect())
}

/// Substitutes the replaced values inside `arg`.
pub(crate) fn substitute(arg: &mut Arg, replaced: &FxHashMap<Val, Arg>) {
    match arg {
        Arg::Value(val) => {
            if let Some(new) = replaced.get(val) {
                *arg = new.clone();
            }
        }
        Arg::List(items) => items.iter_mut().for_each(|item| substitute(item, replaced)),
        Arg::Dict(items) => items.iter_mut().for_each(|(_, item)| substitute(item, replaced)),
        _ => {}
    }
}

/// Calls `visit` on every nested graph that is an argument of `call`.
pub(crate) fn each_nested(call: &mut Call, visit: &mut impl FnMut(&mut Body)) {
    fn walk(arg: &mut Arg, visit: &mut impl FnMut(&mut Body)) {
        match arg {
            Arg::Graph(graph) => visit(&mut graph.body),
            Arg::List(items) => items.iter_mut().for_each(|item| walk(item, visit)),
            Arg::Dict(items) => items.iter_mut().for_each(|(_, item)| walk(item, visit)),
            _ => {}
        }
    }
    for arg in &mut call.args {
        walk(&mut arg.arg, visit);
    }
}

/// Whether the target is one of Python or of control flow, which have no schemas.
pub(super) fn is_builtin(target: &str) -> bool {
    matches!(parts(target).0, "_operator" | "higher_order" | "torch" | "math" | "builtins" | "")
}

/// The parts of a target: namespace, operator, overload.
pub(super) fn parts(target: &str) -> (&str, &str, &str) {
    let (namespace, rest) = target.split_once('.').unwrap_or(("", target));
    let (op, overload) = rest.rsplit_once('.').unwrap_or((rest, ""));
    (namespace, op, overload)
}
