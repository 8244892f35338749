//! The contents of a tensor, summarized in a few numbers.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::Computed;
use crate::diagnose::{Code, Diagnostic};
use crate::ops::{Elements, Tensor};

/// A one-line summary of a tensor.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Summary {
    /// The name in the model.
    pub name: String,
    /// The element type.
    pub dtype: &'static str,
    /// The extents.
    pub shape: Vec<u64>,
    /// The least element, without NaN; for complex numbers the least absolute value.
    pub min: Option<Number>,
    /// The greatest element, likewise.
    pub max: Option<Number>,
    /// The mean, without NaN.
    pub mean: Option<Number>,
    /// The number of NaN elements.
    pub nan: u64,
}

/// A number as it is shown and stated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An element of an integer or a truth value.
    Int(i128),
    /// Every other one.
    Float(f64),
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"] })
    }
}

impl Serialize for Number {
    /// Infinity and NaN are texts, since JSON has no numbers for them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(n) => serializer.serialize_i128(*n),
            Self::Float(x) if x.is_finite() => serializer.serialize_f64(*x),
            Self::Float(x) => serializer.serialize_str(&x.to_string()),
        }
    }
}

impl Summary {
    pub(super) fn from_tensor(tensor: &Computed) -> Result<Self, Diagnostic> {
        let Computed { name, dtype, shape, bytes } = tensor;
        let extents = shape.iter().map(|d| *d as usize).collect();
        let elements = Tensor::packed(*dtype, extents, bytes.clone()).map(|tensor| tensor.elements());
        let elements = elements.map_err(|e| {
            Diagnostic::error(Code::VERIFY_EXECUTOR, format!("the output `{name}` is malformed: {e}"))
        })?;
        let mut summary = Self {
            name: name.clone(),
            dtype: dtype.as_str(),
            shape: shape.clone(),
            min: None,
            max: None,
            mean: None,
            nan: 0,
        };
        match elements {
            Elements::Bool(items) => summary.ints(&items.into_iter().map(i128::from).collect::<Vec<_>>()),
            Elements::Int(items) => summary.ints(&items),
            Elements::Float(items) => summary.floats(&items),
            Elements::Complex(items) => {
                summary.floats(&items.iter().map(|[re, im]| re.hypot(*im)).collect::<Vec<_>>());
            }
            Elements::Text(_) => {}
        }
        Ok(summary)
    }

    fn ints(&mut self, items: &[i128]) {
        self.min = items.iter().min().copied().map(Number::Int);
        self.max = items.iter().max().copied().map(Number::Int);
        let sum: i128 = items.iter().sum();
        self.mean = (!items.is_empty()).then(|| Number::Float(sum as f64 / items.len() as f64));
    }

    fn floats(&mut self, items: &[f64]) {
        let numbers = || items.iter().copied().filter(|x| !x.is_nan());
        let count = numbers().count();
        self.nan = (items.len() - count) as u64;
        if count > 0 {
            self.min = Some(Number::Float(numbers().fold(f64::INFINITY, f64::min)));
            self.max = Some(Number::Float(numbers().fold(f64::NEG_INFINITY, f64::max)));
            // Infinities of both signs have no mean.
            let mean = numbers().sum::<f64>() / count as f64;
            self.mean = (!mean.is_nan()).then_some(Number::Float(mean));
        }
    }
}
