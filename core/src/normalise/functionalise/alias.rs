//! Which results of a call share memory with an argument, and how.

use super::super::edit::parts;
use super::strides;
use crate::arena::Arena;
use crate::program::{Arg, Call, Output, TensorType, Val, Value};
use crate::registry::Schema;
use crate::sym::Symbols;

/// How a result looks at the memory of its source.
#[derive(Clone, Debug)]
pub(super) enum View {
    /// The same elements in the same shape.
    Same,
    /// All elements in another shape.
    Reshape,
    /// All elements, axes reordered: axis `i` is the source's axis `p[i]`.
    Permute(Vec<i64>),
    /// A new axis of extent 1.
    Unsqueeze(i64),
    /// The axis, of extent 1, is dropped.
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

/// What the results of a call share.
#[derive(Debug)]
pub(super) enum Share {
    /// Nothing.
    Nothing,
    /// The results are views of the first argument.
    Views { source: Val, views: Vec<(Val, View)> },
    /// The results may share memory with the sources; it cannot be told how.
    Unclear { sources: Vec<Val>, results: Vec<Val> },
}

/// Reads the arguments of a call with the defaults of its schema.
struct Args<'a> {
    call: &'a Call,
    schema: &'a Schema,
}

impl Args<'_> {
    fn get(&self, name: &str) -> Option<&Arg> {
        self.call.arg(name).or_else(|| self.schema.arg(name)?.default.as_ref())
    }

    fn int(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_int()
    }

    fn any(&self, name: &str) -> Arg {
        self.get(name).cloned().unwrap_or(Arg::None)
    }

    fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Arg::Bool(true)))
    }

    /// A list of axes; a single integer stands for itself.
    fn axes(&self, name: &str, rank: usize) -> Option<Vec<i64>> {
        match self.get(name)? {
            Arg::Int(n) => Some(vec![wrap(*n, rank)?]),
            Arg::List(items) => items.iter().map(|i| wrap(i.as_int()?, rank)).collect(),
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

/// What the results of `call` share with its arguments.
pub(super) fn share(
    call: &Call,
    schema: Option<&Schema>,
    values: &Arena<Value>,
    symbols: &mut Symbols,
) -> Share {
    let Some(schema) = schema else { return share_unknown(call) };
    let declared = schema.returns.iter().any(|r| r.alias.is_some());
    if !declared && !is_undeclared_view(&call.target) {
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
    let Some(from) = values.get(source).and_then(|v| v.ty.as_tensor()) else { return Share::Nothing };
    let args = Args { call, schema };
    let listed = matches!(call.outputs.first(), Some(Output::List(_)));
    let mut views = Vec::with_capacity(results.len());
    for (i, result) in results.iter().enumerate() {
        let Some(to) = values.get(*result).and_then(|v| v.ty.as_tensor()) else { continue };
        let view = if listed { part(&args, from, i) } else { view(&args, from, to, symbols) };
        match view {
            Ok(Some(view)) => views.push((*result, view)),
            Ok(None) => {}
            Err(Undecided) => return Share::Unclear { sources, results },
        }
    }
    if views.is_empty() { Share::Nothing } else { Share::Views { source, views } }
}

/// An operator of PyTorch that is newer than the schemas may return a view; those of others may not.
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

/// Operators that may return their argument although their schema does not say so.
fn is_undeclared_view(target: &str) -> bool {
    let (namespace, op, _) = parts(target);
    namespace == "aten"
        && matches!(
            op,
            "type_as"
                | "dropout"
                | "feature_dropout"
                | "alpha_dropout"
                | "feature_alpha_dropout"
                | "atleast_1d"
                | "atleast_2d"
                | "atleast_3d"
                | "broadcast_tensors"
                | "meshgrid"
                | "sum_to_size"
                | "conj_physical"
        )
}

/// Whether it is a view depends on what is not known.
struct Undecided;

fn part(args: &Args<'_>, from: &TensorType, index: usize) -> Result<Option<View>, Undecided> {
    let (_, op, overload) = parts(&args.call.target);
    let rank = from.shape.len();
    let dim = match op {
        "hsplit" => Some(i64::from(rank > 1)),
        "vsplit" => Some(0),
        "dsplit" => Some(2),
        "unbind" | "chunk" | "split" | "split_with_sizes" | "tensor_split" => {
            args.int("dim").and_then(|d| wrap(d, rank))
        }
        _ => None,
    };
    let Some(dim) = dim else { return Err(Undecided) };
    if overload == "tensor_indices_or_sections" {
        return Err(Undecided);
    }
    Ok(Some(match op {
        "unbind" => View::Select { dim, index: Arg::Int(index as i64) },
        _ => View::Part { dim: dim as usize },
    }))
}

fn view(
    args: &Args<'_>,
    from: &TensorType,
    to: &TensorType,
    symbols: &mut Symbols,
) -> Result<Option<View>, Undecided> {
    let (_, op, overload) = parts(&args.call.target);
    let rank = from.shape.len();
    let same = from.shape == to.shape;
    Ok(Some(match op {
        "resolve_conj" | "resolve_neg" if from.dtype.is_complex() => return Err(Undecided),
        "conj_physical" if from.dtype.is_complex() => return Ok(None),
        "_conj" | "conj" if from.dtype.is_complex() => View::Conj,
        "alias" | "detach" | "lift_fresh" | "positive" | "view_of" | "resolve_conj" | "resolve_neg"
        | "conj_physical" | "_conj" | "conj" => View::Same,
        "_neg_view" => View::ReadOnly("it is negated"),
        "real" if !from.dtype.is_complex() => View::Same,
        "real" => View::Real,
        "imag" => View::Imag,
        "view_as_real" => View::AsReal,
        "view_as_complex" => View::AsComplex,
        "to" | "type_as" | "contiguous" => {
            let copies = from.dtype != to.dtype || args.flag("copy") || !strides::same(symbols, from, to);
            return Ok((!copies).then_some(View::Same));
        }
        "dropout" | "feature_dropout" | "alpha_dropout" | "feature_alpha_dropout" => {
            let rate = args.get("p");
            let off = !args.flag("train") || matches!(rate, Some(Arg::Float(0.0) | Arg::Int(0)));
            return Ok(off.then_some(View::Same));
        }
        "sum_to_size" => return Ok(same.then_some(View::Same)),
        "view" if overload == "dtype" && from.dtype == to.dtype => View::Same,
        "view" if overload == "dtype" => View::ReadOnly("it shows the bytes as another element type"),
        "view_of_dtype" => View::ReadOnly("it shows the bytes as another element type"),
        "reshape" | "reshape_as" | "flatten" => {
            if same {
                return Ok(Some(View::Same));
            }
            match strides::reshape_is_view(symbols, from, &to.shape) {
                Some(true) => View::Reshape,
                Some(false) => return Ok(None),
                None => return Err(Undecided),
            }
        }
        "ravel" => return Ok(strides::is_row_major(symbols, from).then_some(View::Reshape)),
        "unsqueeze" => match args.int("dim").and_then(|d| wrap(d, rank + 1)) {
            Some(dim) => View::Unsqueeze(dim),
            None => View::Reshape,
        },
        "squeeze" | "view" | "_reshape_alias" | "view_as" | "expand" | "expand_as" | "broadcast_to"
        | "broadcast_in_dim"
            if same =>
        {
            View::Same
        }
        "squeeze" if overload == "dim" => match args.int("dim").and_then(|d| wrap(d, rank)) {
            Some(dim) => View::Squeeze(dim),
            None => View::Reshape,
        },
        "squeeze" | "view" | "_reshape_alias" | "view_as" | "unflatten" | "atleast_1d" | "atleast_2d"
        | "atleast_3d" | "collapse_view" | "split_dim" => View::Reshape,
        "expand" | "expand_as" | "broadcast_to" | "broadcast_in_dim" => {
            // Only leading axes of extent 1 were added: nothing is shown twice.
            let added = to.shape.len().saturating_sub(rank);
            let plain = to.shape[..added].iter().all(|d| d.as_const() == Some(1));
            if plain && to.shape[added..] == from.shape {
                View::Reshape
            } else {
                View::ReadOnly("it shows elements more than once")
            }
        }
        "select" => match args.int("dim").and_then(|d| wrap(d, rank)) {
            Some(dim) => View::Select { dim, index: args.any("index") },
            None => return Err(Undecided),
        },
        "slice" => match args.int("dim").and_then(|d| wrap(d, rank)) {
            Some(dim) => {
                View::Slice { dim, start: args.any("start"), end: args.any("end"), step: args.any("step") }
            }
            None => return Err(Undecided),
        },
        "narrow" if overload == "default" => match args.int("dim").and_then(|d| wrap(d, rank)) {
            Some(dim) => View::Narrow { dim, start: args.any("start"), length: args.any("length") },
            None => return Err(Undecided),
        },
        "diagonal" | "linalg_diagonal" => {
            let axis = |name| args.int(name).and_then(|d| wrap(d, rank));
            match (args.int("offset"), axis("dim1"), axis("dim2")) {
                (Some(offset), Some(dim1), Some(dim2)) => View::Diagonal { offset, dim1, dim2 },
                _ => return Err(Undecided),
            }
        }
        "as_strided" => View::AsStrided {
            size: args.any("size"),
            stride: args.any("stride"),
            offset: args.any("storage_offset"),
        },
        _ => match permutation(op, args, rank) {
            Some(permutation) if !from.dtype.is_complex() || !matches!(op, "adjoint" | "mH" | "matrix_H") => {
                View::Permute(permutation)
            }
            _ => View::ReadOnly("it is a view that onnxport cannot invert"),
        },
    }))
}

/// The permutation of the operators that reorder axes.
fn permutation(op: &str, args: &Args<'_>, rank: usize) -> Option<Vec<i64>> {
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    let mut swap = |a: Option<i64>, b: Option<i64>| -> Option<()> {
        if rank > 0 {
            axes.swap(a? as usize, b? as usize);
        }
        Some(())
    };
    let axis = |name: &str| args.int(name).and_then(|d| wrap(d, rank));
    match op {
        "permute" => return args.axes("dims", rank),
        "numpy_T" => axes.reverse(),
        "t" if rank < 2 => {}
        "t" => axes.swap(0, 1),
        "mT" | "mH" | "matrix_H" | "adjoint" if rank >= 2 => axes.swap(rank - 2, rank - 1),
        "transpose" if args.call.arg("permutation").is_some() => return args.axes("permutation", rank),
        "transpose" | "swapdims" => swap(axis("dim0"), axis("dim1"))?,
        "swapaxes" => swap(axis("axis0"), axis("axis1"))?,
        "movedim" | "moveaxis" => {
            let (from, to) = (args.axes("source", rank)?, args.axes("destination", rank)?);
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
