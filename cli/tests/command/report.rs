//! `onnxport report`: the text of its pages.

use crate::program::{folder, onnxport, repository, succeed};

/// Run with `UPDATE=1` after a change of the page.
#[test]
fn a_page_is_as_recorded() {
    let (_folder, at) = folder();
    let model = at("mlp.onnx");
    succeed(&["convert", "examples/mlp/mlp.pt2", "-o", &model, "--no-verify"]);
    let output = onnxport(&["report", &model]);
    let page = String::from_utf8(output.stdout).expect("text");
    let (page, _) = page.split_once("\n<!-- ").expect("the data stands behind the page");
    let path = repository().join("cli/tests/command/snapshots/report.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page).expect("it is written");
    }
    assert_eq!(page, std::fs::read_to_string(&path).unwrap_or_default());
}
