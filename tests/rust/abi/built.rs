//! Builds what is frozen: an archive is unpacked, the plugin and the host of its revision are put beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{MAJOR2, REVISIONS};

/// What is built in one profile.
pub(super) struct Built {
    folder: PathBuf,
}

/// `tests/rust/abi`.
fn frozen() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("abi")
}

impl Built {
    /// Builds everything frozen with `profile`, whose artefacts cargo puts into `folder`.
    pub(super) fn new(profile: &str, folder: &str) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
        // One for each profile: two tests may unpack at a time.
        let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("abi-{profile}"));
        for revision in REVISIONS {
            let workspace = unpacked.join(revision);
            unpack(revision, &workspace);
            let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["build", "--workspace", "--quiet", "--locked", "--profile", profile, "--target-dir"]);
            cargo.arg(target).current_dir(workspace);
            assert!(cargo.status().expect("cargo starts").success(), "{cargo:?}");
        }
        Self { folder: target.join(folder) }
    }

    pub(super) fn plugin(&self, name: &str) -> PathBuf {
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        self.folder.join(format!("{prefix}frozen_{}{suffix}", name.replace('.', "_")))
    }

    /// What the frozen host of `revision` says about an operator of a plugin, and whether it could lower it.
    pub(super) fn run(&self, revision: &str, plugin: &str, target: &str) -> (bool, String) {
        let name = format!("frozen_host_{}{}", revision.replace('.', "_"), std::env::consts::EXE_SUFFIX);
        let mut host = Command::new(self.folder.join(name));
        let output = host.arg(self.plugin(plugin)).arg(target).output().expect("the host starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{host:?} ends with {}: {text}", output.status);
        (code == Some(0), text)
    }
}

/// Makes the workspace of a revision.
fn unpack(revision: &str, workspace: &Path) {
    let home = frozen().join(revision);
    let archive = fs::read(home.join("sdk.zip")).expect("the archive");
    onnxport_archive::unpack(&archive, workspace).expect("it is unpacked");
    for member in ["plugin", "host"].into_iter().chain((revision == MAJOR2).then_some("major2")) {
        for file in ["Cargo.toml", "src/lib.rs", "src/main.rs"] {
            let Ok(text) = fs::read(home.join(member).join(file)) else { continue };
            let to = workspace.join(member).join(file);
            // What did not change keeps its time, so that it is not built again.
            if !fs::read(&to).is_ok_and(|found| found == text) {
                fs::create_dir_all(to.parent().expect("a folder")).expect("it is made");
                fs::write(&to, text).expect("it is written");
            }
        }
    }
}

/// The plugin in C against the header of `revision`, built in `folder`.
#[cfg(unix)]
pub(super) fn in_c(revision: &str, folder: &Path) -> PathBuf {
    let library = folder.join(format!("frozen_c_{revision}.so"));
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I"]);
    cc.arg(frozen().join(revision)).arg("-o").arg(&library).arg(frozen().join("plugin.c"));
    assert!(cc.status().expect("the C compiler starts; Rust links with it").success(), "{cc:?}");
    library
}
