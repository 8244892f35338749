//! Extracts a part of a model as a separate model.

use rustc_hash::FxHashSet;

use super::places::reads;
use crate::ir::{Def, Model, NodeId, Shape, Type, ValueId};
use crate::run::Computed;
use crate::sym::Dim;
use crate::tidy;

/// Returns the nodes that compute `values` from values for which `is_known` holds, in no order, and the known values
/// and model inputs that they read. `values` themselves are computed even if they are known.
pub fn bound(
    model: &Model,
    values: &[ValueId],
    is_known: &dyn Fn(ValueId) -> bool,
) -> (Vec<NodeId>, Vec<ValueId>) {
    let graph = &model.graph;
    let (mut nodes, mut border) = (Vec::new(), Vec::new());
    let (mut seen, mut entered) = (FxHashSet::default(), FxHashSet::default());
    let maker = |value: ValueId| match graph.values[value].def {
        Def::Node(node, _) => Some(node),
        _ => None,
    };
    let mut pending: Vec<NodeId> = values.iter().filter_map(|value| maker(*value)).collect();
    while let Some(node) = pending.pop() {
        if !entered.insert(node) {
            continue;
        }
        nodes.push(node);
        for value in reads(model, node) {
            if !seen.insert(value) {
                continue;
            }
            match graph.values[value].def {
                Def::Node(..) if is_known(value) && !values.contains(&value) => border.push(value),
                Def::Node(node, _) => pending.push(node),
                Def::Input(..) => border.push(value),
                _ => {}
            }
        }
    }
    (nodes, border)
}

/// Returns the part of `model` that computes `values` from `border`, whose values are given and not among `values`: a
/// model with an input for each border value that is computed in `model`, with the value's name, beside the inputs of
/// `model` that it still reads. Its outputs are `values`.
pub fn cut(model: &Model, values: &[ValueId], border: &[(ValueId, &Computed)]) -> Model {
    let mut part = model.to_part();
    let graph = &mut part.graph;
    let main = graph.main();
    for (value, given) in border {
        let ty = type_of(given);
        if !matches!(graph.values[*value].def, Def::Node(..)) {
            graph.values[*value].ty = ty;
            continue;
        }
        let name = graph.values[*value].name.clone();
        // Its node may stay for other results.
        if let Some(name) = &name {
            graph.values[*value].name = Some(format!("{name}.computed").into());
        }
        let input = graph.add_input(main, name, ty);
        graph.replace_uses(*value, input);
    }
    let names = values.iter().map(|value| graph.values[*value].name.as_deref().unwrap_or_default());
    part.output_names = names.map(str::to_owned).collect();
    graph.set_outputs(main, values.iter().copied());
    tidy::model(&mut part);
    tidy::drop_inputs(&mut part);
    part
}

fn type_of(value: &Computed) -> Type {
    Type::tensor(value.dtype, Shape::of(value.shape.iter().map(|d| Dim::Const(*d as i64))))
}
