//! The options about backends.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use onnxport_core::backend::{BackendOptions, Blobs, CACHE_BYTES, Cache};
use onnxport_core::diagnose::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::needs;
use crate::value::Budget;

/// The backends to run on a model.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
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
    /// Keep compiled regions in this folder, and use those of earlier runs; several runs can share it
    #[arg(long, value_name = "FOLDER", requires = "backend")]
    pub backend_cache: Option<PathBuf>,
    /// The most bytes in the folder; the least recently used regions are removed
    #[arg(long, value_name = "SIZE", default_value_t = Budget(CACHE_BYTES), requires = "backend_cache")]
    pub backend_cache_budget: Budget,
}

impl Default for Backends {
    fn default() -> Self {
        Self {
            backends: Vec::new(),
            blobs: BlobPlace::default(),
            backend_cache: None,
            backend_cache_budget: Budget(CACHE_BYTES),
        }
    }
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
        let given =
            [("blobs", self.blobs != BlobPlace::Auto), ("backend_cache", self.backend_cache.is_some())];
        needs("backend", !self.backends.is_empty(), &given)?;
        let budget = self.backend_cache_budget != Budget(CACHE_BYTES);
        needs("backend_cache", self.backend_cache.is_some(), &[("backend_cache_budget", budget)])
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
            cache: self
                .backend_cache
                .as_ref()
                .map(|folder| Cache { folder: folder.clone(), budget: self.backend_cache_budget.0 }),
            dry_run: false,
            isolated: None,
        }
    }
}
