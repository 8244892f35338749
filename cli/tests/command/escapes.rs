//! Names out of models that would break lines, or show letters in another order, and files that do not end.

use std::fs;

use crate::program::{folder, onnxport, succeed, text, write_model};

/// A model whose names hold a line break and controls of direction.
const NAMES: &str = "opset 20\ngraph {\n  input %x: f32[2]\n  %a: f32[2] = Neg(%x)\n  output %a as \
                     \"y\\nerror[OP999]: \\u{202e}\\u{2066}\"\n}\n";

const PLAIN: &str = "opset 20\ngraph {\n  input %x: f32[2]\n  %a: f32[2] = Abs(%x)\n  output %a as y\n}\n";

#[test]
fn names_out_of_files_are_shown_as_escapes() {
    let (_folder, at) = folder();
    write_model(at("names.onnx"), NAMES);
    write_model(at("plain.onnx"), PLAIN);
    let (names, plain) = (at("names.onnx"), at("plain.onnx"));
    let mut said: Vec<String> = Vec::new();
    for arguments in [
        &["diff", &plain, &names][..],
        &["diff", &plain, &names, "--json"],
        &["inspect", &names],
        &["report", &names],
    ] {
        said.push(text(&onnxport(arguments).stdout));
    }
    for text in &said {
        assert!(!text.contains("\nerror[OP999]"), "{text}");
    }
    assert!(said[0].contains(r"y\nerror[OP999]: \u{202e}\u{2066}"), "{}", said[0]);
    for file in ["drawn.svg", "drawn.html"].map(&at) {
        succeed(&["draw", &names, "-o", &file]);
        said.push(fs::read_to_string(file).expect("a picture"));
    }
    for file in ["report.md", "report.json", "report.html"].map(&at) {
        succeed(&["report", &names, "-o", &file]);
        succeed(&["report", &names, "--check", &file]);
        said.push(fs::read_to_string(file).expect("a report"));
    }
    for text in said {
        assert!(!text.contains(['\u{202e}', '\u{2066}']), "{text}");
    }
}

#[test]
fn an_edited_report_is_found_and_other_ends_of_lines_are_none() {
    let (_folder, at) = folder();
    write_model(at("m.onnx"), PLAIN);
    let (model, report) = (at("m.onnx"), at("r.json"));
    succeed(&["report", &model, "-o", &report]);
    let written = fs::read_to_string(&report).expect("a report");
    fs::write(&report, written.replace('\n', "\r\n")).expect("written");
    succeed(&["report", &model, "--check", &report]);
    for (from, to) in
        [("\"format\": 2", "\"format\": 1"), ("\"onnxport\": \"0", "\"onnxport\": \"7"), ("m.onnx", "n.onnx")]
    {
        assert!(written.contains(from), "{from}");
        fs::write(&report, written.replace(from, to)).expect("written");
        let output = onnxport(&["report", &model, "--check", &report]);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains("OP618"), "{from}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_neither_a_report_nor_a_file_of_options() {
    let (_folder, at) = folder();
    write_model(at("m.onnx"), PLAIN);
    let (model, pipe) = (at("m.onnx"), at("p.json"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    for arguments in [&["report", &model, "--check", &pipe][..], &["inspect", &model, "--config", &pipe]] {
        let said = text(&onnxport(arguments).stderr);
        assert!(said.contains("not a regular file"), "{said}");
    }
}
