//! A program at sizes that the user states: symbols become numbers in everything that is said with them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Port;
use super::constraints::{Constraints, Relation};
use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::meta::{self, Checked, Number};
use crate::onnx::AxisSize;
use crate::program::{Arg, Body, Call, InputKind, Output, Program, TensorType, Val, ValueType};
use crate::registry::Schemas;
use crate::sym::{Dim, Range, Substitution, SymId, Symbol, Symbols};

/// How often equalities are followed from one symbol to another.
const ROUNDS: usize = 8;

/// Specializes a program to the given sizes. Sizes that follow from them become numbers too: expressions, other
/// dimensions that the program requires to be equal, and symbolic integers that are arguments. A program that
/// has the sizes already stays as it is.
///
/// A size of 1 is taken where the range starts at 2, which is where PyTorch starts it by default, and where each size and
/// each type that depends on it is known to hold at 1; a note is returned.
///
/// # Errors
/// `OP307` for an axis that there is not; `OP309` for a size that the program does not take: outside of the
/// range of its symbol, or against a guard, an equality or an assertion.
pub fn fix(
    program: &mut Program,
    schemas: &Schemas,
    sizes: &[AxisSize],
) -> Result<Option<Diagnostic>, Report> {
    if sizes.is_empty() {
        return Ok(None);
    }
    let mut fixing = Fixing::new(said(sizes));
    for size in sizes {
        fixing.axis(program, size);
    }
    if fixing.problems.is_empty() && !fixing.with.is_empty() {
        let before = program.clone();
        let constraints = fixing.follow(program, schemas);
        if fixing.problems.is_empty() {
            fixing.rewrite(program);
            fixing.hints(program, &constraints);
            fixing.assertions(&program.body, schemas);
        }
        let checked = meta::check(program, schemas);
        if fixing.problems.is_empty() && !fixing.ones.is_empty() {
            fixing.hold_at_one(&before, program, constraints.unread, &checked);
        }
        if fixing.problems.is_empty() && meta::check(&before, schemas).diagnostics.is_empty() {
            fixing.problems = checked.diagnostics;
            for problem in &mut fixing.problems {
                problem.code = Code::LOWER_SIZE;
                problem.notes.push(format!("it does not with {}", fixing.asked));
                problem.help = Some(HELP.to_owned());
            }
        }
    }
    let note = fixing.note();
    fixing.result(program)?;
    Ok(note)
}

/// Makes dimensions of inputs to which the user gives one name one dimension: `axes` are the program's own names of inputs,
/// axes, and the names. Axes that are not there, or are no free dimensions, are left alone.
///
/// # Errors
/// `OP309` where the program does not allow the dimensions to be equal, or was traced with different sizes.
pub fn merge(program: &mut Program, schemas: &Schemas, axes: &[(&str, usize, &str)]) -> Result<(), Report> {
    let asked = |(input, axis, name): &(&str, usize, &str)| format!("{input}:{axis}={name}");
    let said = axes.iter().map(asked).collect::<Vec<_>>().join(", ");
    let mut fixing = Fixing::new(said);
    let mut named: FxHashMap<&str, SymId> = FxHashMap::default();
    let mut symbols = program.symbols.clone();
    for axis in axes {
        let port = ports(program).into_iter().find(|port| port.name == axis.0);
        let dim = port.and_then(|port| port.dims.get(axis.1).copied());
        let Some(symbol) = dim.and_then(|dim| symbols.as_symbol(dim)) else { continue };
        let symbol = fixing.with.kept(symbol);
        let first = fixing.with.kept(*named.entry(axis.2).or_insert(symbol));
        if first == symbol {
            continue;
        }
        if symbols.merge(symbol, first, &mut fixing.with).is_none() {
            let shown = |symbol| {
                let symbol: &Symbol = symbols.get(symbol);
                let traced = symbol.hint.map_or_else(String::new, |size| format!(", traced at {size}"));
                format!("`{}` ({}{traced})", symbol.name, range(symbol.range))
            };
            let message =
                format!("`{}`: {} and {} cannot be equal", asked(axis), shown(first), shown(symbol));
            fixing.problem(Code::LOWER_SIZE, message);
        }
    }
    if fixing.problems.is_empty() && !fixing.with.is_empty() {
        program.symbols = symbols;
        fixing.follow(program, schemas);
        fixing.rewrite(program);
    }
    fixing.result(program)
}

