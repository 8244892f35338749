//! The types in which weights are stored.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use onnxport_core::precision::{
    Changed, Form, Overflow, Patterns, PluginTransform, PrecisionOptions, Scheme,
};
use onnxport_core::tensor::DType;

use crate::format::{bold, bytes};
use crate::outcome::Outcome;

/// Arguments about how weights are stored.
#[derive(Debug, Args)]
#[command(next_help_heading = "Precision of weights")]
pub(crate) struct PrecisionArguments {
    /// Store floating-point parameters and buffers in this narrower type, with a cast to the type that the model
    /// computes in. Tensors with fewer than two axes, such as biases and scales of norms, keep their type
    #[arg(long, value_enum, value_name = "DTYPE")]
    dtype: Option<Stored>,
    /// Weights that keep their type, such as head.*; can be repeated
    #[arg(long = "keep-dtype", value_name = "PATTERN", requires = "dtype")]
    keep: Vec<String>,
    /// How to handle a weight with values out of range for that type
    #[arg(long, value_enum, default_value_t = Beyond::Refuse, value_name = "WHAT", requires = "dtype")]
    dtype_overflow: Beyond,
    /// Quantize the weights of matrix products: int4 or int8, optionally followed by a colon and block=N or
    /// block=channel, symmetric or asymmetric, and by=PLUGIN/NAME for a plugin that chooses scales and codes, such as
    /// int4:block=32,symmetric
    #[arg(long, value_name = "SCHEME")]
    quantize: Option<Scheme>,
    /// How the graph represents a quantized weight
    #[arg(long, value_enum, default_value_t = QuantizeForm::Dequantize, value_name = "FORM", requires = "quantize")]
    quantize_form: QuantizeForm,
    /// The type in which `MatMulNBits` computes with its other operand: 1 f32, 2 f16, 3 bf16, 4 8-bit integers, which
    /// round by up to 1/254 of a block's largest magnitude; 0 lets the runtime choose [default: 4]
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=4), requires = "quantize")]
    accuracy_level: Option<u8>,
    /// Quantize only these matrices, whichever operator reads them; can be repeated
    #[arg(long, value_name = "PATTERN", requires = "quantize")]
    quantize_only: Vec<String>,
    /// Weights to leave unquantized; can be repeated
    #[arg(long, value_name = "PATTERN", requires = "quantize")]
    quantize_skip: Vec<String>,
    /// Apply a plugin's transform to weights before anything else, such as mylib/prune:conv*; can be repeated
    #[arg(long = "transform", value_name = "PLUGIN/NAME[:PATTERN]", value_parser = parse_transform)]
    transforms: Vec<PluginTransform>,
}

fn parse_transform(text: &str) -> Result<PluginTransform, String> {
    let (place, pattern) = text.split_once(':').unwrap_or((text, "*"));
    match place.split_once('/') {
        Some((plugin, name)) if !plugin.is_empty() && !name.is_empty() => Ok(PluginTransform {
            plugin: plugin.to_owned(),
            name: name.to_owned(),
            only: Patterns::new([pattern.to_owned()]),
        }),
        _ => Err("expected PLUGIN/NAME or PLUGIN/NAME:PATTERN".to_owned()),
    }
}

/// A type in which weights can be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stored {
    F32,
    F16,
    Bf16,
    F8e4m3fn,
    F8e4m3fnuz,
    F8e5m2,
    F8e5m2fnuz,
}

/// The treatment of values that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Beyond {
    /// Fail the conversion
    Refuse,
    /// Keep the weight in its own type
    Keep,
    /// Convert the values to infinity, or to the largest value of an 8-bit type
    Allow,
}

/// How the graph represents a quantized weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum QuantizeForm {
    #[value(help = "DequantizeLinear before each reader; blocks and 4 bits need opset 21")]
    Dequantize,
    #[value(help = "com.microsoft::MatMulNBits instead of the matrix product")]
    Matmulnbits,
}

impl PrecisionArguments {
    /// The options.
    pub(crate) fn options(&self) -> PrecisionOptions {
        let form = match self.quantize_form {
            QuantizeForm::Dequantize => Form::Dequantize,
            QuantizeForm::Matmulnbits => Form::MatMulNBits,
        };
        PrecisionOptions {
            dtype: self.dtype.map(|dtype| match dtype {
                Stored::F32 => DType::F32,
                Stored::F16 => DType::F16,
                Stored::Bf16 => DType::BF16,
                Stored::F8e4m3fn => DType::F8E4M3FN,
                Stored::F8e4m3fnuz => DType::F8E4M3FNUZ,
                Stored::F8e5m2 => DType::F8E5M2,
                Stored::F8e5m2fnuz => DType::F8E5M2FNUZ,
            }),
            keep: Patterns::new(self.keep.iter().cloned()),
            overflow: match self.dtype_overflow {
                Beyond::Refuse => Overflow::Refuse,
                Beyond::Keep => Overflow::Keep,
                Beyond::Allow => Overflow::Allow,
            },
            quantise: self.quantize.clone().map(|scheme| Scheme {
                form,
                // The same as when ONNX Runtime fuses the other form itself.
                accuracy_level: self.accuracy_level.unwrap_or(match form {
                    Form::Dequantize => 0,
                    Form::MatMulNBits => 4,
                }),
                ..scheme
            }),
            quantise_only: Patterns::new(self.quantize_only.iter().cloned()),
            quantise_skip: Patterns::new(self.quantize_skip.iter().cloned()),
            transforms: self.transforms.clone(),
            several: false,
        }
    }
}

/// Adds the changes to weights to an outcome.
pub(crate) fn describe(changed: &Changed, outcome: &mut Outcome) {
    let Changed { narrowed, quantised, foreign, bytes_before, bytes_after } = *changed;
    if narrowed + quantised + foreign == 0 {
        return;
    }
    let mut what = Vec::new();
    if quantised > 0 {
        what.push(format!("{quantised} quantised"));
    }
    if foreign > 0 {
        what.push(format!("{foreign} changed by plugins"));
    }
    if narrowed > 0 {
        what.push(format!("{narrowed} in a lower type"));
    }
    // Writing to a String cannot fail.
    let _ = writeln!(
        outcome.summary,
        "{}  {}, {} instead of {}",
        bold("weights"),
        what.join(", "),
        bytes(bytes_after),
        bytes(bytes_before)
    );
    outcome.put("weights_quantised", quantised);
    outcome.put("weights_narrowed", narrowed);
    outcome.put("weights_changed_by_plugins", foreign);
    outcome.put("changed_weight_bytes", bytes_after);
}
