//! The types of new calls, which no program states.

use super::cx::{Cx, Meta, Stop};
use super::dtype::{self, Expected};
use super::judge::{Extent, Judge};
use super::shape::{self, Shapes};
use super::{Term, of_result};
use crate::arena::Arena;
use crate::program::text::row_major;
use crate::program::{Arg, Call, Output, TensorType, Value, ValueType};
use crate::registry::Schema;
use crate::sym::{Dim, Symbols};

/// The types of the results of `call`, those of a list one after the other, for values that have none yet.
///
/// # Errors
/// Why they cannot be told: nothing is known of the operator, or they depend on more than its arguments.
pub fn results(
    call: &Call,
    schema: &Schema,
    values: &Arena<Value>,
    symbols: &mut Symbols,
) -> Result<Vec<ValueType>, String> {
    let mut judge = Judge::of(std::mem::take(symbols));
    let found = all(call, schema, values, &mut judge);
    *symbols = judge.symbols;
    found.map_err(|stop| match stop {
        Stop::Unknown => format!("the types that `{}` gives are not known", call.target),
        Stop::Contradiction(problem) => format!("the call of `{}` is wrong: {problem}", call.target),
    })
}

fn all(call: &Call, schema: &Schema, values: &Arena<Value>, judge: &mut Judge) -> Meta<Vec<ValueType>> {
    let mut cx = Cx { call, schema, values, judge, term: &[] };
    if let Some(size) = size(&cx, call)? {
        return Ok(vec![ValueType::SymInt(size)]);
    }
    let (shapes, dtypes) = (schema.facts.terms("shape"), schema.facts.terms("dtype"));
    let mut types = Vec::new();
    for (i, output) in call.outputs.iter().enumerate() {
        let lists = match of_result(shapes, i) {
            Some(term) => extents(&mut cx, term)?,
            None => return Err(Stop::Unknown),
        };
        let Some(term) = of_result(dtypes, i) else { return Err(Stop::Unknown) };
        cx.term = &term.args;
        let Expected::Is(dtype) = dtype::infer(&cx, &term.name)? else { return Err(Stop::Unknown) };
        let wanted = match output {
            Output::List(items) => items.len(),
            _ => 1,
        };
        if lists.len() != wanted {
            return Err(Stop::Contradiction(format!(
                "it gives {} tensors, and {wanted} are taken",
                lists.len()
            )));
        }
        for shape in lists {
            let strides = row_major(&mut cx.judge.symbols, &shape);
            types.push(ValueType::Tensor(TensorType { dtype, shape, strides }));
        }
    }
    Ok(types)
}

/// The shapes of a result by `term`, where they are expressions.
fn extents<'a>(cx: &mut Cx<'a>, term: &'a Term) -> Meta<Vec<Vec<Dim>>> {
    cx.term = &term.args;
    let lists = match shape::infer(cx, &term.name)? {
        Shapes::One(shape) => vec![shape],
        Shapes::List(shapes) => shapes,
    };
    let known = |extent: &Extent| match extent {
        Extent::Dim(dim) => Ok(*dim),
        // Nothing was traced: it is computed of numbers.
        Extent::Traced(n) => Ok(Dim::Const(*n)),
        Extent::Unknown => Err(Stop::Unknown),
    };
    lists.iter().map(|shape| shape.iter().map(known).collect()).collect()
}

/// The integer that the call gives, where it asks for sizes or computes with them.
fn size(cx: &Cx<'_>, call: &Call) -> Meta<Option<Dim>> {
    let shape = || cx.operand(0).map(|tensor| tensor.shape.clone());
    Ok(match call.target.as_str() {
        "aten.sym_size.int" => {
            let shape = shape()?;
            let Some(Arg::Int(at)) = call.arg("dim") else { return Err(Stop::Unknown) };
            let at = if *at < 0 { at.saturating_add(shape.len() as i64) } else { *at };
            let dim = usize::try_from(at).ok().and_then(|at| shape.get(at).copied());
            Some(dim.ok_or_else(|| Stop::Contradiction(format!("there is no axis {at}")))?)
        }
        _ => None,
    })
}
