//! The options of a static quantization.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::calibrate::{CalibrateOptions, Method};
use onnxport_core::diagnose::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::{needs, wrong};
use crate::value::Parsed;

/// The smallest signal-to-noise ratio of an output in decibels, unless another one is given.
const MIN_SQNR: f64 = 10.0;

/// A quantization of weights and activations.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Static quantization")]
#[serde(default)]
pub struct Calibrating {
    /// Quantize weights and activations to 8 bits by the rules of the target, with scales from the samples in this file:
    /// .npz, .safetensors or another weight file, with a tensor for each input whose first axis counts the samples, or
    /// tensors such as 0/x and 1/x for the runs. Needs --target; can be repeated
    #[arg(long, value_name = "FILE")]
    pub calibrate: Vec<PathBuf>,
    /// How the ranges of activations are chosen: min-max, percentile, percentile=NUMBER, entropy or mse
    /// [default: min-max]
    #[arg(long, value_name = "METHOD", requires = "calibrate")]
    pub calibrate_method: Option<Parsed<Method>>,
    /// Correct biases by the mean error of rounded weights
    #[arg(long, requires = "calibrate")]
    pub correct_biases: bool,
    /// Also measure the error of the outputs with each single layer quantized
    #[arg(long, requires = "calibrate")]
    pub sensitivity: bool,
    /// The smallest signal-to-noise ratio of an output, in decibels, with which the quantized model is written
    /// [default: 10]
    #[arg(long, value_name = "NUMBER", requires = "calibrate", allow_negative_numbers = true)]
    pub min_sqnr: Option<f64>,
}

impl Calibrating {
    /// Whether a quantization is requested.
    pub fn is_requested(&self) -> bool {
        !self.calibrate.is_empty()
    }

    /// Fails if options of a quantization are given without requesting one, or with options that exclude it.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self, target: Option<&str>, others: &[(&str, bool)]) -> Result<(), Diagnostic> {
        let Self { calibrate: _, calibrate_method, correct_biases, sensitivity, min_sqnr } = self;
        let given = [
            ("calibrate_method", calibrate_method.is_some()),
            ("correct_biases", *correct_biases),
            ("sensitivity", *sensitivity),
            ("min_sqnr", min_sqnr.is_some()),
        ];
        needs("calibrate", self.is_requested(), &given)?;
        needs("target", target.is_some(), &[("calibrate", self.is_requested())])?;
        if min_sqnr.is_some_and(|ratio| !ratio.is_finite()) {
            return Err(wrong("`min_sqnr` is a number of decibels".to_owned()));
        }
        match others.iter().find(|(_, is_given)| *is_given && self.is_requested()) {
            Some((name, _)) => Err(wrong(format!("`calibrate` cannot be used with `{name}`"))),
            None => Ok(()),
        }
    }

    /// The options.
    pub fn options(&self) -> CalibrateOptions {
        CalibrateOptions {
            method: self.calibrate_method.as_ref().map(|method| method.value).unwrap_or_default(),
            correct_biases: self.correct_biases,
            sensitivity: self.sensitivity,
            min_sqnr: self.min_sqnr.unwrap_or(MIN_SQNR),
        }
    }
}
