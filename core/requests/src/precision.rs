//! The options about the types in which weights are stored.

use std::fmt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use onnxport_core::diagnose::Diagnostic;
use onnxport_core::precision::{Form, Overflow, Patterns, PluginTransform, PrecisionOptions, Scheme};
use onnxport_core::tensor::DType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::{needs, wrong};
use crate::value::{Parsed, as_text};

/// The highest value of [`Quantizing::accuracy_level`].
const MAX_ACCURACY_LEVEL: u8 = 4;

/// The types of weights.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Precision of weights")]
#[serde(default)]
pub struct Precision {
    /// Store floating-point parameters and buffers in this narrower type, with a cast to the type that the model
    /// computes in. Tensors with fewer than two axes, such as biases and scales of norms, keep their type
    #[arg(long, value_enum, value_name = "DTYPE")]
    pub dtype: Option<StoredType>,
    /// Weights that keep their type, such as head.*; can be repeated
    #[arg(long = "keep-dtype", value_name = "PATTERN", requires = "dtype")]
    #[serde(rename = "keep_dtype")]
    pub keep: Vec<String>,
    /// How to handle a weight with values out of range for that type
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", requires = "dtype")]
    pub dtype_overflow: OutOfRange,
    /// The quantization.
    #[command(flatten)]
    #[serde(flatten)]
    pub quantizing: Quantizing,
    /// Apply a plugin's transform to weights before anything else, such as mylib/prune:conv*; can be repeated
    #[arg(long = "transform", value_name = "PLUGIN/NAME[:PATTERN]")]
    #[serde(rename = "transform")]
    pub transforms: Vec<Transform>,
}

/// The quantization of weights.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Quantizing {
    /// Quantize the weights of matrix products: int4 or int8, optionally followed by a colon and block=N or
    /// block=channel, symmetric or asymmetric, and by=PLUGIN/NAME for a plugin that chooses scales and codes, such as
    /// int4:block=32,symmetric
    #[arg(long, value_name = "SCHEME")]
    pub quantize: Option<Parsed<Scheme>>,
    /// How the graph represents a quantized weight [default: dequantize; matmulnbits for a language model on ONNX Runtime]
    #[arg(long, value_enum, value_name = "FORM", requires = "quantize")]
    pub quantize_form: Option<QuantizeForm>,
    /// The type in which `MatMulNBits` computes with its other operand: 1 f32, 2 f16, 3 bf16, 4 8-bit integers, which
    /// round by up to 1/254 of a block's largest magnitude; 0 lets the runtime choose [default: 4]
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_ACCURACY_LEVEL)), requires = "quantize")]
    #[schemars(range(max = MAX_ACCURACY_LEVEL))]
    pub accuracy_level: Option<u8>,
    /// Quantize only these matrices, whichever operator reads them; can be repeated
    #[arg(long, value_name = "PATTERN", requires = "quantize")]
    pub quantize_only: Vec<String>,
    /// Weights to leave unquantized; can be repeated
    #[arg(long, value_name = "PATTERN", requires = "quantize")]
    pub quantize_skip: Vec<String>,
}

/// `PLUGIN/NAME[:PATTERN]`: a transform of a plugin, and the weights that it is applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    plugin: String,
    name: String,
    pattern: String,
}

impl FromStr for Transform {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (path, pattern) = text.split_once(':').unwrap_or((text, "*"));
        match path.split_once('/') {
            Some((plugin, name)) if !plugin.is_empty() && !name.is_empty() => {
                let [plugin, name, pattern] = [plugin, name, pattern].map(str::to_owned);
                Ok(Self { plugin, name, pattern })
            }
            _ => Err("expected PLUGIN/NAME or PLUGIN/NAME:PATTERN"),
        }
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:{}", self.plugin, self.name, self.pattern)
    }
}

as_text! { Transform: { "type": "string" } }

/// A type in which weights can be stored.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are those of element types")]
pub enum StoredType {
    F32,
    F16,
    Bf16,
    F8e4m3fn,
    F8e4m3fnuz,
    F8e5m2,
    F8e5m2fnuz,
}

/// The treatment of values that are out of range.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum OutOfRange {
    /// Fail the conversion
    #[default]
    Refuse,
    /// Keep the weight in its own type
    Keep,
    /// Convert the values to infinity, or to the largest value of an 8-bit type
    Allow,
}

