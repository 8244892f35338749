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
    /// Where the weights go
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
    /// Split the data file into files of at most this size, such as 2GB; a larger tensor has a file of
    /// its own
    #[arg(long, value_name = "SIZE")]
    pub shard_size: Option<ByteSize>,
    /// Also write OUTPUT.sha256, a list of hashes that `sha256sum --check` reads
    #[arg(long)]
    pub manifest: bool,
    /// The most anonymous memory that the process may take while it writes, such as 256MiB
    #[arg(long, value_name = "SIZE")]
    pub max_memory: Option<ByteSize>,
    /// Do not hold weights against the checksums of the archives that they come from
    #[arg(long)]
    pub no_check_weights: bool,
}

/// Where the weights go.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// Into the model while it stays small, else beside it
    #[default]
    Auto,
    /// Into the model
    Inline,
    /// Into data files beside it
    External,
    /// Nowhere: the model points into the files that hold them, in its folder
    Reference,
}

impl Places {
    /// Whether weights stay in the files that hold them.
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
