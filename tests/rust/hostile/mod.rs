//! Hostile archives: each gives its coded error, or reads where it is legal, in about a second and in
//! memory that is bounded by its size.

mod archive;
mod dim_names;
mod expressions;
mod json;
mod many;
pub(crate) mod measure;
mod models;
mod mutation;
mod pickle;
mod program;
pub(crate) mod random;
mod views;
mod weights;
mod zips;

use std::path::Path;

use archive::Archive;
use measure::measured;
use onnxport_core::diagnose::Report;
use onnxport_core::pt2;

/// Memory that a read may take beside twenty times the size of the file.
const SLACK: usize = 32 << 20;

/// Reads the file, under the limits of time and memory that hold for every input.
fn read(path: &Path) -> Result<pt2::Archive, Report> {
    let size = path.metadata().unwrap().len() as usize;
    let (result, peak) = measured(|| pt2::read(path));
    assert!(peak < SLACK + 20 * size, "{peak} bytes of memory for a file of {size}");
    result
}

fn codes<T>(result: Result<T, Report>) -> Vec<String> {
    match result {
        Ok(_) => vec!["read".to_owned()],
        Err(report) => report.diagnostics.iter().map(|d| format!("{}: {}", d.code, d.message)).collect(),
    }
}

/// Returns the codes of reading the archive.
fn read_codes(archive: &Archive) -> Vec<String> {
    codes(read(archive.write().path()).map(drop))
}

/// Returns the codes of reading the sample inputs of the archive.
fn sample_codes(archive: &Archive) -> Vec<String> {
    let file = archive.write();
    let archive = read(file.path()).expect("the program itself is sound");
    let (result, peak) = measured(|| archive.sample_inputs().map(drop));
    let size = file.path().metadata().unwrap().len() as usize;
    assert!(peak < SLACK + 60 * size, "{peak} bytes of memory for a file of {size}");
    codes(result)
}

/// Asserts that there is one diagnostic, of this code, which says all of this.
#[track_caller]
fn assert_one(codes: &[String], code: &str, parts: &[&str]) {
    let [only] = codes else { panic!("{codes:?}") };
    assert!(only.starts_with(code), "{only}");
    for part in parts {
        assert!(only.contains(part), "{only}, expected {part}");
    }
}
