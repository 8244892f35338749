//! The requirements of a program on its sizes: the guards that PyTorch recorded, and the assertions in its graph.

use rustc_hash::FxHashMap;

use super::Port;
use super::constraints::{Relation, conjuncts, relation};
use super::solver::symbols_in;
use crate::diagnose::OriginId;
use crate::program::{Arg, Body, Call, Guard, Output, Program, Val, ValueType};
use crate::registry::{Schemas, Term};
use crate::sym::{Dim, Expr, ExprId, Symbols};

/// A relation between two expressions.
pub(super) type Related = (Dim, Relation, Dim);

/// The most conditions that are read; those beyond are listed only.
const MAX_CONDITIONS: usize = 4096;

/// Something that holds for all sizes that the program takes.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// Relations of which at least one holds; none where the condition is not understood.
    pub any: Vec<Related>,
    /// The condition as the program states it.
    pub text: String,
    /// The call that asserts it, or the first one that computes its expression.
    pub origin: Option<OriginId>,
}

/// The conditions of a program, whose expressions are put into `symbols`.
pub(super) fn read(
    program: &Program,
    symbols: &mut Symbols,
    ports: &[Port<'_>],
    schemas: &Schemas,
) -> Vec<Condition> {
    let stated = stated(&program.body);
    let mut found = Vec::new();
    let parts = program
        .guards
        .iter()
        .flat_map(|Guard { text, origin }| conjuncts(text).into_iter().map(|part| (part, *origin)));
    for (text, asked) in parts {
        let read = found.len() < MAX_CONDITIONS;
        let any = if read { alternatives(symbols, text, ports).unwrap_or_default() } else { Vec::new() };
        let mut sides = any.iter().flat_map(|(a, _, b)| [*a, *b]);
        let origin = asked.or_else(|| sides.find_map(|side| origin(symbols, side, &stated)));
        found.push(Condition { any, text: text.trim().to_owned(), origin });
    }
    found.extend(assertions(&program.body, symbols, schemas).into_iter().take(MAX_CONDITIONS));
    found.extend(squeezed(&program.body, symbols, ports, schemas).into_iter().take(MAX_CONDITIONS));
    found
}

/// The relations of which a guard says that one holds.
fn alternatives(symbols: &mut Symbols, text: &str, ports: &[Port<'_>]) -> Option<Vec<Related>> {
    text.split(" or ").map(|part| relation(symbols, part, ports)).collect()
}

/// The first call that states each expression as a size or a number.
fn stated(body: &Body) -> FxHashMap<ExprId, OriginId> {
    let mut first = FxHashMap::default();
    let mut state = |dim: Dim, origin: OriginId| {
        if let Dim::Expr(id) = dim {
            first.entry(id).or_insert(origin);
        }
    };
    for call in &body.calls {
        for output in &call.outputs {
            output.each_value(&mut |val| match body.values.find(val).map(|value| &value.ty) {
                Some(ValueType::Tensor(ty)) => ty.shape.iter().for_each(|dim| state(*dim, call.origin)),
                Some(ValueType::SymInt(dim)) => state(*dim, call.origin),
                _ => {}
            });
        }
    }
    first
}

/// The call that computes `dim`, or else the largest part of it that a call computes. Sizes that are given are not computed.
fn origin(symbols: &Symbols, dim: Dim, stated: &FxHashMap<ExprId, OriginId>) -> Option<OriginId> {
    let Dim::Expr(id) = dim else { return None };
    let part = |part: &Dim| origin(symbols, *part, stated);
    let parts = || match symbols.expr(id) {
        Expr::Sym(_) | Expr::Opaque(_) => None,
        Expr::Sum(terms) => {
            terms.iter().flat_map(|term| &term.factors).find_map(|factor| part(&Dim::Expr(*factor)))
        }
        Expr::FloorDiv(a, b) | Expr::Mod(a, b) => part(a).or_else(|| part(b)),
        Expr::Min(operands) | Expr::Max(operands) => operands.iter().find_map(part),
    };
    match symbols.expr(id) {
        Expr::Sym(_) => None,
        _ => stated.get(&id).copied().or_else(parts),
    }
}

/// Returns the assertions of the main graph. Those of nested graphs hold only if the graphs run.
fn assertions(body: &Body, symbols: &mut Symbols, schemas: &Schemas) -> Vec<Condition> {
    let mut known: FxHashMap<Val, Related> = FxHashMap::default();
    let mut found = Vec::new();
    for call in &body.calls {
        if let [Output::Value(val)] = call.outputs.as_slice()
            && let Some(related) = comparison(call, body, &known)
        {
            known.insert(*val, related);
        }
        let Some(assertion) = schemas.get(&call.target).and_then(|s| s.facts.term("assertion")) else {
            continue;
        };
        let asserted = match assertion.name.as_str() {
            "check" => {
                let value = call.args.first().and_then(|arg| arg.arg.as_value());
                value.and_then(|val| known.get(&val).copied()).into_iter().collect()
            }
            _ => bounds(call, assertion, body),
        };
        found.extend(asserted.into_iter().map(|related| {
            let text = spelled(symbols, related);
            Condition { any: vec![related], text, origin: Some(call.origin) }
        }));
    }
    found
}

/// Returns the condition of each axis that `squeeze` keeps in the main graph: PyTorch captures the program for sizes other
/// than 1. Of a size of an input, which is never 0, that is a bound.
fn squeezed(body: &Body, symbols: &Symbols, ports: &[Port<'_>], schemas: &Schemas) -> Vec<Condition> {
    let mut of_inputs = Vec::new();
    ports.iter().flat_map(|port| port.dims).for_each(|dim| symbols_in(symbols, *dim, &mut of_inputs));
    let is_of_inputs = |dim: Dim| {
        let mut own = Vec::new();
        symbols_in(symbols, dim, &mut own);
        own.iter().all(|symbol| of_inputs.contains(symbol))
    };
    let mut found = Vec::new();
    for call in &body.calls {
        let shape = schemas.get(&call.target).and_then(|schema| schema.facts.term("shape"));
        let Some(shape) = shape.filter(|shape| shape.name == "squeeze") else { continue };
        let operand = call.args.first().and_then(|arg| body.values.find(arg.arg.as_value()?));
        let Some(ValueType::Tensor(ty)) = operand.map(|value| &value.ty) else { continue };
        let axes = shape.args.first().and_then(|name| call.arg(name));
        for (axis, dim) in ty.shape.iter().enumerate() {
            let is_named = axes.is_none_or(|axes| names_axis(axes, axis, ty.shape.len()));
            if !is_named || dim.as_const().is_some() {
                continue;
            }
            let related = if is_of_inputs(*dim) {
                (*dim, Relation::AtLeast, Dim::Const(2))
            } else {
                (*dim, Relation::Unequal, Dim::Const(1))
            };
            let text = spelled(symbols, related);
            found.push(Condition { any: vec![related], text, origin: Some(call.origin) });
        }
    }
    found
}

/// Whether `axes`, a number or a list, has the axis `axis` of `rank` axes.
fn names_axis(axes: &Arg, axis: usize, rank: usize) -> bool {
    match axes {
        Arg::Int(n) => usize::try_from(if *n < 0 { n.saturating_add(rank as i64) } else { *n }) == Ok(axis),
        Arg::List(all) => all.iter().any(|one| names_axis(one, axis, rank)),
        _ => false,
    }
}

/// `range(size, min, max)` and `range_of_size`, which is at least 0 besides.
fn bounds(call: &Call, assertion: &Term, body: &Body) -> Vec<Related> {
    let least = match assertion.name.as_str() {
        "range" => None,
        "range_of_size" => Some(0),
        _ => return Vec::new(),
    };
    let arg = |i: usize| assertion.args.get(i).and_then(|name| call.arg(name));
    let Some(size) = arg(0).and_then(|size| number(size, body)) else { return Vec::new() };
    let stated = |i| arg(i).and_then(Arg::as_int);
    let above = [least, stated(1)].into_iter().flatten().max();
    let above = above.map(|min| (size, Relation::AtLeast, Dim::Const(min)));
    let below = stated(2).map(|max| (size, Relation::AtMost, Dim::Const(max)));
    above.into_iter().chain(below).collect()
}

/// The relation that a call computes the truth of.
fn comparison(call: &Call, body: &Body, known: &FxHashMap<Val, Related>) -> Option<Related> {
    let relation = match &*call.target {
        "_operator.eq" => Relation::Equal,
        "_operator.ne" => Relation::Unequal,
        "_operator.le" => Relation::AtMost,
        "_operator.lt" => Relation::Below,
        "_operator.ge" => Relation::AtLeast,
        "_operator.gt" => Relation::Above,
        "torch.sym_not" | "_operator.not_" => {
            let (a, relation, b) = known.get(&call.args.first()?.arg.as_value()?)?;
            return Some((*a, relation.opposite(), *b));
        }
        _ => return None,
    };
    let [a, b] = call.args.as_slice() else { return None };
    Some((number(&a.arg, body)?, relation, number(&b.arg, body)?))
}

fn number(arg: &Arg, body: &Body) -> Option<Dim> {
    match arg {
        Arg::Int(n) => Some(Dim::Const(*n)),
        Arg::Value(val) => match body.values.find(*val)?.ty {
            ValueType::SymInt(dim) => Some(dim),
            _ => None,
        },
        _ => None,
    }
}

/// `s0 <= 8`.
pub(super) fn spelled(symbols: &Symbols, (a, relation, b): Related) -> String {
    format!("{} {} {}", symbols.display(a), relation.spelled(), symbols.display(b))
}
