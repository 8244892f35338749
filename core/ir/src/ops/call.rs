//! The node that an evaluator evaluates.

use super::budget::Budget;
use super::error::{invalid, unsupported};
use super::{Res, Tensor, Value};
use crate::ir::opset::AttrDefault;
use crate::ir::{Attr, BlockId, Node, Type};
use crate::tensor::{DType, LazyTensor};

/// Runs the blocks of a node.
pub(super) trait Scope {
    /// Runs `block` with these inputs and returns its outputs.
    fn run(&mut self, block: BlockId, inputs: Vec<Value>) -> Res<Vec<Value>>;
    /// The types of the outputs of `block`, as far as they are known.
    fn returned(&self, block: BlockId) -> Vec<Type>;
    /// The attribute of the enclosing function that an attribute refers to.
    fn outer(&self, name: &str) -> Option<&Attr>;
}

/// One evaluation of a node: its inputs and attributes.
///
/// The accessors fail with a sentence that states the requirement of the operator's definition. An absent attribute has the
/// default of the operator's version.
pub struct Call<'a> {
    pub(super) node: &'a Node,
    /// The version of the operator set that the node is of.
    pub opset: i64,
    pub(super) inputs: Vec<Option<Value>>,
    pub(super) budget: &'a Budget,
    pub(super) scope: &'a mut dyn Scope,
}

