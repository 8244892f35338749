//! What a lowering emitted, as data.

use std::collections::BTreeMap;

use super::Tensor;
use crate::{DType, Dim};

/// The nodes, constants and blocks of a lowered call. Values are numbered across all blocks.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Every value, by its number.
    pub values: Vec<ValueInfo>,
    /// Every block; the first is that of the call.
    pub blocks: Vec<Block>,
}

/// A value: an input, a constant or the output of a node.
#[derive(Clone, Debug, Default)]
pub struct ValueInfo {
    /// The name of an input.
    pub name: Option<String>,
    /// The element type, where it is known.
    pub dtype: Option<DType>,
    /// The extents, where the rank is known.
    pub shape: Option<Vec<Dim>>,
    /// The elements of a constant.
    pub constant: Option<Tensor>,
    /// The elements of a vector of integers as expressions, where they are known.
    pub contents: Option<Vec<Dim>>,
}

/// A list of nodes: that of the call, or the body of a control-flow node.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The block around it.
    pub parent: Option<usize>,
    /// The inputs of a body.
    pub inputs: Vec<usize>,
    /// The nodes, in order.
    pub nodes: Vec<Node>,
    /// The outputs of a body.
    pub outputs: Vec<usize>,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The domain; empty for ONNX's own operators.
    pub domain: String,
    /// The operator.
    pub op: String,
    /// The inputs; `None` where an optional one is left out.
    pub inputs: Vec<Option<usize>>,
    /// The outputs.
    pub outputs: Vec<usize>,
    /// The attributes.
    pub attributes: BTreeMap<String, Attr>,
}

/// An attribute of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f32),
    /// A text.
    Str(String),
    /// Integers.
    Ints(Vec<i64>),
    /// Floats.
    Floats(Vec<f32>),
    /// Texts.
    Strs(Vec<String>),
    /// A constant.
    Tensor(Tensor),
    /// A block, by its number; that of a call of a local function is called `body`.
    Block(usize),
    /// What the call of the local function around gives for its attribute `name`: here, `value`.
    Ref {
        /// The attribute of the function.
        name: String,
        /// What this call gives for it.
        value: Box<Attr>,
    },
    /// Extents that are computed at run time; only of the test kit's own node `Dims`.
    Dims(Vec<Dim>),
}

impl Node {
    /// The attribute `name`; what stands for one of a function's, as this call gives it.
    pub fn attribute(&self, name: &str) -> Option<&Attr> {
        match self.attributes.get(name)? {
            Attr::Ref { value, .. } => Some(value),
            attr => Some(attr),
        }
    }

    /// The integer attribute `name`.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attribute(name)? {
            Attr::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The attribute `name` of integers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attribute(name)? {
            Attr::Ints(ints) => Some(ints),
            _ => None,
        }
    }

    /// The float attribute `name`.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.attribute(name)? {
            Attr::Float(x) => Some(f64::from(*x)),
            _ => None,
        }
    }

    /// What a `Constant` is.
    pub(super) fn constant(&self) -> Option<Tensor> {
        Some(match (self.attribute("value"), self.attribute("value_float"), self.attribute("value_int")) {
            (Some(Attr::Tensor(tensor)), ..) => tensor.clone(),
            (_, Some(Attr::Float(x)), _) => Tensor::f32([], [*x]),
            (_, _, Some(Attr::Int(n))) => Tensor::i64([], [*n]),
            _ => match (self.ints("value_ints"), self.attribute("value_floats")) {
                (Some(ints), _) => Tensor::i64([ints.len()], ints.iter().copied()),
                (_, Some(Attr::Floats(floats))) => Tensor::f32([floats.len()], floats.iter().copied()),
                _ => return None,
            },
        })
    }

    /// The text attribute `name`.
    pub fn str(&self, name: &str) -> Option<&str> {
        match self.attribute(name)? {
            Attr::Str(text) => Some(text),
            _ => None,
        }
    }
}

impl Graph {
    /// The number of a new value.
    pub(super) fn add(&mut self, value: ValueInfo) -> usize {
        self.values.push(value);
        self.values.len() - 1
    }

    /// The constant elements of `value` as integers: those of a constant, or of known contents.
    pub(super) fn known_ints(&self, value: usize) -> Option<Vec<i64>> {
        let info = self.values.get(value)?;
        match (&info.constant, &info.contents) {
            (Some(tensor), _) if tensor.dtype().is_int() => Some(tensor.to_i64()),
            (_, Some(contents)) => contents.iter().map(|dim| dim.as_const()).collect(),
            _ => None,
        }
    }

    /// The elements of an integer vector as expressions.
    pub(super) fn known_dims(&self, value: usize) -> Option<Vec<Dim>> {
        let info = self.values.get(value)?;
        let ints = || self.known_ints(value).map(|ints| ints.into_iter().map(Dim::Const).collect());
        info.contents.clone().or_else(ints)
    }
}
