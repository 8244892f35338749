//! Small graphs that a test writes down, to apply rules to.

use std::collections::BTreeMap;

use super::eval::Lowered;
use super::graph::{Attr, Block, Graph, Node, ValueInfo};
use super::infer;
use super::lowering::Input;
use super::sym::Symbols;
use super::tensor::Tensor;
use super::types::Type;
use crate::Dim;

/// The opset of a sample that names none.
const OPSET: i64 = 20;

/// A graph under construction. Values are numbers, as in [`Graph`].
#[derive(Clone, Debug)]
pub struct Sample {
    graph: Graph,
    opset: i64,
    symbols: Symbols,
    inputs: Vec<Input>,
}

impl Default for Sample {
    fn default() -> Self {
        Self::new()
    }
}

impl Sample {
    /// An empty graph at opset 20.
    pub fn new() -> Self {
        let graph = Graph { blocks: vec![Block::default()], ..Graph::default() };
        Self { graph, opset: OPSET, symbols: Symbols::default(), inputs: Vec::new() }
    }

    /// Sets the opset.
    #[must_use]
    pub fn opset(mut self, opset: i64) -> Self {
        self.opset = opset;
        self
    }

    /// Adds an input of a type such as `f32[n, 3]`.
    ///
    /// # Panics
    /// When the type cannot be read.
    #[track_caller]
    pub fn input(&mut self, name: &str, ty: &str) -> usize {
        let parsed = Type::parse(ty, &mut self.symbols).unwrap_or_else(|problem| panic!("{problem}"));
        let (dtype, dims) = parsed.real().unwrap_or_else(|| panic!("`{name}` has no type"));
        let value = self.graph.add(ValueInfo {
            name: Some(name.to_owned()),
            dtype: Some(dtype),
            shape: Some(dims.clone()),
            ..ValueInfo::default()
        });
        self.inputs.push(Input { value, dims, tensor: None });
        value
    }

    /// Adds an initializer.
    pub fn constant(&mut self, tensor: Tensor) -> usize {
        self.graph.add(ValueInfo {
            dtype: Some(tensor.dtype()),
            shape: Some(tensor.shape().iter().map(|n| Dim::Const(*n as i64)).collect()),
            constant: Some(tensor),
            ..ValueInfo::default()
        })
    }

    /// Adds a node with one output.
    pub fn node(&mut self, op: &str, inputs: &[usize]) -> usize {
        self.node_with(op, inputs, [])
    }

    /// Adds a node with attributes and one output.
    pub fn node_with<const N: usize>(
        &mut self,
        op: &str,
        inputs: &[usize],
        attributes: [(&str, Attr); N],
    ) -> usize {
        let output = self.graph.add(ValueInfo::default());
        let attributes: BTreeMap<String, Attr> =
            attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let inputs = inputs.iter().map(|value| Some(*value)).collect();
        let node =
            Node { domain: String::new(), op: op.to_owned(), inputs, outputs: vec![output], attributes };
        infer::infer(&mut self.symbols, &mut self.graph, &node);
        self.graph.blocks[0].nodes.push(node);
        output
    }

    /// The graph with these outputs.
    pub fn returns(self, outputs: &[usize]) -> Lowered {
        let Self { graph, opset, symbols, inputs } = self;
        Lowered { graph, results: outputs.iter().map(|v| Some(*v)).collect(), opset, symbols, inputs }
    }
}
