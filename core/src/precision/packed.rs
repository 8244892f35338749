//! Joins products of one value with several weights into one product, which is split, before the weights are quantised.
//!
//! The blocks of a quantised form run along the summed axis, so codes and scales are those of the single weights. A
//! runtime quantises the value once for all of them, and starts one kernel.

use rustc_hash::FxHashMap;

use super::Scheme;
use super::readers::Readers;
use super::select::{Choice, weights};
use crate::ir::{Attr, Attribute, BlockId, Graph, Model, NodeId, ValueId};
use crate::op;
use crate::ops::infer::infer;
use crate::tensor::{DType, LazyTensor};

/// A product that can be joined with others.
struct Part {
    node: NodeId,
    name: String,
    /// The weight, a row for each output.
    rows: LazyTensor,
}

/// Products with equal keys can be joined: the block, the value, the type and the width of the weight.
type Key = (BlockId, ValueId, DType, u64);

/// Joins the products of the weights of `choice`. Weights that a plugin quantises stay separate, because the plugin
/// is asked by their names; so do those that other nodes read. Returns the number of removed products.
pub(super) fn apply(model: &mut Model, scheme: &Scheme, choice: &mut Choice<'_>) -> usize {
    if scheme.quantiser.is_some() || model.opset() < 13 {
        return 0;
    }
    let mut gone = 0;
    for parts in alike(&model.graph, model.opset(), choice) {
        if parts.len() < 2 {
            continue;
        }
        if let Some(weight) = pack(model, &parts) {
            gone += parts.len() - 1;
            choice.note(weight, parts.into_iter().map(|part| part.name).collect());
        }
    }
    gone
}

/// Returns the products that can be joined, in the order of the first of them.
fn alike(graph: &Graph, opset: i64, choice: &Choice<'_>) -> Vec<Vec<Part>> {
    let mut found: FxHashMap<NodeId, (Key, Part)> = FxHashMap::default();
    for (value, name) in weights(graph) {
        if choice.has(value, name)
            && let Some((key, part)) = part(graph, opset, value, name)
        {
            found.insert(part.node, (key, part));
        }
    }
    let mut places: FxHashMap<Key, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<Part>> = Vec::new();
    for block in graph.blocks.ids() {
        for node in graph.order(block) {
            let Some((key, part)) = found.remove(&node) else { continue };
            let at = *places.entry(key).or_insert(groups.len());
            match groups.get_mut(at) {
                Some(group) => group.push(part),
                None => groups.push(vec![part]),
            }
        }
    }
    groups
}

/// Returns the `MatMul` that is the only reader of the weight `value`.
fn part(graph: &Graph, opset: i64, value: ValueId, name: &str) -> Option<(Key, Part)> {
    let data = graph.initializer(value)?;
    let takes = matches!(data.dtype, DType::F32 | DType::F16 | DType::BF16);
    let [_, _] = data.shape[..] else { return None };
    let readers = Readers::for_value(graph, opset, value);
    let [product] = readers.products[..] else { return None };
    let node = &graph.nodes[product.node];
    if !takes || readers.others || !readers.lookups.is_empty() || !node.is(op::MatMul) {
        return None;
    }
    let rows = if product.axis == 1 { data.clone() } else { data.permute(&[1, 0])? };
    let [n, k] = rows.shape[..] else { return None };
    let left = node.inputs.first().copied().flatten().filter(|_| n > 0 && k > 0)?;
    let key = (node.block?, left, data.dtype, k);
    Some((key, Part { node: product.node, name: name.to_owned(), rows }))
}

/// Replaces the first of `parts` by one product and a `Split`, and removes the others. Returns the weight of all of
/// them.
fn pack(model: &mut Model, parts: &[Part]) -> Option<ValueId> {
    let opset = model.opset();
    let first = parts.first()?.node;
    let rows: Vec<LazyTensor> = parts.iter().map(|part| part.rows.clone()).collect();
    let data = LazyTensor::concat(&rows, 0)?.permute(&[1, 0])?;
    let widths: Vec<i64> =
        rows.iter().map(|rows| i64::try_from(*rows.shape.first()?).ok()).collect::<Option<_>>()?;
    let outputs: Vec<ValueId> = parts
        .iter()
        .map(|part| model.graph.nodes[part.node].outputs.first().copied().flatten())
        .collect::<Option<_>>()?;
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let name = names.join("+");
    let graph = &mut model.graph;
    let (block, origin) = (graph.nodes[first].block?, graph.nodes[first].origin);
    let left = graph.nodes[first].inputs.first().copied().flatten()?;
    let weight = graph.add_weight(Some(name.into()), data);
    let sizes: Vec<u8> = widths.iter().flat_map(|width| width.to_le_bytes()).collect();
    let sizes = LazyTensor::inline(DType::I64, vec![widths.len() as u64], sizes);
    let sizes = graph.add_initializer(None, sizes);
    let product = graph.append(block, "", op::MatMul, vec![Some(left), Some(weight)], Vec::new(), 1, origin);
    graph.move_before(product, first);
    infer(graph, &mut model.symbols, opset, product);
    let graph = &mut model.graph;
    let whole = graph.nodes[product].outputs.first().copied().flatten()?;
    let axis = Attribute { name: "axis".into(), value: Attr::Int(-1) };
    let split =
        graph.append(block, "", op::Split, vec![Some(whole), Some(sizes)], vec![axis], parts.len(), origin);
    graph.move_before(split, first);
    let made = graph.nodes[split].outputs.clone();
    for ((part, old), new) in parts.iter().zip(outputs).zip(made) {
        let Some(new) = new else { continue };
        graph.values[new].ty = graph.values[old].ty.clone();
        graph.values[new].name = graph.values[old].name.take();
        graph.replace_uses(old, new);
        graph.remove(part.node);
    }
    Some(weight)
}
