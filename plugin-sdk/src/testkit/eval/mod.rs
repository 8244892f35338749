//! A small evaluator of what was emitted, for comparing numbers. It is written to be read, not to be
//! fast, and knows the operators that lowerings use most; an unknown one is an error.
//!
//! Elements are computed in f64 or i64 and rounded to the element type after every node.

mod control;
mod elementwise;
mod linear;
mod movement;
mod reduce;

use std::collections::BTreeMap;

use super::graph::{Attr, Graph, Node};
use super::infer::TESTKIT;
use super::lowering::Input;
use super::sym::{Binding, Symbols};
use super::tensor::{Data, Tensor};
use crate::{DType, Dim};

pub(super) use movement::slice_range;

/// A call that was lowered.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The nodes, constants and blocks.
    pub graph: Graph,
    /// The results of the call; `None` for one that is not computed.
    pub results: Vec<Option<usize>>,
    /// The opset that was emitted.
    pub opset: i64,
    pub(super) symbols: Symbols,
    pub(super) inputs: Vec<Input>,
}

impl Lowered {
    /// The operators of the call's nodes, in order; bodies of control flow are left out.
    pub fn ops(&self) -> Vec<&str> {
        self.graph.blocks[0].nodes.iter().map(|node| node.op.as_str()).collect()
    }

    /// The nodes of the call, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.graph.blocks[0].nodes
    }

    /// The constants.
    pub fn constants(&self) -> Vec<&Tensor> {
        self.graph.values.iter().filter_map(|value| value.constant.as_ref()).collect()
    }

    /// Computes the results. `inputs` are by the name of the argument (`xs_0` for the first tensor of a
    /// list); those that the test gave as tensors need not be given again.
    ///
    /// # Errors
    /// Says which input is missing or does not fit its type, or which operator is not known here.
    pub fn run(&self, inputs: &[(&str, &Tensor)]) -> Result<Vec<Tensor>, String> {
        let mut run = Run { lowered: self, binding: Binding::new(), values: BTreeMap::new() };
        for (name, _) in inputs {
            if !self.inputs.iter().any(|input| self.name(input) == *name) {
                let names: Vec<&str> = self.inputs.iter().map(|input| self.name(input)).collect();
                return Err(format!("there is no input `{name}`; there are {}", names.join(", ")));
            }
        }
        for input in &self.inputs {
            let name = self.name(input);
            let given = inputs.iter().find(|(other, _)| *other == name).map(|(_, tensor)| *tensor);
            let tensor =
                given.or(input.tensor.as_ref()).ok_or_else(|| format!("input `{name}` is missing"))?;
            run.bind(input, tensor)?;
        }
        for input in &self.inputs {
            run.check(input)?;
        }
        for (value, info) in self.graph.values.iter().enumerate() {
            if let Some(tensor) = &info.constant {
                run.values.insert(value, tensor.clone());
            }
        }
        run.block(0)?;
        let result = |value: &Option<usize>| match value {
            Some(value) => run.value(*value).cloned(),
            None => Err("a result is not computed".to_owned()),
        };
        self.results.iter().map(result).collect()
    }

    fn name(&self, input: &Input) -> &str {
        self.graph.values[input.value].name.as_deref().unwrap_or_default()
    }
}

/// One evaluation.
struct Run<'a> {
    lowered: &'a Lowered,
    binding: Binding,
    values: BTreeMap<usize, Tensor>,
}

