//! Arguments about the values of inputs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueHint};
use clap_lex::OsStrExt;
use onnxport_core::bisect::Options;
use onnxport_core::diagnose::Report;
use onnxport_core::run::Given;
use onnxport_requests::value::ByteSize;

/// Values of inputs, from files.
#[derive(Debug, Args)]
pub(crate) struct GivenArguments {
    /// The value of an input: a .npy file, or a file of weights that holds a tensor of this name or one alone;
    /// can be repeated
    #[arg(
        long = "input",
        value_name = "NAME=FILE",
        value_parser = OsStringValueParser::new().try_map(parse_input),
        value_hint = ValueHint::FilePath
    )]
    inputs: Vec<(String, PathBuf)>,
    /// A file with values for inputs by their names: .npz, .safetensors or another file of weights
    #[arg(long = "inputs", value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl GivenArguments {
    /// Reads the values; what is given by its own name comes before what a file of several holds.
    ///
    /// # Errors
    /// Those of reading the files.
    pub(crate) fn read(&self) -> Result<Given, Report> {
        let mut given = Given::default();
        for path in &self.files {
            given.add_all(path)?;
        }
        for (name, path) in &self.inputs {
            given.add(name, path)?;
        }
        Ok(given)
    }
}

/// Arguments about what models are run on.
#[derive(Debug, Args)]
pub(crate) struct FedArguments {
    #[command(flatten)]
    given: GivenArguments,
    /// What drawn values depend on
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
    /// The size of a dynamic dimension of drawn inputs, by its name or its place, such as batch=2 or x:0=2
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = parse_size)]
    sizes: Vec<(String, i64)>,
    /// What the values that are held at once may take in memory; larger models are compared in several rounds
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    round_memory: ByteSize,
}

impl FedArguments {
    /// What is asked of a comparison.
    ///
    /// # Errors
    /// Those of reading the files.
    pub(crate) fn options(&self) -> Result<Options, Report> {
        Ok(Options {
            given: self.given.read()?,
            sizes: self.sizes.iter().cloned().collect(),
            seed: self.seed,
            memory: self.round_memory.0,
            ..Options::default()
        })
    }
}

fn parse_input(text: OsString) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once("=").ok_or("expected NAME=FILE")?;
    match name.to_str() {
        Some(name) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.into())),
        _ => Err("expected NAME=FILE".to_owned()),
    }
}

/// A dynamic dimension, by its name or its place, and its size.
pub(crate) fn parse_size(text: &str) -> Result<(String, i64), String> {
    let (name, size) = text.split_once('=').ok_or("expected NAME=SIZE")?;
    let size: u32 = size.parse().map_err(|_| format!("{size:?} is not a size"))?;
    if name.is_empty() { Err("expected NAME=SIZE".to_owned()) } else { Ok((name.to_owned(), size.into())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_and_sizes_have_names() {
        assert_eq!(parse_input("a=b=c.npy".into()), Ok(("a".to_owned(), "b=c.npy".into())));
        assert_eq!(parse_size("x:0=3"), Ok(("x:0".to_owned(), 3)));
        assert!(["a", "=b", "a="].into_iter().all(|text| parse_input(text.into()).is_err()));
        assert!(["a", "=1", "a=b", "a=-1"].into_iter().all(|text| parse_size(text).is_err()));
    }
}
