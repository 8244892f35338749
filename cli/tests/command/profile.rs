//! `--profile`: the trace of a command.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::program::{folder, mlp, onnxport, succeed};

/// Microseconds by which times may differ that were rounded.
const ROUNDED: f64 = 2e-3;

#[derive(Debug)]
struct Span {
    category: String,
    name: String,
    plugin: String,
    thread: u64,
    start: f64,
    end: f64,
}

impl Span {
    fn holds(&self, other: &Self) -> bool {
        self.start <= other.start + ROUNDED && other.end <= self.end + ROUNDED
    }

    fn is_apart_from(&self, other: &Self) -> bool {
        self.end <= other.start + ROUNDED || other.end <= self.start + ROUNDED
    }
}

/// The spans of a trace, and how often memory was counted.
fn trace(path: &str) -> (Vec<Span>, usize) {
    let text = std::fs::read_to_string(path).expect("a trace");
    let trace: Value = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let span = |event: &Value| {
        let start = event["ts"].as_f64().expect("a time");
        Span {
            category: text(&event["cat"]),
            name: text(&event["name"]),
            plugin: text(&event["args"]["plugin"]),
            thread: event["tid"].as_u64().expect("a thread"),
            start,
            end: start + event["dur"].as_f64().expect("a duration"),
        }
    };
    let spans: Vec<Span> = events.iter().filter(|event| event["ph"] == "X").map(span).collect();
    for (at, one) in spans.iter().enumerate() {
        for other in spans.iter().skip(at + 1).filter(|other| other.thread == one.thread) {
            let nests = one.holds(other) || other.holds(one) || one.is_apart_from(other);
            assert!(nests, "{one:?} and {other:?}");
        }
    }
    (spans, events.iter().filter(|event| event["ph"] == "C").count())
}

#[test]
fn the_trace_of_a_conversion_has_its_stages() {
    let (_folder, at) = folder();
    let (model, profile, report) = (at("m.onnx"), at("profile.json"), at("report.json"));
    let options = ["--profile", &profile, "--report", &report, "--executor", "reference"];
    let said = succeed(&[&["convert", "examples/mlp/mlp.pt2", "-o", &model], &options[..]].concat());
    assert_eq!(said["profile"], json!(profile));
    let (spans, counters) = trace(&profile);
    let whole = spans.iter().find(|span| span.category == "command").expect("the command");
    assert_eq!(whole.name, "convert");
    assert!(spans.iter().all(|span| whole.holds(span)), "all of it is the command's");

    let mut stages: BTreeMap<&str, f64> = BTreeMap::new();
    let all: Vec<&Span> = spans.iter().filter(|span| span.category == "stage").collect();
    for (at, stage) in all.iter().enumerate() {
        *stages.entry(&stage.name).or_default() += stage.end - stage.start;
        assert!(all.iter().skip(at + 1).all(|other| stage.is_apart_from(other)), "{stage:?}");
    }
    assert!(stages.remove("verify").is_some());
    let seconds = said["seconds"].as_object().expect("the stages");
    assert_eq!(stages.keys().collect::<Vec<_>>(), seconds.keys().collect::<Vec<_>>());
    for (name, time) in stages {
        let told = seconds[name].as_f64().expect("seconds") * 1e6;
        assert!((told - time).abs() <= 2.0 * ROUNDED, "{name}: {told} and {time}");
    }

    let of =
        |plugin: &str| spans.iter().filter(|span| span.category == "plugin" && span.plugin == plugin).count();
    assert!(of("aten") > 4 && of("optimise") > 0 && of("reference") > 1);
    let inside = |name: &str, stage: &str| {
        let (part, whole) =
            (spans.iter().find(|span| span.name == name), all.iter().find(|s| s.name == stage));
        part.zip(whole).is_some_and(|(part, whole)| whole.holds(part))
    };
    assert!(
        inside("aten.linear.default", "lower")
            && inside("sweep 1", "optimise")
            && inside("model file", "write")
    );

    if cfg!(target_os = "linux") {
        assert!(counters >= 2 * seconds.len(), "at both ends of stages");
        let memory = said["memory"].as_object().expect("memory by stage");
        assert_eq!(memory.keys().collect::<Vec<_>>(), seconds.keys().collect::<Vec<_>>());
        for stage in memory.values() {
            let [end, peak] = ["end", "peak"].map(|key| stage[key].as_u64().expect("bytes"));
            assert!(peak >= end && end > 0, "{stage}");
        }
    }
}

