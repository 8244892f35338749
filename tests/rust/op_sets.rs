//! The lists of the op sets in `plugins`: every parameter means an argument, no call has two lowerings.

use std::collections::BTreeMap;

use crate::files::schemas as text;
use onnxport_core::registry::Schemas;
use onnxport_sdk::{Lowering, inventory};

/// Every crate of lowerings, with the folder of its schemas.
const CRATES: [(&str, &str); 3] = [
    ("onnxport_aten", "aten"),
    ("onnxport_torchaudio", "torchaudio"),
    ("onnxport_torchvision", "torchvision"),
];

/// The crate of a lowering.
fn of(lowering: &Lowering) -> &'static str {
    lowering.module.split("::").next().unwrap_or_default()
}

fn lowerings() -> Vec<(&'static str, &'static Lowering)> {
    // The linker drops a crate that nothing refers to.
    let _ = (&onnxport_aten::ROOT, &onnxport_torchaudio::ROOT, &onnxport_torchvision::ROOT);
    for (name, _) in CRATES {
        assert!(inventory::iter::<Lowering>.into_iter().any(|l| of(l) == name), "{name} is empty");
    }
    let ours = |l: &&Lowering| CRATES.iter().any(|(name, _)| of(l) == *name);
    let all = inventory::iter::<Lowering>.into_iter().filter(ours);
    all.flat_map(|l| l.targets.iter().map(move |target| (*target, l))).collect()
}

fn schemas() -> Schemas {
    Schemas::new(CRATES.map(|(_, folder)| text(folder)))
}

#[test]
fn parameters_are_arguments_of_the_schema() {
    let schemas = schemas();
    // By parameter list: a name may be missing from one overload, not from all.
    let mut missing = Vec::new();
    for lowering in lowerings().iter().map(|(_, l)| *l) {
        let known: Vec<_> = lowering.targets.iter().filter_map(|t| schemas.get(t)).collect();
        for parameter in lowering.parameters {
            let positional = matches!(*parameter, "x" | "a" | "this" | "y" | "b" | "self");
            if !positional && !known.is_empty() && known.iter().all(|s| s.arg(parameter).is_none()) {
                missing.push(format!("{}: {parameter}", lowering.targets[0]));
            }
        }
    }
    missing.dedup();
    assert!(missing.is_empty(), "parameters that no schema has: {missing:#?}");
}

#[test]
fn one_lowering_per_call() {
    let mut seen: BTreeMap<_, Vec<&Lowering>> = BTreeMap::new();
    let mut twice = Vec::new();
    for (target, l) in lowerings() {
        let others = seen.entry((target, l.complex, l.priority)).or_default();
        if others.iter().any(|o| l.min_opset <= o.max_opset && o.min_opset <= l.max_opset) {
            twice.push(target);
        }
        others.push(l);
    }
    assert!(twice.is_empty(), "lowered twice: {twice:?}");
}

/// Operators on numbers that only TorchScript's interpreter registers; programs name them all the same.
const SCRIPT_ONLY: &[&str] = &[
    "aten.add.default",
    "aten.div.default",
    "aten.eq.default",
    "aten.floordiv.default",
    "aten.ge.default",
    "aten.gt.default",
    "aten.le.default",
    "aten.lt.default",
    "aten.mul.default",
    "aten.ne.default",
    "aten.remainder.default",
    "aten.sub.default",
    "aten.tensor.bool",
    "aten.tensor.float",
    "aten.tensor.int",
];

#[test]
fn targets_have_schemas() {
    let schemas = schemas();
    let known = |target: &str| {
        let dispatched =
            ["aten.", "prims.", "torchaudio.", "torchvision."].iter().any(|space| target.starts_with(space));
        !dispatched || schemas.contains(target) || SCRIPT_ONLY.contains(&target)
    };
    let unknown: Vec<_> = lowerings().into_iter().map(|(t, _)| t).filter(|t| !known(t)).collect();
    assert!(unknown.is_empty(), "lowerings of operators that PyTorch lacks: {unknown:?}");
}
