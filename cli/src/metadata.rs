//! The arguments about metadata on the origin of a model's parts.

use clap::{Args, ValueEnum, ValueHint};
use onnxport_core::{Metadata, WriteOptions};

/// Arguments about metadata, of every command that converts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(crate) struct MetadataArguments {
    /// How much the model records about the program that it comes from
    #[arg(long, value_enum, default_value_t = Amount::Names, value_name = "AMOUNT")]
    metadata: Amount,
    /// The folder to which file names in Python stack traces are relative, with `--metadata full`
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    source_root: Option<String>,
}

/// How much a model says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Amount {
    /// Everything that PyTorch's exporter writes, under its keys: modules and classes, calls, Python stack traces, the
    /// signature
    Full,
    /// The module and the exported node of every node
    Names,
    /// Nothing
    None,
}

impl MetadataArguments {
    /// Whether the program's own words are recorded while it is converted.
    pub(crate) fn is_full(&self) -> bool {
        self.metadata == Amount::Full
    }

    /// `options` with these.
    pub(crate) fn write(&self, options: WriteOptions) -> WriteOptions {
        let metadata = match self.metadata {
            Amount::Full => Metadata::Full,
            Amount::Names => Metadata::Names,
            Amount::None => Metadata::None,
        };
        WriteOptions { metadata, source_root: self.source_root.clone(), ..options }
    }
}
