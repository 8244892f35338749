//! Arguments and the typed extractors that read them.

use crate::lent::Lent;
use onnxport_abi::RSlice;

use crate::abi::lowering::{ArgRecord, GraphView, TypeRecord, arg_kind};
use crate::abi::status;
use crate::{DType, Emit, Kind, Lower, Refusal, Res, ResultFact, Value};

/// An argument as the program and the schema's defaults state it.
#[derive(Clone, Copy, Debug)]
pub struct Arg<'h> {
    pub(crate) record: Option<ArgRecord<'h>>,
    pub(crate) elements: RSlice<'h, ArgRecord<'h>>,
}

impl<'h> Arg<'h> {
    /// One of [`arg_kind`]; a missing argument is `NONE`.
    pub fn kind(&self) -> u32 {
        self.record.map_or(arg_kind::NONE, |r| r.kind)
    }

    /// Its name in the operator's schema, or its key in a dictionary; may be empty.
    pub fn name(&self) -> &'h str {
        self.record.map_or("", |r| r.name.lent())
    }

    /// Whether the argument is missing or `None`.
    pub fn is_none(&self) -> bool {
        self.kind() == arg_kind::NONE
    }

    /// Whether the argument is a complex tensor: its value has one more axis, of size 2.
    pub fn is_complex(&self) -> bool {
        let record = self.record.filter(|r| r.kind == arg_kind::TENSOR);
        let dtype = record.and_then(|r| DType::from_onnx(i32::try_from(r.int).ok()?));
        dtype.is_some_and(|d| d.kind() == Kind::Complex)
    }

    /// Whether the argument is a tensor of constant sizes whose elements lie row-major in memory,
    /// as operators that address storage presume.
    pub fn is_row_major(&self) -> bool {
        self.record.is_some_and(|r| r.kind == arg_kind::TENSOR && r.len == 1)
    }

    /// The elements of a list; a missing list has none.
    pub fn items(&self) -> Option<Vec<Arg<'h>>> {
        let record = self.record.filter(|r| matches!(r.kind, arg_kind::LIST | arg_kind::DICT))?;
        let (first, len) = (record.first as usize, record.len as usize);
        let elements = self.elements.lent().get(first..first.checked_add(len)?)?;
        Some(elements.iter().map(|e| Arg { record: Some(*e), elements: self.elements }).collect())
    }

    fn value(&self, kind: u32) -> Option<Value> {
        self.record.filter(|r| r.kind == kind).map(|r| Value(r.value))
    }

    fn wrong<T>(&self, wanted: &str) -> Res<T> {
        let found = match self.kind() {
            arg_kind::NONE => "nothing",
            arg_kind::TENSOR => "a tensor",
            arg_kind::SYM_INT => "a symbolic integer",
            arg_kind::SYM_FLOAT => "a symbolic float",
            arg_kind::SYM_BOOL => "a symbolic truth value",
            arg_kind::INT => "an integer",
            arg_kind::FLOAT => "a float",
            arg_kind::BOOL => "a truth value",
            arg_kind::STR => "a string",
            arg_kind::COMPLEX => "a complex number",
            arg_kind::DTYPE => "an element type",
            arg_kind::LIST => "a list",
            arg_kind::GRAPH => "a graph",
            _ => "something else",
        };
        Err(Refusal::new(format!("expected {wanted}, found {found}")))
    }
}

/// A type that a parameter of a lowering can have.
pub trait FromArg<'h>: Sized {
    /// Reads the argument.
    ///
    /// # Errors
    /// When the argument is something else.
    fn from_arg(cx: &Lower<'h>, arg: Arg<'h>) -> Res<Self>;
}

/// A number: a constant or a symbolic one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A complex number, real and imaginary part.
    Complex(f64, f64),
    /// A symbolic number: a tensor of shape `[1]`.
    Sym(Value),
}

impl Scalar {
    /// The number as a float, unless it is symbolic or complex.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Scalar::Int(n) => Some(n as f64),
            Scalar::Float(x) => Some(x),
            Scalar::Bool(b) => Some(f64::from(u8::from(b))),
            _ => None,
        }
    }

    /// Whether the number is the constant `n`.
    pub fn is(&self, n: f64) -> bool {
        self.as_f64() == Some(n)
    }
}

