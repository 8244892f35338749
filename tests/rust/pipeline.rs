//! Stages of a caller in the pipelines of conversions and of the optimizer.

use std::cell::Cell;
use std::path::Path;

use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::legalise::LegaliseOptions;
use onnxport_core::optimise::{Level, OptimiseOptions, OptimizePipeline};
use onnxport_core::pipeline::ConvertPipeline;
use onnxport_core::{Conversion, optimize};

fn host() -> Host {
    Host::new(&[&onnxport_aten::ROOT, &onnxport_optimise::ROOT]).expect("a host")
}

fn convert(pipeline: &ConvertPipeline<'_>) -> Result<String, Report> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mlp/mlp.pt2");
    let converted = Conversion::open(program)?.unverified().run_with(&host(), pipeline)?;
    Ok(converted.converted.model.to_text())
}

/// Replaces every operator `old` of the main graph.
fn rename(model: &mut Model, old: &str, new: &str) -> usize {
    let nodes: Vec<_> = model.graph.order(model.graph.main()).collect();
    let found: Vec<_> = nodes.into_iter().filter(|id| model.graph.nodes[*id].op == *old).collect();
    for id in &found {
        model.graph.nodes[*id].op = new.into();
    }
    found.len()
}

fn errors(report: &Report) -> Vec<(String, String)> {
    report.diagnostics.iter().map(|found| (found.code.to_string(), found.message.clone())).collect()
}

#[test]
fn the_stages_have_the_names_of_the_architecture() {
    let page = include_str!("../../ARCHITECTURE.md");
    let diagram = page.split("```text").nth(1).and_then(|rest| rest.split("```").next()).expect("a diagram");
    let listed = diagram.lines().filter_map(|line| line.trim_start().strip_prefix("│ "));
    let listed: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    let own = ConvertPipeline::new().names();
    let around = |name: &&str| !["read", "calibrate", "write", "verify"].contains(name);
    assert_eq!(listed.into_iter().filter(around).collect::<Vec<_>>(), own);
}

#[test]
fn a_stage_of_the_caller_rewrites_the_model_where_it_stands() {
    let plain = convert(&ConvertPipeline::new()).expect("a model");
    assert!(plain.contains("Relu(") && !plain.contains("Softplus("), "{plain}");
    let replaced = Cell::new(0);
    let mut pipeline = ConvertPipeline::new();
    let insert =
        |name, pipeline: &mut ConvertPipeline<'_>| pipeline.insert_after("optimise", name, |_| Ok(()));
    pipeline
        .insert_after("lower", "smooth", |model| {
            replaced.set(rename(model, "Relu", "Softplus"));
            Ok(())
        })
        .expect("a new stage");
    insert("idle", &mut pipeline).expect("a new stage");
    let names = pipeline.names();
    let index = |name: &str| names.iter().position(|own| *own == name);
    assert_eq!(index("smooth"), index("lower").map(|index| index + 1), "{names:?}");
    assert_eq!(index("idle"), index("optimise").map(|index| index + 1), "{names:?}");
    let smooth = convert(&pipeline).expect("a model");
    assert!(replaced.get() > 0);
    assert!(smooth.contains("Softplus(") && !smooth.contains("Relu("), "{smooth}");
}

#[test]
fn a_stage_that_fails_is_named() {
    let mut pipeline = ConvertPipeline::new();
    pipeline.insert_before("legalise", "budget", |_| Err("the model is too large".into())).expect("a stage");
    let found = errors(&convert(&pipeline).expect_err("a failure"));
    assert_eq!(found, [("OP416".to_owned(), "the stage `budget` failed: the model is too large".to_owned())]);

    let mut pipeline = ConvertPipeline::new();
    let own = Diagnostic::error(Code::of_plugin("acme", "E7"), "no team");
    pipeline.insert_before("legalise", "team", move |_| Err(own.clone().into())).expect("a stage");
    let found = errors(&convert(&pipeline).expect_err("a failure"));
    assert_eq!(found, [("acme:E7".to_owned(), "the stage `team` failed: no team".to_owned())]);
}

