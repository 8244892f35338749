//! The options about backends.

use std::path::Path;

use clap::{Args, ValueEnum};
use onnxport_core::backend::{BackendOptions, Blobs};
use onnxport_core::diagnose::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::wrong;

/// The backends to run on a model.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Backends")]
#[serde(default)]
pub struct Backends {
    /// A backend to compile the parts of the model that it supports, or a plugin for all of its backends; can be
    /// repeated, in order of preference
    #[arg(long = "backend", id = "backend", value_name = "ID")]
    #[serde(rename = "backend")]
    pub backends: Vec<String>,
    /// Where to store the blobs that backends compile
    #[arg(long, value_enum, default_value_t, value_name = "WHERE", requires = "backend")]
    pub blobs: BlobPlace,
}

/// Where blobs are stored.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum BlobPlace {
    /// In the model up to 1 MiB each, otherwise in files beside it
    #[default]
    Auto,
    /// In the model
    Embed,
    /// Into files beside it
    File,
}

impl Backends {
    /// Fails for options without a backend.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self) -> Result<(), Diagnostic> {
        if self.backends.is_empty() && self.blobs != BlobPlace::Auto {
            return Err(wrong("`blobs` needs `backend`".to_owned()));
        }
        Ok(())
    }

    /// Returns the options for a model to be written to `output`.
    pub fn options(&self, output: Option<&Path>) -> BackendOptions {
        let name = output.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        BackendOptions {
            backends: self.backends.clone(),
            blobs: match self.blobs {
                BlobPlace::Auto => Blobs::Auto,
                BlobPlace::Embed => Blobs::Embed,
                BlobPlace::File => Blobs::File,
            },
            stem: name.unwrap_or_else(|| "model.onnx".to_owned()),
            dry_run: false,
        }
    }
}
