//! `cargo xtask gen contract`: the binary contract, from its specification `plugin-sdk/abi/contract.rs`.
//!
//! The head of the specification says how it is written. It is read ([`parse`]) into a [`model`] that holds
//! nothing unchecked, and written as Rust modules ([`rust`]), a C header ([`c`]), a page of documentation
//! ([`docs`]) and the list that the contract's own tests go through ([`listing`]).

mod c;
mod docs;
mod facts;
mod layouts;
mod listing;
mod model;
mod names;
mod parse;
mod rust;
#[cfg(test)]
mod tests;
mod types;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::generate::Mode;

/// The specification.
const SPECIFICATION: &str = "plugin-sdk/abi/contract.rs";

/// The header of every generated file.
const BANNER: &str = "Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.";

/// A file to write.
struct Output {
    /// Relative to the repository.
    path: String,
    text: String,
    rust: bool,
}

impl Output {
    fn rust(path: String, text: String) -> Self {
        Self { path, text, rust: true }
    }

    fn text(path: &str, text: String) -> Self {
        Self { path: path.to_owned(), text, rust: false }
    }
}

/// Writes the files of the contract, or says which are stale. Returns whether they are current.
pub(crate) fn run(root: &Path, mode: Mode) -> Result<bool, String> {
    if mode == Mode::Check {
        let stale = stale(root)?;
        for path in &stale {
            println!("{path} is not current: run `cargo xtask gen contract`");
        }
        return Ok(stale.is_empty());
    }
    if write(root)? || !prints(root)?.cover(&contract(root)?) {
        // The header needs fingerprints, which the layouts of the modules give that were just written.
        refresh(root)?;
        write(root)?;
    }
    Ok(true)
}

/// Writes the files that differ from the specification. Returns whether any did.
fn write(root: &Path) -> Result<bool, String> {
    let outputs = outputs(root)?;
    let mut changed = false;
    for output in &outputs {
        let path = root.join(&output.path);
        let failed = |error: std::io::Error| format!("{}: {error}", output.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        if fs::read_to_string(&path).is_ok_and(|found| found == output.text) {
            continue;
        }
        println!("{}", output.path);
        fs::write(&path, &output.text).map_err(failed)?;
        changed = true;
    }
    for path in strangers(root, &outputs)? {
        println!("{path} is removed");
        fs::remove_file(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(changed)
}

/// Writes the fingerprints of revisions that are not released, as the contract's own test computes them.
fn refresh(root: &Path) -> Result<(), String> {
    fingerprints(root, "UPDATE", "1")
}

/// Pins the fingerprints of `revision`.
pub(crate) fn freeze(root: &Path, revision: &str) -> Result<(), String> {
    fingerprints(root, "ONNXPORT_FREEZE", revision)
}

/// The C header as it was when `revision` was the newest one.
pub(crate) fn header_of(root: &Path, revision: &str) -> Result<String, String> {
    let contract = contract(root)?;
    let known =
        contract.modules.iter().map(|module| module.since).chain([contract.current]).chain(
            contract.modules.iter().flat_map(model::Module::structs).flat_map(model::Struct::revisions),
        );
    let Some(found) = known.into_iter().find(|known| known.to_string() == revision) else {
        return Err(format!("the contract has no revision {revision}"));
    };
    c::header(&contract.at(found), &prints(root)?)
}

/// Runs the contract's own test of fingerprints, which writes them when a variable of the environment says so.
fn fingerprints(root: &Path, variable: &str, value: &str) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut test = Command::new(cargo);
    test.args(["test", "--quiet", "-p", "onnxport-abi", "--test", "contract", "fingerprints::"]);
    let status = test.current_dir(root).env(variable, value).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{test:?}: {status}")),
        Err(error) => Err(format!("{test:?}: {error}")),
    }
}

/// The files that differ from the specification.
pub(crate) fn stale(root: &Path) -> Result<Vec<String>, String> {
    let outputs = outputs(root)?;
    let mut stale = strangers(root, &outputs)?;
    for output in outputs {
        // Some checkouts have lines that end in `\r\n`.
        let found = fs::read_to_string(root.join(&output.path)).map(|text| text.replace("\r\n", "\n"));
        if !found.is_ok_and(|found| found == output.text) {
            stale.push(output.path);
        }
    }
    Ok(stale)
}

/// Modules that the specification does not have any more.
fn strangers(root: &Path, outputs: &[Output]) -> Result<Vec<String>, String> {
    let Ok(entries) = fs::read_dir(root.join(rust::FOLDER)) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| format!("{}: {error}", rust::FOLDER))?.file_name();
        let path = format!("{}/{}", rust::FOLDER, name.to_string_lossy());
        if !outputs.iter().any(|output| output.path == path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn prints(root: &Path) -> Result<layouts::Prints, String> {
    let text = fs::read_to_string(root.join(layouts::FILE)).map_err(|e| format!("{}: {e}", layouts::FILE))?;
    layouts::Prints::read(&text)
}

fn contract(root: &Path) -> Result<model::Contract, String> {
    let text = fs::read_to_string(root.join(SPECIFICATION)).map_err(|e| format!("{SPECIFICATION}: {e}"))?;
    parse::contract(&text).map_err(|error| {
        let at = error.span().start();
        format!("{SPECIFICATION}:{}:{}: {error}", at.line, at.column + 1)
    })
}

fn outputs(root: &Path) -> Result<Vec<Output>, String> {
    let contract = contract(root)?;
    let prints = prints(root)?;
    let mut outputs = rust::outputs(&contract);
    outputs.push(Output::text("plugin-sdk/abi/include/onnxport.h", c::header(&contract, &prints)?));
    outputs.push(Output::text("docs/contract.md", docs::page(&contract)));
    outputs
        .push(Output::rust("plugin-sdk/abi/tests/contract/listing.rs".to_owned(), listing::text(&contract)));
    for output in outputs.iter_mut().filter(|output| output.rust) {
        output.text = formatted(root, &output.text).map_err(|why| format!("{}: {why}", output.path))?;
    }
    Ok(outputs)
}

/// The text as `cargo fmt` would leave it.
fn formatted(root: &Path, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("rustfmt: {error}");
    let program = std::env::var_os("RUSTFMT").map_or_else(|| PathBuf::from("rustfmt"), PathBuf::from);
    let mut child = Command::new(program)
        .args(["--edition", "2024", "--config-path"])
        .arg(root.join("rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // Rustfmt reads all of its input before it writes.
    child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes())).map_err(failed)?;
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(format!("rustfmt: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("rustfmt: {error}"))
}
