//! `onnxport legal`: its tables, its exit codes and its diagnostics.

use std::fs;

use crate::program::{MLP, folder, onnxport, succeed};

#[test]
fn a_program_that_a_target_runs_is_legal() {
    let ran = onnxport(&["legal", MLP, "--target", "openvino"]);
    let text = String::from_utf8(ran.stdout).expect("text");
    assert!(ran.status.success(), "{text}");
    assert!(
        text.contains("module") && text.contains("fc0") && text.contains("0 refused, 0 unknown"),
        "{text}"
    );
    let said = succeed(&["legal", MLP, "--target", "openvino"]);
    let nodes = said["legal"]["nodes"].as_array().expect("nodes");
    assert_eq!(said["legal"]["counts"]["native"], nodes.len());
    assert!(nodes.iter().all(|node| node["line"].is_string() && node["verdict"] == "native"), "{said}");
}

#[test]
fn refused_nodes_fail_and_unknown_ones_only_if_denied() {
    let (_folder, at) = folder();
    let table = at("chip.txt");
    let judge = |lines: &str, more: &[&str]| {
        fs::write(&table, format!("base tensorrt\ntarget chip\n{lines}\n")).expect("it is written");
        let ran = onnxport(&[&["legal", MLP, "--target", &table], more].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), text(&ran.stdout) + &text(&ran.stderr))
    };
    let (code, text) = judge("lacks Gemm 1-99 : no matrix unit", &[]);
    assert_eq!(code, Some(3), "{text}");
    assert!(
        text.contains("error[OP409]") && text.contains("no matrix unit") && text.contains(".py:"),
        "{text}"
    );
    let page = at("page.html");
    assert_eq!(judge("lacks Gemm 1-99 : no matrix unit", &["--report", &page]).0, Some(3));
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("refused by chip: ") && page.contains("Verdicts by module"), "{page}");
    let open = "unsure Gemm 1-99 : not measured\nkernel Gemm 1-99 T=f32";
    let (code, text) = judge(open, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("warning[OP418]") && text.contains("not measured"), "{text}");
    assert_eq!(judge(open, &["--deny", "OP418"]).0, Some(3));
    let (code, text) = judge("fallback onnxruntime-cpu\nlacks Gemm 1-99", &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("fallback") && !text.contains("error"), "{text}");
}
