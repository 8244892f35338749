//! Determines which results of a call share memory with an argument, and how: the schema states that they
//! do, the fact `view` how, and the strides that the program states refine it.

use super::super::edit::parts;
use super::strides;
use crate::arena::Arena;
use crate::program::{Arg, Call, Output, TensorType, Val, Value};
use crate::registry::{Schema, Term};
use crate::sym::Symbols;

/// The view of its source that a result is.
#[derive(Clone, Debug)]
pub(super) enum View {
    /// The same elements in the same shape.
    Same,
    /// All elements in another shape.
    Reshape,
    /// All elements, axes reordered: axis `i` is the source's axis `p[i]`.
    Permute(Vec<i64>),
    /// A new axis of size 1.
    Unsqueeze(i64),
    /// The axis, of size 1, is dropped.
    Squeeze(i64),
    /// One index of an axis.
    Select { dim: i64, index: Arg },
    /// A range of an axis.
    Slice { dim: i64, start: Arg, end: Arg, step: Arg },
    /// A range of an axis by its length.
    Narrow { dim: i64, start: Arg, length: Arg },
    /// One of the consecutive parts of an axis.
    Part { dim: usize },
    /// A diagonal.
    Diagonal { offset: i64, dim1: i64, dim2: i64 },
    /// Arbitrary strides.
    AsStrided { size: Arg, stride: Arg, offset: Arg },
    /// A complex tensor as pairs of floats.
    AsReal,
    /// Pairs of floats as a complex tensor.
    AsComplex,
    /// The real part.
    Real,
    /// The imaginary part.
    Imag,
    /// The complex conjugate.
    Conj,
    /// A view that can be read again but not written through, with the reason.
    ReadOnly(&'static str),
}

impl View {
    /// Whether it shows a part of its source, so that other views of its kind may show the rest.
    pub(super) fn is_part(&self) -> bool {
        matches!(self, Self::Select { .. } | Self::Slice { .. } | Self::Narrow { .. } | Self::Part { .. })
    }
}

/// The memory that the results of a call share with its arguments.
#[derive(Debug)]
pub(super) enum Share {
    /// Nothing.
    Nothing,
    /// The results are views of the first argument.
    Views { source: Val, views: Vec<(Val, View)> },
    /// The results may share memory with the sources; it is unknown how.
    Unclear { sources: Vec<Val>, results: Vec<Val> },
}

/// The arguments that the term of a view names, with the defaults of the schema.
struct Args<'a> {
    call: &'a Call,
    schema: &'a Schema,
    term: &'a Term,
}

impl Args<'_> {
    /// Returns the term's argument `i`; `None` if the term or the call has fewer.
    fn any(&self, i: usize) -> Arg {
        let Some(name) = self.term.args.get(i) else { return Arg::None };
        if let Ok(n) = name.parse() {
            return Arg::Int(n);
        }
        let default = || self.schema.arg(name)?.default.as_ref();
        self.call.arg(name).or_else(default).cloned().unwrap_or(Arg::None)
    }

    fn int(&self, i: usize) -> Option<i64> {
        self.any(i).as_int()
    }

    fn flag(&self, i: usize) -> bool {
        self.any(i) == Arg::Bool(true)
    }

    /// The axis, counted from the front.
    fn axis(&self, i: usize, rank: usize) -> Option<i64> {
        wrap(self.int(i)?, rank)
    }

    /// Returns a list of axes; a single integer is a list of one.
    fn axes(&self, i: usize, rank: usize) -> Option<Vec<i64>> {
        match self.any(i) {
            Arg::Int(n) => Some(vec![wrap(n, rank)?]),
            Arg::List(items) => items.iter().map(|item| wrap(item.as_int()?, rank)).collect(),
            _ => None,
        }
    }
}

/// The axis counted from the front.
pub(super) fn wrap(dim: i64, rank: usize) -> Option<i64> {
    let rank = rank.max(1) as i64;
    let dim = if dim < 0 { dim + rank } else { dim };
    (0..rank).contains(&dim).then_some(dim)
}

/// Returns the aliases between the results of `call` and its arguments.
pub(super) fn share(
    call: &Call,
    schema: Option<&Schema>,
    values: &Arena<Value>,
    symbols: &mut Symbols,
) -> Share {
    let Some(schema) = schema else { return share_unknown(call) };
    let declared = schema.returns.iter().any(|r| r.alias.is_some());
    let term = schema.facts.term("view");
    // Some operators return their argument although their schema does not say so.
    if !declared && term.is_none() {
        return Share::Nothing;
    }
    let mut results = Vec::new();
    call.outputs.iter().for_each(|o| o.each_value(&mut |v| results.push(v)));
    let mut sources = Vec::new();
    if let Some(first) = call.args.first() {
        first.arg.each_value(&mut |v| sources.push(v));
    }
    let single = match call.args.first().map(|a| &a.arg) {
        Some(Arg::Value(source)) => Some(*source),
        _ => None,
    };
    let Some(source) = single else { return Share::Unclear { sources, results } };
    let Some(from) = values.find(source).and_then(|v| v.ty.as_tensor()) else { return Share::Nothing };
    let unnamed = Term::default();
    let args = Args { call, schema, term: term.unwrap_or(&unnamed) };
    let listed = matches!(call.outputs.first(), Some(Output::List(_)));
    let mut views = Vec::with_capacity(results.len());
    for (i, result) in results.iter().enumerate() {
        let Some(to) = values.find(*result).and_then(|v| v.ty.as_tensor()) else { continue };
        let view = if listed { part(&args, from, i) } else { view(&args, from, to, symbols) };
        match view {
            Ok(Some(view)) => views.push((*result, view)),
            Ok(None) => {}
            Err(Undecided) => return Share::Unclear { sources, results },
        }
    }
    if views.is_empty() { Share::Nothing } else { Share::Views { source, views } }
}

