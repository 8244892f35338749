//! ONNX's own operator schemas for opsets 18 to 23, as tables generated from the ONNX package.

mod generated;

use super::Attr;
use crate::tensor::DType;

/// The lowest opset that is emitted.
pub const MIN_OPSET: i64 = 18;
/// The highest opset that is emitted.
pub const MAX_OPSET: i64 = 23;
/// The opset that is emitted unless the user asks for another.
pub const DEFAULT_OPSET: i64 = 20;

/// One version of an operator.
#[derive(Debug)]
pub struct OpSchema {
    /// The operator.
    pub name: &'static str,
    /// The opset that introduced this version.
    pub since: u16,
    /// Whether this version withdraws the operator.
    pub deprecated: bool,
    /// The formal inputs.
    pub inputs: &'static [Formal],
    /// The formal outputs.
    pub outputs: &'static [Formal],
    /// The fewest inputs.
    pub min_inputs: u16,
    /// The most inputs; `u16::MAX` is unbounded.
    pub max_inputs: u16,
    /// The fewest outputs.
    pub min_outputs: u16,
    /// The most outputs; `u16::MAX` is unbounded.
    pub max_outputs: u16,
    /// The attributes.
    pub attributes: &'static [AttrSchema],
    /// The type variables that formals refer to.
    pub type_vars: &'static [TypeVar],
}

/// A formal input or output.
#[derive(Debug)]
pub struct Formal {
    /// The name.
    pub name: &'static str,
    /// How often it may stand.
    pub kind: FormalKind,
    /// Its type.
    pub ty: FormalType,
}

/// How often a formal may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FormalKind {
    Single,
    Optional,
    Variadic,
    VariadicHeterogeneous,
}

/// The type of a formal.
#[derive(Debug)]
pub enum FormalType {
    /// An index into [`OpSchema::type_vars`].
    Var(u8),
    /// One of these.
    Fixed(&'static [TypeTag]),
}

/// A type variable.
#[derive(Debug)]
pub struct TypeVar {
    /// The name.
    pub name: &'static str,
    /// What it may stand for.
    pub allowed: &'static [TypeTag],
}

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TypeTag {
    Tensor(DType),
    Seq(DType),
    Optional(DType),
    OptionalSeq(DType),
    Map,
}

/// An attribute.
#[derive(Debug)]
pub struct AttrSchema {
    /// The name.
    pub name: &'static str,
    /// Its type.
    pub kind: AttrKind,
    /// Whether it must be given.
    pub required: bool,
}

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AttrKind {
    Float,
    Int,
    String,
    Tensor,
    Graph,
    SparseTensor,
    TypeProto,
    Floats,
    Ints,
    Strings,
    Tensors,
    Graphs,
    SparseTensors,
    TypeProtos,
}

impl AttrKind {
    /// Whether an attribute of this type can be `value`. A reference fits any: the caller gives its value.
    pub fn fits(self, value: &Attr) -> bool {
        match value {
            Attr::Int(_) => self == AttrKind::Int,
            Attr::Float(_) => self == AttrKind::Float,
            Attr::Str(_) => self == AttrKind::String,
            Attr::Ints(_) => self == AttrKind::Ints,
            Attr::Floats(_) => self == AttrKind::Floats,
            Attr::Strs(_) => self == AttrKind::Strings,
            Attr::Tensor(_) => self == AttrKind::Tensor,
            Attr::Block(_) => self == AttrKind::Graph,
            Attr::Ref(_) => true,
        }
    }
}

/// The version of `name` in force at `opset`, if ONNX has it there.
pub fn lookup(name: &str, opset: i64) -> Option<&'static OpSchema> {
    let end = generated::OPS.partition_point(|s| (s.name, i64::from(s.since)) <= (name, opset));
    let schema = generated::OPS.get(end.checked_sub(1)?)?;
    (schema.name == name && !schema.deprecated).then_some(schema)
}
