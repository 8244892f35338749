//! The types of new calls, which no program states.

use super::cx::{Cx, Meta, Stop};
use super::dtype::{self, Expected};
use super::judge::{Extent, Judge};
use super::shape::{self, Shapes};
use super::{Term, is_in_place, of_result};
use crate::arena::Arena;
use crate::program::text::row_major;
use crate::program::{Call, Output, TensorType, Value, ValueType};
use crate::registry::{Schema, SchemaArg};
use crate::sym::{Dim, Symbols};

/// Returns the types of the results of `call`, for values that have none yet: for each output those of its tensors,
/// several if it is a list. Outputs without a value have none.
///
/// # Errors
/// The reason why they are unknown: the operator has no facts, or they depend on more than its arguments.
pub fn results(
    call: &Call,
    schema: &Schema,
    values: &Arena<Value>,
    symbols: &mut Symbols,
) -> Result<Vec<Vec<ValueType>>, String> {
    let mut judge = Judge::from_symbols(std::mem::take(symbols));
    let found = all(&mut Cx { call, schema, values, judge: &mut judge, term: &[] });
    *symbols = judge.symbols;
    found.map_err(|stop| match stop {
        Stop::Unknown => format!("the result types of `{}` are unknown", call.target),
        Stop::Contradiction(problem) => format!("the call of `{}` is wrong: {problem}", call.target),
    })
}

fn all(cx: &mut Cx<'_>) -> Meta<Vec<Vec<ValueType>>> {
    let (call, schema) = (cx.call, cx.schema);
    if let Some(written) = schema.args.iter().position(SchemaArg::is_written).filter(|_| is_in_place(schema))
    {
        let ty = ValueType::from(cx.operand(written)?.clone());
        return Ok(call.outputs.iter().map(|_| vec![ty.clone()]).collect());
    }
    let (shapes, dtypes) = (schema.facts.terms("shape"), schema.facts.terms("dtype"));
    let mut types = Vec::new();
    for (i, output) in call.outputs.iter().enumerate() {
        if *output == Output::None {
            types.push(Vec::new());
            continue;
        }
        let lists = match of_result(shapes, i) {
            Some(term) => extents(cx, term)?,
            None => return Err(Stop::Unknown),
        };
        let Some(term) = of_result(dtypes, i) else { return Err(Stop::Unknown) };
        cx.term = &term.args;
        let Expected::Is(dtype) = dtype::infer(cx, &term.name)? else { return Err(Stop::Unknown) };
        let mut tensors = Vec::with_capacity(lists.len());
        for shape in lists {
            let strides = row_major(&mut cx.judge.symbols, &shape);
            tensors.push(TensorType { dtype, shape, strides }.into());
        }
        types.push(tensors);
    }
    Ok(types)
}

/// Returns the shapes of a result by `term`, if they are expressions.
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
