//! The options about the input values of models.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueHint};
use clap_lex::OsStrExt;
use onnxport_core::bisect::Options;
use onnxport_core::diagnose::Report;
use onnxport_core::run::{Given, Sizes};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::value::{ByteSize, as_text, text};

/// Values of inputs, from files.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Inputs {
    /// A value for an input: a .npy file, or a weight file with a single tensor or one of this name; can be repeated
    #[arg(
        long,
        value_name = "NAME=FILE",
        value_parser = OsStringValueParser::new().try_map(NamedFile::parse),
        value_hint = ValueHint::FilePath
    )]
    pub input: Vec<NamedFile>,
    /// A file with values for inputs by name: .npz, .safetensors or another weight file
    #[arg(long, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
}

impl Inputs {
    /// Reads the values; those given by name override those of a file with several.
    ///
    /// # Errors
    /// Those of reading the files.
    pub fn read(&self) -> Result<Given, Report> {
        let mut given = Given::default();
        for path in &self.inputs {
            given.add_all(path)?;
        }
        for NamedFile { name, path } in &self.input {
            given.add(name, path)?;
        }
        Ok(given)
    }
}

/// The values that a comparison runs models on.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Feeding {
    /// Values from files.
    #[command(flatten)]
    #[serde(flatten)]
    pub given: Inputs,
    /// Seed for random values
    #[arg(long, value_name = "NUMBER", default_value_t = Self::default().seed)]
    pub seed: u64,
    /// The size of a dynamic dimension of random inputs, by name or by input and axis, such as batch=2 or x:0=2
    #[arg(long, value_name = "NAME=SIZE")]
    pub dim: Vec<DimSize>,
    /// Memory budget for the values held at once; larger models are compared in several rounds
    #[arg(long, value_name = "SIZE", default_value_t = Self::default().round_memory)]
    pub round_memory: ByteSize,
}

impl Default for Feeding {
    fn default() -> Self {
        Self { given: Inputs::default(), seed: 0, dim: Vec::new(), round_memory: ByteSize(1 << 30) }
    }
}

impl Feeding {
    /// The options of a comparison.
    ///
    /// # Errors
    /// Those of reading the files.
    pub fn options(&self) -> Result<Options, Report> {
        Ok(Options {
            given: self.given.read()?,
            sizes: sizes(&self.dim),
            seed: self.seed,
            memory: self.round_memory.0,
            ..Options::default()
        })
    }
}

/// The sizes of dimensions by their names.
pub(crate) fn sizes(all: &[DimSize]) -> Sizes {
    all.iter().map(|DimSize { name, size }| (name.clone(), (*size).into())).collect()
}

/// `NAME=FILE`: the file with the value of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The input.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl NamedFile {
    /// Reads it from an argument, whose path need not be Unicode.
    pub(crate) fn parse(text: OsString) -> Result<Self, &'static str> {
        let (name, path): (&OsStr, &OsStr) = text.split_once("=").ok_or("expected NAME=FILE")?;
        match name.to_str() {
            Some(name) if !name.is_empty() && !path.is_empty() => {
                Ok(Self { name: name.to_owned(), path: path.into() })
            }
            _ => Err("expected NAME=FILE"),
        }
    }
}

impl<'de> Deserialize<'de> for NamedFile {
    fn deserialize<D: Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
        Self::parse(text(data)?.into()).map_err(D::Error::custom)
    }
}

impl Serialize for NamedFile {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let path = self.path.to_str().ok_or_else(|| S::Error::custom("a path is not UTF-8"))?;
        format!("{}={path}", self.name).serialize(to)
    }
}

impl JsonSchema for NamedFile {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NamedFile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// `NAME=SIZE`: a dynamic dimension, by its name or its axis, and its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimSize {
    /// The dimension, such as `batch` or `x:0`.
    pub name: String,
    /// Its size.
    pub size: u32,
}

impl FromStr for DimSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, size) = text.split_once('=').ok_or("expected NAME=SIZE")?;
        let size = size.parse().map_err(|_| format!("{size:?} is not a size"))?;
        if name.is_empty() {
            Err("expected NAME=SIZE".to_owned())
        } else {
            Ok(Self { name: name.to_owned(), size })
        }
    }
}

impl fmt::Display for DimSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.size)
    }
}

as_text! { DimSize: { "type": "string" } }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_and_sizes_have_names() {
        let file = NamedFile { name: "a".to_owned(), path: "b=c.npy".into() };
        assert_eq!(NamedFile::parse("a=b=c.npy".into()), Ok(file.clone()));
        assert_eq!(serde_json::from_str::<NamedFile>("\"a=b=c.npy\"").unwrap(), file);
        assert_eq!(serde_json::to_string(&file).unwrap(), "\"a=b=c.npy\"");
        assert_eq!("x:0=3".parse(), Ok(DimSize { name: "x:0".to_owned(), size: 3 }));
        assert!(["a", "=b", "a="].into_iter().all(|text| NamedFile::parse(text.into()).is_err()));
        assert!(["a", "=1", "a=b", "a=-1"].into_iter().all(|text| text.parse::<DimSize>().is_err()));
    }
}
