//! The arguments of every command that converts programs to models.

use std::path::Path;

use clap::{Args, ValueEnum};
use onnxport_core::diagnose::Report;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::lower::{DimName, LowerOptions, Names, Naming};
use onnxport_core::pipeline::ConvertOptions;
use onnxport_core::program::Program;
use onnxport_core::sizes::{AxisSize, InputAxis};
use onnxport_requests::Plugins;
use onnxport_requests::optimizing::Optimizing;
use onnxport_requests::target::Targeting;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::verifying::VerifyingArguments;
use crate::backends::BackendArguments;
use crate::decomposing::DecomposeArguments;
use crate::metadata::MetadataArguments;
use crate::precision::PrecisionArguments;

/// Arguments about how a program becomes a model.
#[derive(Debug, Args)]
pub(crate) struct ConvertingArguments {
    /// The ONNX opset to use
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    pub opset: i64,
    /// Check the graph against the ONNX specification and the types that the program states
    #[arg(long)]
    validate: bool,
    /// Give every dynamic dimension of the inputs the size that it has in the example inputs; sizes of --dim take precedence
    #[arg(long)]
    pub freeze_all: bool,
    /// How to name the inputs and outputs of caches, and of a decoder after an encoder
    #[arg(long, value_enum, default_value_t = Convention::Torch, value_name = "CONVENTION")]
    naming: Convention,
    /// Add a Boolean output that tells at run time whether the sizes of the inputs satisfy the ranges and guards of the
    /// program
    #[arg(long)]
    emit_guards: bool,
    #[command(flatten)]
    targeting: Targeting,
    #[command(flatten)]
    pub verifying: VerifyingArguments,
    #[command(flatten)]
    pub decomposing: DecomposeArguments,
    #[command(flatten)]
    pub optimizing: Optimizing,
    #[command(flatten)]
    pub precision: PrecisionArguments,
    #[command(flatten)]
    pub backends: BackendArguments,
    #[command(flatten)]
    pub metadata: MetadataArguments,
    #[command(flatten)]
    pub plugins: Plugins,
}

/// A convention for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Convention {
    /// Inputs as in the exported program, outputs by their paths in the result
    Torch,
    /// As Hugging Face's Optimum
    Huggingface,
    /// As onnxruntime-genai, whose names differ from Optimum's after an encoder
    Genai,
    /// Outputs with _ for . in their paths
    Flat,
}

impl ConvertingArguments {
    /// Returns `options` with the names of the convention for `program`.
    pub(crate) fn naming(&self, options: LowerOptions, program: &Program) -> LowerOptions {
        let naming = match self.naming {
            Convention::Torch => Naming::Torch,
            Convention::Huggingface => Naming::HuggingFace,
            Convention::Genai => Naming::GenAi,
            Convention::Flat => Naming::Flat,
        };
        options.naming(naming, program)
    }

    /// Returns the options for a model to be written to `output`.
    ///
    /// # Errors
    /// If a table of decompositions cannot be read.
    pub(crate) fn options(&self, output: Option<&Path>) -> Result<ConvertOptions, Report> {
        Ok(ConvertOptions {
            decompose: self.decomposing.options()?,
            lower: LowerOptions { opset: self.opset, ..LowerOptions::default() },
            precision: self.precision.options(),
            legalise: self.targeting.options(),
            backend: self.backends.options(output),
            optimise: self.optimizing.options(self.targeting.names_runtime()),
            provenance: self.metadata.is_full(),
            validate: self.validate,
            guards: self.emit_guards,
            ..ConvertOptions::default()
        })
    }
}

/// The requested form of an input's axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// A dimension with this name.
    Named(DimName),
    /// Of this size, always.
    Sized(AxisSize),
}

impl Axis {
    /// Returns the input of the axis.
    pub(crate) fn input(&self) -> &str {
        match self {
            Self::Named(dim) => &dim.input,
            Self::Sized(size) => &size.input,
        }
    }
}

/// Names and sizes of axes, each for itself.
pub(crate) fn axes<'a>(all: impl IntoIterator<Item = &'a Axis>) -> (Vec<DimName>, Vec<AxisSize>) {
    let (mut names, mut sizes) = (Vec::new(), Vec::new());
    for axis in all {
        match axis {
            Axis::Named(dim) => names.push(dim.clone()),
            Axis::Sized(size) => sizes.push(size.clone()),
        }
    }
    (names, sizes)
}

