//! Commands on systems that start few threads, or none.
#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use onnxport_benches::llama::Llama;

use crate::program::mlp;

/// The user without rights, whose processes are counted: the limit does not hold for root.
const NOBODY: &str = "65534";

/// Threads that a command may have: none, one, …, as many as it wants.
const LIMITS: [&str; 6] = ["1", "2", "3", "4", "5", "unlimited"];

/// A folder in which the user without rights may write, with the program in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("rights");
    let program = folder.path().join("onnxport");
    fs::copy(env!("CARGO_BIN_EXE_onnxport"), &program).expect("a copy");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("rights");
    folder
}

/// Whether a limit can be set for a user that it holds for.
fn can_limit(folder: &Path) -> bool {
    let can = limited(folder, "unlimited", &["--version"]).is_some_and(|output| output.status.success());
    if !can {
        onnxport_harness::note(
            "no limit on threads can be set: `setpriv` or `prlimit` is missing, or the right to it",
        );
    }
    can
}

/// The program in `folder`, which may have `limit` threads.
fn limited(folder: &Path, limit: &str, arguments: &[&str]) -> Option<Output> {
    let mut command = if is_root(folder) {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--clear-groups", "prlimit"]);
        command
    } else {
        Command::new("prlimit")
    };
    // Without an option nothing would be limited, but printed.
    let limit = if limit == "unlimited" { "--core=0".to_owned() } else { format!("--nproc={limit}") };
    command.arg(limit).arg("./onnxport").args(arguments);
    command.current_dir(folder).stdin(Stdio::null()).output().ok()
}

fn is_root(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    fs::metadata(folder).is_ok_and(|folder| folder.uid() == 0)
}

/// Runs a command under every limit: it succeeds or reports that there is no thread. It succeeds under the last
/// one.
fn each(folder: &Path, arguments: &[&str], refused: &[(i32, &str)]) {
    for limit in LIMITS {
        let output = limited(folder, limit, arguments).expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code();
        let done = code == Some(0);
        let refused = refused.iter().any(|(exit, text)| code == Some(*exit) && said.contains(text));
        assert!(done || refused, "{limit} threads: {:?} {said}", output.status);
        assert!(limit != "1" || !done, "one thread is not enough: {said}");
        assert!(limit != "unlimited" || done, "{:?} {said}", output.status);
    }
}

#[test]
fn weights_are_written_with_as_many_threads_as_there_are() {
    let folder = folder();
    if !can_limit(folder.path()) {
        return;
    }
    let archive = folder.path().join("llama.pt2");
    Llama::of_bytes(1_000_000).write(&archive).expect("an archive");
    fs::set_permissions(&archive, Permissions::from_mode(0o644)).expect("rights");
    let convert = ["convert", "llama.pt2", "-o", "m.onnx", "--no-verify", "--quantize", "int8:block=channel"];
    each(folder.path(), &convert, &[(5, "error[OP617]: a thread cannot be started")]);
    let plain = ["convert", "llama.pt2", "-o", "m.onnx", "--no-verify"];
    each(folder.path(), &plain, &[(5, "error[OP617]: a thread cannot be started")]);
}

#[test]
fn a_runtime_without_threads_condemns_no_model() {
    let folder = folder();
    if !can_limit(folder.path()) {
        return;
    }
    let mlp = mlp();
    fs::copy(mlp, folder.path().join("m.pt2")).expect("a copy");
    fs::set_permissions(folder.path().join("m.pt2"), Permissions::from_mode(0o644)).expect("rights");
    let convert = ["convert", "m.pt2", "-o", "m.onnx", "--reference", "none"];
    each(folder.path(), &convert, &[(5, "error[OP617]: ")]);
    let own = ["convert", "m.pt2", "-o", "m.onnx", "--reference", "none", "--executor", "reference"];
    each(folder.path(), &own, &[(5, "error[OP617]: ")]);
}
