//! The options of a static quantization.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::calibrate::{CalibrateOptions, Calibration, Method, calibrate};
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::legalise::Target;
use onnxport_core::trace::stage;
use onnxport_core::{Host, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::{needs, wrong};
use crate::progress::Progress;
use crate::runtime::Running;
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
    /// Do not correct biases by the mean error of rounded weights
    #[arg(long, requires = "calibrate")]
    pub keep_biases: bool,
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
        let Self { calibrate: _, calibrate_method, keep_biases, sensitivity, min_sqnr } = self;
        let given = [
            ("calibrate_method", calibrate_method.is_some()),
            ("keep_biases", *keep_biases),
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

    /// Quantizes a model in memory, if requested, with the runtime of `running`. The stages of `progress` are those of the
    /// command.
    ///
    /// # Errors
    /// Those of [`calibrate`], and of opening the runtime.
    pub fn apply(
        &self,
        host: &Host,
        model: &mut Model,
        target: &Target,
        running: &Running,
        progress: &mut dyn Progress,
    ) -> Result<Option<(Calibration, Vec<Diagnostic>)>, Report> {
        if !self.is_requested() {
            return Ok(None);
        }
        progress.stage("calibrating");
        let _stage = stage("calibrate");
        let runtime = running.open(host, progress.restart())?;
        let limit = running.options.deadline();
        let _deadline = progress.deadline(limit, runtime.name(), "running the samples")?;
        let go_on = &mut || progress.go_on();
        calibrate(model, target, &runtime, &self.calibrate, &self.options(), go_on).map(Some)
    }

    /// The options.
    fn options(&self) -> CalibrateOptions {
        CalibrateOptions {
            method: self.calibrate_method.as_ref().map(|method| method.value).unwrap_or_default(),
            correct_biases: !self.keep_biases,
            sensitivity: self.sensitivity,
            min_sqnr: self.min_sqnr.unwrap_or(MIN_SQNR),
        }
    }
}
