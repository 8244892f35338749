//! Backends: their claims, the formation of regions, and valid replacements.
//!
//! File tests are in `tests/files/backend/*.txt`:
//!
//! - `backends`: ids of the backends of [`plugin`] and [`raw`], in the user's order;
//! - `input`: a model in text form;
//! - `output`: the model that comes out, after a line per region and per reason; or `error`.

mod blobs;
mod cache;
mod costs;
mod plugin;
mod raw;

use std::fmt::Write;

use onnxport_core::backend::{self, BackendOptions, Partitioned};
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::ops::infer;
use onnxport_core::valid::{StatedTypes, validate};

use crate::files::{Outcome, Sections, errors};

fn host() -> Host {
    Host::new(&[&plugin::ROOT, &raw::ROOT]).expect("the plugins attach")
}

fn options(backends: &[&str]) -> BackendOptions {
    let backends = backends.iter().map(|id| (*id).to_owned()).collect();
    BackendOptions { backends, stem: "m.onnx".to_owned(), ..BackendOptions::default() }
}

/// A model with the types of all its values.
fn parse(text: &str) -> Model {
    let mut model = Model::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let opset = model.opset();
    infer::infer_all(&mut model.graph, &mut model.symbols, opset);
    model
}

fn lines(partitioned: &Partitioned) -> String {
    let mut text = String::new();
    for backend in &partitioned.backends {
        for region in &backend.regions {
            let ops: Vec<String> = region.ops.iter().map(|(op, count)| format!("{count} {op}")).collect();
            let (inputs, outputs, weights) = (region.inputs, region.outputs, region.weights);
            let _ = writeln!(
                text,
                "# {}: {} ({inputs} in, {outputs} out, {weights} weights)",
                region.name,
                ops.join(", ")
            );
        }
        for refusal in &backend.refusals {
            let (count, op, reason) = (refusal.count, &refusal.op, &refusal.reason);
            let _ = writeln!(text, "# {} not {count} {op}: {:?}: {reason}", backend.id, refusal.stage);
        }
    }
    let _ = writeln!(text, "# left: {} of {}", partitioned.left, partitioned.nodes);
    text
}

fn outcome(sections: &Sections) -> Outcome {
    let mut model = parse(sections.get("input").expect("an input section"));
    let ids: Vec<&str> = sections.get("backends").expect("a section `backends`").split_whitespace().collect();
    let backed = match backend::run(&host(), &mut model, &options(&ids)) {
        Ok(backed) => backed,
        Err(report) => return ("error", errors(&report)),
    };
    let wrong = validate(&model, &StatedTypes::default());
    assert!(wrong.is_empty(), "{wrong:?}\n{}", model.to_text());
    let mut text = lines(&backed.partitioned);
    for diagnostic in &backed.diagnostics {
        let _ = writeln!(text, "# {}: {}", diagnostic.code, diagnostic.message);
    }
    ("output", text + &model.to_text())
}

file_tests!("backend", outcome);

const TWO: &str = "opset 20\ngraph {
  input %x: f32[s, 4]
  %a = Relu(%x)
  %b = Tanh(%a)
  %c = Relu(%b)
  output %c as y
}
";

#[test]
fn a_dry_run_leaves_the_model_alone() {
    let mut model = parse(TWO);
    let before = model.to_text();
    let dry = BackendOptions { dry_run: true, ..options(&["plain"]) };
    let backed = backend::run(&host(), &mut model, &dry).expect("regions");
    assert_eq!(model.to_text(), before);
    let regions = &backed.partitioned.backends[0].regions;
    assert_eq!(regions.iter().map(|r| r.replaced_by).collect::<Vec<_>>(), [None, None]);
    assert_eq!(backed.partitioned.left, 1);
}

