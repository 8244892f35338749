//! The options about the files of a model.

use clap::{Args, ValueEnum};
use onnxport_core::{ExternalData, WriteOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::ByteSize;

/// Where weights go, for a command that writes one model.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Writing")]
#[serde(default)]
pub struct Places {
    /// Where to store the weights
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    pub external_data: Weights,
    /// The files.
    #[command(flatten)]
    #[serde(flatten)]
    pub files: Files,
}

/// How files are written.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Writing")]
#[serde(default)]
pub struct Files {
    /// Split external data into files of at most this size, such as 2GB; a larger tensor gets its own file
    #[arg(long, value_name = "SIZE")]
    pub shard_size: Option<ByteSize>,
    /// Also write OUTPUT.sha256, a list of hashes that `sha256sum --check` reads
    #[arg(long)]
    pub manifest: bool,
    /// Limit on anonymous memory while writing, such as 256MiB
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<ByteSize>,
    /// Do not check weights against the checksums of their archives
    #[arg(long)]
    pub no_check_weights: bool,
}

/// Where to store the weights.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// In the model if it is small, otherwise in external data files
    #[default]
    Auto,
    /// In the model
    Inline,
    /// In external data files beside the model
    External,
    /// In the original files, which the model references; they must be in its folder
    Reference,
}

impl Places {
    /// Whether weights stay in their existing files.
    pub fn refers(&self) -> bool {
        self.external_data == Weights::Reference
    }

    /// The options of writing.
    pub fn options(&self) -> WriteOptions {
        WriteOptions {
            external_data: match self.external_data {
                Weights::Auto => ExternalData::Auto,
                Weights::Inline => ExternalData::Inline,
                Weights::External => ExternalData::External,
                Weights::Reference => ExternalData::Reference,
            },
            ..self.files.options()
        }
    }
}

impl Files {
    /// The options of writing.
    pub fn options(&self) -> WriteOptions {
        WriteOptions {
            shard_bytes: self.shard_size.map(|size| size.0),
            manifest: self.manifest,
            max_memory: self.max_memory.map(|size| size.0),
            check_weights: !self.no_check_weights,
            ..WriteOptions::default()
        }
    }
}
