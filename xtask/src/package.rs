//! `cargo xtask package`: the packages of a release. Python's standard library reads and writes all kinds of archives,
//! and so the scripts in `xtask/packages` do this.

use std::process::Command;

use crate::python::base_interpreter;
use crate::root;

/// Runs the scripts with the arguments of the command line.
pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let mut python = Command::new(base_interpreter()?);
    python.arg("xtask/packages").args(arguments).current_dir(root());
    Ok(python.status().map_err(|error| error.to_string())?.success())
}
