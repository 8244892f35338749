//! Names, numbers and positions of categories.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use std::collections::HashMap;

use super::{infer, op};
use crate::ops::call::{Call, one};
use crate::ops::error::{invalid, unsupported};
use crate::ops::infer::broadcast;
use crate::ops::slice::concat;
use crate::ops::{Elements, Op, Res, Tensor, Value};
use crate::tensor::{DType, Kind};

pub(in crate::ops) const OPS: &[Op] = &[
    op("ArrayFeatureExtractor").dtypes(infer::first).infer(shapes::extractor).eval(extractor),
    op("CategoryMapper").dtypes(shapes::mapped).infer(broadcast::same).eval(category_mapper),
    op("LabelEncoder").dtypes(shapes::encoded).infer(broadcast::same).eval(label_encoder),
    op("OneHotEncoder").dtypes(infer::floats).infer(shapes::one_hot).eval(one_hot),
];

/// The key of a category: equal keys are one category. NaN is one of them, and 0 has no sign.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Int(i128),
    Float(u64),
    Text(String),
}

fn keys(x: &Tensor) -> Res<Vec<Key>> {
    let float = |x: f64| match x {
        x if x.is_nan() => Key::Float(f64::NAN.to_bits()),
        x => Key::Float((x + 0.0).to_bits()),
    };
    Ok(match x.elements() {
        Elements::Int(items) => items.into_iter().map(Key::Int).collect(),
        Elements::Float(items) => items.into_iter().map(float).collect(),
        Elements::Text(items) => items.into_iter().map(Key::Text).collect(),
        _ => return unsupported!("{} names no categories", x.dtype()),
    })
}

/// For each element of `x`, the element of `values` at its index in `names`, or else the only element of `default`.
fn mapped(c: &Call<'_>, x: &Tensor, names: &Tensor, values: &Tensor, default: &Tensor) -> Res<Vec<Value>> {
    if names.len() != values.len() {
        return invalid!("{} keys do not fit {} values", names.len(), values.len());
    }
    if names.dtype().kind() != x.dtype().kind() {
        return invalid!("keys of type {} do not fit {}", names.dtype(), x.dtype());
    }
    c.count(x.shape())?;
    // The last of equal keys counts.
    let places: HashMap<Key, usize> = keys(names)?.into_iter().zip(0..).collect();
    let values = concat(c, &[&values.reshaped(vec![values.len()])?, &default.reshaped(vec![1])?], 0)?;
    let picks = keys(x)?.into_iter().map(|key| places.get(&key).copied().unwrap_or(names.len()));
    one(values.pick(x.shape().to_vec(), picks)?)
}

/// The list that one of three attributes or a tensor holds.
fn listed(c: &Call<'_>, name: &str) -> Res<Option<Tensor>> {
    if let Some(data) = c.tensor_attr(&format!("{name}_tensor")) {
        return Tensor::read(data).map(Some);
    }
    if let Some(crate::ir::Attr::Text(text)) = c.attr(&format!("{name}_tensor")) {
        return Tensor::text(text).map(Some);
    }
    if let Some(texts) = c.texts(&format!("{name}_strings")) {
        return Tensor::of_texts(vec![texts.len()], texts.to_vec()).map(Some);
    }
    if let Some(items) = c.ints(&format!("{name}_int64s")) {
        return Tensor::of_longs(vec![items.len()], items.iter().copied()).map(Some);
    }
    match c.floats(&format!("{name}_floats")) {
        Some(items) => Tensor::of_floats(DType::F32, vec![items.len()], items).map(Some),
        None => Ok(None),
    }
}

/// The value of a category that is not listed.
fn fallback(c: &Call<'_>, dtype: DType) -> Res<Tensor> {
    let own = match c.attr("default_tensor") {
        Some(crate::ir::Attr::Text(text)) => Some(Tensor::text(text)?),
        _ => c.tensor_attr("default_tensor").map(Tensor::read).transpose()?,
    };
    match (own, dtype.kind()) {
        (Some(own), _) => own.scalar(),
        (None, Kind::Text) => Tensor::of_texts(Vec::new(), vec![c.text("default_string")?.to_owned()]),
        (None, Kind::Int) => Tensor::of_ints(dtype, Vec::new(), vec![c.int("default_int64")?.into()]),
        (None, _) => Tensor::of_floats(dtype, Vec::new(), vec![c.float("default_float")?]),
    }
}

fn label_encoder(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    // The first version had texts and their positions.
    if let Some(classes) = c.texts("classes_strings") {
        let texts = Tensor::of_texts(vec![classes.len()], classes.to_vec())?;
        let places = Tensor::of_longs(vec![classes.len()], (0..).take(classes.len()))?;
        let (from, to) = if x.dtype() == DType::String { (texts, places) } else { (places, texts) };
        return mapped(c, x, &from, &to, &fallback(c, to.dtype())?);
    }
    let (Some(names), Some(values)) = (listed(c, "keys")?, listed(c, "values")?) else {
        return invalid!("keys or values are missing");
    };
    mapped(c, x, &names, &values, &fallback(c, values.dtype())?)
}

