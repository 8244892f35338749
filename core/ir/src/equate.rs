//! Gives dimensions with different names that are equal in every run the same symbol.
//!
//! A product sums over a size of each operand, `Concat` requires the other sizes to be equal, and so on: a run
//! in which they differ fails. Only nodes of the main graph count, since every run executes these.
//! differ fails. Only nodes of the main graph count, since every run runs these.

use std::collections::BTreeMap;

use crate::diagnose::OriginId;
use crate::ir::{Model, NodeId, Shape, Type};
use crate::ops::infer::{answer, infer_all};
use crate::sym::{Dim, Substitution, SymId, Symbols};

/// How often dimensions are looked for that are equal because others are.
const ROUNDS: usize = 8;

/// The symbols that one symbol replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equal {
    /// The name of the symbol that is left.
    pub kept: String,
    /// The names of those that it replaces.
    pub replaced: Vec<String>,
    /// The operator that needs the first of them to be equal.
    pub op: String,
    /// Where it comes from.
    pub origin: Option<OriginId>,
}

/// The dimensions that were found to be equal.
#[derive(Debug, Default)]
pub struct Equated {
    /// The symbols, in the order of those that are left.
    pub equal: Vec<Equal>,
    with: Substitution,
}

impl Equated {
    /// Replaces the symbols in a type.
    pub fn apply(&mut self, symbols: &mut Symbols, ty: &mut Type) {
        match ty {
            Type::Tensor { shape, .. } | Type::SparseTensor { shape, .. } => self.apply_to(symbols, shape),
            Type::Sequence(element) | Type::Optional(element) | Type::Map(_, element) => {
                self.apply(symbols, element);
            }
            Type::Opaque { .. } | Type::Unknown => {}
        }
    }

    /// Replaces the symbols in a shape.
    pub fn apply_to(&mut self, symbols: &mut Symbols, shape: &mut Shape) {
        for dim in shape.dims_mut().into_iter().flatten().flatten() {
            *dim = symbols.substitute(*dim, &mut self.with);
        }
    }
}

/// Merges the symbols of dimensions of the main graph that are equal in every run; the range of the merged symbol
/// is the intersection. A name that a user chose takes precedence over a generated one.
pub fn equate(model: &mut Model) -> Equated {
    let mut equated = Equated::default();
    if model.symbols.iter().nth(1).is_none() {
        return equated;
    }
    let mut found: BTreeMap<SymId, Equal> = BTreeMap::new();
    for _ in 0..ROUNDS {
        if !round(model, &mut equated, &mut found) {
            break;
        }
        rewrite(model, &mut equated);
    }
    equated.equal = found.into_values().collect();
    equated
}

/// Looks at every node once; whether more symbols became one.
fn round(model: &mut Model, equated: &mut Equated, found: &mut BTreeMap<SymId, Equal>) -> bool {
    let (opset, mut changed) = (model.opset(), false);
    let nodes: Vec<NodeId> = model.graph.order(model.graph.main()).collect();
    for node in nodes {
        for (a, b) in answer(&model.graph, &mut model.symbols, opset, node).equal {
            let [a, b] = [a, b].map(|dim| model.symbols.substitute(dim, &mut equated.with));
            let Some((first, second)) = model.symbols.equal_symbols(a, b) else { continue };
            let made_up = |symbol| is_made_up(&model.symbols.get(symbol).name);
            let (kept, replaced) =
                if made_up(first) && !made_up(second) { (second, first) } else { (first, second) };
            if model.symbols.merge(replaced, kept, &mut equated.with).is_none() {
                continue;
            }
            let name = |symbol| model.symbols.get(symbol).name.clone();
            let data = &model.graph.nodes[node];
            let further = found.remove(&replaced).map(|equal| equal.replaced).unwrap_or_default();
            let equal = found.entry(kept).or_insert_with(|| Equal {
                kept: name(kept),
                replaced: Vec::new(),
                op: data.op.to_string(),
                origin: data.origin,
            });
            equal.replaced.push(name(replaced));
            equal.replaced.extend(further);
            changed = true;
        }
    }
    changed
}

fn rewrite(model: &mut Model, equated: &mut Equated) {
    let (graph, symbols) = (&mut model.graph, &mut model.symbols);
    let values: Vec<_> = graph.values.ids().collect();
    for value in values {
        equated.apply(symbols, &mut graph.values[value].ty);
        if let Some(mut items) = graph.shape_value(value)
            && items.iter().any(|item| matches!(item, Dim::Expr(_)))
        {
            items.iter_mut().for_each(|item| *item = symbols.substitute(*item, &mut equated.with));
            graph.set_shape_value(value, items);
        }
    }
    let opset = model.opsets.iter().find(|o| o.domain.is_empty()).map_or(0, |o| o.version);
    infer_all(graph, symbols, opset);
}

/// Whether PyTorch's exporters make up such names: `s38`, `u0`.
fn is_made_up(name: &str) -> bool {
    let digits = name.strip_prefix(['s', 'u']);
    digits.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_that_a_product_sums_over_are_one() {
        let text = "opset 20
symbol s1 2..
symbol past 0..9
symbol s2 2..
symbol other 2..
graph {
  input %k: f32[3, s1, 4]
  input %w: f32[5, past]
  input %v: f32[s2, 4]
  input %free: f32[other]
  %rows: f32[3, 5, 4] = MatMul(%w, %k)
  %all: f32[s1 + s2, 4] = Concat(%v, %v) {axis = 0}
  %more: f32[5, 4] = MatMul(%w, %v)
  output %rows as rows
  output %all as all
  output %more as more
  output %free as same
}
";
        let mut model = Model::parse(text).expect("a model");
        let equated = equate(&mut model);
        let said: Vec<(&str, Vec<String>, &str)> =
            equated.equal.iter().map(|e| (e.kept.as_str(), e.replaced.clone(), e.op.as_str())).collect();
        assert_eq!(said, [("past", vec!["s1".to_owned(), "s2".to_owned()], "MatMul")]);
        let text = model.to_text();
        assert!(text.contains("%k: f32[3, past, 4]") && text.contains("f32[2*past, 4]"), "{text}");
        assert!(text.contains("symbol past 2..9") && text.contains("f32[other]"), "{text}");
    }
}
