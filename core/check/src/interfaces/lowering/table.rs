//! The entries of the table, and the schemas.

use std::collections::BTreeSet;

use onnxport_abi::lowering::{LoweringEntry, LoweringTable, entry_flags};

use super::Subject;
use crate::Finding;
use crate::journal::Journal;
use onnxport_core::host::Validated;
use onnxport_core::ir::opset::{MAX_OPSET, MIN_OPSET};
use onnxport_core::registry::{Schema, Schemas};

/// How many items a finding lists before it counts the rest.
const LISTED: usize = 5;

pub(super) fn check(table: &LoweringTable, subject: &Subject, journal: &mut Journal) {
    journal.step("lowering/1 table", |_| Some(entries(table)));
    journal.step("lowering/1 schemas", |_| Some(schemas(table)));
    journal.step("lowering/1 bound", |_| Some(bound(table, subject)));
}

fn listed(problems: Vec<String>) -> Option<String> {
    let more = problems.len().saturating_sub(LISTED);
    let mut text = problems.into_iter().take(LISTED).collect::<Vec<_>>().join("; ");
    if more > 0 {
        text = format!("{text}; and {more} more");
    }
    (!text.is_empty()).then_some(text)
}

fn verdict(check: &str, problems: Vec<String>, fine: String, next: &str) -> Finding {
    match listed(problems) {
        Some(text) => Finding::fail(check, text).next(next),
        None => Finding::pass(check, fine),
    }
}

fn key(entry: &LoweringEntry) -> (&str, u32, u32, i32, u32) {
    (entry.target.validated(), entry.min_opset, entry.max_opset, entry.priority, entry.flags)
}

fn entries(table: &LoweringTable) -> Finding {
    let mut problems = Vec::new();
    for entry in table.entries.validated() {
        let target = entry.target.validated();
        let parts: Vec<&str> = target.split('.').collect();
        let part =
            |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-<>".contains(c));
        if parts.len() < 2 || !parts.iter().all(part) {
            problems.push(format!("`{target}` is not an operator such as `mylib.op.default`"));
        }
        let (min, max) = (i64::from(entry.min_opset), i64::from(entry.max_opset));
        if min > max || max < MIN_OPSET || min > MAX_OPSET {
            problems.push(format!("`{target}` is for opsets {min} to {max}, of which there are none"));
        }
        if entry.flags & !entry_flags::COMPLEX != 0 {
            problems.push(format!("`{target}` has flags that this host does not know"));
        }
    }
    let pairs = table.entries.validated().iter().zip(table.entries.validated().iter().skip(1));
    let mut unsorted = false;
    for (a, b) in pairs {
        if a.target.validated() == b.target.validated() && a.flags == b.flags && a.priority == b.priority {
            let overlap = a.min_opset <= b.max_opset && b.min_opset <= a.max_opset;
            if overlap {
                problems.push(format!("`{}` is listed twice for the same opsets", a.target.validated()));
            }
        }
        unsorted |= key(a) > key(b);
    }
    if unsorted {
        problems.push("the entries are not sorted by operator".to_owned());
    }
    let fine = format!("{} lowerings, sorted, none twice", table.entries.len());
    verdict("lowering/1 table", problems, fine, "`export_plugin!` makes such a table")
}

fn schemas(table: &LoweringTable) -> Finding {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let mut last = "";
    let mut unsorted = false;
    for line in
        table.schemas.validated().lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
    {
        match Schema::parse(line) {
            Ok(schema) => {
                if !seen.insert(schema.target.clone()) {
                    problems.push(format!("`{}` is described twice", schema.target));
                }
            }
            Err(error) => problems.push(format!("`{}`: {error}", line.trim())),
        }
        let name = line.split('(').next().unwrap_or_default().trim();
        unsorted |= name < last;
        last = name;
    }
    if unsorted {
        problems.push("the lines are not sorted".to_owned());
    }
    let next = "one line per overload, as PyTorch prints it: `mylib::op(Tensor x, int n=1) -> Tensor`";
    verdict("lowering/1 schemas", problems, format!("{} read", seen.len()), next)
}

/// Namespaces of PyTorch, Python and libraries built on them. Some of their operators, such as those that only
/// TorchScript knows, have no schema that could be written here, and take any arguments.
const OWN: &[&str] = &[
    "_operator",
    "aten",
    "builtins",
    "higher_order",
    "math",
    "onnx",
    "onnx_symbolic",
    "prims",
    "torch",
    "transformers",
];

/// Every operator needs a schema: its own, or one of a plugin that comes with the host.
fn bound(table: &LoweringTable, subject: &Subject) -> Finding {
    let known = Schemas::new([table.schemas.validated()].into_iter().chain(subject.schemas.iter().copied()));
    let (mut without, mut free) = (BTreeSet::new(), BTreeSet::new());
    for entry in
        table.entries.validated().iter().filter(|entry| known.get(entry.target.validated()).is_none())
    {
        let target = entry.target.validated();
        let namespace = target.split('.').next().unwrap_or_default();
        if OWN.contains(&namespace) {
            free.insert(target)
        } else {
            without.insert(target)
        };
    }
    let problems = without.iter().map(|target| format!("`{target}` has no schema")).collect();
    let next = "a call without a schema gets no names and no defaults; add a line to `schemas`";
    let fine = match free.len() {
        0 => "every operator has a schema".to_owned(),
        n => format!("every operator has a schema, except {n} of PyTorch's and Python's own"),
    };
    verdict("lowering/1 bound", problems, fine, next)
}