/// An integer: a constant or a symbolic one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymInt {
    /// A constant.
    Const(i64),
    /// An i64 tensor of shape `[1]`.
    Value(Value),
}

impl SymInt {
    /// The constant, if the integer is one.
    pub fn as_const(&self) -> Option<i64> {
        match self {
            SymInt::Const(n) => Some(*n),
            SymInt::Value(_) => None,
        }
    }
}

/// A tensor or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A tensor.
    Tensor(Value),
    /// A number.
    Number(Scalar),
}

/// An axis of the first argument, counted from the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis(pub usize);

/// Axes of the first argument, counted from the front, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axes(pub Vec<usize>);

impl Axes {
    /// The axes as i64, for an attribute or a constant.
    pub fn ints(&self) -> Vec<i64> {
        self.0.iter().map(|a| *a as i64).collect()
    }
}

/// A string, device, layout or memory format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Str<'h>(pub &'h str);

/// A nested graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphArg(u32);

impl<'h> Lower<'h> {
    /// The input and output types of a nested graph; a symbolic number is a tensor of shape `[1]`.
    ///
    /// # Errors
    /// When the host does not know the graph, or an input or output is neither tensor nor number.
    pub fn graph(&self, graph: GraphArg) -> Res<(Vec<ResultFact>, Vec<ResultFact>)> {
        let mut view = GraphView { inputs: RSlice::EMPTY, outputs: RSlice::EMPTY };
        if (self.host().graph)(self.cx(), graph.0, &mut view) != status::OK {
            return Err("the host does not know a nested graph".into());
        }
        let read = |types: RSlice<'_, TypeRecord<'_>>| {
            let facts: Option<Vec<ResultFact>> = types.lent().iter().map(ResultFact::read).collect();
            facts
                .ok_or_else(|| Refusal::new("a nested graph takes or returns something that is not a tensor"))
        };
        Ok((read(view.inputs)?, read(view.outputs)?))
    }

    /// Lowers a nested graph into the current block and returns its outputs.
    ///
    /// # Errors
    /// When a call inside cannot be lowered; the host has reported why.
    pub fn inline(&self, graph: GraphArg, inputs: &[Value]) -> Res<Vec<Value>> {
        let (_, outputs) = self.graph(graph)?;
        let inputs: Vec<u32> = inputs.iter().map(|v| v.0).collect();
        let mut ids = vec![crate::abi::lowering::ABSENT; outputs.len()];
        let sink = onnxport_abi::RSliceMut::from_mut_slice(&mut ids);
        if (self.host().inline_graph)(self.cx(), graph.0, RSlice::from_slice(&inputs), sink) != status::OK {
            return Err("a call of the nested graph cannot be lowered".into());
        }
        Ok(ids.into_iter().map(Value).collect())
    }

    /// The rank of the first argument: a tensor, or the first tensor of a list.
    fn first_rank(&self) -> Res<usize> {
        let first = self.first_argument();
        let tensor = match first.items() {
            Some(items) => items.first().copied().unwrap_or(first),
            None => first,
        };
        let value = tensor.value(arg_kind::TENSOR);
        let rank = self.rank(value.ok_or_else(|| Refusal::new("the first argument is not a tensor"))?)?;
        Ok(rank.saturating_sub(usize::from(tensor.is_complex())))
    }
}

impl<'h> FromArg<'h> for Arg<'h> {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        Ok(arg)
    }
}

impl<'h> FromArg<'h> for Value {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        arg.value(arg_kind::TENSOR).map_or_else(|| arg.wrong("a tensor"), Ok)
    }
}

impl<'h, T: FromArg<'h>> FromArg<'h> for Option<T> {
    fn from_arg(cx: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        if arg.is_none() { Ok(None) } else { T::from_arg(cx, arg).map(Some) }
    }
}

impl<'h, T: FromArg<'h>> FromArg<'h> for Vec<T> {
    fn from_arg(cx: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        match arg.items() {
            Some(items) => items.into_iter().map(|item| T::from_arg(cx, item)).collect(),
            // The schema's `int[2]` accepts a single integer.
            None if !arg.is_none() => Ok(vec![T::from_arg(cx, arg)?]),
            None => arg.wrong("a list"),
        }
    }
}

