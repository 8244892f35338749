//! `cargo xtask`: the tasks of developers and CI.
//!
//! - `cargo xtask test` checks everything; `--fast` skips the steps that need Python.
//! - `cargo xtask python` builds the extension module of the Python package and puts it beside it.
//! - `cargo xtask plugins` builds and installs the plugins that the command does not contain.
//! - `cargo xtask package` builds wheels, archives and Debian packages, and tries them in fresh systems (`packages`).
//! - `cargo xtask conformance` runs the backend tests of the `onnx` package; `conformance ops` runs PyTorch's samples of
//!   operators, and writes `docs/operators.md`.
//! - `cargo xtask gpu` runs the tests that need a GPU; `--pack DIR` packs them for a machine without Rust.
//! - `cargo xtask freeze` pins a revision of the contract when it is released.
//! - `cargo xtask site` builds the documentation site, with mdBook.
//! - `cargo xtask imports` prints who imports whom.
//! - `cargo xtask miri` and `cargo xtask sanitize` run tests under Miri and sanitizers, which need nightly Rust.
//! - `cargo xtask fuzz` runs the fuzz targets under libFuzzer, one after the other.
//! - `cargo xtask gen` writes generated files; `--check` tests that they are current. `gen contract` writes the binary
//!   contract alone, which needs no Python.

mod background;
mod conformance;
mod contract;
mod counts;
mod examples;
mod extension;
mod failed;
mod freeze;
mod fuzz;
mod generate;
mod gpu;
mod imports;
mod nightly;
mod package;
mod plugins;
mod python;
mod site;
mod skipped;
mod step;
mod test;
mod wheel;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask test [--fast]    run all checks and tests; --fast leaves out what needs Python
       cargo xtask python [--release]
                                    build the Python package's extension module, and put it beside the package
       cargo xtask plugins [DIR]    build the plugins that the command does not contain, such as that for GPUs, and put
                                    them where it looks for plugins, or into a folder
       cargo xtask package COMMAND  build and try what a release consists of; `package --help` lists the commands
       cargo xtask gen [contract] [--check]
                                    write what is generated, or check that it is current;
                                    `contract` is the part that needs no Python
       cargo xtask freeze REVISION  pin a revision of the contract when it is released
       cargo xtask conformance      run the tests of the onnx package against inference and evaluation
       cargo xtask conformance ops  run PyTorch's samples of operators, and write docs/operators.md; continues a run that
                                    was interrupted, and takes half an hour after `cargo xtask python`
       cargo xtask gpu [--pack DIR [--debug]]
                                    run the tests that need a GPU, or write a folder that runs them on a machine with
                                    nothing but a driver, NVRTC and cuBLAS; they take no Python
       cargo xtask miri             run the tests of the binary contract, of arenas and of tensors under Miri
       cargo xtask sanitize address|thread
                                    run the tests of the crates with unsafe code under a sanitizer
       cargo xtask fuzz SECONDS [TARGET]...
                                    run fuzz targets under libFuzzer, each for some seconds, on copies of their corpora
       cargo xtask site [--source URL]
                                    build the documentation in target/site, with mdBook, which is installed if it is
                                    missing; URL is that of the repository's files
       cargo xtask imports          print who imports whom, and what is against the order in ARCHITECTURE.md";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test"] => Ok(test::run(test::Scope::All)),
        ["test", "--fast"] => Ok(test::run(test::Scope::Fast)),
        ["python"] => extension::run(false),
        ["python", "--release"] => extension::run(true),
        ["plugins"] => plugins::run(None),
        ["plugins", folder] => plugins::run(Some(folder.as_ref())),
        ["package", arguments @ ..] => package::run(arguments),
        ["gen", "contract"] => contract::run(&root(), generate::Mode::Write),
        ["gen", "contract", "--check"] => contract::run(&root(), generate::Mode::Check),
        ["freeze", revision] => freeze::run(revision),
        ["conformance"] => conformance::run(),
        ["conformance", "ops"] => conformance::samples(),
        ["gpu"] => gpu::run(),
        ["gpu", "--pack", folder] => gpu::pack(folder.as_ref(), false),
        ["gpu", "--pack", folder, "--debug"] => gpu::pack(folder.as_ref(), true),
        ["miri"] => nightly::miri(),
        ["sanitize", which @ ("address" | "thread")] => nightly::sanitize(which),
        ["fuzz", seconds, targets @ ..] => fuzz::run(seconds, targets),
        ["site"] => site::run(None),
        ["site", "--source", url] => site::run(Some(url)),
        ["imports"] => imports::run(&root()),
        ["gen"] => generate::run(generate::Mode::Write),
        ["gen", "--check"] => generate::run(generate::Mode::Check),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest.parent().map(PathBuf::from).unwrap_or(manifest)
}

/// The folder of cargo's build outputs.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}
