//! States the commit and the target of the build, which `onnxport --version --json` prints.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=ONNXPORT_COMMIT");
    let commit = std::env::var("ONNXPORT_COMMIT").ok().or_else(checked_out);
    println!("cargo:rustc-env=ONNXPORT_COMMIT={}", commit.unwrap_or_default());
    println!("cargo:rustc-env=ONNXPORT_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}

/// The commit of the checkout that holds this crate. Sources without a history have none, nor have those that lie in the
/// folder of another project.
fn checked_out() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    // Each commit and each checkout adds a line to the log.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").args(arguments).output().ok().filter(|done| done.status.success())?;
    Some(String::from_utf8(done.stdout).ok()?.trim().to_owned())
}
