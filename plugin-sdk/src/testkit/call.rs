//! A call that a test describes.

use onnxport_schema::{Default, SchemaType};

use super::eval::Lowered;
use super::lowering;
use super::sym::Symbols;
use super::types::Type;
use super::{Failure, Plugin, Tensor};
use crate::{DType, Range};

/// An argument of a call. Numbers, texts, truth values, element types, tensors, lists and options of
/// them convert to it; [`input`] and [`constant`] make the others.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Python's `None`.
    None,
    /// An input of the stated type, `f32[n, 3]` or `symint(n)`.
    Input(String),
    /// An input with its elements, which [`Lowered::run`] uses unless it is given others.
    Tensor(Tensor),
    /// A constant of the graph, which the lowering may read.
    Constant(Tensor),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string; a device, layout or memory format where the schema says so.
    Str(String),
    /// A complex number.
    Complex(f64, f64),
    /// An element type.
    DType(DType),
    /// A list.
    List(Vec<Argument>),
}

/// An input of the type in text form: `f32[n, 2*m]`, `symint(n)`, `symfloat`, `symbool`. Equal symbols
/// are equal extents.
pub fn input(ty: &str) -> Argument {
    Argument::Input(ty.to_owned())
}

/// A constant of the graph, whose elements the lowering may read.
pub fn constant(tensor: Tensor) -> Argument {
    Argument::Constant(tensor)
}

macro_rules! conversions {
    ($($from:ty => |$value:ident| $make:expr;)*) => {
        $(impl From<$from> for Argument {
            fn from($value: $from) -> Self {
                $make
            }
        })*
    };
}

conversions! {
    i64 => |n| Self::Int(n);
    i32 => |n| Self::Int(n.into());
    f64 => |x| Self::Float(x);
    bool => |b| Self::Bool(b);
    &str => |text| Self::Str(text.to_owned());
    DType => |dtype| Self::DType(dtype);
    Tensor => |tensor| Self::Tensor(tensor);
    &Tensor => |tensor| Self::Tensor(tensor.clone());
    Default => |default| match default {
        Default::None => Self::None,
        Default::Int(n) => Self::Int(n),
        Default::Float(x) => Self::Float(x),
        Default::Bool(b) => Self::Bool(b),
        Default::Str(t) | Default::Device(t) | Default::Layout(t) | Default::MemoryFormat(t) => Self::Str(t),
        Default::List(items) => items.into(),
    };
}

impl<T: Into<Argument>> From<Vec<T>> for Argument {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Argument>, const N: usize> From<[T; N]> for Argument {
    fn from(items: [T; N]) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Argument>> From<Option<T>> for Argument {
    fn from(item: Option<T>) -> Self {
        item.map_or(Self::None, Into::into)
    }
}

/// A call of an operator, before it is lowered.
#[must_use = "`lower` lowers the call"]
#[derive(Clone)]
pub struct Call {
    pub(super) plugin: Plugin,
    pub(super) target: String,
    pub(super) opset: i64,
    args: Vec<(String, Argument)>,
    results: Vec<String>,
    pub(super) symbols: Symbols,
}

/// An argument that is bound to the schema.
pub(super) struct BoundArgument {
    pub(super) name: String,
    pub(super) argument: Argument,
    /// What the schema says that it is, where there is a schema.
    pub(super) ty: Option<SchemaType>,
}

impl Call {
    pub(super) fn new(plugin: Plugin, target: &str) -> Self {
        Self {
            plugin,
            target: target.to_owned(),
            opset: 20,
            args: Vec::new(),
            results: Vec::new(),
            symbols: Symbols::default(),
        }
    }

    /// States an argument by its name in the schema. One that is not stated has the schema's default.
    pub fn arg(mut self, name: &str, argument: impl Into<Argument>) -> Self {
        self.args.push((name.to_owned(), argument.into()));
        self
    }

    /// States the type of the next result, as the exported program does: `f32[n, 3]`, `symint(n)`, or
    /// `none` for a return that is absent.
    pub fn gives(mut self, ty: &str) -> Self {
        self.results.push(ty.to_owned());
        self
    }

    /// The opset to emit; 20 unless it is set.
    pub fn opset(mut self, opset: i64) -> Self {
        self.opset = opset;
        self
    }

    /// The bounds of a symbol, inclusive; an extent without bounds is 0 or more.
    pub fn range(mut self, symbol: &str, min: i64, max: i64) -> Self {
        self.symbols.bound(symbol, Range { min, max });
        self
    }

    /// Lowers the call through the plugin's table.
    ///
    /// # Errors
    /// [`Failure`] says who was wrong: the test, the plugin, or nobody, when the plugin refused.
    pub fn lower(mut self) -> Result<Lowered, Failure> {
        let args = self.bind().map_err(Failure::Setup)?;
        let mut results = Vec::new();
        for ty in std::mem::take(&mut self.results) {
            results.push(Type::parse(&ty, &mut self.symbols).map_err(Failure::Setup)?);
        }
        if results.is_empty() {
            return Err(Failure::Setup(
                "state what the program says about each result: `.gives(\"f32[n]\")`".to_owned(),
            ));
        }
        lowering::run(self, &args, results)
    }

    /// The arguments in schema order, defaults filled in; as stated when there is no schema.
    fn bind(&mut self) -> Result<Vec<BoundArgument>, String> {
        let stated = std::mem::take(&mut self.args);
        let Some(schema) = self.plugin.schema(&self.target)? else {
            let bound = |(name, argument)| BoundArgument { name, argument, ty: None };
            return Ok(stated.into_iter().map(bound).collect());
        };
        let target = &self.target;
        if let Some((odd, _)) = stated.iter().find(|(name, _)| schema.arg(name).is_none()) {
            return Err(format!("the schema of `{target}` has no argument `{odd}`"));
        }
        schema
            .args
            .into_iter()
            .map(|formal| {
                let given = stated.iter().find(|(name, _)| *name == formal.name).map(|(_, a)| a.clone());
                let argument = given.or_else(|| formal.default.map(Argument::from));
                let argument =
                    argument.ok_or_else(|| format!("`{target}` needs an argument `{}`", formal.name))?;
                Ok(BoundArgument { name: formal.name, argument, ty: Some(formal.ty) })
            })
            .collect()
    }
}
