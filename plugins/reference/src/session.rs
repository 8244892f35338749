//! A model that was read, and its runs.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnxport_ir::ir::{Def, Model, NodeId, ValueId};
use onnxport_ir::ops::{self, Error, Fault, Limits, Tensor, Value};
use onnxport_sdk::Lent;
use onnxport_sdk::abi::DType;
use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Failure, Outputs, Session};

/// A model and the results of its runs.
pub(crate) struct Evaluation {
    model: Model,
    limits: Limits,
    /// The intermediate values that are returned after its outputs: the name of each, and the node and the place among
    /// its outputs that it comes from.
    further: Vec<(String, (NodeId, usize))>,
}

impl Evaluation {
    pub(crate) fn new(model: Model, values: &[&str], limits: Limits) -> Result<Self, Failure> {
        let graph = &model.graph;
        let inside = graph.order(graph.main()).flat_map(|node| graph.nodes[node].outputs.iter().flatten());
        let mut places: BTreeMap<&str, (NodeId, usize)> = BTreeMap::new();
        for value in inside {
            if let (Some(name), Def::Node(node, at)) = (name(&model, *value), graph.values[*value].def) {
                places.insert(name, (node, at as usize));
            }
        }
        let place = |wanted: &&str| match places.get(wanted) {
            Some(place) => Ok(((*wanted).to_owned(), *place)),
            None => Err(Failure::new(format!("no node of the model's graph computes `{wanted}`"))),
        };
        let further = values.iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { model, limits, further })
    }

    /// The value of each input of the graph, `None` for one that has a default and is not given.
    fn inputs(&self, given: &[TensorView<'_>]) -> Result<Vec<Option<Value>>, Failure> {
        let graph = &self.model.graph;
        let names: Vec<&str> =
            graph.blocks[graph.main()].inputs.iter().map(|id| name(&self.model, *id).unwrap_or("")).collect();
        let mut values: Vec<Option<Value>> = vec![None; names.len()];
        for view in given {
            let wanted = view.name.lent();
            let slot = names.iter().position(|name| *name == wanted).and_then(|at| values.get_mut(at));
            let Some(slot) = slot else {
                return Err(Failure::new(format!("the model has no input `{wanted}`")));
            };
            *slot = Some(tensor(view)?.into());
        }
        let inputs = &graph.blocks[graph.main()].inputs;
        for ((id, name), value) in inputs.iter().zip(&names).zip(&values) {
            let has_default = graph.defaults.iter().any(|default| default.value == *id);
            if value.is_none() && !has_default {
                return Err(Failure::new(format!("the input `{name}` is not given")));
            }
        }
        Ok(values)
    }
}

impl Session for Evaluation {
    fn run(&mut self, inputs: &[TensorView<'_>], outputs: &mut Outputs<'_>) -> Result<(), Failure> {
        let inputs = self.inputs(inputs)?;
        let mut seen: BTreeMap<(NodeId, usize), Value> = BTreeMap::new();
        let wanted = &self.further;
        let results = ops::run_each(&self.model, inputs, self.limits, &mut |node, at, value| {
            if wanted.iter().any(|(_, place)| *place == (node, at)) {
                seen.insert((node, at), value.clone());
            }
        });
        let results = results.map_err(failure)?;
        let graph = &self.model.graph;
        for (id, value) in graph.blocks[graph.main()].outputs().iter().zip(&results) {
            push(name(&self.model, *id).unwrap_or(""), value, outputs)?;
        }
        for (name, place) in wanted {
            let value = seen.get(place).ok_or_else(|| Failure::new(format!("`{name}` was not computed")))?;
            push(name, value, outputs)?;
        }
        Ok(())
    }
}

fn name(model: &Model, value: ValueId) -> Option<&str> {
    model.graph.values[value].name.as_deref()
}

fn tensor(view: &TensorView<'_>) -> Result<Tensor, Failure> {
    let name = view.name.lent();
    let dtype = DType::from_onnx(view.dtype)
        .ok_or_else(|| Failure::new(format!("input {name}: unknown element type {}", view.dtype)))?;
    let shape: Option<Vec<usize>> = view.dims.lent().iter().map(|d| usize::try_from(*d).ok()).collect();
    let shape = shape.ok_or_else(|| Failure::new(format!("input {name}: a size below zero")))?;
    let bytes = Bytes::copy_from_slice(view.bytes.lent());
    Tensor::packed(dtype, shape, bytes).map_err(|e| Failure::new(format!("input {name}: {e}")))
}

fn push(name: &str, value: &Value, outputs: &mut Outputs<'_>) -> Result<(), Failure> {
    let Some(tensor) = value.tensor() else {
        return Err(
            Failure::new(format!("output {name} is {}, not a tensor", value.describe())).unsupported()
        );
    };
    let bytes = tensor.to_packed().map_err(|_| {
        Failure::new(format!("output {name}: string tensors are not supported")).unsupported()
    })?;
    let dims: Vec<i64> = tensor.shape().iter().map(|d| *d as i64).collect();
    outputs.push(name, tensor.dtype().onnx(), &dims, &bytes);
    Ok(())
}

/// The reason why a run stopped. That nobody here evaluates an operator, or that a budget was too small, says nothing
/// about the model.
fn failure(error: Error) -> Failure {
    let failure = Failure::new(format!("the model was not evaluated: {}", error.message));
    match error.fault {
        Fault::Invalid => failure,
        Fault::Unsupported => failure.unsupported().help("another executor may have it: --executor ort"),
        Fault::Memory => failure.unsupported().help("give it more with --executor-option bytes=NUMBER"),
        Fault::Steps => failure.unsupported().help("give it more with --executor-option steps=NUMBER"),
        Fault::Time => failure.unsupported().help("give it more with --executor-option seconds=NUMBER"),
    }
}
