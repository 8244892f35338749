//! Binding weights to a model that was written without them.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::{BindOptions, Host, WriteOptions, WriteReport, weights};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::progress::Progress;
use crate::weights::WeightNames;
use crate::writing::Places;

/// Binds weights to a model that was written without them.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct BindRequest {
    /// A model written by `onnxport convert --weightless`
    pub model: PathBuf,
    /// A weight file or a folder of shards: .safetensors, an index of shards, a torch.save checkpoint, a .pt2; can be
    /// repeated
    #[arg(long, value_name = "PATH", required = true)]
    pub from: Vec<PathBuf>,
    /// The model to write; by default, the input model is overwritten
    #[arg(short, long, value_name = "ONNX")]
    pub output: Option<PathBuf>,
    /// The names of the weights.
    #[command(flatten)]
    #[serde(flatten)]
    pub names: WeightNames,
    /// Where to store the weights.
    #[command(flatten)]
    #[serde(flatten)]
    pub places: Places,
}

impl BindRequest {
    /// Creates a request that binds the weights in the file `from` to `model`, in place.
    pub fn new(model: impl Into<PathBuf>, from: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), from: vec![from.into()], ..Self::default() }
    }

    /// Binds the weights, for which no plugin is needed.
    ///
    /// # Errors
    /// Those of opening the files, and of [`weights::bind_model`].
    pub fn bind(&self, progress: &mut dyn Progress) -> Result<WriteReport, Report> {
        progress.stage("reading the weights");
        let (set, names) = self.names.open(&self.from)?;
        let output = self.output.as_ref().unwrap_or(&self.model);
        let options = WriteOptions {
            progress: progress.bytes("writing"),
            sources: self.names.files().collect(),
            ..self.places.options()
        };
        let binding = BindOptions { cast: self.names.cast, ..BindOptions::default() };
        weights::bind_model(&self.model, &set, &names, binding, output, &options)
    }
}

impl Request for BindRequest {
    type Outcome = WriteReport;

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn run(&self, _: &Host, progress: &mut dyn Progress) -> Result<WriteReport, Report> {
        self.bind(progress)
    }
}
