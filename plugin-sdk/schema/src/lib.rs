//! Schemas of operators, as PyTorch prints them and plugins supply them:
//! `aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)`.
//!
//! The host binds calls by them, and the test kit of the plugin SDK binds them the same way.

mod facts;
mod read;

pub use facts::{Facts, Term};
pub use read::SchemaError;

/// The beginning of a line of facts.
pub const FACTS: &str = "#:";

/// The value of an argument that a call does not state.
#[derive(Clone, Debug, PartialEq)]
pub enum Default {
    /// Python's `None`.
    None,
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string.
    Str(String),
    /// A device, `cpu`.
    Device(String),
    /// A layout, `torch.strided`.
    Layout(String),
    /// A memory format, `torch.contiguous_format`.
    MemoryFormat(String),
    /// A list.
    List(Vec<Default>),
}

/// The schema of one overload.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema<D = Default> {
    /// The operator and overload as programs spell it: `aten.add_.Tensor`.
    pub target: String,
    /// The arguments, in order.
    pub args: Vec<SchemaArg<D>>,
    /// The returns, in order.
    pub returns: Vec<SchemaReturn>,
    /// Facts beyond the types.
    pub facts: Facts,
}

/// An argument of a [`Schema`].
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaArg<D = Default> {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: SchemaType,
    /// Whether it can only be passed by name.
    pub kwarg_only: bool,
    /// The value of an argument that a call does not state.
    pub default: Option<D>,
    /// The argument or result with which it shares memory.
    pub alias: Option<Alias>,
}

impl<D> SchemaArg<D> {
    /// Whether the operator writes to the argument.
    pub fn is_written(&self) -> bool {
        self.alias.as_ref().is_some_and(|a| a.write)
    }
}

/// A return of a [`Schema`].
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaReturn {
    /// The name, if it has one.
    pub name: Option<String>,
    /// The type.
    pub ty: SchemaType,
    /// The argument or result with which it shares memory.
    pub alias: Option<Alias>,
}

/// The type of an argument or return.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SchemaType {
    Tensor,
    Int,
    SymInt,
    Float,
    Bool,
    Complex,
    /// Any number.
    Scalar,
    Str,
    DType,
    Layout,
    Device,
    MemoryFormat,
    Generator,
    /// The type or `None`.
    Optional(Box<SchemaType>),
    /// A list, with its length where the schema fixes it; a single element stands for that many.
    List(Box<SchemaType>, Option<u32>),
    /// A type that has no meaning here, as the schema spells it.
    Other(String),
}

/// Which memory an argument or return refers to: `(a!)`, `(b -> *)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name of the set; arguments and returns with the same name share memory.
    pub set: String,
    /// Whether the operator writes to it.
    pub write: bool,
}

impl<D: From<Default>> Schema<D> {
    /// Reads one line, and the lines of facts that may follow it.
    ///
    /// # Errors
    /// [`SchemaError`] for a malformed line.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let mut lines = text.lines();
        let mut schema: Self = read::schema(lines.next().unwrap_or_default().trim_end())?;
        lines.filter_map(|l| l.strip_prefix(FACTS)).for_each(|l| schema.facts.extend(Facts::parse(l)));
        Ok(schema)
    }

    /// The argument called `name`.
    pub fn arg(&self, name: &str) -> Option<&SchemaArg<D>> {
        self.args.iter().find(|a| a.name == name)
    }

    /// Whether the operator writes to any of its arguments.
    pub fn is_mutating(&self) -> bool {
        self.args.iter().any(SchemaArg::is_written)
    }
}

/// `aten::add.Tensor` as programs spell it: `aten.add.Tensor`.
pub fn target_of(name: &str) -> String {
    let (namespace, op) = name.split_once("::").unwrap_or(("", name));
    let overload = if op.contains('.') { "" } else { ".default" };
    let dot = if namespace.is_empty() { "" } else { "." };
    [namespace, dot, op, overload].concat()
}