/// An operator of PyTorch that is newer than the schemas may return a view; custom operators may not.
fn share_unknown(call: &Call) -> Share {
    let (mut sources, mut results) = (Vec::new(), Vec::new());
    if parts(&call.target).0 == "aten" {
        call.args.iter().for_each(|a| a.arg.each_value(&mut |v| sources.push(v)));
        call.outputs.iter().for_each(|o| o.each_value(&mut |v| results.push(v)));
    }
    if sources.is_empty() || results.is_empty() {
        Share::Nothing
    } else {
        Share::Unclear { sources, results }
    }
}

/// Whether it is a view depends on something unknown.
struct Undecided;

fn part(args: &Args<'_>, from: &TensorType, index: usize) -> Result<Option<View>, Undecided> {
    let rank = from.shape.len();
    let part = |dim: i64| View::Part { dim: dim as usize };
    let view = match args.term.name.as_str() {
        "unbind" => args.axis(0, rank).map(|dim| View::Select { dim, index: Arg::Int(index as i64) }),
        "split" => args.axis(0, rank).map(part),
        // Columns of a matrix, elements of a vector.
        "split_columns" => Some(part(i64::from(rank > 1))),
        _ => None,
    };
    view.map(Some).ok_or(Undecided)
}

fn view(
    args: &Args<'_>,
    from: &TensorType,
    to: &TensorType,
    symbols: &mut Symbols,
) -> Result<Option<View>, Undecided> {
    let rank = from.shape.len();
    let complex = from.dtype.is_complex();
    let same = from.shape == to.shape;
    let axis = |i| args.axis(i, rank).ok_or(Undecided);
    Ok(Some(match args.term.name.as_str() {
        "same" => View::Same,
        "resolve" if complex => return Err(Undecided),
        "conj_copy" if complex => return Ok(None),
        "conj" if complex => View::Conj,
        "real" if complex => View::Real,
        "resolve" | "conj_copy" | "conj" | "real" => View::Same,
        "imag" => View::Imag,
        "as_real" => View::AsReal,
        "as_complex" => View::AsComplex,
        "negated" => View::ReadOnly("it is negated"),
        "cast" => {
            let copies = from.dtype != to.dtype || args.flag(0) || !strides::same(symbols, from, to);
            return Ok((!copies).then_some(View::Same));
        }
        "dropout" => {
            let off = !args.flag(1) || matches!(args.any(0), Arg::Float(0.0) | Arg::Int(0));
            return Ok(off.then_some(View::Same));
        }
        "same_shape" => return Ok(same.then_some(View::Same)),
        "bits" if from.dtype == to.dtype => View::Same,
        "bits" => View::ReadOnly("it shows the bytes as another element type"),
        "reshape" => {
            if same {
                return Ok(Some(View::Same));
            }
            match strides::reshape_is_view(symbols, from, &to.shape) {
                Some(true) => View::Reshape,
                Some(false) => return Ok(None),
                None => return Err(Undecided),
            }
        }
        "dense" => return Ok(strides::is_row_major(symbols, from).then_some(View::Reshape)),
        "unsqueeze" => match args.axis(0, rank + 1) {
            Some(dim) => View::Unsqueeze(dim),
            None => View::Reshape,
        },
        "squeeze" | "view" | "expand" if same => View::Same,
        "squeeze" => match args.axis(0, rank) {
            Some(dim) => View::Squeeze(dim),
            None => View::Reshape,
        },
        "view" => View::Reshape,
        "expand" => {
            // Only leading axes of size 1 were added: nothing is shown twice.
            let added = to.shape.len().saturating_sub(rank);
            let plain = to.shape.iter().take(added).all(|d| d.as_const() == Some(1));
            if plain && to.shape.iter().skip(added).eq(&from.shape) {
                View::Reshape
            } else {
                View::ReadOnly("it shows elements more than once")
            }
        }
        "select" => View::Select { dim: axis(0)?, index: args.any(1) },
        "slice" => View::Slice { dim: axis(0)?, start: args.any(1), end: args.any(2), step: args.any(3) },
        "narrow" => View::Narrow { dim: axis(0)?, start: args.any(1), length: args.any(2) },
        "diagonal" => {
            let offset = args.int(0).ok_or(Undecided)?;
            View::Diagonal { offset, dim1: axis(1)?, dim2: axis(2)? }
        }
        "as_strided" => View::AsStrided { size: args.any(0), stride: args.any(1), offset: args.any(2) },
        _ => match permutation(args, rank) {
            Some(permutation) if !complex || args.term.name != "adjoint" => View::Permute(permutation),
            _ => View::ReadOnly("it is a view that onnxport cannot invert"),
        },
    }))
}

/// Returns the permutation of a mechanism that reorders axes.
fn permutation(args: &Args<'_>, rank: usize) -> Option<Vec<i64>> {
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    match args.term.name.as_str() {
        "permute" => return args.axes(0, rank),
        "reverse" => axes.reverse(),
        "swap" | "adjoint" if rank < 2 => {}
        "swap" => axes.swap(args.axis(0, rank)? as usize, args.axis(1, rank)? as usize),
        "adjoint" => axes.swap(rank - 2, rank - 1),
        "move" => {
            let (from, to) = (args.axes(0, rank)?, args.axes(1, rank)?);
            let mut rest = axes.iter().copied().filter(|a| !from.contains(a));
            return (0..rank as i64)
                .map(|i| match to.iter().position(|t| *t == i) {
                    Some(at) => from.get(at).copied(),
                    None => rest.next(),
                })
                .collect();
        }
        _ => return None,
    }
    Some(axes)
}
