//! The sizes for which a program computes the same as its module: the effective range of each symbol, and the conditions that
//! ranges do not express. The declared ranges are those of the symbols, as far as no guard set them.

use std::collections::BTreeSet;

use super::Port;
use super::checks::Checks;
use super::conditions::{self, Condition, Related};
use super::constraints::{Relation, inputs_of};
use super::frozen;
use super::solver::{Held, Prepared, Solver, symbols_in};
use crate::diagnose::{Code, Diagnostic, OriginId, Severity};
use crate::onnx::{SizeCondition, SizeRange, SizeRanges};
use crate::program::Program;
use crate::registry::Schemas;
use crate::sym::{Dim, Empty, Range, SymId, Symbols};

/// The smallest size that an export leaves open unless the user asks for smaller ones.
const OPEN: i64 = 2;

/// The conditions that a message shows.
const SHOWN: usize = 4;

/// The names in the model, where they are not the program's.
#[derive(Clone, Debug, Default)]
pub struct InterfaceNames {
    /// The program's names of inputs, and the model's.
    pub inputs: Vec<(String, String)>,
    /// Inputs by the program's names, axes, and the names of their dimensions.
    pub dims: Vec<(String, usize, String)>,
}

/// The sizes that a program takes.
#[derive(Clone, Debug, Default)]
pub struct Effective {
    /// The sizes that the model's interface states.
    pub stated: SizeRanges,
    /// The symbols that have fewer sizes than was declared.
    pub narrowed: Vec<Narrowed>,
    /// The relations between several sizes that do not hold for all of them.
    pub related: Vec<Relating>,
    /// The conditions that are not understood.
    pub unread: Vec<Reason>,
    /// Whether the conditions contradict each other, so that no size satisfies all of them.
    pub empty: bool,
    /// The ranges and conditions, to be checked in the model.
    pub checks: Checks,
}

/// A symbol that has fewer sizes than was declared, or an input that is a single number.
#[derive(Clone, Debug)]
pub struct Narrowed {
    /// The symbol; `None` for an input that is a single number.
    pub symbol: Option<SymId>,
    /// The sizes that it has.
    pub range: SizeRange,
    /// Whether the conditions exclude single sizes and bound nothing.
    pub is_minor: bool,
    /// The conditions that narrow it.
    pub reasons: Vec<Reason>,
}

/// A relation between several sizes.
#[derive(Clone, Debug)]
pub struct Relating {
    /// The symbols in it.
    pub symbols: Vec<SymId>,
    /// The relation, over the model's names of dimensions.
    pub expression: String,
    /// How much it restricts the sizes.
    pub restriction: Restriction,
    /// Where it comes from.
    pub reason: Reason,
}

/// How much a relation restricts sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// Two expressions are equal.
    Equal,
    /// Two expressions differ: single combinations of sizes are excluded, often that of a size of 0.
    Unequal,
    /// One expression bounds another.
    Bounded,
}

/// A condition of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// As the program states it.
    pub text: String,
    /// The call that it comes from.
    pub origin: Option<OriginId>,
}

impl From<&Condition> for Reason {
    fn from(condition: &Condition) -> Self {
        Self { text: condition.text.clone(), origin: condition.origin }
    }
}

/// Solves the conditions of a program for its symbols.
pub fn effective(program: &Program, schemas: &Schemas, naming: &InterfaceNames) -> Effective {
    let ports = super::fix::ports(program);
    let mut symbols = program.symbols.clone();
    for (input, axis, name) in &naming.dims {
        let dim = ports.iter().find(|port| port.name == input).and_then(|port| port.dims.get(*axis));
        if let Some(symbol) = dim.and_then(|dim| symbols.as_symbol(*dim)) {
            symbols.rename(symbol, name);
        }
    }
    let sizes: BTreeSet<SymId> = of_inputs(&symbols, &ports);
    solve(program, schemas, naming, (&ports, symbols, &sizes)).unwrap_or_else(|Empty| {
        let read = conditions::read(program, &mut program.symbols.clone(), &ports, schemas);
        let unread = read.iter().map(|condition| condition.text.clone()).collect();
        Effective {
            unread: read.iter().map(Reason::from).collect(),
            empty: true,
            checks: Checks { unread, ..Checks::default() },
            ..Effective::default()
        }
    })
}

