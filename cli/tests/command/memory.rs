//! The cost of a large program: memory during its conversion, and bytes of output.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use onnxport_benches::chain::Chain;
use onnxport_benches::llama::Llama;

use crate::program::command;

/// The anonymous memory of a process in bytes; `None` once it is gone.
fn anonymous(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The peak of anonymous memory of a process that succeeds, in bytes.
fn peak(command: &mut Command) -> u64 {
    let mut child = command.stdin(Stdio::null()).spawn().expect("a start");
    let mut peak = 0;
    let status = loop {
        peak = peak.max(anonymous(&child).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("a process") {
            break status;
        }
        thread::sleep(Duration::from_micros(200));
    };
    assert!(status.success());
    peak
}

#[test]
fn a_call_more_takes_little_memory_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |nodes: usize| {
        let archive = folder.path().join("chain.pt2");
        Chain::new(nodes).write(&archive).expect("an archive");
        let mut command = command(folder.path(), &["convert", "--no-verify", "--quiet"]);
        command.arg(&archive).arg("-o");
        // Freed memory goes back to the system at once, so that it does not count.
        peak(command.arg(folder.path().join("chain.onnx")).env("MIMALLOC_PURGE_DELAY", "0"))
    };
    let (short, long) = (5_000, 15_000);
    let each = of(long).saturating_sub(of(short)) / (long - short) as u64;
    assert!((100..1700).contains(&each), "{each} bytes of anonymous memory for one call more");
}

#[test]
fn weights_are_never_held_in_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("llama.pt2");
    let llama = Llama::of_bytes(300_000_000);
    llama.write(&archive).expect("an archive");
    let model = folder.path().join("llama.onnx");
    let convert = ["convert", "--no-verify", "--quiet", "--max-memory", "64MiB"];
    let mut command = command(folder.path(), &convert);
    let peak = peak(command.arg(&archive).arg("-o").arg(&model));
    assert!(peak > 0 && peak < 64 << 20, "{peak} bytes of anonymous memory");
    let data = fs::metadata(folder.path().join("llama.onnx.data")).expect("a data file").len();
    let output = data + fs::metadata(&model).expect("a model").len();
    let weights = llama.weight_bytes();
    assert!(data >= weights, "{data} bytes for {weights}");
    assert!(output * 100 <= weights * 102, "{output} bytes for {weights}");
}

#[test]
fn a_package_that_is_ended_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("llama.pt2");
    Llama::of_bytes(300_000_000).write(&archive).expect("an archive");
    let hidden = || {
        let entries =
            fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        entries.filter(|name| name.to_string_lossy().starts_with('.')).count()
    };
    let mut command = command(folder.path(), &["package", "--no-verify", "--quiet"]);
    command.arg(&archive).args(["-o", "out"]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("a start");
    while hidden() == 0 {
        assert_eq!(child.try_wait().expect("a process"), None, "it is made before it has a name");
        thread::sleep(Duration::from_micros(200));
    }
    let asked = Command::new("kill").arg(child.id().to_string()).status().expect("kill starts");
    assert!(asked.success());
    assert_eq!(child.wait().expect("a process").code(), Some(143));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "the archive is left");
}