#[test]
fn an_invalid_model_of_a_stage_is_refused_there() {
    let mut pipeline = ConvertPipeline::new();
    let edit = |model: &mut Model| {
        rename(model, "Relu", "NoSuchOperator");
        Ok(())
    };
    pipeline.insert_after("optimise", "broken", edit).expect("a stage");
    let never = |_: &mut Model| -> Result<(), Box<dyn std::error::Error>> { panic!("it must not run") };
    pipeline.insert_after("broken", "later", never).expect("a stage");
    let found = errors(&convert(&pipeline).expect_err("a failure"));
    assert!(
        found.iter().all(|(code, message)| code == "OP416"
            && message.starts_with("the stage `broken` left an invalid model: ")),
        "{found:?}"
    );

    let mut pipeline = ConvertPipeline::new();
    let replace = |model: &mut Model| {
        *model = Model::default();
        Ok(())
    };
    pipeline.insert_after("optimise", "other", replace).expect("a stage");
    let found = errors(&convert(&pipeline).expect_err("a failure"));
    assert_eq!(found, [("OP416".to_owned(), "the stage `other` replaced the graph".to_owned())]);
}

#[test]
fn needed_stages_stay() {
    let mut pipeline = ConvertPipeline::new();
    let idle = |_: &mut Model| Ok(());
    for name in ["meta", "lower", "tidy", "legalise", "validate"] {
        let message = pipeline.remove(name).expect_err("it is needed").message;
        assert_eq!(message, format!("the stage `{name}` cannot be removed"));
        assert!(pipeline.replace(name, "mine", idle).is_err());
    }
    let refused = |result: Result<(), Diagnostic>| result.expect_err("it is refused").message;
    assert_eq!(
        refused(pipeline.insert_before("optimise", "tidy", idle)),
        "the pipeline has a stage `tidy` already"
    );
    assert_eq!(
        refused(pipeline.insert_before("lower", "mine", idle)),
        "the stage `lower` runs before there is a model"
    );
    assert_eq!(refused(pipeline.insert_after("tidyy", "mine", idle)), "unknown stage `tidyy`");
    assert_eq!(pipeline.names(), ConvertPipeline::new().names());
    pipeline.replace("optimise", "mine", idle).expect("it is optional");
    pipeline.remove("mine").expect("it is the caller's");
    assert!(!pipeline.names().contains(&"optimise") && !pipeline.names().contains(&"mine"));
    convert(&pipeline).expect("a model");
}

#[test]
fn a_stage_edits_an_imported_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.onnx");
    let text = "opset 20\ngraph {\n  input %x: f32[3]\n  %a: f32[3] = Neg(%x)\n  %b: f32[3] = Neg(%a)\n  \
                %c: f32[3] = Relu(%b)\n  output %c as y\n}\n";
    let model = Model::parse(text).expect("a model");
    onnxport_core::write::write(&model, &path, &onnxport_core::WriteOptions::default()).expect("a file");
    let read = || Model::read(&path).expect("a model");
    let optimized = optimize(&host(), read(), &OptimiseOptions::default()).expect("a model");
    let text = optimized.model.to_text();
    assert!(!text.contains("Neg(") && text.contains("Relu("), "{text}");

    let mut pipeline = OptimizePipeline::new();
    let smooth = |model: &mut Model| {
        rename(model, "Relu", "Softplus");
        Ok(())
    };
    pipeline.insert_after("optimise", "smooth", smooth).expect("a stage");
    for (level, negates) in [(Level::default(), false), (Level::Nothing, true)] {
        let options = OptimiseOptions { level, ..OptimiseOptions::default() };
        let done = pipeline.run(&host(), read(), &options, &LegaliseOptions::default()).expect("a model");
        let text = done.model.to_text();
        assert!(text.contains("Softplus(") && text.contains("Neg(") == negates, "{text}");
    }
    assert!(pipeline.remove("validate").is_err());
}
