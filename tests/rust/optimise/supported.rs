//! The target supports the results of rules: each file of `tests/files/standard`, `attention` and `fusions` with every element type
//! and at every opset for which it is a model, all rules and passes of both plugins for ONNX Runtime.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::ir::opset::MAX_OPSET;
use onnxport_core::legalise::{Target, runs};
use onnxport_core::optimise::{Level, OptimiseOptions, optimise};
use onnxport_core::valid::{StatedTypes, validate};

use super::draw::of_types;
use crate::files::{self, Sections};

static HOST: LazyLock<Host> = LazyLock::new(|| {
    Host::new(&[&onnxport_optimise::ROOT, &onnxport_fusions::ROOT]).expect("the plugins attach")
});

/// The first opset that rules are tried at.
const FIRST: i64 = 13;

/// The model of a text with every element type, and at every opset.
fn models(text: &str) -> Vec<Model> {
    let mut models = of_types(text);
    let own = models.first().map_or(0, Model::opset);
    let (head, rest) = text.split_once(&format!("opset {own}\n")).expect("the opset");
    for opset in (FIRST..=MAX_OPSET).filter(|opset| *opset != own) {
        models.extend(Model::parse(&format!("{head}opset {opset}\n{rest}")));
    }
    models.iter_mut().for_each(super::inferred);
    models.retain(|model| validate(model, &StatedTypes::default()).is_empty());
    models
}

/// The nodes that ONNX Runtime does not run as they are.
fn lacking(model: &Model) -> Vec<String> {
    let (graph, target) = (&model.graph, Target::onnxruntime());
    let nodes = graph.blocks.ids().flat_map(|block| graph.order(block).collect::<Vec<_>>());
    let lacking = nodes.filter(|node| !runs(graph, model.opset(), &target, *node));
    lacking.map(|node| graph.nodes[node].op.to_string()).collect()
}

#[test]
fn what_rules_write_runs_on_the_target() {
    let (mut tried, mut changed) = (0, BTreeSet::new());
    for folder in ["standard", "attention", "fusions"] {
        for entry in std::fs::read_dir(files::at(folder)).expect("the folder") {
            let path = entry.expect("an entry").path();
            let sections = Sections::from_text(&std::fs::read_to_string(&path).expect("a readable file"));
            for before in models(sections.get("input").expect("an input section")) {
                let mut after = before.clone();
                let options = OptimiseOptions { level: Level::Target, fold: 0, ..OptimiseOptions::default() };
                let (done, found) =
                    optimise(&HOST, &mut after, &mut StatedTypes::default(), &options).expect("it runs");
                let at = format!("{} at opset {}", path.display(), before.opset());
                assert!(found.is_empty(), "{at}: {found:?}");
                let (had, has) = (lacking(&before), lacking(&after));
                assert!(has.len() <= had.len(), "{at}: {has:?}, before {had:?}\n{}", before.to_text());
                let found = validate(&after, &StatedTypes::default());
                assert!(found.is_empty(), "{at}: {found:?}\n{}", before.to_text());
                changed.extend(done.counts.into_iter().map(|count| count.name));
                tried += 1;
            }
        }
    }
    assert!(tried > 800 && changed.len() > 140, "{tried} models, {} rules", changed.len());
}