const HELP: &str =
    "`onnxport inspect` lists the ranges and guards of the program; export it again for other sizes";

fn said(sizes: &[AxisSize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

struct Fixing {
    with: Substitution,
    /// The sizes as the user states them.
    asked: String,
    /// Symbols that are 1 though their ranges start at 2.
    ones: Vec<SymId>,
    problems: Vec<Diagnostic>,
}

impl Fixing {
    fn new(asked: String) -> Self {
        Self { with: Substitution::default(), asked, ones: Vec::new(), problems: Vec::new() }
    }

    fn result(self, program: &Program) -> Result<(), Report> {
        if self.problems.is_empty() {
            return Ok(());
        }
        Err(Report { diagnostics: self.problems, origins: program.origins.clone() })
    }

    fn problem(&mut self, code: Code, message: String) {
        self.problems.push(Diagnostic::error(code, message).help(HELP));
    }

    /// The symbol that an axis of the given size determines becomes a number.
    fn axis(&mut self, program: &Program, asked: &AxisSize) {
        let AxisSize { input, axis, size } = asked;
        let dim = ports(program).into_iter().find(|port| port.name == input);
        let Some(dim) = dim.and_then(|port| port.dims.get(*axis).copied()) else {
            let message = format!("no input `{input}` with an axis {axis}");
            return self.problem(Code::LOWER_NAME, message);
        };
        let symbols = &program.symbols;
        let shown = symbols.display(dim);
        let Ok(size) = i64::try_from(*size) else {
            return self.problem(Code::LOWER_SIZE, format!("`{asked}`: no tensor has so many elements"));
        };
        match (dim, solve(symbols, dim, size)) {
            (Dim::Const(n), _) if n == size => {}
            (Dim::Const(n), _) => {
                self.problem(Code::LOWER_SIZE, format!("`{asked}`: axis {axis} of `{input}` is {n}"));
            }
            (_, Some((symbol, number))) => self.number(symbols, symbol, number, &format!("`{asked}`")),
            (_, None) => {
                let message =
                    format!("`{asked}`: axis {axis} of `{input}` is {shown}, which cannot be {size}");
                self.problem(Code::LOWER_SIZE, message);
            }
        }
    }

    fn number(&mut self, symbols: &Symbols, symbol: SymId, number: i64, why: &str) {
        let known = symbols.get(symbol);
        if number == 1 && known.range.min == Some(2) {
            self.ones.push(symbol);
        } else if !known.range.contains(number) {
            let message = format!("{why}: `{}` is {}, not {number}", known.name, range(known.range));
            return self.problem(Code::LOWER_SIZE, message);
        }
        if let Some(before) = self.with.set(symbol, number) {
            let message = format!("{why}: `{}` would be both {before} and {number}", known.name);
            self.problem(Code::LOWER_SIZE, message);
        }
    }

    /// Propagates the program's requirements of its sizes, until nothing new is known.
    fn follow(&mut self, program: &Program, schemas: &Schemas) -> Constraints {
        let implied = meta::implied(program, schemas);
        let mut constraints = Constraints::new(implied, &program.guards, ports(program));
        let (mut symbols, all) = (constraints.symbols.clone(), constraints.all.as_slice());
        for _ in 0..ROUNDS {
            let mut changed = false;
            for (a, relation, b) in all {
                let [x, y] = [a, b].map(|side| symbols.substitute(*side, &mut self.with));
                let solved = match (relation, x, y) {
                    (Relation::Equal, Dim::Const(n), other) | (Relation::Equal, other, Dim::Const(n)) => {
                        solve(&symbols, other, n)
                    }
                    _ => None,
                };
                if let Some((symbol, number)) = solved {
                    let why = self.broken(&symbols, (*a, *relation, *b));
                    self.number(&symbols, symbol, number, &why);
                    changed = true;
                }
            }
            if !changed || !self.problems.is_empty() {
                break;
            }
        }
        for (a, relation, b) in all {
            let [x, y] = [a, b].map(|side| symbols.substitute(*side, &mut self.with));
            let apart = symbols.sub(x, y);
            if !relation.possible(symbols.range(apart)) {
                let why = self.broken(&symbols, (*a, *relation, *b));
                self.problem(Code::LOWER_SIZE, why);
            }
        }
        for symbol in &self.ones {
            constraints.symbols.get_mut(*symbol).range.min = Some(1);
        }
        constraints
    }

    /// Refuses a size of 1 where something that depends on it is not known to hold there: a guard that is not
    /// understood, a result whose type or number changed and is not confirmed.
    fn hold_at_one(&mut self, before: &Program, program: &Program, unread: usize, checked: &Checked) {
        let mut unknown: Vec<String> = Vec::new();
        if unread > 0 {
            unknown.push("guards that are not understood".to_owned());
        }
        let mut symbols = program.symbols.clone();
        unconfirmed(&before.body, &program.body, &mut symbols, checked, &mut unknown);
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            let message = format!(
                "{}: the program is traced for sizes of at least 2, and whether it holds at 1 is not known: {}",
                self.asked,
                unknown.join(", ")
            );
            self.problem(Code::LOWER_SIZE, message);
        }
    }

    /// Says that a size of 1 was taken.
    fn note(&self) -> Option<Diagnostic> {
        if self.ones.is_empty() {
            return None;
        }
        let message = format!(
            "{}: PyTorch traced the program for sizes of at least 2; branches of the module on a size of 1 are not in it",
            self.asked
        );
        let note = Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::LOWER_SIZE, message) };
        Some(note.help("if the module treats a size of 1 in another way, export it with that size"))
    }

    /// The other sizes with which the program was traced need not fit the new ones. They are made to, by the
    /// guards, or forgotten: a contradiction would look like a defect of the file.
    fn hints(&self, program: &mut Program, constraints: &Constraints) {
        let symbols = &mut program.symbols;
        let known = |(id, symbol): (SymId, &Symbol)| Some((id, self.with.get(id).or(symbol.hint)?));
        let mut sizes: Vec<(SymId, i64)> = symbols.iter().filter_map(known).collect();
        constraints.repair(&mut sizes);
        let kept = self.with.iter().all(|fixed| sizes.contains(&fixed));
        let told = !program.guards.is_empty() && constraints.unread == 0;
        let fits = kept && told && constraints.admit(&sizes);
        for (id, size) in sizes.into_iter().filter(|(id, _)| self.with.get(*id).is_none()) {
            symbols.get_mut(id).hint = fits.then_some(size);
        }
    }

    fn broken(&self, symbols: &Symbols, (a, relation, b): (Dim, Relation, Dim)) -> String {
        let (a, b) = (symbols.display(a), symbols.display(b));
        format!("{} contradicts the program, which requires {a} {} {b}", self.asked, relation.spelled())
    }

    fn rewrite(&mut self, program: &mut Program) {
        let symbols = &mut program.symbols;
        self.body(&mut program.body, symbols);
        decide(&mut program.body);
        for (symbol, number) in self.with.iter() {
            let symbol = symbols.get_mut(symbol);
            symbol.range = Range::new(number, number);
            symbol.hint = Some(number);
        }
    }

    fn body(&mut self, body: &mut Body, symbols: &mut Symbols) {
        let mut negative = Vec::new();
        let mut numbers: FxHashMap<Val, i64> = FxHashMap::default();
        // The old types are kept as well, so that none of the new ones comes to lie where one was.
        let mut types: FxHashMap<*const TensorType, (Arc<TensorType>, Arc<TensorType>)> =
            FxHashMap::default();
        for id in body.values.ids() {
            let value = &mut body.values[id];
            match &mut value.ty {
                ValueType::Tensor(ty) => {
                    // Values that shared a type go on to share one.
                    let shared = types.entry(Arc::as_ptr(ty)).or_insert_with(|| {
                        let mut new = (**ty).clone();
                        for dim in new.shape.iter_mut().chain(&mut new.strides) {
                            *dim = symbols.substitute(*dim, &mut self.with);
                        }
                        (Arc::clone(ty), Arc::new(new))
                    });
                    *ty = Arc::clone(&shared.1);
                    if ty.shape.iter().any(|dim| symbols.range(*dim).max.is_some_and(|n| n < 0)) {
                        negative.push(value.name.clone());
                    }
                }
                ValueType::SymInt(dim) => {
                    let before = *dim;
                    *dim = symbols.substitute(before, &mut self.with);
                    if let (Dim::Const(n), false) = (*dim, before == *dim) {
                        numbers.insert(id, n);
                    }
                }
                _ => {}
            }
        }
        for name in negative {
            let message = format!("with {}, `{name}` would have a size below zero", self.asked);
            self.problem(Code::LOWER_SIZE, message);
        }
        for call in &mut body.calls {
            // Nested graphs take values where they bind them.
            let whole = !call.target.starts_with("higher_order.");
            for arg in &mut call.args {
                if whole {
                    insert(&mut arg.arg, &numbers);
                }
                self.nested(&mut arg.arg, symbols);
            }
        }
    }

    fn nested(&mut self, arg: &mut Arg, symbols: &mut Symbols) {
        match arg {
            Arg::Graph(graph) => self.body(&mut graph.body, symbols),
            Arg::List(items) => items.iter_mut().for_each(|item| self.nested(item, symbols)),
            Arg::Dict(items) => items.iter_mut().for_each(|(_, item)| self.nested(item, symbols)),
            _ => {}
        }
    }

    /// Refuses sizes that an assertion of the program refuses. Only comparisons of numbers are understood.
    fn assertions(&mut self, body: &Body, schemas: &Schemas) {
        let mut wrong: FxHashMap<Val, String> = FxHashMap::default();
        for call in &body.calls {
            if let (Some((false, text)), [Output::Value(val)]) = (comparison(call), call.outputs.as_slice()) {
                wrong.insert(*val, text);
            }
            let is_assertion = schemas.get(&call.target).is_some_and(|s| s.facts.term("assertion").is_some());
            let asserted = call.args.first().and_then(|arg| arg.arg.as_value()).filter(|_| is_assertion);
            if let Some(text) = asserted.and_then(|val| wrong.get(&val)) {
                let message = format!("with {}, an assertion of the program fails: {text}", self.asked);
                self.problems.push(Diagnostic::error(Code::LOWER_SIZE, message).at(call.origin).help(HELP));
            }
            for arg in &call.args {
                if let Arg::Graph(graph) = &arg.arg {
                    self.assertions(&graph.body, schemas);
                }
            }
        }
    }
}