impl Call<'_> {
    /// The operator.
    pub fn op(&self) -> &str {
        &self.node.op
    }

    /// A number that identifies the node in the model.
    pub(super) fn number_of_node(&self) -> u64 {
        self.node.outputs.iter().flatten().next().map_or(0, |value| value.index() as u64)
    }

    /// The number of inputs, absent ones in between included.
    pub fn arity(&self) -> usize {
        self.inputs.len()
    }

    /// How many outputs the node names, absent ones in between included.
    pub fn outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// Input `index`, if it is there.
    pub fn value(&self, index: usize) -> Option<&Value> {
        self.inputs.get(index)?.as_ref()
    }

    /// Input `index`, which is a tensor.
    pub fn tensor(&self, index: usize) -> Res<&Tensor> {
        match self.optional(index)? {
            Some(tensor) => Ok(tensor),
            None => invalid!("input {index} is missing"),
        }
    }

    /// Input `index`, which is a tensor if it is there.
    pub fn optional(&self, index: usize) -> Res<Option<&Tensor>> {
        match self.value(index) {
            None => Ok(None),
            Some(Value::Tensor(tensor)) => Ok(Some(tensor)),
            Some(other) => invalid!("input {index} is {}, not a tensor", other.describe()),
        }
    }

    /// Every input from `first` on, which are tensors.
    pub fn tensors(&self, first: usize) -> Res<Vec<&Tensor>> {
        (first..self.inputs.len()).map(|index| self.tensor(index)).collect()
    }

    /// The integers of input `index`, if it is there.
    pub fn longs(&self, index: usize) -> Res<Option<Vec<i64>>> {
        self.optional(index)?.map(Tensor::longs).transpose()
    }

    /// The single integer of input `index`, if it is there.
    pub fn long(&self, index: usize) -> Res<Option<i64>> {
        match self.longs(index)?.as_deref() {
            None => Ok(None),
            Some([n]) => Ok(Some(*n)),
            Some(items) => invalid!("input {index} has {} integers instead of one", items.len()),
        }
    }

    /// The single number of input `index`, if it is there.
    pub fn number(&self, index: usize) -> Res<Option<f64>> {
        match self.optional(index)?.map(Tensor::floats).transpose()?.as_deref() {
            None => Ok(None),
            Some([n]) => Ok(Some(*n)),
            Some(items) => invalid!("input {index} has {} numbers instead of one", items.len()),
        }
    }

    /// The attribute called `name`.
    pub fn attr(&self, name: &str) -> Option<&Attr> {
        match self.node.attr(name) {
            Some(Attr::Ref(outer, ..)) => self.scope.outer(outer),
            found => found,
        }
    }

    fn default_of(&self, name: &str) -> Option<&'static AttrDefault> {
        self.node.default_of(name, self.opset)
    }

    /// The integer attribute called `name`, or its default.
    pub fn int(&self, name: &str) -> Res<i64> {
        match self.int_if_any(name) {
            Some(n) => Ok(n),
            None => invalid!("the integer attribute `{name}` is missing"),
        }
    }

    /// [`Call::int`] of an attribute that may be absent without a default.
    pub fn int_if_any(&self, name: &str) -> Option<i64> {
        match self.attr(name) {
            Some(Attr::Int(n)) => Some(*n),
            _ => self.default_of(name)?.int(),
        }
    }

    /// Whether the integer attribute called `name`, or its default, is there and not 0.
    pub fn flag(&self, name: &str) -> bool {
        self.int_if_any(name).is_some_and(|n| n != 0)
    }

    /// The float attribute called `name`, or its default.
    pub fn float(&self, name: &str) -> Res<f64> {
        match self.float_if_any(name) {
            Some(x) => Ok(x),
            None => invalid!("the float attribute `{name}` is missing"),
        }
    }

    /// [`Call::float`] of an attribute that may be absent without a default.
    pub fn float_if_any(&self, name: &str) -> Option<f64> {
        match self.attr(name) {
            Some(Attr::Float(x)) => Some(f64::from(*x)),
            _ => self.default_of(name)?.float().map(f64::from),
        }
    }

    /// The text attribute called `name`, or its default.
    pub fn text(&self, name: &str) -> Res<&str> {
        match self.text_if_any(name) {
            Some(text) => Ok(text),
            None => invalid!("the text attribute `{name}` is missing"),
        }
    }

    /// [`Call::text`] of an attribute that may be absent without a default.
    pub fn text_if_any(&self, name: &str) -> Option<&str> {
        match self.attr(name) {
            Some(Attr::Str(text)) => Some(text),
            _ => self.default_of(name)?.text(),
        }
    }

    /// The integers of the attribute called `name`.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attr(name) {
            Some(Attr::Ints(items)) => Some(items),
            _ => None,
        }
    }

    /// The floats of the attribute called `name`.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        match self.attr(name) {
            Some(Attr::Floats(items)) => Some(items.iter().map(|x| f64::from(*x)).collect()),
            _ => None,
        }
    }

    /// The texts of the attribute called `name`.
    pub fn texts(&self, name: &str) -> Option<&[String]> {
        match self.attr(name) {
            Some(Attr::Strs(items)) => Some(items),
            _ => None,
        }
    }

    /// The tensor of the attribute called `name`.
    pub fn tensor_attr(&self, name: &str) -> Option<&LazyTensor> {
        match self.attr(name) {
            Some(Attr::Tensor(data)) => Some(data),
            _ => None,
        }
    }

    /// The element type that the integer attribute called `name`, or its default, stands for.
    pub fn dtype(&self, name: &str) -> Res<DType> {
        let code = self.int(name)?;
        match i32::try_from(code).ok().and_then(DType::from_onnx) {
            Some(dtype) => Ok(dtype),
            None => unsupported!("unknown element type {code}"),
        }
    }

    /// [`Call::dtype`], or `other` where the attribute is 0 or absent without a default.
    pub fn dtype_or(&self, name: &str, other: DType) -> Res<DType> {
        if self.flag(name) { self.dtype(name) } else { Ok(other) }
    }

    /// The attribute `axis`, counted from the front.
    pub fn axis(&self, rank: usize) -> Res<usize> {
        axis(self.int("axis")?, rank)
    }

    /// The axes that input `index` or, before the operator had that input, the attribute `axes` names, counted from the
    /// front; `None` where neither is there.
    pub fn axes(&self, index: usize, rank: usize) -> Res<Option<Vec<usize>>> {
        let given = match self.longs(index)? {
            Some(axes) => Some(axes),
            None => self.ints("axes").map(<[i64]>::to_vec),
        };
        given.map(|axes| axes.iter().map(|a| axis(*a, rank)).collect()).transpose()
    }

    /// The number of elements of a result of this shape. Ask before making room for it.
    pub fn count(&self, shape: &[usize]) -> Res<usize> {
        self.budget.count(shape)
    }

    /// Spends `steps` of the budget: the work of an evaluator beyond one step per element of its result.
    pub fn spend(&self, steps: u64) -> Res<()> {
        self.budget.spend(steps)
    }

    /// Takes the bytes of a value that outlives a run of a block.
    pub(super) fn keep(&self, bytes: u64) -> Res<()> {
        self.budget.keep(bytes)
    }

    /// Gives back the bytes of such a value.
    pub(super) fn free(&self, bytes: u64) {
        self.budget.free(bytes);
    }

    /// The block of the attribute called `name`.
    pub fn block(&self, name: &str) -> Res<BlockId> {
        match self.node.attr(name) {
            Some(Attr::Block(block)) => Ok(*block),
            _ => invalid!("the attribute `{name}` is missing"),
        }
    }

    /// The types of the outputs of a block of the node, as far as they are known.
    pub fn returned(&self, block: BlockId) -> Vec<Type> {
        self.scope.returned(block)
    }

    /// Runs a block of the node.
    pub fn run(&mut self, block: BlockId, inputs: Vec<Value>) -> Res<Vec<Value>> {
        self.scope.run(block, inputs)
    }
}

/// `axis` counted from the front.
pub(super) fn axis(axis: i64, rank: usize) -> Res<usize> {
    let front = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(front) {
        Ok(front) if front < rank => Ok(front),
        _ => invalid!("axis {axis} is out of range for rank {rank}"),
    }
}

/// Sizes and counts that must not be negative.
pub(super) fn sizes(items: &[i64]) -> Res<Vec<usize>> {
    let size = |n: &i64| match usize::try_from(*n) {
        Ok(size) => Ok(size),
        Err(_) => invalid!("the size {n} is negative"),
    };
    items.iter().map(size).collect()
}

/// A result of one tensor.
#[expect(clippy::unnecessary_wraps, reason = "what an evaluator returns")]
pub(super) fn one(tensor: Tensor) -> Res<Vec<Value>> {
    Ok(vec![Value::Tensor(tensor)])
}
