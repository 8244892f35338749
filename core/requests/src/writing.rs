//! The options about the files of a model.

use clap::{Args, ValueEnum};
use onnxport_core::{ExternalData, WriteOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::{self, ByteSize};

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

/// The output of a conversion.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Writing")]
#[serde(default)]
pub struct Writing {
    /// Where to store the weights.
    #[command(flatten)]
    #[serde(flatten)]
    pub places: Places,
    /// Omit the data of the program's parameters, buffers and constants
    #[arg(long)]
    pub no_initializers: bool,
    /// Declare the program's parameters, buffers and constants as inputs after the others
    #[arg(long)]
    pub initializers_as_inputs: bool,
    /// A plan instead of files.
    #[command(flatten)]
    #[serde(flatten)]
    pub planning: Planning,
}

/// A plan of the output.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Writing")]
#[serde(default)]
pub struct Planning {
    /// Print the files, disk space and memory that writing would take, without writing. With =tensors, also list the
    /// source, transforms and destination of every tensor
    #[arg(long, value_enum, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "files")]
    #[serde(with = "value::optional")]
    #[schemars(schema_with = "value::optional::schema::<Planned>")]
    pub plan: Option<Planned>,
}

/// The level of detail of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Planned {
    /// The files and their sizes
    Files,
    /// Also every tensor
    Tensors,
}

impl Writing {
    /// Whether the user of the model supplies its weights by name.
    pub fn names_weights(&self) -> bool {
        self.no_initializers || self.initializers_as_inputs
    }

    /// The options of writing.
    pub fn options(&self) -> WriteOptions {
        WriteOptions {
            initializers: !self.no_initializers,
            initializers_as_inputs: self.initializers_as_inputs,
            ..self.places.options()
        }
    }
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