#[test]
fn every_node_has_a_place_and_a_reason() {
    let mut model = parse(TWO);
    let dry = BackendOptions { dry_run: true, ..options(&["nothing", "single"]) };
    let backed = backend::run(&host(), &mut model, &dry).expect("regions");
    let found = backed.placement.nodes.iter().map(|node| {
        let reasons: Vec<&str> = node.refusals.iter().map(|refusal| refusal.reason.as_str()).collect();
        (node.operator.as_str(), node.region.as_deref(), reasons)
    });
    let mood = "it is not in the mood";
    let other = "its runtime takes one region of a model, and another one has more nodes";
    let operator = "its capabilities do not list the operator";
    let found: Vec<_> = found.collect();
    assert_eq!(found[0], ("Relu", Some("single_0"), vec![mood]));
    assert_eq!((found[1].0, found[1].1, found[1].2.len()), ("Tanh", None, 2), "{operator}: {found:?}");
    assert_eq!(found[2], ("Relu", None, vec![mood, other]));
    assert!((backed.placement.share - 1.0 / 3.0).abs() < 1e-9);
    let [module] = backed.placement.modules.as_slice() else { panic!("{:?}", backed.placement.modules) };
    assert_eq!((module.nodes, module.left, module.taken["single"]), (3, 2, 1));
}

#[test]
fn who_is_meant_is_said_or_refused() {
    let refused = |ids: &[&str]| {
        let report = backend::run(&host(), &mut parse(TWO), &options(ids)).expect_err("a refusal");
        errors(&report)
    };
    assert_eq!(refused(&["nobody"]), "OP501: unknown backend `nobody`\n");
    assert_eq!(
        refused(&["twice"]),
        "OP501: plugin `scripted` and plugin `raw` both have a backend `twice`\n"
    );
    let expected = "OP502: the backend `malformed` of plugin `raw` cannot be used: \
                    `Relu` has the element type 99\n";
    assert_eq!(refused(&["malformed"]), expected);
    // A plugin's id names all of its backends, the highest priority first; naming one again adds nothing.
    let host = Host::new(&[&plugin::ROOT]).expect("the plugin attaches");
    let mut model = parse(TWO);
    let dry = BackendOptions { dry_run: true, ..options(&["scripted", "plain"]) };
    let backed = backend::run(&host, &mut model, &dry);
    let report = backed.expect_err("one of them breaks the contract");
    assert!(errors(&report).contains("breaks the contract"), "{}", errors(&report));
}

#[test]
fn a_plugin_that_panicked_is_not_called_again() {
    let host = host();
    let report = backend::run(&host, &mut parse(TWO), &options(&["panics"])).expect_err("it panics");
    let text = errors(&report);
    let expected = "OP802: the backend `panics` panicked when it compiled the region `panics_0`: out of tea";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("not tried: 1 more call"), "{text}");
    let report = backend::run(&host, &mut parse(TWO), &options(&["plain"])).expect_err("it was set aside");
    assert!(errors(&report).starts_with("OP802: plugin `scripted` was set aside"), "{}", errors(&report));
}

#[test]
fn an_id_of_an_earlier_call_claims_nothing() {
    let run = || backend::run(&host(), &mut parse(TWO), &options(&["stale_node"]));
    assert_eq!(run().expect("the first call keeps an id").partitioned.left, 3);
    let expected =
        "OP503: the backend `stale_node` breaks the contract: it claims a node that was not offered\n";
    assert_eq!(errors(&run().expect_err("the second claims with it")), expected);
}

#[test]
fn the_same_model_comes_out_every_time() {
    let text = |_| {
        let mut model = parse(TWO);
        let backed = backend::run(&host(), &mut model, &options(&["plain"])).expect("a model");
        model.to_text() + &lines(&backed.partitioned)
    };
    let all: Vec<String> = (0..3).map(text).collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn twenty_thousand_nodes_in_a_chain() {
    let mut text = "opset 20\ngraph {\n  input %x: f32[4]\n".to_owned();
    for n in 0..20_000 {
        let from = if n == 0 { "x".to_owned() } else { format!("v{}", n - 1) };
        let op = if n % 10 == 9 { "Tanh" } else { "Relu" };
        let _ = writeln!(text, "  %v{n} = {op}(%{from})");
    }
    let mut model = parse(&(text + "  output %v19999 as y\n}\n"));
    let start = cpu_time::ThreadTime::now();
    let backed = backend::run(&host(), &mut model, &options(&["plain"])).expect("a model");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert_eq!(backed.partitioned.backends[0].regions.len(), 2000);
    assert_eq!((backed.partitioned.left, model.graph.node_count()), (2000, 4000));
    assert!(validate(&model, &StatedTypes::default()).is_empty());
}