/// Adds to `found` the operators of calls whose results changed from `before` to `after` and are not known to be right.
fn unconfirmed(
    before: &Body,
    after: &Body,
    symbols: &mut Symbols,
    checked: &Checked,
    found: &mut Vec<String>,
) {
    for (old, call) in before.calls.iter().zip(&after.calls) {
        let mut is_right = true;
        for output in &call.outputs {
            output.each_value(&mut |val| {
                let [was, is] = [before, after].map(|body| body.values.find(val).map(|value| &value.ty));
                is_right &= match (was, is) {
                    (Some(was), Some(is)) if was == is => true,
                    (_, Some(ValueType::Tensor(_))) => checked.shaped.contains(&call.origin),
                    (_, Some(ValueType::SymInt(stated))) => {
                        let number = meta::number(call, &after.values, symbols);
                        matches!(number, Ok(Some(Number::Int(dim))) if dim == *stated)
                    }
                    _ => false,
                };
            });
        }
        if !is_right {
            found.push(format!("`{}`", call.target));
        }
        for (old, arg) in old.args.iter().zip(&call.args) {
            if let (Arg::Graph(old), Arg::Graph(graph)) = (&old.arg, &arg.arg) {
                unconfirmed(&old.body, &graph.body, symbols, checked, found);
            }
        }
    }
}

