//! The example, run on the program of the first example.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = "../mlp/mlp.pt2";

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("library-example-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(input: &Path, output: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_library-example")).args([input, output]).output().expect("it starts")
}

#[test]
fn a_program_becomes_a_verified_model() {
    let folder = Folder::new("good");
    let output = folder.0.join("m.onnx");
    let done = run(Path::new(PROGRAM), &output);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(std::fs::metadata(&output).is_ok_and(|file| file.len() > 0));
    assert!(String::from_utf8_lossy(&done.stdout).contains("verified by"));
}

#[test]
fn a_model_that_computes_something_else_is_not_published() {
    let folder = Folder::new("bad");
    let (input, output) = (folder.0.join("mlp.pt2"), folder.0.join("m.onnx"));
    std::fs::copy(PROGRAM, &input).expect("a copy");
    let mut sidecar = std::fs::read("../mlp/mlp.expected.safetensors").expect("a sidecar");
    // The last recorded value.
    let end = sidecar.len();
    sidecar[end - 4..].copy_from_slice(&100.0f32.to_le_bytes());
    std::fs::write(folder.0.join("mlp.expected.safetensors"), sidecar).expect("a sidecar");
    let done = run(&input, &output);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && said.contains("something else"), "{said}");
    assert!(!output.exists());
}

#[test]
fn an_error_is_text_for_people() {
    let failed = run(Path::new("Cargo.toml"), Path::new("x.onnx"));
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success());
    assert!(said.contains("error[OP1"), "{said}");
}
