//! `cargo xtask gpu`: the tests that need a GPU, on a machine that has one and a Rust toolchain.

use std::process::Command;

use crate::root;

/// Runs them: the executor on whole architectures, and the comparer, against the host and beside copies. Returns whether all
/// passed; without a GPU none does, and each says why.
pub(crate) fn run() -> Result<bool, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = [
        "test",
        "--release",
        "-p",
        "onnxport-cuda-parity",
        "--",
        "--include-ignored",
        "--nocapture",
        "--test-threads=1",
        "on_a_gpu",
        "a_device_finds_what_the_host_finds",
    ];
    let status =
        Command::new(cargo).args(arguments).env("ONNXPORT_GPU", "required").current_dir(root()).status();
    Ok(status.map_err(|e| format!("cargo: {e}"))?.success())
}