/// The inputs of the user.
pub(super) fn ports(program: &Program) -> Vec<Port<'_>> {
    let is_argument = |kind: &InputKind| matches!(kind, InputKind::User | InputKind::Constant);
    let inputs = program.signature.inputs.iter().zip(&program.body.inputs);
    let mut ports = Vec::new();
    for (leaf, (spec, arg)) in inputs.filter(|(spec, _)| is_argument(&spec.kind)).enumerate() {
        let value = arg.as_value().and_then(|val| program.body.values.find(val));
        let (InputKind::User, Some(value)) = (&spec.kind, value) else { continue };
        let (dims, number): (&[Dim], _) = match &value.ty {
            ValueType::Tensor(ty) => (&ty.shape, None),
            ValueType::SymInt(dim) => (&[], Some(*dim)),
            _ => (&[], None),
        };
        ports.push(Port { name: &spec.name, leaf: Some(leaf), dims, number });
    }
    ports
}

/// The symbol, and its number, with which `dim` is `size`.
fn solve(symbols: &Symbols, dim: Dim, size: i64) -> Option<(SymId, i64)> {
    let (factor, symbol, offset) = symbols.linear(dim)?;
    let product = size.checked_sub(offset)?;
    (product.checked_rem(factor)? == 0).then_some((symbol, product.checked_div(factor)?))
}

