//! Writes a plan into the graph: pairs of `QuantizeLinear` and `DequantizeLinear`, codes of weights and biases.

use std::collections::{BTreeMap, BTreeSet};

use super::bias;
use super::place::{Layer, Plan};
use super::range::Quantised;
use super::weights::{Channels, Rounded, largest, shift};
use crate::diagnose::Diagnostic;
use crate::ir::{Attr, Attribute, Def, Graph, Model, NodeId, Type, ValueId};
use crate::legalise::rules::{CodeTypes, Codes};
use crate::op;
use crate::tensor::{DType, LazyTensor};

/// The numbers that a plan is written with.
pub(super) struct Numbers<'a> {
    /// The types of codes.
    pub types: CodeTypes,
    /// The scales, by their numbers in the plan.
    pub scales: &'a [Quantised],
    /// The means of the channels of activations, to correct biases with; empty if they stay.
    pub means: &'a BTreeMap<ValueId, Vec<f64>>,
}

/// Quantizes the layers of `plan`; returns the values that are read instead of those with codes.
///
/// # Errors
/// If a weight cannot be read, or is not finite.
pub(super) fn apply(
    model: &mut Model,
    plan: &Plan,
    numbers: &Numbers<'_>,
) -> Result<BTreeMap<ValueId, ValueId>, Diagnostic> {
    let graph = &mut model.graph;
    for layer in &plan.layers {
        weigh(graph, layer, plan, numbers)?;
    }
    let mut constants: BTreeMap<usize, [ValueId; 2]> = BTreeMap::new();
    let mut read = BTreeMap::new();
    for (value, number) in &plan.values {
        let Some(quantised) = numbers.scales.get(*number) else { continue };
        let name = graph.values[*value].name.clone().unwrap_or_default();
        let [scale, zero] = *constants.entry(*number).or_insert_with(|| {
            let scale = LazyTensor::inline(DType::F32, vec![], quantised.scale.to_le_bytes().to_vec());
            let zero = code(quantised.zero_point, numbers.types.activations);
            [
                graph.add_initializer(Some(format!("{name}_scale").into()), scale),
                graph.add_initializer(Some(format!("{name}_zero_point").into()), zero),
            ]
        });
        let (dtype, readers) = (numbers.types.activations.dtype(), plan.readers(graph, *value));
        read.insert(*value, pair(graph, *value, [scale, zero], dtype, readers.as_ref()));
    }
    Ok(read)
}

fn code(code: i32, codes: Codes) -> LazyTensor {
    let byte = if codes == Codes::U8 { code as u8 } else { code as i8 as u8 };
    LazyTensor::inline(codes.dtype(), vec![], vec![byte])
}

/// Has `readers`, or everything, read `value` through a pair of the two operators.
fn pair(
    graph: &mut Graph,
    value: ValueId,
    [scale, zero]: [ValueId; 2],
    dtype: DType,
    readers: Option<&BTreeSet<NodeId>>,
) -> ValueId {
    let main = graph.main();
    let ty = graph.values[value].ty.clone();
    let (next, origin) = match graph.values[value].def {
        Def::Node(node, _) => (graph.next(node), graph.nodes[node].origin),
        _ => (graph.order(main).next(), None),
    };
    let codes = ty.shape().map_or(Type::Unknown, |shape| Type::tensor(dtype, shape.clone()));
    let mut emit = |op: &str, first: ValueId, ty: Type| {
        let inputs = [first, scale, zero].map(Some);
        let node = graph.append(main, "", op, inputs, Vec::new(), 1, origin);
        if let Some(next) = next {
            graph.move_before(node, next);
        }
        let output = graph.nodes[node].outputs.first().copied().flatten().unwrap_or(first);
        graph.values[output].ty = ty;
        (node, output)
    };
    let (quantize, codes) = emit(op::QuantizeLinear, value, codes);
    let (_, read) = emit(op::DequantizeLinear, codes, ty);
    if let Some(readers) = readers {
        let uses = graph.values[value].uses().to_vec();
        for place in uses.into_iter().filter(|place| readers.contains(&place.node)) {
            graph.set_input(place.node, place.index as usize, Some(read));
        }
        return read;
    }
    let is_computed = matches!(graph.values[value].def, Def::Node(..));
    if is_computed && graph.is_returned(value) {
        // The name of an output is that of the value which the model returns.
        graph.values[read].name = graph.values[value].name.take();
        // The name of a new node is made of that of its result, as the imported name of this one may be.
        if let Def::Node(node, _) = graph.values[value].def
            && let Some(note) = graph.notes.nodes.get_mut(&node).filter(|note| !note.name.is_empty())
        {
            note.name.push_str("_float");
        }
    }
    graph.replace_uses(value, read);
    graph.set_input(quantize, 0, Some(value));
    read
}

