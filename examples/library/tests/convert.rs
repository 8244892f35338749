//! The example, run on the program of the first example.

use std::process::Command;

#[test]
fn a_program_becomes_a_model() {
    let output = std::env::temp_dir().join(format!("library-example-{}.onnx", std::process::id()));
    let done = Command::new(env!("CARGO_BIN_EXE_library-example"))
        .arg("../mlp/mlp.pt2")
        .arg(&output)
        .status()
        .expect("the example starts");
    let written = std::fs::metadata(&output).map(|file| file.len());
    let _ = std::fs::remove_file(&output);
    assert!(done.success());
    assert!(written.is_ok_and(|bytes| bytes > 0));
}

#[test]
fn an_error_is_text_for_people() {
    let failed = Command::new(env!("CARGO_BIN_EXE_library-example")).args(["Cargo.toml", "x.onnx"]).output();
    let failed = failed.expect("the example starts");
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success());
    assert!(said.contains("error[OP1"), "{said}");
}