fn range(range: Range) -> String {
    match (range.min, range.max) {
        (Some(min), Some(max)) => format!("between {min} and {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => "any number".to_owned(),
    }
}

/// Puts numbers in the place of the values that they are.
fn insert(arg: &mut Arg, numbers: &FxHashMap<Val, i64>) {
    match arg {
        Arg::Value(val) => {
            if let Some(number) = numbers.get(val) {
                *arg = Arg::Int(*number);
            }
        }
        Arg::List(items) => items.iter_mut().for_each(|item| insert(item, numbers)),
        Arg::Dict(items) => items.iter_mut().for_each(|(_, item)| insert(item, numbers)),
        _ => {}
    }
}

/// Whether a comparison of two numbers holds, and its text.
fn comparison(call: &Call) -> Option<(bool, String)> {
    let [a, b] = call.args.as_slice() else { return None };
    let (a, b) = (a.arg.as_int()?, b.arg.as_int()?);
    let (holds, spelled) = match call.target.strip_prefix("_operator.")? {
        "eq" => (a == b, "=="),
        "ne" => (a != b, "!="),
        "le" => (a <= b, "<="),
        "lt" => (a < b, "<"),
        "ge" => (a >= b, ">="),
        "gt" => (a > b, ">"),
        _ => return None,
    };
    Some((holds, format!("{a} {spelled} {b}")))
}

/// Evaluates comparisons of numbers in conditions, so that normalization leaves one branch.
fn decide(body: &mut Body) {
    let mut known: FxHashMap<Val, bool> = FxHashMap::default();
    for call in &mut body.calls {
        if let (Some((holds, _)), [Output::Value(val)]) = (comparison(call), call.outputs.as_slice()) {
            known.insert(*val, holds);
        }
        if call.target == "higher_order.cond"
            && let Some(predicate) = call.args.first_mut()
            && let Some(holds) = predicate.arg.as_value().and_then(|val| known.get(&val))
        {
            predicate.arg = Arg::Bool(*holds);
        }
        for arg in &mut call.args {
            if let Arg::Graph(graph) = &mut arg.arg {
                decide(&mut graph.body);
            }
        }
    }
}