/// Parses `x:0=batch` and `x:0=8`, and as JSON, for names with these characters, `["x", 0, "batch"]` and `["x", 0,
/// 8]`.
pub(crate) fn parse_axis(text: &str) -> Result<Axis, String> {
    if text.starts_with('[') {
        let (input, axis, name): (String, usize, Value) = from_json(text)?;
        return match name {
            Value::String(name) => Ok(Axis::Named(DimName { input, axis, name })),
            Value::Number(size) if size.is_u64() => {
                Ok(Axis::Sized(AxisSize { input, axis, size: size.as_u64().unwrap_or_default() }))
            }
            other => Err(format!("{other} is neither a name nor a size")),
        };
    }
    let (place, name) = text.rsplit_once('=').ok_or("expected INPUT:AXIS=NAME or INPUT:AXIS=SIZE")?;
    let (input, axis) = place.rsplit_once(':').ok_or("expected INPUT:AXIS=NAME or INPUT:AXIS=SIZE")?;
    let axis = axis.parse().map_err(|_| format!("{axis:?} is not an axis"))?;
    if input.is_empty() || name.is_empty() {
        return Err("expected INPUT:AXIS=NAME or INPUT:AXIS=SIZE".to_owned());
    }
    let input = input.to_owned();
    Ok(match name.parse() {
        Ok(size) => Axis::Sized(AxisSize { input, axis, size }),
        Err(_) => Axis::Named(DimName { input, axis, name: name.to_owned() }),
    })
}

/// Reads `x:0`.
pub(crate) fn parse_input_axis(text: &str) -> Result<InputAxis, String> {
    let (input, axis) =
        text.rsplit_once(':').filter(|(input, _)| !input.is_empty()).ok_or("expected INPUT:AXIS")?;
    let axis = axis.parse().map_err(|_| format!("{axis:?} is not an axis"))?;
    Ok(InputAxis { input: input.to_owned(), axis })
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn names_from_json(text: &str) -> Result<Names, String> {
    let names: Value = from_json(text)?;
    let name = |value: Value| match value {
        Value::String(name) if !name.is_empty() => Ok(name),
        other => Err(format!("{other} is no name")),
    };
    match names {
        Value::Array(all) => all.into_iter().map(name).collect::<Result<_, _>>().map(Names::InOrder),
        Value::Object(all) => {
            let pair = |(old, new)| Ok((name(Value::String(old))?, name(new)?));
            all.into_iter().map(pair).collect::<Result<_, String>>().map(Names::Renamed)
        }
        other => Err(format!("{other} holds no names")),
    }
}

/// Parses `a,b` and `old=new,other=another`, and as JSON, for names with commas, `["a", "b"]` and `{"old": "new"}`.
pub(crate) fn parse_names(text: &str) -> Result<Names, String> {
    if text.starts_with(['[', '{']) {
        return names_from_json(text);
    }
    let parts: Vec<&str> = text.split(',').collect();
    let pairs: Vec<(String, String)> =
        parts.iter().filter_map(|p| p.split_once('=')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    let is_empty =
        parts.iter().any(|part| part.is_empty()) || pairs.iter().any(|(a, b)| a.is_empty() || b.is_empty());
    match pairs.len() {
        _ if is_empty => {
            Err("expected names, such as a,b, or other names for some, such as old=new".to_owned())
        }
        0 => Ok(Names::InOrder(parts.into_iter().map(str::to_owned).collect())),
        n if n == parts.len() => Ok(Names::Renamed(pairs)),
        _ => Err("either all are names in order, or all are old=new".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_name_or_a_size() {
        let dim = |name: &str| DimName { input: "a:b".to_owned(), axis: 1, name: name.to_owned() };
        assert_eq!(parse_axis("a:b:1=batch"), Ok(Axis::Named(dim("batch"))));
        let size = AxisSize { input: "a:b".to_owned(), axis: 1, size: 8 };
        assert_eq!(parse_axis("a:b:1=8"), Ok(Axis::Sized(size)));
        assert_eq!(parse_axis("a:b:1=-8"), Ok(Axis::Named(dim("-8"))));
        let odd = DimName { input: "a=b".to_owned(), axis: 0, name: "8".to_owned() };
        assert_eq!(parse_axis(r#"["a=b", 0, "8"]"#), Ok(Axis::Named(odd)));
        assert_eq!(parse_axis(r#"["a:b", 1, 8]"#), parse_axis("a:b:1=8"));
        for wrong in ["x", "x:0", "x=n", "x:z=n", ":0=n", "x:0=", "[", r#"["x", 0, -1]"#, r#"["x", -1, "n"]"#]
        {
            assert!(parse_axis(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_in_order_or_take_the_place_of_others() {
        let texts = |all: &[&str]| all.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(parse_names("a,b"), Ok(Names::InOrder(texts(&["a", "b"]))));
        let pairs = vec![("x".to_owned(), "y".to_owned()), ("z".to_owned(), "w=v".to_owned())];
        assert_eq!(parse_names("x=y,z=w=v"), Ok(Names::Renamed(pairs)));
        assert_eq!(parse_names(r#"["a,b", "c"]"#), Ok(Names::InOrder(texts(&["a,b", "c"]))));
        let odd = vec![("a=b".to_owned(), "c,d".to_owned())];
        assert_eq!(parse_names(r#"{"a=b": "c,d"}"#), Ok(Names::Renamed(odd)));
        for wrong in ["", "a,", "a,b=c", "=b", "a=", "[", r#"["a", ""]"#, r#"{"a": 1}"#, "[1]"] {
            assert!(parse_names(wrong).is_err(), "{wrong}");
        }
    }
}
