//! The options about metadata on the origin of a model's parts.

use clap::{Args, ValueEnum, ValueHint};
use onnxport_core::{Metadata, WriteOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metadata of a model.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Writing")]
#[serde(default)]
pub struct MetadataOptions {
    /// How much the model records about the program that it comes from
    #[arg(long, value_enum, default_value_t, value_name = "AMOUNT")]
    pub metadata: Amount,
    /// The folder to which file names in Python stack traces are relative, with `--metadata full`
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub source_root: Option<String>,
}

/// How much a model records.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Amount {
    /// Everything that PyTorch's exporter writes, under its keys: modules and classes, calls, Python stack traces, the
    /// signature
    Full,
    /// The module and the exported node of every node
    #[default]
    Names,
    /// Nothing
    None,
}

impl MetadataOptions {
    /// Whether the program's own metadata is recorded during the conversion.
    pub fn is_full(&self) -> bool {
        self.metadata == Amount::Full
    }

    /// Returns `options` with these.
    #[must_use]
    pub fn apply(&self, options: WriteOptions) -> WriteOptions {
        let metadata = match self.metadata {
            Amount::Full => Metadata::Full,
            Amount::Names => Metadata::Names,
            Amount::None => Metadata::None,
        };
        WriteOptions { metadata, source_root: self.source_root.clone(), ..options }
    }
}