impl Run<'_> {
    /// Takes an input and the symbols that are its extents.
    fn bind(&mut self, input: &Input, tensor: &Tensor) -> Result<(), String> {
        let lowered = self.lowered;
        let name = lowered.name(input);
        let info = &lowered.graph.values[input.value];
        if info.dtype != Some(tensor.dtype()) || input.dims.len() != tensor.shape().len() {
            let stated = info.dtype.map_or("?", DType::as_str);
            return Err(format!(
                "input `{name}` is {stated}[{}], it was given {}{:?}",
                lowered.symbols.list(&input.dims),
                tensor.dtype(),
                tensor.shape()
            ));
        }
        // A symbolic integer carries its symbol in its element.
        let number =
            info.contents.as_deref().and_then(|contents| Some((*contents.first()?, tensor.to_i64())));
        let numbers = number.iter().filter_map(|(dim, ints)| Some((*dim, *ints.first()?)));
        let extents = input.dims.iter().copied().zip(tensor.shape().iter().map(|n| *n as i64));
        for (dim, extent) in extents.chain(numbers) {
            if let Some(symbol) = lowered.symbols.name(dim) {
                let bound = *self.binding.entry(symbol.to_owned()).or_insert(extent);
                if bound != extent {
                    return Err(format!("`{symbol}` is {bound} and, in input `{name}`, {extent}"));
                }
            }
        }
        self.values.insert(input.value, tensor.clone());
        Ok(())
    }

    /// Checks the extents that are expressions, when every symbol is known.
    fn check(&self, input: &Input) -> Result<(), String> {
        let tensor = self.value(input.value)?;
        for (axis, (dim, extent)) in input.dims.iter().zip(tensor.shape()).enumerate() {
            if *dim == Dim::Unknown {
                continue;
            }
            let stated = self.lowered.symbols.eval(*dim, &self.binding)?;
            if stated != *extent as i64 {
                let name = self.lowered.name(input);
                return Err(format!("axis {axis} of input `{name}` must be {stated}, it is {extent}"));
            }
        }
        Ok(())
    }

    fn value(&self, value: usize) -> Result<&Tensor, String> {
        self.values.get(&value).ok_or_else(|| "a node uses a value that nothing defines".to_owned())
    }

    fn block(&mut self, block: usize) -> Result<(), String> {
        let lowered = self.lowered;
        for node in &lowered.graph.blocks[block].nodes {
            let outputs =
                self.node(node).map_err(|why| format!("`{}{}`: {why}", dotted(&node.domain), node.op))?;
            for (value, tensor) in node.outputs.iter().zip(outputs) {
                self.values.insert(*value, tensor.rounded());
            }
        }
        Ok(())
    }

    fn node(&mut self, node: &Node) -> Result<Vec<Tensor>, String> {
        if node.domain == TESTKIT {
            return self.dims(node);
        }
        let unknown = || Err("the test kit's evaluator does not know this operator".to_owned());
        if node.attribute("body").is_some() && !node.domain.is_empty() {
            return self.function(node);
        }
        if !node.domain.is_empty() {
            return unknown();
        }
        if let "If" | "Loop" = node.op.as_str() {
            return self.control(node);
        }
        let tensors = node.inputs.iter().map(|v| v.map(|v| self.value(v)).transpose());
        let inputs = Inputs { tensors: tensors.collect::<Result<Vec<_>, _>>()?, node };
        for family in [elementwise::eval, movement::eval, reduce::eval, linear::eval] {
            if let Some(outputs) = family(&inputs) {
                return outputs;
            }
        }
        unknown()
    }

    /// The test kit's own node: extents at run time.
    fn dims(&self, node: &Node) -> Result<Vec<Tensor>, String> {
        let Some(Attr::Dims(dims)) = node.attribute("dims") else {
            return Err("it has no extents".to_owned());
        };
        let ints = dims.iter().map(|dim| self.lowered.symbols.eval(*dim, &self.binding));
        let ints = ints.collect::<Result<Vec<i64>, _>>()?;
        Ok(vec![Tensor::i64([ints.len()], ints)])
    }
}

fn dotted(domain: &str) -> String {
    if domain.is_empty() { String::new() } else { format!("{domain}.") }
}

/// What a family of operators computes; `None` when the operator is not one of it.
type Evaluated = Option<Result<Vec<Tensor>, String>>;

/// A node with its inputs.
struct Inputs<'a> {
    tensors: Vec<Option<&'a Tensor>>,
    node: &'a Node,
}

impl<'a> Inputs<'a> {
    fn maybe(&self, index: usize) -> Option<&'a Tensor> {
        self.tensors.get(index).copied().flatten()
    }

    fn get(&self, index: usize) -> Result<&'a Tensor, String> {
        self.maybe(index).ok_or_else(|| format!("input {index} is missing"))
    }

    /// An input of integers.
    fn ints(&self, index: usize) -> Result<Vec<i64>, String> {
        self.get(index).map(Tensor::to_i64)
    }

    /// The attribute `axis`, counted from the front.
    fn axis(&self, default: i64, rank: usize) -> Result<usize, String> {
        axis(self.node.int("axis").unwrap_or(default), rank)
    }
}

/// `axis` counted from the front.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let positive = if axis < 0 { axis + rank as i64 } else { axis };
    let found = usize::try_from(positive).ok().filter(|a| *a < rank);
    found.ok_or_else(|| format!("axis {axis} is out of range for {rank} axes"))
}

/// Elements to step per axis.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1];
    }
    strides
}

/// Every index of `shape`, row-major.
fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let count = shape.iter().product::<usize>();
    (0..count).map(move |position| {
        let mut rest = position;
        let mut index = vec![0; shape.len()];
        for (slot, extent) in index.iter_mut().zip(shape).rev() {
            *slot = rest % extent;
            rest /= extent;
        }
        index
    })
}

/// Where `index` lies.
fn offset(index: &[usize], strides: &[usize]) -> usize {
    index.iter().zip(strides).map(|(i, s)| i * s).sum()
}

impl Tensor {
    /// The elements at `positions`, in a new shape.
    fn pick(&self, shape: Vec<usize>, positions: impl Iterator<Item = usize>) -> Tensor {
        let data = match &self.data {
            Data::Floats(data) => Data::Floats(positions.map(|p| data[p]).collect()),
            Data::Ints(data) => Data::Ints(positions.map(|p| data[p]).collect()),
        };
        Tensor { dtype: self.dtype, shape, data }
    }

    /// The same elements in another shape.
    fn reshaped(&self, shape: Vec<usize>) -> Result<Tensor, String> {
        if shape.iter().product::<usize>() != self.len() {
            return Err(format!("{:?} does not have the elements of {shape:?}", self.shape));
        }
        Ok(Tensor { shape, ..self.clone() })
    }
}
