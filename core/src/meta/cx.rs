//! The context of a meta function: the arguments that its term names.

use std::borrow::Cow;

use super::judge::{Extent, Judge};
use crate::arena::Arena;
use crate::program::{Arg, Call, TensorType, Value, ValueType};
use crate::registry::Schema;
use crate::sym::Dim;

/// The reason why there is no type to compare with.
pub(super) enum Stop {
    /// It depends on something unknown.
    Unknown,
    /// The arguments contradict each other.
    Contradiction(String),
}

pub(super) type Meta<T> = Result<T, Stop>;

pub(super) fn contradiction<T>(message: impl Into<String>) -> Meta<T> {
    Err(Stop::Contradiction(message.into()))
}

/// A call, and the arguments of the term under which it is read.
pub(super) struct Cx<'a> {
    pub(super) call: &'a Call,
    pub(super) schema: &'a Schema,
    pub(super) values: &'a Arena<Value>,
    pub(super) judge: &'a mut Judge,
    pub(super) term: &'a [String],
}

impl<'a> Cx<'a> {
    /// Returns the argument of the schema at `position`: stated by name or by position, else its default.
    fn at(&self, position: usize) -> Option<&'a Arg> {
        let formal = self.schema.args.get(position)?;
        let unnamed = || self.call.args.get(position).filter(|a| a.name.is_empty()).map(|a| &a.arg);
        self.call.arg(&formal.name).or_else(unnamed).or(formal.default.as_ref())
    }

    /// The term's argument `i`: a number, or an argument of the call.
    pub(super) fn arg(&self, i: usize) -> Meta<Cow<'a, Arg>> {
        let text = self.term.get(i).ok_or(Stop::Unknown)?;
        if let Ok(n) = text.parse() {
            return Ok(Cow::Owned(Arg::Int(n)));
        }
        let position = self.schema.args.iter().position(|a| a.name == *text).ok_or(Stop::Unknown)?;
        self.at(position).map(Cow::Borrowed).ok_or(Stop::Unknown)
    }

    fn as_tensor(&self, arg: &Arg) -> Meta<&'a TensorType> {
        let value = arg.as_value().and_then(|val| self.values.find(val));
        value.and_then(|v| v.ty.as_tensor()).ok_or(Stop::Unknown)
    }

    /// Returns the term's argument `i` as a tensor.
    pub(super) fn tensor(&self, i: usize) -> Meta<&'a TensorType> {
        self.as_tensor(self.arg(i)?.as_ref())
    }

    /// Returns the argument `name` as a tensor.
    pub(super) fn named(&self, name: &str) -> Meta<&'a TensorType> {
        self.operand(self.schema.args.iter().position(|a| a.name == name).ok_or(Stop::Unknown)?)
    }

    /// Returns the operator's argument `position` as a tensor.
    pub(super) fn operand(&self, position: usize) -> Meta<&'a TensorType> {
        self.as_tensor(self.at(position).ok_or(Stop::Unknown)?)
    }

    /// Returns the term's argument `i` as a list of tensors.
    pub(super) fn tensors(&self, i: usize) -> Meta<Vec<&'a TensorType>> {
        match self.arg(i)?.as_ref() {
            Arg::List(items) => items.iter().map(|item| self.as_tensor(item)).collect(),
            one => Ok(vec![self.as_tensor(one)?]),
        }
    }

    /// Returns the term's argument `i` as a list of tensors, some of which may be `None`.
    pub(super) fn optional_tensors(&self, i: usize) -> Meta<Vec<Option<&'a TensorType>>> {
        let arg = self.arg(i)?;
        let Arg::List(items) = arg.as_ref() else { return Err(Stop::Unknown) };
        let item = |item: &Arg| if *item == Arg::None { Ok(None) } else { self.as_tensor(item).map(Some) };
        items.iter().map(item).collect()
    }

    /// Returns the type of the value or number `arg`.
    pub(super) fn type_of(&self, arg: &Arg) -> Option<&'a ValueType> {
        arg.as_value().and_then(|val| self.values.find(val)).map(|v| &v.ty)
    }

    fn as_dim(&self, arg: &Arg) -> Meta<Dim> {
        match arg {
            Arg::Int(n) => Ok(Dim::Const(*n)),
            Arg::Value(_) => match self.type_of(arg) {
                Some(ValueType::SymInt(dim)) => Ok(*dim),
                _ => Err(Stop::Unknown),
            },
            _ => Err(Stop::Unknown),
        }
    }

    /// Returns the term's argument `i` as an integer.
    pub(super) fn dim(&self, i: usize) -> Meta<Dim> {
        self.as_dim(self.arg(i)?.as_ref())
    }

    /// The integer at the traced sizes.
    pub(super) fn int(&self, i: usize) -> Meta<i64> {
        let dim = self.dim(i)?;
        self.judge.traced(dim).ok_or(Stop::Unknown)
    }

    /// Returns the integer at the traced sizes; `default` for `None` and if the term has fewer arguments.
    pub(super) fn int_or(&self, i: usize, default: i64) -> Meta<i64> {
        if self.is_none(i) { Ok(default) } else { self.int(i) }
    }

    /// Whether the term's argument `i` is a number, which broadcasts with everything.
    pub(super) fn is_number(&self, i: usize) -> bool {
        let Ok(arg) = self.arg(i) else { return false };
        match arg.as_ref() {
            Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) | Arg::Complex(..) => true,
            value => matches!(
                self.type_of(value),
                Some(ValueType::SymInt(_) | ValueType::SymFloat | ValueType::SymBool)
            ),
        }
    }

    /// Returns the term's argument `i` as integers; a single one is a list of one.
    pub(super) fn dims(&self, i: usize) -> Meta<Vec<Dim>> {
        match self.arg(i)?.as_ref() {
            Arg::List(items) => items.iter().map(|item| self.as_dim(item)).collect(),
            one => Ok(vec![self.as_dim(one)?]),
        }
    }

    /// Returns a list of `count` integers; a single one is repeated.
    pub(super) fn spread(&self, i: usize, count: usize) -> Meta<Vec<Dim>> {
        let dims = self.dims(i)?;
        match dims.as_slice() {
            [one] => Ok(vec![*one; count]),
            all if all.len() == count => Ok(dims),
            all => contradiction(format!("`{}` has {} elements for {count} axes", self.name(i), all.len())),
        }
    }

    /// The name of the term's argument `i`.
    pub(super) fn name(&self, i: usize) -> &'a str {
        self.term.get(i).map_or("", String::as_str)
    }

    /// Whether the term's argument `i` is `None` or `?`, or not part of the term.
    pub(super) fn is_none(&self, i: usize) -> bool {
        self.term.get(i).is_none_or(|name| name == "?") || self.arg(i).is_ok_and(|a| *a == Arg::None)
    }

    /// Whether the term's argument `i` is true.
    pub(super) fn flag(&self, i: usize) -> bool {
        self.arg(i).is_ok_and(|a| *a == Arg::Bool(true))
    }

    /// Returns the term's argument `i` as an axis, counted from the front.
    pub(super) fn axis(&self, i: usize, rank: usize) -> Meta<usize> {
        let dim = self.dim(i)?;
        wrapped(dim, rank)
    }

    /// Returns the term's argument `i` as axes.
    pub(super) fn axes(&self, i: usize, rank: usize) -> Meta<Vec<usize>> {
        self.dims(i)?.into_iter().map(|dim| wrapped(dim, rank)).collect()
    }

    /// Refuses two sizes that must be equal but cannot be.
    pub(super) fn agree(&mut self, a: Dim, b: Dim, what: &str) -> Meta<()> {
        if self.judge.distinct(a, b) {
            let symbols = &self.judge.symbols;
            return contradiction(format!("{what} are {} and {}", symbols.display(a), symbols.display(b)));
        }
        Ok(())
    }
}

/// Normalizes the axis `dim` of a tensor of `rank` axes.
fn wrapped(dim: Dim, rank: usize) -> Meta<usize> {
    let Dim::Const(n) = dim else { return Err(Stop::Unknown) };
    let count = rank.max(1) as i64;
    match usize::try_from(if n < 0 { n.saturating_add(count) } else { n }) {
        Ok(axis) if axis < rank.max(1) => Ok(axis),
        _ => contradiction(format!("axis {n} is out of range for rank {rank}")),
    }
}

/// The sizes of a shape.
pub(super) fn extents(shape: &[Dim]) -> Vec<Extent> {
    shape.iter().map(|dim| Extent::Dim(*dim)).collect()
}
