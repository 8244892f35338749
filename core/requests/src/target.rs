//! The option about the target runtime of a model.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, ValueHint};
use onnxport_core::legalise::{BUILT_IN, LegaliseOptions, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::as_text;

/// The runtime that a model is for.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Targeting {
    /// The runtime to target: onnxruntime, onnxruntime-cpu, onnxruntime-cuda, onnxruntime-directml, openvino, tensorrt,
    /// qnn, coreml, litert, onnx (any conforming runtime), or a file that describes a runtime. A target that you name must be able to run the model, and the model may use operators that only this
    /// target has. Without one, the target is onnxruntime, with standard operators only, and unsupported nodes are only
    /// a note
    #[arg(long, value_name = "NAME|FILE", value_hint = ValueHint::FilePath)]
    pub target: Option<NamedTarget>,
}

/// A target, and its name or source file.
#[derive(Clone, Debug)]
pub struct NamedTarget {
    name: String,
    target: Arc<Target>,
}

impl PartialEq for NamedTarget {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl FromStr for NamedTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let target = match Target::named(text) {
            Some(target) => target,
            None => Arc::new(Target::read(Path::new(text)).map_err(|why| {
                format!("{}; the built-in targets are {}", why.message, BUILT_IN.join(", "))
            })?),
        };
        Ok(Self { name: text.to_owned(), target })
    }
}

impl fmt::Display for NamedTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

as_text! { NamedTarget: { "type": "string" } }

impl Targeting {
    /// Whether a runtime is named, whose own operators the model may have. `onnx` is not one.
    pub fn names_runtime(&self) -> bool {
        self.target.as_ref().is_some_and(|named| named.name != "onnx")
    }

    /// The options of legalisation.
    pub fn options(&self) -> LegaliseOptions {
        match &self.target {
            Some(NamedTarget { target, .. }) => {
                LegaliseOptions { target: target.clone(), demanded: true, ..LegaliseOptions::default() }
            }
            None => LegaliseOptions::default(),
        }
    }

    /// The name or file.
    pub fn name(&self) -> Option<&str> {
        self.target.as_ref().map(|named| named.name.as_str())
    }
}