impl<'h> FromArg<'h> for i64 {
    fn from_arg(cx: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        match SymInt::from_arg(cx, arg)? {
            SymInt::Const(n) => Ok(n),
            n @ SymInt::Value(_) => cx
                .as_dim(&n)
                .as_const()
                .ok_or_else(|| Refusal::new("expected a constant integer, found a symbolic one")),
        }
    }
}

impl<'h> FromArg<'h> for f64 {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        match arg.record {
            Some(r) if r.kind == arg_kind::FLOAT => Ok(r.float),
            Some(r) if matches!(r.kind, arg_kind::INT | arg_kind::BOOL) => Ok(r.int as f64),
            _ => arg.wrong("a float"),
        }
    }
}

impl<'h> FromArg<'h> for bool {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        match arg.record {
            Some(r) if matches!(r.kind, arg_kind::BOOL | arg_kind::INT) => Ok(r.int != 0),
            // A schema that lacks the parameter (another overload) means its usual default.
            None => Ok(false),
            _ => arg.wrong("a truth value"),
        }
    }
}

impl<'h> FromArg<'h> for Str<'h> {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        match arg.record {
            Some(r)
                if matches!(
                    r.kind,
                    arg_kind::STR
                        | arg_kind::DEVICE
                        | arg_kind::LAYOUT
                        | arg_kind::MEMORY_FORMAT
                        | arg_kind::OPERATOR
                ) =>
            {
                Ok(Str(r.text.lent()))
            }
            _ => arg.wrong("a string"),
        }
    }
}

impl<'h> FromArg<'h> for DType {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        let dtype =
            arg.record.filter(|r| r.kind == arg_kind::DTYPE).and_then(|r| DType::from_onnx(r.int as i32));
        dtype.map_or_else(|| arg.wrong("an element type"), Ok)
    }
}

impl<'h> FromArg<'h> for SymInt {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        match arg.record {
            Some(r) if matches!(r.kind, arg_kind::INT | arg_kind::BOOL) => Ok(SymInt::Const(r.int)),
            Some(r) if r.kind == arg_kind::SYM_INT => Ok(SymInt::Value(Value(r.value))),
            _ => arg.wrong("an integer"),
        }
    }
}

impl<'h> FromArg<'h> for Scalar {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        match arg.record {
            Some(r) if r.kind == arg_kind::INT => Ok(Scalar::Int(r.int)),
            Some(r) if r.kind == arg_kind::FLOAT => Ok(Scalar::Float(r.float)),
            Some(r) if r.kind == arg_kind::BOOL => Ok(Scalar::Bool(r.int != 0)),
            Some(r) if r.kind == arg_kind::COMPLEX => Ok(Scalar::Complex(r.float, r.imaginary)),
            Some(r) if matches!(r.kind, arg_kind::SYM_INT | arg_kind::SYM_FLOAT | arg_kind::SYM_BOOL) => {
                Ok(Scalar::Sym(Value(r.value)))
            }
            // An overload without the factor means 1: `aten.add.Tensor(alpha=1)`.
            None => Ok(Scalar::Int(1)),
            _ => arg.wrong("a number"),
        }
    }
}

impl<'h> FromArg<'h> for Operand {
    fn from_arg(cx: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        if arg.record.is_none() {
            return arg.wrong("a tensor or a number");
        }
        match arg.value(arg_kind::TENSOR) {
            Some(value) => Ok(Operand::Tensor(value)),
            None => Scalar::from_arg(cx, arg).map(Operand::Number),
        }
    }
}

impl<'h> FromArg<'h> for Axis {
    fn from_arg(cx: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        let axis = i64::from_arg(cx, arg)?;
        let rank = cx.first_rank()?;
        cx.axis(axis, rank).map(Axis)
    }
}

impl<'h> FromArg<'h> for Axes {
    fn from_arg(cx: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        let axes = Vec::<Axis>::from_arg(cx, arg)?;
        Ok(Axes(axes.into_iter().map(|a| a.0).collect()))
    }
}

impl<'h> FromArg<'h> for GraphArg {
    fn from_arg(_: &Lower<'h>, arg: Arg<'h>) -> Res<Self> {
        arg.value(arg_kind::GRAPH).map_or_else(|| arg.wrong("a graph"), |v| Ok(GraphArg(v.0)))
    }
}
