//! How programs become models: the arguments of every command that converts.

use std::path::Path;

use clap::Args;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::lower::{DimName, LowerOptions};
use onnxport_core::pipeline::ConvertOptions;

use super::optimising::OptimiseArguments;
use super::verifying::VerifyingArguments;
use crate::backends::BackendArguments;
use crate::plugins::PluginArguments;
use crate::precision::PrecisionArguments;

/// Arguments about how a program becomes a model.
#[derive(Debug, Args)]
pub(crate) struct ConvertingArguments {
    /// The ONNX opset to use
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    pub opset: i64,
    /// Check the graph against the rules of ONNX and what the program states
    #[arg(long)]
    validate: bool,
    #[command(flatten)]
    pub verifying: VerifyingArguments,
    #[command(flatten)]
    pub optimising: OptimiseArguments,
    #[command(flatten)]
    pub precision: PrecisionArguments,
    #[command(flatten)]
    pub backends: BackendArguments,
    #[command(flatten)]
    pub plugins: PluginArguments,
}

impl ConvertingArguments {
    /// The options for a model that is written to `output`.
    pub(crate) fn options(&self, output: Option<&Path>) -> ConvertOptions {
        ConvertOptions {
            lower: LowerOptions { opset: self.opset, ..LowerOptions::default() },
            precision: self.precision.options(),
            backend: self.backends.options(output),
            optimise: self.optimising.options(),
            validate: self.validate,
            ..ConvertOptions::default()
        }
    }
}

/// Reads `x:0=batch`.
pub(crate) fn parse_dim(text: &str) -> Result<DimName, String> {
    let (place, name) = text.split_once('=').ok_or("expected INPUT:AXIS=NAME")?;
    let (input, axis) = place.rsplit_once(':').ok_or("expected INPUT:AXIS=NAME")?;
    let axis = axis.parse().map_err(|_| format!("{axis:?} is not an axis"))?;
    if input.is_empty() || name.is_empty() {
        return Err("expected INPUT:AXIS=NAME".to_owned());
    }
    Ok(DimName { input: input.to_owned(), axis, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dim_names_input_axis_and_name() {
        let dim = parse_dim("a:b:1=batch").ok();
        assert_eq!(dim, Some(DimName { input: "a:b".to_owned(), axis: 1, name: "batch".to_owned() }));
        for wrong in ["x", "x:0", "x=n", "x:z=n", ":0=n", "x:0="] {
            assert!(parse_dim(wrong).is_err(), "{wrong}");
        }
    }
}
