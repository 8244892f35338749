//! `cargo xtask gpu`: the tests that need a GPU, on this machine or packed for one that has nothing but a driver.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::root;

/// The tests, in the order in which a pack runs them: quick ones come first.
const TESTS: [&str; 4] = [
    "executor::tests::parity::every_node_of_small_architectures_agrees_on_a_gpu",
    "compare::tests::speed::comparisons_are_timed_beside_copies_on_a_gpu",
    "executor::tests::parity::every_node_of_full_architectures_agrees_on_a_gpu",
    "compare::tests::a_device_finds_what_the_host_finds",
];
/// The most bytes of a pack.
const MOST: u64 = 40 << 20;
/// The script of a pack.
const SCRIPT: &str = include_str!("gpu.sh");

fn cargo(profile: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "-p", "onnxport-cuda-parity", "--lib"]).args(profile).current_dir(root());
    cargo
}

/// Runs them: the executor on whole architectures, and the comparer, against the host and beside copies. Returns whether all
/// passed; without a GPU none does, and each says why.
pub(crate) fn run() -> Result<bool, String> {
    let mut tests = cargo(&["--release"]);
    tests.args(["--", "--include-ignored", "--nocapture", "--test-threads=1", "--exact"]).args(TESTS);
    let status = tests.env("ONNXPORT_GPU", "required").status();
    Ok(status.map_err(|e| format!("cargo: {e}"))?.success())
}

/// Writes a folder that runs them on a Linux machine with a driver, without Rust, Python packages or the repository.
pub(crate) fn pack(folder: &Path, is_debug: bool) -> Result<bool, String> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |e: std::io::Error| format!("{path}: {e}")
    };
    let profile: &[&str] = if is_debug { &[] } else { &["--release"] };
    let mut build = cargo(profile);
    build.args(["--no-run", "--message-format=json-render-diagnostics"]).stderr(Stdio::inherit());
    let built = build.output().map_err(|e| format!("cargo: {e}"))?;
    if !built.status.success() {
        return Ok(false);
    }
    let messages = String::from_utf8_lossy(&built.stdout);
    let marker = "\"executable\":\"";
    let test = messages.lines().filter_map(|line| line.split_once(marker)?.1.split('"').next()).next_back();
    let test = Path::new(test.ok_or("cargo names no test binary")?);
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let (binary, script) = (folder.join("tests"), folder.join("run.sh"));
    fs::copy(test, &binary).map_err(failed(&binary))?;
    let stripped = Command::new("strip").arg(&binary).status().map_err(|e| format!("strip: {e}"))?;
    if !stripped.success() {
        return Err("strip failed".to_owned());
    }
    // A name that no test has would run nothing, and pass.
    let listed = Command::new(&binary).args(["--list", "--include-ignored"]).output();
    let listed = listed.map_err(failed(&binary))?.stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    for test in TESTS {
        if !listed.lines().any(|line| line.strip_suffix(": test") == Some(test)) {
            return Err(format!("there is no test {test}"));
        }
    }
    fs::write(&script, SCRIPT.replace("@TESTS@", &TESTS.join("\n"))).map_err(failed(&script))?;
    executable(&script).map_err(failed(&script))?;
    let size = |path: &Path| fs::metadata(path).map(|file| file.len()).map_err(failed(path));
    let bytes = size(&binary)? + size(&script)?;
    if bytes > MOST {
        return Err(format!("{} MiB are more than the {} MiB of a pack", bytes >> 20, MOST >> 20));
    }
    println!("{}: {:.1} MiB; start run.sh there", folder.display(), bytes as f64 / f64::from(1 << 20));
    Ok(true)
}

#[cfg(unix)]
fn executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::SCRIPT;

    /// Tests the script on a binary that is a shell script, and its exit.
    fn outcome(tests: &str) -> (bool, String) {
        let folder = tempfile::tempdir().unwrap();
        let (binary, script) = (folder.path().join("tests"), folder.path().join("run.sh"));
        fs::write(&binary, format!("#!/bin/sh\n{tests}\n")).unwrap();
        super::executable(&binary).unwrap();
        fs::write(&script, SCRIPT.replace("@TESTS@", "first\nsecond")).unwrap();
        let ran = Command::new("sh")
            .arg(&script)
            .env_clear()
            .env("SEARCH_BELOW", folder.path())
            .current_dir("/")
            .output()
            .unwrap();
        (ran.status.success(), String::from_utf8_lossy(&ran.stdout).into_owned())
    }

    #[cfg(unix)]
    #[test]
    fn a_pack_fails_when_a_test_fails_or_does_not_run() {
        let (passes, said) = outcome("echo 'test result: ok. 1 passed; 0 failed'");
        assert!(passes && said.contains("== second: passed"), "{said}");
        let (passes, said) = outcome("echo 'there is no GPU that can be used: no driver'; exit 101");
        assert!(!passes && said.contains("== first: FAILED") && !said.contains("second"), "{said}");
        assert!(said.ends_with("FAILED: there is no GPU that can be used: no driver\n"), "{said}");
        let (passes, said) = outcome("echo 'test result: ok. 0 passed; 0 failed'");
        assert!(!passes && said.contains("FAILED"), "{said}");
        let (passes, said) = outcome("echo 'test result: ok. 1 passed'; exit 3");
        assert!(!passes, "{said}");
    }
}
