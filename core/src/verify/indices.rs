//! Inputs whose elements are positions in another tensor: token ids, rows to select. The `index` facts of schemas state the
//! arguments that operators read as positions.

use rustc_hash::FxHashMap;

use crate::program::{Arg, Body, Call, Program, Val};
use crate::registry::{Schema, Schemas, Term};
use crate::sym::Dim;
use crate::tensor::DType;

/// The sizes that the elements of each input of the program must stay below; inputs are counted.
pub(super) fn extents(program: &Program, schemas: &Schemas) -> FxHashMap<usize, Vec<Dim>> {
    let mut finder = Finder { schemas, found: FxHashMap::default() };
    let inputs = program.body.inputs.iter().enumerate();
    let holds = inputs.filter_map(|(place, arg)| Some((arg.as_value()?, place))).collect();
    finder.body(&program.body, holds);
    finder.found
}

struct Finder<'a> {
    schemas: &'a Schemas,
    found: FxHashMap<usize, Vec<Dim>>,
}

impl Finder<'_> {
    /// Looks through a graph; `holds` tells which values have the elements of an input.
    fn body(&mut self, body: &Body, mut holds: FxHashMap<Val, usize>) {
        for call in &body.calls {
            self.nested(call, &holds);
            let Some(schema) = self.schemas.get(&call.target) else { continue };
            for term in schema.facts.terms("index") {
                for (index, extent) in places(call, schema, term, body) {
                    if let Some(input) = holds.get(&index) {
                        self.found.entry(*input).or_default().push(extent);
                    }
                }
            }
            let passes_on = ["view", "identity"].iter().any(|key| schema.facts.term(key).is_some());
            let first = call.args.first().and_then(|arg| arg.arg.as_value());
            if let Some(input) = first.and_then(|first| holds.get(&first).copied()).filter(|_| passes_on) {
                for output in &call.outputs {
                    output.each_value(&mut |value| {
                        holds.insert(value, input);
                    });
                }
            }
        }
    }

    /// Looks through the graphs that a call takes. Their inputs are the last values that it takes.
    fn nested(&mut self, call: &Call, holds: &FxHashMap<Val, usize>) {
        let mut given = Vec::new();
        call.args.iter().for_each(|arg| arg.arg.each_value(&mut |value| given.push(value)));
        for arg in &call.args {
            let Arg::Graph(graph) = &arg.arg else { continue };
            let Some(skipped) = given.len().checked_sub(graph.body.inputs.len()) else { continue };
            let inner = graph.body.inputs.iter().zip(given.iter().skip(skipped));
            let inner = inner.filter_map(|(arg, outer)| Some((arg.as_value()?, *holds.get(outer)?)));
            self.body(&graph.body, inner.collect());
        }
    }
}

/// The values that hold positions by `term`, and the sizes in which they are.
fn places(call: &Call, schema: &Schema, term: &Term, body: &Body) -> Vec<(Val, Dim)> {
    let named = |at: usize| term.args.get(at).and_then(|name| call.arg(name));
    let tensor = |arg: Option<&Arg>| {
        let ty = &body.values.find(arg?.as_value()?)?.ty;
        ty.as_tensor()
    };
    let Some(into) = tensor(named(1)) else { return Vec::new() };
    match term.name.as_str() {
        // into(index,tensor,axis): every element is a place on one axis.
        "into" => {
            let axis =
                term.args.get(2).and_then(|axis| axis.parse().ok().or_else(|| integer(call, schema, axis)));
            let rank = into.shape.len() as i64;
            let axis = axis.map(|axis: i64| if axis < 0 { axis + rank } else { axis });
            let extent = axis.and_then(|axis| into.shape.get(usize::try_from(axis).ok()?));
            named(0).and_then(Arg::as_value).zip(extent.copied()).into_iter().collect()
        }
        // each(indices,tensor): the first of a list holds positions on the first axis, and so on.
        "each" => {
            let Some(Arg::List(indices)) = named(0) else { return Vec::new() };
            let is_mask = |arg: &Arg| tensor(Some(arg)).is_some_and(|ty| ty.dtype == DType::Bool);
            if indices.iter().any(is_mask) {
                return Vec::new();
            }
            let axes = indices.iter().zip(&into.shape);
            axes.filter_map(|(index, extent)| Some((index.as_value()?, *extent))).collect()
        }
        _ => Vec::new(),
    }
}

/// An integer argument, or its default.
fn integer(call: &Call, schema: &Schema, name: &str) -> Option<i64> {
    match call.arg(name) {
        Some(arg) => arg.as_int(),
        None => schema.arg(name)?.default.as_ref()?.as_int(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMAS: &str = "\
aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor
#: index=into(indices,weight,0)
aten::index_select(Tensor self, int dim, Tensor index) -> Tensor
#: index=into(index,self,dim)
aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
#: index=each(indices,self)
aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)
#: view=view
";

    #[test]
    fn places_are_found_behind_views_and_in_nested_graphs() {
        let text = "\
symbol s0 2..16 hint 3
graph {
  input %table: f32[100, 8] = user
  input %ids: i64[2, s0] = user
  input %rows: i64[4] = user
  input %axes: i64[2] = user
  input %free: i64[2] = user
  %flat: i64[2*s0] = aten.view.default(self=%ids, size=[-1])
  %a: f32[2*s0, 8] = aten.embedding.default(weight=%table, indices=%flat)
  %b: f32[100, 4] = aten.index_select.default(self=%table, dim=-1, index=%rows)
  %c: f32[100, 2] = aten.index.Tensor(self=%table, indices=[none, %axes])
  output %a = user
}
";
        let program = Program::parse(text).unwrap();
        let found = extents(&program, &Schemas::new([SCHEMAS]));
        let of = |input: usize| found.get(&input).cloned().unwrap_or_default();
        assert_eq!(of(1), [Dim::Const(100)]);
        assert_eq!(of(2), [Dim::Const(8)]);
        assert_eq!(of(3), [Dim::Const(8)]);
        assert!(of(0).is_empty() && of(4).is_empty());
    }
}