#[test]
fn a_report_of_memory_is_held_against_itself() {
    let (_folder, at) = folder();
    let (model, report) = (at("m.onnx"), at("report.json"));
    let said =
        succeed(&["convert", "examples/mlp/mlp.pt2", "-o", &model, "--no-verify", "--report", &report]);
    if said["memory"].is_null() {
        return onnxport_harness::note("the system does not say how much memory is anonymous");
    }
    succeed(&["report", &model, "--check", &report]);
    let text = std::fs::read_to_string(&report).expect("a report");
    let told: Value = serde_json::from_str(&text).expect("JSON");
    for (changed, why) in [
        (
            json!({"end": 7, "peak": 5, "growth": 1}),
            "conversion.memory.lower has a peak below its final size",
        ),
        (
            json!({"end": 7, "peak": 9, "growth": -3}),
            "conversion.memory.lower has a peak below its final size",
        ),
        (json!({"end": "7"}), "conversion.memory.lower has no numbers"),
    ] {
        let mut told = told.clone();
        told["conversion"]["memory"]["lower"] = changed;
        std::fs::write(&report, format!("{told:#}\n")).expect("it is written");
        let output = onnxport(&["report", &model, "--check", &report]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(5) && said.contains(why), "{said}");
    }
    let mut told = told;
    told["conversion"]["memory"]["lunch"] = told["conversion"]["memory"]["lower"].clone();
    std::fs::write(&report, format!("{told:#}\n")).expect("it is written");
    let said = onnxport(&["report", &model, "--check", &report]).stderr;
    assert!(String::from_utf8_lossy(&said).contains("conversion.memory.lunch is not a stage with a time"));
}

#[test]
fn nobody_is_told_what_was_not_asked() {
    let (_folder, at) = folder();
    let said = succeed(&["convert", "examples/mlp/mlp.pt2", "-o", &at("m.onnx"), "--no-verify"]);
    assert!(said["memory"].is_null() && said["profile"].is_null());
}

#[test]
fn other_commands_have_traces() {
    let (_folder, at) = folder();
    let (model, other, package, profile) = (at("m.onnx"), at("n.onnx"), at("package"), at("profile.json"));
    succeed(&["convert", "examples/mlp/mlp.pt2", "-o", &model, "--no-verify"]);
    let stages = |command: &[&str]| {
        succeed(&[command, &["--profile", &profile]].concat());
        let (spans, _) = trace(&profile);
        assert!(spans.iter().any(|span| span.category == "command" && span.name == command[0]));
        spans.into_iter().filter(|span| span.category == "stage").map(|span| span.name).collect::<Vec<_>>()
    };
    assert!(stages(&["check", "examples/mlp/mlp.pt2"]).contains(&"lower".to_owned()));
    let own = ["infer", "optimise", "legalise", "order", "outline", "validate"];
    let optimized = stages(&["optimize", &model, "-o", &other]);
    assert_eq!(optimized, [&["read"], &own[..], &["write", "write"]].concat());
    let two = ["a=examples/mlp/mlp.pt2", "b=examples/mlp/mlp.pt2"];
    let packaged = stages(&["package", two[0], two[1], "-o", &package, "--executor", "reference"]);
    assert_eq!(packaged.iter().filter(|name| *name == "lower").count(), 2);
    assert_eq!(packaged.iter().filter(|name| *name == "verify").count(), 2);
    let against = ["--against", "examples/mlp/mlp.expected.safetensors", "--executor", "reference"];
    stages(&[&["verify", &model], &against[..]].concat());
    let (spans, _) = trace(&profile);
    assert!(spans.iter().any(|span| span.name == "running the model" && span.plugin == "reference"));
}

#[test]
fn a_failure_has_a_trace_and_no_source_is_replaced() {
    let (_folder, at) = folder();
    let profile = at("profile.json");
    let output = onnxport(&["convert", "README.md", "-o", &at("m.onnx"), "--profile", &profile]);
    assert!(!output.status.success());
    assert_eq!(trace(&profile).0.iter().filter(|span| span.category == "command").count(), 1);

    for command in [
        &["convert", "README.md", "-o", &at("m.onnx")][..],
        &["check", "README.md"],
        &["optimize", "README.md", "-o", &at("m.onnx")],
        &["verify", "README.md", "--against", "README.md"],
    ] {
        let taken = at("failed.json");
        let output = onnxport(&[command, &["--json", "--profile", &taken]].concat());
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&said["ok"], &said["profile"]), (&false.into(), &taken.as_str().into()), "{said}");
        assert_eq!(trace(&taken).0.iter().filter(|span| span.category == "command").count(), 1);
    }

    let program = at("p.pt2");
    std::fs::copy(mlp(), &program).expect("a copy");
    let before = std::fs::read(&program).expect("it is read");
    let model = at("m.onnx");
    for taken in [&program, &model] {
        let output = onnxport(&["convert", &program, "-o", &model, "--no-verify", "--profile", taken]);
        assert!(!output.status.success(), "{taken}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("OP603"), "{taken}");
    }
    assert_eq!(std::fs::read(&program).expect("it is read"), before);
}
