//! The options of every command that converts programs to models.

use std::path::Path;

use clap::{Args, ValueEnum};
use onnxport_core::backend::BackendOptions;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::lower::{LowerOptions, Naming};
use onnxport_core::pipeline::ConvertOptions;
use onnxport_core::program::Program;
use onnxport_core::states::StateChoice;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backends::Backends;
use crate::decomposing::Decomposing;
use crate::functions::Functions;
use crate::metadata::MetadataOptions;
use crate::optimizing::Optimizing;
use crate::precision::Precision;
use crate::progress::Restart;
use crate::target::Targeting;
use crate::verifying::Verifying;

/// How a program becomes a model.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Converting {
    /// The ONNX opset to use
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    pub opset: i64,
    /// The IR version to write; the lowest that the opset and the model need if it is absent
    #[arg(long, value_name = "VERSION")]
    pub ir_version: Option<i64>,
    /// Check the graph against the ONNX specification and the types that the program states
    #[arg(long)]
    pub validate: bool,
    /// Give every dynamic dimension of the inputs the size that it has in the example inputs; sizes of --dim take precedence
    #[arg(long)]
    pub freeze_all: bool,
    /// How to name the inputs and outputs of caches, and of a decoder after an encoder
    #[arg(long, value_enum, default_value_t, value_name = "CONVENTION")]
    pub naming: Convention,
    /// Write modules as local functions: auto for modules that repeat, none, or those of these classes
    #[arg(long, default_value_t, value_name = "auto|none|CLASS,...")]
    pub functions: Functions,
    /// How to treat buffers, parameters and inputs that the program writes to
    #[arg(long, value_enum, default_value_t, value_name = "CHOICE")]
    pub state: State,
    /// Add a Boolean output that tells at run time whether the sizes of the inputs satisfy the ranges and guards of the
    /// program
    #[arg(long)]
    pub emit_guards: bool,
    /// The runtime that the model is for.
    #[command(flatten)]
    #[serde(flatten)]
    pub targeting: Targeting,
    /// Verifying the model.
    #[command(flatten)]
    #[serde(flatten)]
    pub verifying: Verifying,
    /// Decompositions.
    #[command(flatten)]
    #[serde(flatten)]
    pub decomposing: Decomposing,
    /// Rules and passes.
    #[command(flatten)]
    #[serde(flatten)]
    pub optimizing: Optimizing,
    /// The types of weights.
    #[command(flatten)]
    #[serde(flatten)]
    pub precision: Precision,
    /// Backends.
    #[command(flatten)]
    #[serde(flatten)]
    pub backends: Backends,
    /// Metadata.
    #[command(flatten)]
    #[serde(flatten)]
    pub metadata: MetadataOptions,
}

impl Default for Converting {
    fn default() -> Self {
        Self {
            opset: DEFAULT_OPSET,
            ir_version: None,
            validate: false,
            freeze_all: false,
            naming: Convention::default(),
            functions: Functions::default(),
            state: State::default(),
            emit_guards: false,
            targeting: Targeting::default(),
            verifying: Verifying::default(),
            decomposing: Decomposing::default(),
            optimizing: Optimizing::default(),
            precision: Precision::default(),
            backends: Backends::default(),
            metadata: MetadataOptions::default(),
        }
    }
}

/// A convention for names.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Convention {
    /// Inputs as in the exported program, outputs by their paths in the result
    #[default]
    Torch,
    /// As Hugging Face's Optimum
    Huggingface,
    /// As onnxruntime-genai, whose names differ from Optimum's after an encoder
    Genai,
    /// Outputs with _ for . in their paths
    Flat,
}

/// The treatment of values that a program writes to.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// An input with the value before the call, and an output with the value after it
    #[default]
    Io,
    /// An error with the line of each write
    Refuse,
    /// Each call starts from the first value, and the new value is not returned; a warning for each
    Drop,
}

impl Converting {
    /// Fails for options that contradict each other, or are out of range.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self) -> Result<(), Diagnostic> {
        self.optimizing.check()?;
        self.precision.check()?;
        self.backends.check()
    }

    /// Returns `options` with the names of the convention for `program`.
    #[must_use]
    pub fn name(&self, options: LowerOptions, program: &Program) -> LowerOptions {
        let naming = match self.naming {
            Convention::Torch => Naming::Torch,
            Convention::Huggingface => Naming::HuggingFace,
            Convention::Genai => Naming::GenAi,
            Convention::Flat => Naming::Flat,
        };
        options.naming(naming, program)
    }

    /// Returns the options for a model to be written to `output`.
    ///
    /// # Errors
    /// If a file of decompositions cannot be read.
    pub fn options(&self, output: Option<&Path>, restart: Restart) -> Result<ConvertOptions, Report> {
        let isolated = self.verifying.running.options.isolated(restart);
        Ok(ConvertOptions {
            decompose: self.decomposing.options()?,
            lower: LowerOptions { opset: self.opset, ..LowerOptions::default() },
            precision: self.precision.options(),
            legalise: self.targeting.options(),
            backend: BackendOptions { isolated, ..self.backends.options(output) },
            optimise: self.optimizing.options(self.targeting.names_runtime()),
            ir_version: self.ir_version,
            provenance: self.metadata.is_full(),
            validate: self.validate,
            guards: self.emit_guards,
            functions: self.functions.0.clone(),
            state: match self.state {
                State::Io => StateChoice::Pairs,
                State::Refuse => StateChoice::Refuse,
                State::Drop => StateChoice::Drop,
            },
            ..ConvertOptions::default()
        })
    }
}
