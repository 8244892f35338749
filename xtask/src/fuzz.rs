//! `cargo xtask fuzz`: the targets of `tests/fuzz` under libFuzzer. It needs nightly Rust and `cargo install cargo-fuzz`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::root;

/// The crate with the binaries.
const FOLDER: &str = "tests/fuzz/libfuzzer";

/// Megabytes of memory in all, and in one allocation.
const MEMORY: [&str; 2] = ["-rss_limit_mb=2048", "-malloc_limit_mb=128"];

/// Runs targets, all if none are named, each for some seconds. Inputs that are found are kept in `corpus` beside the
/// binaries, and those that fail in `artifacts`. Returns whether no target failed.
pub(crate) fn run(seconds: &str, targets: &[&str]) -> Result<bool, String> {
    seconds.parse::<u32>().map_err(|_| format!("{seconds} is not a number of seconds"))?;
    let folder = root().join(FOLDER);
    let all = names(&folder)?;
    let wanted: Vec<&str> = match targets {
        [] => all.iter().map(String::as_str).collect(),
        _ => targets.to_vec(),
    };
    if let Some(unknown) = wanted.iter().find(|name| !all.iter().any(|known| known == *name)) {
        return Err(format!("there is no target `{unknown}`, only {}", all.join(", ")));
    }
    let mut failed = Vec::new();
    for name in wanted {
        let own = folder.join("corpus").join(name);
        fs::create_dir_all(&own).map_err(|error| format!("{}: {error}", own.display()))?;
        let mut command = Command::new("cargo");
        command.args(["+nightly", "fuzz", "run", "--fuzz-dir", FOLDER, "--sanitizer", "none", name]);
        command.arg(&own).arg(root().join("tests/fuzz/corpus").join(name)).arg("--");
        command
            .arg(format!("-max_total_time={seconds}"))
            .args(MEMORY)
            .args(["-timeout=20", "-print_final_stats=1"]);
        // Files of targets belong into memory, where there is such a folder.
        if Path::new("/dev/shm").is_dir() {
            command.env("TMPDIR", "/dev/shm");
        }
        if !command.current_dir(root()).status().map_err(|error| format!("cargo: {error}"))?.success() {
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        eprintln!("these targets failed: {}", failed.join(", "));
    }
    Ok(failed.is_empty())
}

/// The names of the binaries.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let path = folder.join("fuzz_targets");
    let entries = path.read_dir().map_err(|error| format!("{}: {error}", path.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
