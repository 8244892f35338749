//! `cargo run --release -p onnxport-benches -- COMMAND`. See `benches/README.md`.

mod cold_build;
mod crossing;
mod floor;
mod growth;
mod limit;
mod measure;
mod memory;
mod models;
mod ours;
mod statistics;
mod torch;
mod weights;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use onnxport_benches::chain::Chain;
use onnxport_benches::llama::Llama;
use serde::Serialize;

/// Measures the cost of conversions.
#[derive(Debug, Parser)]
#[command(name = "onnxport-benches")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare conversions of tests/python/models with torch.onnx.export
    Models(models::Arguments),
    /// Compare conversions of tests/python/models with the minimum
    Floor(floor::Arguments),
    /// Convert chains of growing length
    Chain(growth::Arguments),
    /// Convert programs with more and more bytes of weights inside of a memory limit. Linux only
    Memory(memory::Arguments),
    /// Compare conversions of a program with large weights with copying its file. Linux only
    Weights(weights::Arguments),
    /// Write a program in the shape of Llama, whose weights are holes, to a file
    WriteLlama {
        /// About how many bytes of weights it has
        bytes: u64,
        /// The archive to write
        path: PathBuf,
    },
    /// Compare plugins that are linked in with plugins that are loaded
    Plugin(crossing::Arguments),
    /// Build the workspace from nothing, and list the slowest crates
    Build(cold_build::Arguments),
    /// Write a chain to a file
    WriteChain {
        /// The number of calls
        nodes: usize,
        /// The archive to write
        path: PathBuf,
        /// Leave out in-place operators and writes to the buffer
        #[arg(long)]
        functional: bool,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Models(arguments) => models::run(&arguments),
        Command::Floor(arguments) => floor::run(&arguments),
        Command::Chain(arguments) => growth::run(&arguments),
        Command::Memory(arguments) => memory::run(&arguments),
        Command::Weights(arguments) => weights::run(&arguments),
        Command::WriteLlama { bytes, path } => Llama::of_bytes(bytes).write(&path),
        Command::Plugin(arguments) => crossing::run(&arguments),
        Command::Build(arguments) => cold_build::run(&arguments),
        Command::WriteChain { nodes, path, functional } => Chain { nodes, writes: !functional }.write(&path),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the results to the file of `--json`, if there is one.
fn save_json<T: Serialize>(path: Option<&Path>, measured: &T) -> io::Result<()> {
    match path {
        Some(path) => fs::write(path, serde_json::to_string_pretty(measured)? + "\n"),
        None => Ok(()),
    }
}
