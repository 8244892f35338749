//! The facts beside schemas: every operator with a lowering has some about its results, or says why it has none.

use std::collections::BTreeSet;
use std::fs;

use onnxport_core::registry::{Schema, SchemaArg, SchemaType, Term};

use crate::files;
use crate::overloads::HOST;

/// Targets that have a lowering and no schema, each with the reason.
const NO_SCHEMA: &[(&str, &str)] = &[
    ("aten.add.default", "arithmetic of numbers"),
    ("aten.div.default", "arithmetic of numbers"),
    ("aten.eq.default", "arithmetic of numbers"),
    ("aten.floordiv.default", "arithmetic of numbers"),
    ("aten.ge.default", "arithmetic of numbers"),
    ("aten.gt.default", "arithmetic of numbers"),
    ("aten.le.default", "arithmetic of numbers"),
    ("aten.lt.default", "arithmetic of numbers"),
    ("aten.mul.default", "arithmetic of numbers"),
    ("aten.ne.default", "arithmetic of numbers"),
    ("aten.remainder.default", "arithmetic of numbers"),
    ("aten.sub.default", "arithmetic of numbers"),
    ("aten.tensor.bool", "a tensor of a number"),
    ("aten.tensor.float", "a tensor of a number"),
    ("aten.tensor.int", "a tensor of a number"),
    ("higher_order.associative_scan", "graphs decide"),
    ("higher_order.cond", "graphs decide"),
    ("higher_order.map", "graphs decide"),
    ("higher_order.map_impl", "graphs decide"),
    ("higher_order.scan", "graphs decide"),
    ("higher_order.while_loop", "graphs decide"),
    ("onnx.Attention.opset23", "an operator of ONNX, which the validator checks"),
    ("onnx.RotaryEmbedding.opset23", "an operator of ONNX, which the validator checks"),
    ("onnx_symbolic._symbolic.default", "an operator that the user names"),
    ("onnx_symbolic._symbolic_multi_out.default", "an operator that the user names"),
    ("transformers.grouped_mm_fallback.default", "a library's own operator"),
];

/// Namespaces whose operators compute numbers.
const NUMBERS: [&str; 5] = ["_operator.", "builtins.", "math.", "torch._sym_", "torch.sym_"];

/// The reasons that `unstated` may give; docs/facts.md explains them.
const REASONS: [&str; 3] = ["elements", "cases", "kernels"];

/// Whether the operator returns an argument that it writes, which keeps its type.
fn is_in_place(schema: &Schema) -> bool {
    schema.args.iter().any(SchemaArg::is_written)
}

fn is_tensor(ty: &SchemaType) -> bool {
    match ty {
        SchemaType::Tensor => true,
        SchemaType::Optional(item) | SchemaType::List(item, _) => is_tensor(item),
        _ => false,
    }
}

#[test]
fn every_lowered_operator_states_facts_or_a_reason() {
    let mut problems = Vec::new();
    let targets: BTreeSet<&str> = HOST.registry.iter().map(|(target, _)| target).collect();
    let listed: BTreeSet<&str> = NO_SCHEMA.iter().map(|(target, _)| *target).collect();
    for target in targets {
        if NUMBERS.iter().any(|namespace| target.starts_with(namespace)) {
            continue;
        }
        let Some(schema) = HOST.schemas.get(target) else {
            if !listed.contains(target) {
                problems.push(format!("{target}: no schema"));
            }
            continue;
        };
        if listed.contains(target) {
            problems.push(format!("{target}: listed without a schema, and it has one"));
        }
        let facts = &schema.facts;
        let returns_tensors = schema.returns.iter().any(|r| is_tensor(&r.ty));
        let elsewhere = ["region", "twin", "assertion"].iter().any(|key| !facts.terms(key).is_empty());
        if !returns_tensors || elsewhere || is_in_place(schema) {
            continue;
        }
        for key in ["shape", "dtype"] {
            let stated = facts.terms(key).iter().any(|term| !term.name.is_empty());
            let reasons: Vec<&str> = facts
                .terms("unstated")
                .iter()
                .filter_map(|t| t.name.strip_prefix(key)?.strip_prefix(':'))
                .collect();
            match (stated, reasons.as_slice()) {
                (true, []) => {}
                (false, [reason]) if REASONS.contains(reason) => {}
                (false, []) => problems.push(format!("{target}: no {key}")),
                (_, reasons) => problems.push(format!("{target}: {key} is unstated because of {reasons:?}")),
            }
        }
    }
    let list = problems.join("\n");
    assert!(problems.is_empty(), "{} problems; docs/facts.md describes facts:\n{list}", problems.len());
}

/// A misspelled mechanism would be skipped, and nothing checked.
#[test]
fn mechanisms_are_documented() {
    let page = fs::read_to_string(files::at("../../docs/facts.md")).expect("the page");
    let mut unknown = BTreeSet::new();
    let mut check = |target: &str, key: &str, term: &Term| {
        let named = [format!("`{}`", term.name), format!("`{}(", term.name)];
        if !term.name.is_empty() && !named.iter().any(|name| page.contains(name)) {
            unknown.insert(format!("{key}={} of {target}", term.name));
        }
    };
    for (target, _) in HOST.registry.iter() {
        let Some(schema) = HOST.schemas.get(target) else { continue };
        for key in ["shape", "dtype", "operands", "index", "view"] {
            schema.facts.terms(key).iter().for_each(|term| check(target, key, term));
        }
    }
    assert!(unknown.is_empty(), "not in docs/facts.md: {unknown:?}");
}