/// How the graph represents a quantized weight.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum QuantizeForm {
    /// `DequantizeLinear` before each reader; blocks and 4 bits need opset 21.
    #[value(help = "DequantizeLinear before each reader; blocks and 4 bits need opset 21")]
    Dequantize,
    /// `com.microsoft::MatMulNBits` instead of the matrix product.
    #[value(help = "com.microsoft::MatMulNBits instead of the matrix product")]
    Matmulnbits,
}

impl Precision {
    /// Fails for values out of range, and for options without those that they refine.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let of_dtype = [
            ("keep_dtype", !self.keep.is_empty()),
            ("dtype_overflow", self.dtype_overflow != OutOfRange::Refuse),
        ];
        needs("dtype", self.dtype.is_some(), &of_dtype)?;
        self.quantizing.check()
    }

    /// The options of the conversion.
    pub fn options(&self) -> PrecisionOptions {
        PrecisionOptions {
            dtype: self.dtype.map(|dtype| match dtype {
                StoredType::F32 => DType::F32,
                StoredType::F16 => DType::F16,
                StoredType::Bf16 => DType::BF16,
                StoredType::F8e4m3fn => DType::F8E4M3FN,
                StoredType::F8e4m3fnuz => DType::F8E4M3FNUZ,
                StoredType::F8e5m2 => DType::F8E5M2,
                StoredType::F8e5m2fnuz => DType::F8E5M2FNUZ,
            }),
            keep: Patterns::new(self.keep.iter().cloned()),
            overflow: match self.dtype_overflow {
                OutOfRange::Refuse => Overflow::Refuse,
                OutOfRange::Keep => Overflow::Keep,
                OutOfRange::Allow => Overflow::Allow,
            },
            transforms: self.transforms.iter().map(Transform::options).collect(),
            ..self.quantizing.options(QuantizeForm::Dequantize)
        }
    }
}

impl Quantizing {
    /// Fails for values out of range, and for options without those that they refine.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self) -> Result<(), Diagnostic> {
        if let Some(level) = self.accuracy_level.filter(|level| *level > MAX_ACCURACY_LEVEL) {
            return Err(wrong(format!("`accuracy_level` is {level}, and at most {MAX_ACCURACY_LEVEL}")));
        }
        let of_quantize = [
            ("quantize_form", self.quantize_form.is_some()),
            ("accuracy_level", self.accuracy_level.is_some()),
            ("quantize_only", !self.quantize_only.is_empty()),
            ("quantize_skip", !self.quantize_skip.is_empty()),
        ];
        needs("quantize", self.quantize.is_some(), &of_quantize)
    }

    /// The scheme, in the form `default` unless one is chosen.
    fn scheme(&self, default: QuantizeForm) -> Option<Scheme> {
        let (form, level) = match self.quantize_form.unwrap_or(default) {
            QuantizeForm::Dequantize => (Form::Dequantize, 0),
            // The same as when ONNX Runtime fuses the other form itself.
            QuantizeForm::Matmulnbits => (Form::MatMulNBits, 4),
        };
        let accuracy_level = self.accuracy_level.unwrap_or(level);
        self.quantize.as_ref().map(|scheme| Scheme { form, accuracy_level, ..scheme.value.clone() })
    }

    /// Whether weights are quantized, and `DequantizeLinear` stands before their readers.
    pub(crate) fn dequantizes(&self, default: QuantizeForm) -> bool {
        self.quantize.is_some() && self.quantize_form.unwrap_or(default) == QuantizeForm::Dequantize
    }

    /// The scheme as the user states it; `None` without a quantization.
    pub(crate) fn text(&self) -> Option<String> {
        self.quantize.as_ref().map(ToString::to_string)
    }

    /// The options of a conversion that changes no other weights, in the form `default` unless one is chosen.
    pub(crate) fn options(&self, default: QuantizeForm) -> PrecisionOptions {
        PrecisionOptions {
            quantise: self.scheme(default),
            quantise_only: Patterns::new(self.quantize_only.iter().cloned()),
            quantise_skip: Patterns::new(self.quantize_skip.iter().cloned()),
            ..PrecisionOptions::default()
        }
    }
}

impl Transform {
    fn options(&self) -> PluginTransform {
        PluginTransform {
            plugin: self.plugin.clone(),
            name: self.name.clone(),
            only: Patterns::new([self.pattern.clone()]),
        }
    }
}
