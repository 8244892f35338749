//! `cargo xtask miri` and `cargo xtask sanitize`: tests under the checks of nightly Rust with `miri` and `rust-src`.

use std::process::Command;

use crate::root;

/// Crates, and the tests of each that Miri can run in minutes. It has neither files that are mapped nor other programs.
const MIRI: &[(&str, &[&str])] = &[
    ("onnxport-abi", &[]),
    (
        "onnxport-ir",
        &[
            "arena::",
            "tensor::gather::",
            "tensor::tests::lent::",
            "tensor::tests::hostile",
            "tensor::tests::a_fill",
        ],
    ),
];

/// The crates with unsafe code whose tests load nothing that is built without the sanitizer, or with threads.
const SANITIZED: &[&str] = &["onnxport-abi", "onnxport-archive", "onnxport-ir", "onnxport-core"];

/// The toolchain's name in rustup.
const NIGHTLY: &str = "nightly";

/// Runs tests under Miri. Returns whether all passed.
pub(crate) fn miri() -> Result<bool, String> {
    let mut passed = true;
    for (package, filters) in MIRI {
        let mut command = Command::new("cargo");
        command
            .arg(format!("+{NIGHTLY}"))
            .args(["miri", "test", "--lib", "-p", package, "--"])
            .args(*filters);
        // Tests write temporary files.
        command.env("MIRIFLAGS", "-Zmiri-disable-isolation").current_dir(root());
        passed &= succeeds(&mut command)?;
    }
    Ok(passed)
}

/// Runs tests under the sanitizer `which`. Returns whether all passed.
pub(crate) fn sanitize(which: &str) -> Result<bool, String> {
    let host = host()?;
    let mut command = Command::new("cargo");
    command.arg(format!("+{NIGHTLY}")).args(["test", "--lib", "-Zbuild-std", "--target", &host]);
    // Beside other builds, which have no sanitizer.
    command.arg("--target-dir").arg(crate::target().join(format!("sanitize-{which}")));
    command.args(SANITIZED.iter().flat_map(|package| ["-p", package])).current_dir(root());
    command.env("RUSTFLAGS", format!("-Zsanitizer={which}"));
    command.envs([("CARGO_PROFILE_DEV_DEBUG", "line-tables-only"), ("CARGO_PROFILE_DEV_OPT_LEVEL", "1")]);
    succeeds(&mut command)
}

/// The target triple of this machine.
fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg(format!("+{NIGHTLY}")).arg("-vV").output();
    let output = output.map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "there is no nightly Rust: `rustup toolchain install nightly`".to_owned())
}

fn succeeds(command: &mut Command) -> Result<bool, String> {
    Ok(command.status().map_err(|error| format!("cargo: {error}"))?.success())
}
