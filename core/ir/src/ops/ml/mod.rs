//! The operators of `ai.onnx.ml`: classical models, and the preparation of their inputs.
//!
//! They follow the [operator pages](https://onnx.ai/onnx/operators/) of the domain. Where those leave a case open, the
//! reference evaluator of ONNX decides.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

pub(super) mod categories;
pub(super) mod features;
pub(super) mod linear;
pub(super) mod maps;
mod scores;
pub(super) mod svm;
pub(super) mod trees;

use super::call::Call;
use super::error::invalid;
use super::{Op, Res, Tensor, Value};
use crate::tensor::DType;

/// The line of an operator of this domain.
const fn op(name: &'static str) -> Op {
    Op::new(name).of("ai.onnx.ml")
}

/// The rows of an input, each a list of features; an input of one axis is one row.
struct Rows {
    count: usize,
    width: usize,
    items: Vec<f64>,
}

impl Rows {
    fn from_call(c: &Call<'_>, x: &Tensor) -> Res<Self> {
        let (count, width) = match *x.shape() {
            [width] => (1, width),
            [count, width] => (count, width),
            _ => return invalid!("the input is {}, not rows of features", x.describe()),
        };
        c.spend(count as u64)?;
        Ok(Self { count, width, items: x.floats()? })
    }

    fn iter(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.count)
            .map(|row| self.items.get(row * self.width..(row + 1) * self.width).unwrap_or_default())
    }
}

/// The names of classes: integers or texts.
enum Classes {
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

impl Classes {
    /// The lists of the attributes with these names.
    fn from_call(c: &Call<'_>, ints: &str, texts: &str) -> Self {
        match c.texts(texts) {
            Some(texts) if !texts.is_empty() => Self::Texts(texts.to_vec()),
            _ => Self::Ints(c.ints(ints).unwrap_or_default().to_vec()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Ints(items) => items.len(),
            Self::Texts(items) => items.len(),
        }
    }

    /// The names of the classes at `places`; the place itself where classes have no names.
    fn name(&self, places: &[usize]) -> Res<Value> {
        let shape = vec![places.len()];
        let Some(last) = places.iter().max().filter(|last| self.len() > 0 && **last >= self.len()) else {
            return Ok(match self {
                Self::Ints(names) if names.is_empty() => {
                    Tensor::of_longs(shape, places.iter().map(|at| *at as i64))?.into()
                }
                Self::Ints(names) => {
                    Tensor::of_longs(shape, places.iter().filter_map(|at| names.get(*at).copied()))?.into()
                }
                Self::Texts(names) => {
                    let texts = places.iter().filter_map(|at| names.get(*at).cloned()).collect();
                    Tensor::of_texts(shape, texts)?.into()
                }
            });
        };
        invalid!("class {last} is out of range for {} classes", self.len())
    }
}

/// Numbers of an attribute that lists floats, or of the tensor called `…_as_tensor` that may stand for it.
fn numbers(c: &Call<'_>, name: &str) -> Res<Option<Vec<f64>>> {
    match c.tensor_attr(&format!("{name}_as_tensor")) {
        Some(data) => Tensor::read(data)?.floats().map(Some),
        None => Ok(c.floats(name)),
    }
}

/// Rows of scores as a tensor of 32-bit floats.
fn scored(rows: usize, width: usize, items: Vec<f64>) -> Res<Value> {
    Ok(Tensor::of_floats(DType::F32, vec![rows, width], items)?.into())
}

/// The place of the first largest score.
fn best(scores: &[f64]) -> usize {
    (1..scores.len()).fold(0, |best, at| if scores[at] > scores[best] { at } else { best })
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Types and shapes.

    use smallvec::smallvec;

    use crate::ir::{Attr, Shape};
    use crate::ops::infer::cx::{Cx, Dims, Dtypes, Shapes, one};
    use crate::sym::Dim;
    use crate::tensor::DType;

    /// 32-bit floats.
    pub(super) fn floats(_: &Cx<'_>) -> Dtypes {
        smallvec![Some(DType::F32)]
    }

    /// The element type of the first input.
    pub(super) fn first(cx: &Cx<'_>) -> Dtypes {
        smallvec![cx.dtype(0)]
    }

    /// Names of classes, and 32-bit scores.
    pub(super) fn classes(cx: &Cx<'_>) -> Dtypes {
        let texts =
            matches!(cx.node.attr("classlabels_strings"), Some(Attr::Strs(items)) if !items.is_empty());
        smallvec![Some(if texts { DType::String } else { DType::I64 }), Some(DType::F32)]
    }

    /// As many rows as the input has, of sizes `rest`.
    pub(super) fn rows(cx: &Cx<'_>, rest: &[Option<Dim>]) -> Option<Dims> {
        let count = match cx.dims(0)? {
            [_] => Some(Dim::Const(1)),
            [count, _] => *count,
            _ => return None,
        };
        Some(std::iter::once(count).chain(rest.iter().copied()).collect())
    }

    /// A name and some scores for each row.
    pub(super) fn classified(cx: &mut Cx<'_>) -> Option<Shapes> {
        Some(smallvec![Shape::Ranked(rows(cx, &[])?), Shape::Ranked(rows(cx, &[None])?)])
    }

    /// `count` numbers for each row.
    pub(super) fn targets(cx: &Cx<'_>, count: Option<i64>) -> Option<Shapes> {
        one(rows(cx, &[count.map(Dim::Const)])?)
    }
}