fn category_mapper(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let (Some(texts), Some(numbers)) = (c.texts("cats_strings"), c.ints("cats_int64s")) else {
        return invalid!("the categories are missing");
    };
    let texts = Tensor::of_texts(vec![texts.len()], texts.to_vec())?;
    let numbers = Tensor::of_longs(vec![numbers.len()], numbers.iter().copied())?;
    let (from, to) = if x.dtype() == DType::String { (texts, numbers) } else { (numbers, texts) };
    mapped(c, x, &from, &to, &fallback(c, to.dtype())?)
}

/// A new last axis with 1 at the category of each element.
fn one_hot(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let (names, found) = match c.texts("cats_strings") {
        Some(texts) if !texts.is_empty() => (Tensor::of_texts(vec![texts.len()], texts.to_vec())?, keys(x)?),
        _ => {
            let numbers = c.ints("cats_int64s").unwrap_or_default();
            let whole = Tensor::of_numbers(DType::I64, x.shape().to_vec(), x.floats()?)?;
            (Tensor::of_longs(vec![numbers.len()], numbers.iter().copied())?, keys(&whole)?)
        }
    };
    let places: HashMap<Key, usize> = keys(&names)?.into_iter().zip(0..).collect();
    let shape: Vec<usize> = x.shape().iter().copied().chain([names.len()]).collect();
    let mut out = vec![0.0; c.count(&shape)?];
    let strict = !c.flag("zeros");
    for (at, key) in found.iter().enumerate() {
        match places.get(key) {
            Some(place) => out[at * names.len() + place] = 1.0,
            None if strict => return invalid!("element {at} is of no category"),
            None => {}
        }
    }
    one(Tensor::of_floats(DType::F32, shape, out)?)
}

/// The features that the second input lists, of each row.
fn extractor(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let Some((width, outer)) = x.shape().split_last() else { return invalid!("the input has no axes") };
    let picks: Vec<usize> =
        c.tensor(1)?.longs()?.into_iter().map(|at| usize::try_from(at).unwrap_or(usize::MAX)).collect();
    if let Some(beyond) = picks.iter().find(|at| *at >= width) {
        return invalid!("feature {beyond} is out of range for {width} features");
    }
    let mut shape = if outer.is_empty() { vec![1] } else { outer.to_vec() };
    let rows: usize = shape.iter().product();
    shape.push(picks.len());
    c.count(&shape)?;
    one(x.pick(shape, (0..rows).flat_map(|row| picks.iter().map(move |at| row * width + at)))?)
}

#[deny(clippy::arithmetic_side_effects)]
mod shapes {
    //! Types and shapes.

    use smallvec::smallvec;

    use crate::ir::Attr;
    use crate::ops::infer::cx::{Cx, Dims, Dtypes, Shapes, one};
    use crate::sym::Dim;
    use crate::tensor::DType;

    /// Numbers for texts, and texts for numbers.
    pub(super) fn mapped(cx: &Cx<'_>) -> Dtypes {
        let other = |dtype| if dtype == DType::String { DType::I64 } else { DType::String };
        smallvec![cx.dtype(0).map(other)]
    }

    /// `LabelEncoder`: the type of the values.
    pub(super) fn encoded(cx: &Cx<'_>) -> Dtypes {
        if cx.node.attr("classes_strings").is_some() {
            return mapped(cx);
        }
        let tensor = match cx.node.attr("values_tensor") {
            Some(Attr::Tensor(data)) => Some(data.dtype),
            Some(Attr::Text(_)) => Some(DType::String),
            _ => None,
        };
        let lists =
            [("values_strings", DType::String), ("values_int64s", DType::I64), ("values_floats", DType::F32)];
        smallvec![
            tensor.or_else(|| lists.iter().find(|(name, _)| cx.node.attr(name).is_some()).map(|(_, t)| *t))
        ]
    }

    /// `OneHotEncoder`: a new last axis.
    pub(super) fn one_hot(cx: &mut Cx<'_>) -> Option<Shapes> {
        let count = match (cx.node.attr("cats_strings"), cx.node.ints("cats_int64s")) {
            (Some(Attr::Strs(texts)), _) if !texts.is_empty() => texts.len(),
            (_, numbers) => numbers?.len(),
        };
        one(cx.dims(0)?.iter().copied().chain([Some(Dim::Const(count as i64))]))
    }

    /// `ArrayFeatureExtractor`: the last axis is as long as the list of features.
    pub(super) fn extractor(cx: &mut Cx<'_>) -> Option<Shapes> {
        let count = cx.dims(1).map(<[_]>::to_vec).and_then(|dims| cx.product(&dims));
        let mut dims: Dims = match cx.dims(0)? {
            [] => return cx.refute("the input has no axes"),
            [_] => smallvec![Some(Dim::Const(1))],
            [outer @ .., _] => outer.into(),
        };
        dims.push(count);
        one(dims)
    }
}
