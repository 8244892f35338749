//! The examples that are workspaces of their own: built, linted and tested as their authors would.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::counts::Counts;
use crate::step::Steps;
use crate::{root, target};

/// Checks every folder of `examples` that is a workspace, so that it has a lock file. Their libraries are built beside
/// those of the workspace, where the Python tests find them.
pub(crate) fn steps(cargo: impl Fn(&[&str]) -> Command, steps: &mut Steps) {
    for folder in folders(&root().join("examples")) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let run = |arguments: &[&str]| {
            let mut command = cargo(arguments);
            command.current_dir(&folder).env("CARGO_TARGET_DIR", target());
            command
        };
        steps.check(&format!("{name}: cargo fmt"), &mut run(&["fmt", "--all", "--check"]));
        let clippy = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
        steps.check(&format!("{name}: cargo clippy"), &mut run(&clippy));
        let test = ["test", "--workspace", "--no-fail-fast", "--quiet"];
        steps.run(&format!("{name}: cargo test"), &mut run(&test), Counts::of_cargo);
        steps.check(&format!("{name}: cargo build"), &mut run(&["build", "--workspace", "--quiet"]));
    }
}

fn folders(examples: &Path) -> Vec<PathBuf> {
    let entries = examples.read_dir().into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join("Cargo.lock").is_file()).collect();
    found.sort();
    found
}