fn solve(
    program: &Program,
    schemas: &Schemas,
    naming: &InterfaceNames,
    (ports, mut symbols, sizes): (&[Port<'_>], Symbols, &BTreeSet<SymId>),
) -> Result<Effective, Empty> {
    // Guards may have set the ranges of the program. `declared` starts without them and solves the guards alone.
    let known = |symbols: &Symbols, id| symbols.get(id).range;
    let mut open = symbols.clone();
    for (id, symbol) in symbols.iter() {
        let min = symbol.range.min.filter(|_| sizes.contains(&id)).map(|min| min.min(OPEN));
        open.get_mut(id).range = Range { min, max: None };
    }
    let read = conditions::read(program, &mut open, ports, schemas);
    let mut declared = Solver::new(open, &read)?;
    let free: Vec<(SymId, Range)> = declared.symbols.iter().map(|(id, symbol)| (id, symbol.range)).collect();
    declared.solve()?;
    for (id, free) in free {
        let (stated, guarded) = (known(&symbols, id), declared.symbols.get(id).range);
        let min = stated.min.filter(|n| guarded.min.is_none_or(|guarded| *n > guarded)).or(free.min);
        let max = stated.max.filter(|n| guarded.max.is_none_or(|guarded| *n < guarded)).or(free.max);
        declared.symbols.get_mut(id).range = Range { min, max };
    }
    declared.forget();

    let read = conditions::read(program, &mut symbols, ports, schemas);
    let mut solver = Solver::new(symbols, &read)?;
    solver.solve()?;
    let mut effective = Effective::default();
    let mut spoken: BTreeSet<SymId> = sizes.clone();
    spoken.extend(solver.all.iter().flat_map(|condition| condition.symbols.iter().copied()));
    spoken.extend(frozen::find(program));
    effective.checks.all = ranges(&mut solver, &spoken);
    let sides: BTreeSet<SymId> = of_axes(&solver.symbols, ports);
    let named = |id| {
        let range = range_of(&solver, id, axes(&solver.symbols, ports, id, naming));
        if sides.contains(&id) { without_nothing(range) } else { range }
    };
    effective.stated.dims = spoken.iter().map(|id| named(*id)).collect();
    for id in spoken {
        let range = named(id);
        let reasons = narrowing(&mut declared, id);
        // The program may assert ranges of sizes that depend on values. One with a single size was frozen by the export.
        let is_frozen = range.min.is_some() && range.min == range.max;
        if if sizes.contains(&id) { reasons.is_empty() } else { !is_frozen } {
            continue;
        }
        let is_minor = !reasons.is_empty()
            && reasons.iter().all(|index| declared.all.get(*index).is_some_and(Prepared::is_inequality));
        let mut reasons: Vec<Reason> =
            reasons.iter().filter_map(|index| read.get(*index)).map(Reason::from).collect();
        if is_frozen && reasons.is_empty() {
            reasons = frozen::assertions(program, &range.name);
        }
        effective.narrowed.push(Narrowed { symbol: Some(id), range, is_minor, reasons });
    }
    fixed_numbers(&mut effective, ports, &read, naming);
    list(&mut effective, (&mut solver, &mut declared), &read, program);
    effective.checks.unread.extend(effective.unread.iter().map(|reason| reason.text.clone()));
    let axes = ports.iter().flat_map(|port| {
        let name = model_name(naming, port.name);
        port.dims.iter().enumerate().map(move |(axis, dim)| (name.to_owned(), axis, *dim))
    });
    effective.checks.axes = axes.collect();
    effective.checks.symbols = solver.symbols;
    Ok(effective)
}

/// States the inputs that are numbers of which a guard leaves a single one. No symbol stands for them.
fn fixed_numbers(effective: &mut Effective, ports: &[Port<'_>], read: &[Condition], naming: &InterfaceNames) {
    for port in ports {
        let Some(Dim::Const(number)) = port.number else { continue };
        let is_about = |condition: &&Condition| inputs_of(&condition.text).iter().any(|name| port.is(name));
        let reasons: Vec<Reason> = read.iter().filter(is_about).map(Reason::from).collect();
        let name = model_name(naming, port.name).to_owned();
        let range =
            SizeRange { axes: vec![name.clone()], name, min: Some(number), max: Some(number), step: 1 };
        effective.stated.dims.push(range.clone());
        effective.checks.unread.push(format!("{} == {number}", range.name));
        // Without a guard, the user gave the number.
        if !reasons.is_empty() {
            effective.narrowed.push(Narrowed { symbol: None, range, is_minor: false, reasons });
        }
    }
}

/// The ranges of symbols as conditions.
fn ranges(solver: &mut Solver, symbols: &BTreeSet<SymId>) -> Vec<Vec<Related>> {
    let mut all = Vec::new();
    for id in symbols {
        let Range { min, max } = solver.symbols.get(*id).range;
        let grid = solver.grid(*id);
        let name = solver.symbols.get(*id).name.clone();
        let size = solver.symbols.symbol(&name);
        // PyTorch states that a size is at least 2 unless the user states less; programs mostly take smaller ones.
        if let Some(min) = min.filter(|min| *min > OPEN) {
            all.push(vec![(size, Relation::AtLeast, Dim::Const(min))]);
        }
        if let Some(max) = max {
            all.push(vec![(size, Relation::AtMost, Dim::Const(max))]);
        }
        if grid.step > 1 {
            let rest = solver.symbols.modulo(size, Dim::Const(grid.step));
            all.push(vec![(rest, Relation::Equal, Dim::Const(grid.start))]);
        }
    }
    all
}

/// The conditions on this symbol alone that do not hold for every declared size.
fn narrowing(declared: &mut Solver, id: SymId) -> Vec<usize> {
    let alone = |solver: &Solver, index: &usize| solver.all.get(*index).is_some_and(|c| c.symbols == [id]);
    let indices: Vec<usize> = (0..declared.all.len()).filter(|index| alone(declared, index)).collect();
    indices.into_iter().filter(|index| declared.held(*index) == Held::Sometimes).collect()
}

/// Lists the conditions that the ranges do not imply.
fn list(
    effective: &mut Effective,
    (solver, declared): (&mut Solver, &mut Solver),
    read: &[Condition],
    program: &Program,
) {
    let mut seen: BTreeSet<Dim> = BTreeSet::new();
    for (index, condition) in read.iter().enumerate() {
        if condition.any.is_empty() {
            effective.unread.push(condition.into());
            effective.stated.conditions.push(stated(condition.text.clone(), condition.origin, program));
            continue;
        }
        let held = solver.held(index);
        let Some(prepared) = solver.all.get(index).filter(|_| held != Held::Always) else { continue };
        let symbols = prepared.symbols.clone();
        let several = symbols.len() > 1;
        let (mut is_equality, is_inequality) = (prepared.is_equality(), prepared.is_inequality());
        let mut expression = match condition.any.as_slice() {
            [only] => conditions::spelled(&solver.symbols, *only),
            any => {
                let any = any.iter().map(|related| conditions::spelled(&solver.symbols, *related));
                any.collect::<Vec<_>>().join(" or ")
            }
        };
        // Two relations that leave only one difference are one equation.
        let key = if let [(a, Relation::Equal, b)] = condition.any.as_slice() {
            Some((solver.symbols.sub(*a, *b), solver.symbols.sub(*b, *a)))
        } else {
            let zeros: Vec<Dim> =
                (0..solver.all.len()).filter_map(|other| at_most_zero(solver, other)).collect();
            at_most_zero(solver, index).and_then(|apart| {
                let negated = solver.symbols.sub(Dim::Const(0), apart);
                zeros.contains(&negated).then_some((apart, negated))
            })
        };
        if let Some((apart, negated)) = key {
            if !is_equality {
                expression = equation(&mut solver.symbols, apart);
            }
            is_equality = true;
            if !seen.insert(apart) || !seen.insert(negated) {
                continue;
            }
        }
        effective.stated.conditions.push(stated(expression.clone(), condition.origin, program));
        effective.checks.all.push(condition.any.clone());
        if several && declared.held(index) == Held::Sometimes {
            let restriction = match (is_equality, is_inequality) {
                (true, _) => Restriction::Equal,
                (false, true) => Restriction::Unequal,
                (false, false) => Restriction::Bounded,
            };
            effective.related.push(Relating { symbols, expression, restriction, reason: condition.into() });
        }
    }
}

fn at_most_zero(solver: &mut Solver, index: usize) -> Option<Dim> {
    let Solver { symbols, all, .. } = solver;
    all.get(index)?.at_most_zero(symbols)
}

/// `a + b == c` for `a + b - c`.
fn equation(symbols: &mut Symbols, apart: Dim) -> String {
    let (mut left, mut right) = (Dim::Const(0), Dim::Const(0));
    for term in super::grid::terms(symbols, apart) {
        let factors = term.factors.iter().map(|factor| Dim::Expr(*factor)).collect::<Vec<_>>();
        let product = symbols.product(factors);
        let product = symbols.mul(product, Dim::Const(term.coefficient.saturating_abs()));
        let side = if term.coefficient > 0 { &mut left } else { &mut right };
        *side = symbols.add(*side, product);
    }
    conditions::spelled(symbols, (left, Relation::Equal, right))
}

fn stated(expression: String, origin: Option<OriginId>, program: &Program) -> SizeCondition {
    let frame = origin.and_then(|origin| program.origins.get(origin).user_frame());
    SizeCondition { expression, line: frame.map(crate::diagnose::Frame::place) }
}

/// The symbols in the shapes of inputs, and the inputs that are numbers.
fn of_inputs(symbols: &Symbols, ports: &[Port<'_>]) -> BTreeSet<SymId> {
    let mut found = Vec::new();
    ports.iter().filter_map(|port| port.number).for_each(|dim| symbols_in(symbols, dim, &mut found));
    of_axes(symbols, ports).into_iter().chain(found).collect()
}

/// The symbols in the shapes of inputs.
fn of_axes(symbols: &Symbols, ports: &[Port<'_>]) -> BTreeSet<SymId> {
    let mut found = Vec::new();
    ports.iter().flat_map(|port| port.dims).for_each(|dim| symbols_in(symbols, *dim, &mut found));
    found.into_iter().collect()
}

fn axes(symbols: &Symbols, ports: &[Port<'_>], id: SymId, naming: &InterfaceNames) -> Vec<String> {
    let mut axes = Vec::new();
    for port in ports {
        let name = model_name(naming, port.name);
        for (axis, dim) in port.dims.iter().enumerate() {
            let mut inside = Vec::new();
            symbols_in(symbols, *dim, &mut inside);
            if symbols.as_symbol(*dim) == Some(id) {
                axes.push(format!("{name}:{axis}"));
            } else if inside.contains(&id) {
                axes.push(format!("{name}:{axis} = {}", symbols.display(*dim)));
            }
        }
        if port.number.is_some_and(|dim| symbols.as_symbol(dim) == Some(id)) {
            axes.push(name.to_owned());
        }
    }
    axes
}

/// The model's name of an input of the program.
fn model_name<'a>(naming: &'a InterfaceNames, own: &'a str) -> &'a str {
    naming.inputs.iter().find(|(name, _)| name == own).map_or(own, |(_, name)| name)
}

fn range_of(solver: &Solver, id: SymId, axes: Vec<String>) -> SizeRange {
    let symbol = solver.symbols.get(id);
    let Range { min, max } = symbol.range;
    // Without a smallest size there is nothing to count from.
    let step = if min.is_some() && min != max { solver.grid(id).step } else { 1 };
    SizeRange { name: symbol.name.clone(), min, max, step, axes }
}

/// A range of sizes without 0, unless there is no other. PyTorch admits axes of 0, but the shapes that it states, and with
/// which a model is built, do not hold there: `x[1:]` has the size `s0 - 1`.
fn without_nothing(range: SizeRange) -> SizeRange {
    let is_more = range.max.is_none_or(|max| max >= range.step);
    if range.min == Some(0) && is_more { SizeRange { min: Some(range.step), ..range } } else { range }
}

impl Effective {
    /// Warnings about sizes that were declared and that the program does not take, and notes about the rest.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        if self.empty {
            found.push(explained(
                Diagnostic::warning(
                    Code::LOWER_RANGE,
                    "no sizes satisfy all guards and assertions of the program",
                ),
                &self.unread,
            ));
            return found;
        }
        for Narrowed { symbol, range, is_minor, reasons } in &self.narrowed {
            let plain = range.axes.iter().find(|axis| !axis.contains(" = ")).or(range.axes.first());
            let subject = match plain {
                Some(input) if symbol.is_none() => format!("the input `{input}`, a number,"),
                Some(axis) => format!("the size of `{axis}` (`{}`)", range.name),
                None => format!("the number `{}`, which depends on values,", range.name),
            };
            let (what, severity) = match is_minor {
                true => ("excludes some sizes", Severity::Note),
                false => ("is restricted", Severity::Warning),
            };
            let message = format!("{subject} {what}: {range}");
            let warning = Diagnostic::warning(Code::LOWER_RANGE, message);
            found.push(explained(Diagnostic { severity, ..warning }, reasons).help(HELP));
        }
        let (equal, other): (Vec<&Relating>, Vec<&Relating>) =
            self.related.iter().partition(|relating| relating.restriction == Restriction::Equal);
        for Relating { expression, restriction, reason, .. } in other {
            let (what, severity) = match restriction {
                Restriction::Unequal => ("exclude some combinations", Severity::Note),
                _ => ("are restricted", Severity::Warning),
            };
            let warning = Diagnostic::warning(Code::LOWER_RANGE, format!("the sizes {what}: {expression}"));
            let one = explained(Diagnostic { severity, ..warning }, std::slice::from_ref(reason));
            found.push(one.help(HELP));
        }
        if !equal.is_empty() {
            let all: Vec<&str> = equal.iter().map(|relating| relating.expression.as_str()).collect();
            let message = format!("sizes depend on each other: {}", all.join(", "));
            found.push(Diagnostic {
                severity: Severity::Note,
                ..Diagnostic::warning(Code::LOWER_RANGE, message)
            });
        }
        if !self.unread.is_empty() {
            let message = "some conditions of the program on its inputs are not understood";
            let note =
                Diagnostic { severity: Severity::Note, ..Diagnostic::warning(Code::LOWER_RANGE, message) };
            found.push(explained(note, &self.unread));
        }
        found
    }
}

const HELP: &str = "at other sizes the model may compute something else than the module; change the code so that it takes every size, or \
     declare the range with `Dim`";

/// Adds the conditions, and the place of the first that has one.
pub(super) fn explained(mut diagnostic: Diagnostic, reasons: &[Reason]) -> Diagnostic {
    diagnostic.origin = reasons.iter().find_map(|reason| reason.origin);
    for reason in reasons.iter().take(SHOWN) {
        diagnostic = diagnostic.note(format!("the program requires {}", reason.text));
    }
    match reasons.len().checked_sub(SHOWN) {
        None | Some(0) => diagnostic,
        Some(more) => diagnostic.note(format!("and {more} more conditions")),
    }
}

#[cfg(test)]
mod tests;