/// Replaces the weight and the bias of a layer by codes.
fn weigh(graph: &mut Graph, layer: &Layer, plan: &Plan, numbers: &Numbers<'_>) -> Result<(), Diagnostic> {
    let Some(weight) = &layer.weight else { return Ok(()) };
    let Some(input) = layer.inputs.first() else { return Ok(()) };
    let number = plan.values.get(input);
    let Some(scale) = number.and_then(|number| numbers.scales.get(*number)).map(|q| q.scale) else {
        return Ok(());
    };
    let Some(data) = graph.initializer(weight.value).cloned() else { return Ok(()) };
    let types = numbers.types;
    let axis = types.channels.then_some(weight.axis);
    let channels = Channels::of(&data, axis);
    let name = graph.values[weight.value].name.clone().unwrap_or_default();
    let largest = largest(&name, &data, channels)?;
    let old = match weight.bias.and_then(|bias| graph.initializer(bias)) {
        Some(bias) => Some(bias::read(bias)?),
        None => None,
    };
    let outputs = data.shape.get(weight.axis).copied().unwrap_or(1) as usize;
    let about = bias::Bias { old: old.as_deref(), scale, codes: types.codes_of_biases };
    let scales = bias::scales(&largest, types.largest_weight, &about);
    let rounded = Rounded::new(data, channels, &scales, types.largest_weight);
    let mut new = old.clone();
    if let Some(means) = numbers.means.get(input).filter(|_| weight.takes_bias) {
        let shifts = shift(&name, &rounded, [weight.axis, weight.summed], weight.groups, means)?;
        let bias = new.get_or_insert_with(|| vec![0.0; outputs]);
        bias.iter_mut().zip(shifts).for_each(|(bias, shift)| *bias -= shift as f32);
    }
    let spread = |values: &[f32]| -> LazyTensor {
        let shape = if axis.is_some() { vec![values.len() as u64] } else { vec![] };
        floats(shape, values)
    };
    let zeros = |dtype: DType| {
        let count = if axis.is_some() { scales.len() } else { 1 };
        let bytes = vec![0; count * (dtype.bits() as usize / 8)];
        LazyTensor::inline(dtype, if axis.is_some() { vec![count as u64] } else { vec![] }, bytes)
    };
    let codes = [
        graph.add_weight(Some(format!("{name}_codes").into()), rounded.into_codes()),
        graph.add_initializer(Some(format!("{name}_scale").into()), spread(&scales)),
        graph.add_initializer(Some(format!("{name}_zero_point").into()), zeros(DType::I8)),
    ];
    let along = axis.map(|axis| axis as i64);
    let read = dequantise(graph, layer.node, codes, along);
    graph.set_input(layer.node, 1, Some(read));
    let Some(new) = new else { return Ok(()) };
    let own = weight.bias.and_then(|bias| graph.values[bias].name.clone());
    let own = own.unwrap_or_else(|| format!("{name}_bias").into());
    let bias = if types.codes_of_biases {
        let step: Vec<f32> = scales.iter().map(|weight| weight * scale).collect();
        let bytes: Vec<u8> = bias::codes(&new, &step).into_iter().flat_map(i32::to_le_bytes).collect();
        let codes = LazyTensor::inline(DType::I32, vec![new.len() as u64], bytes);
        let codes = [
            graph.add_weight(Some(format!("{own}_codes").into()), codes),
            graph.add_initializer(Some(format!("{own}_scale").into()), spread(&step)),
            graph.add_initializer(Some(format!("{own}_zero_point").into()), zeros(DType::I32)),
        ];
        dequantise(graph, layer.node, codes, axis.map(|_| 0))
    } else if Some(&new) == old.as_ref() {
        return Ok(());
    } else {
        let bias = floats(vec![new.len() as u64], &new);
        graph.add_weight(Some(format!("{own}_corrected").into()), bias)
    };
    if graph.nodes[layer.node].inputs.len() > 2 {
        graph.set_input(layer.node, 2, Some(bias));
    } else {
        graph.push_input(layer.node, bias);
    }
    Ok(())
}

fn floats(shape: Vec<u64>, values: &[f32]) -> LazyTensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    LazyTensor::inline(DType::F32, shape, bytes)
}

/// Adds a `DequantizeLinear` before `reader`.
fn dequantise(graph: &mut Graph, reader: NodeId, parts: [ValueId; 3], axis: Option<i64>) -> ValueId {
    let attributes = axis.map(|axis| Attribute { name: "axis".into(), value: Attr::Int(axis) });
    let block = graph.nodes[reader].block.unwrap_or(graph.main());
    let origin = graph.nodes[reader].origin;
    let inputs = parts.map(Some);
    let node =
        graph.append(block, "", op::DequantizeLinear, inputs, attributes.into_iter().collect(), 1, origin);
    graph.move_before(node, reader);
    let [codes, ..] = parts;
    let shape = graph.values[codes].ty.shape().cloned().unwrap_or_default();
    let output = graph.nodes[node].outputs.first().copied().flatten().unwrap_or(codes);
    graph.values[output].ty = Type::tensor(DType::F32, shape);
    output
}
