//! Calls of operators and their arguments.

use smallvec::SmallVec;

use super::{Body, Val};
use crate::Name;
use crate::diagnose::OriginId;
use crate::tensor::DType;

/// One call of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The operator and overload: `aten.add.Tensor`, `_operator.mul`, `higher_order.cond`,
    /// `mylib.myop.default`.
    pub target: Name,
    /// The arguments that the program states, in order.
    pub args: Vec<NamedArg>,
    /// The results, one per return of the operator's schema.
    pub outputs: Outputs,
    /// The origin of the call.
    pub origin: OriginId,
}

impl Call {
    /// The argument called `name`, if the program states it.
    pub fn arg(&self, name: &str) -> Option<&Arg> {
        self.args.iter().find(|a| a.name == name).map(|a| &a.arg)
    }

    /// The operands of a region: those behind its graph, which is the argument at `graph`.
    pub fn operands(&self, graph: usize) -> Vec<&Arg> {
        let mut operands = Vec::new();
        let behind = self.args.iter().skip(graph.saturating_add(1));
        for arg in behind.filter(|a| a.name.is_empty() || a.name.starts_with("arg")) {
            match &arg.arg {
                // `hints_wrapper` and `strict_mode` pass a tuple.
                Arg::List(items) => operands.extend(items),
                Arg::Dict(items) => operands.extend(items.iter().map(|(_, item)| item)),
                // `invoke_subgraph` names its graph.
                Arg::Str(_) => {}
                other => operands.push(other),
            }
        }
        operands
    }
}

/// The results of a call; nearly all have one.
pub type Outputs = SmallVec<[Output; 1]>;

/// An argument with its name in the operator's schema.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArg {
    /// The schema's name; empty for positional arguments of higher-order operators.
    pub name: Name,
    /// The value.
    pub arg: Arg,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// Python's `None`.
    None,
    /// A value of the body: a tensor, a symbolic number or a token.
    Value(Val),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string.
    Str(Name),
    /// A complex number, real and imaginary part.
    Complex(f64, f64),
    /// An element type.
    DType(DType),
    /// A device, as PyTorch prints it: `cpu`, `cuda:0`.
    Device(Name),
    /// A layout, as PyTorch prints it: `torch.strided`.
    Layout(Name),
    /// A memory format, as PyTorch prints it: `torch.channels_last`.
    MemoryFormat(Name),
    /// A list; elements may be `None`.
    List(Vec<Arg>),
    /// A dictionary with string keys, in order.
    Dict(Box<[(Name, Arg)]>),
    /// A nested graph.
    Graph(Box<Subgraph>),
    /// An operator passed as a value.
    Operator(Name),
    /// An element type that has no ONNX equivalent, by PyTorch's number.
    UnknownDType(i64),
}

impl Arg {
    /// The value, if the argument is one.
    pub fn as_value(&self) -> Option<Val> {
        match self {
            Arg::Value(v) => Some(*v),
            _ => None,
        }
    }

    /// The integer, if the argument is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Arg::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// Calls `visit` on every value inside the argument, nested graphs left out.
    pub fn each_value(&self, visit: &mut impl FnMut(Val)) {
        match self {
            Arg::Value(v) => visit(*v),
            Arg::List(items) => items.iter().for_each(|a| a.each_value(visit)),
            Arg::Dict(items) => items.iter().for_each(|(_, a)| a.each_value(visit)),
            _ => {}
        }
    }

    /// Replaces every value inside the argument, nested graphs left out.
    pub fn map_values(&mut self, map: &mut impl FnMut(Val) -> Val) {
        match self {
            Arg::Value(v) => *v = map(*v),
            Arg::List(items) => items.iter_mut().for_each(|a| a.map_values(map)),
            Arg::Dict(items) => items.iter_mut().for_each(|(_, a)| a.map_values(map)),
            _ => {}
        }
    }
}

/// A nested graph with its attribute name (`true_graph_0`).
#[derive(Clone, Debug, PartialEq)]
pub struct Subgraph {
    /// The attribute name.
    pub name: String,
    /// The graph.
    pub body: Body,
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.values.iter().eq(other.values.iter())
            && self.inputs == other.inputs
            && self.calls == other.calls
            && self.outputs == other.outputs
    }
}

/// One return of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A return without a value.
    None,
    /// A tensor, symbolic number or token.
    Value(Val),
    /// A list of tensors; `None` for an absent element.
    List(Vec<Option<Val>>),
}

impl Output {
    /// Calls `visit` on every value that the output defines.
    pub fn each_value(&self, visit: &mut impl FnMut(Val)) {
        match self {
            Output::None => {}
            Output::Value(v) => visit(*v),
            Output::List(items) => items.iter().flatten().for_each(|v| visit(*v)),
        }
    }
}
