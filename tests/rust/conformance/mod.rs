//! The backend tests of the `onnx` package, run against inference and evaluation.
//!
//! `cargo xtask conformance` writes them into `target/onnx-tests` and runs this. Without them the test is skipped
//! with a note. Known failures are listed in `tests/rust/conformance/known_failures.toml` with a reason; an entry
//! that passes fails. `ONNXPORT_CONFORMANCE=conv` runs the tests whose names contain `conv`, and prints each
//! failure whether known or not.

mod body;
mod calls;
pub(crate) mod compare;
mod data;
mod infer;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use onnxport_harness::skip;
use onnxport_ir::ir::import::import;
use onnxport_ir::ir::{Model, Node};
use onnxport_ir::ops::{self, Limits, lookup, run};

use compare::{Close, compare, same_type};
use infer::Known;

use crate::files::repository;

/// The folders of the tests, by name.
fn cases(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = |path: &Path| {
        let list = fs::read_dir(path).into_iter().flatten().flatten();
        list.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let kinds = entries(folder);
    let all = kinds.iter().flat_map(|kind| entries(kind).into_iter().map(|case| (name(kind), case)));
    let named = all.map(|(kind, case)| {
        let test = name(&case);
        let test = test.strip_prefix("test_").unwrap_or(&test);
        (if kind == "node" { test.to_owned() } else { format!("{kind}/{test}") }, case)
    });
    named.filter(|(_, case)| case.join("model.onnx").exists()).collect()
}

/// Returns the operators of a model that have no evaluator and are not functions of it.
fn missing(model: &Model) -> BTreeSet<String> {
    let graphs = model.functions.iter().map(|f| &f.graph).chain([&model.graph]);
    let nodes = graphs.flat_map(|graph| graph.nodes.iter().map(|(_, node)| node));
    let local = |node: &Node| model.functions.iter().any(|f| f.domain == node.domain && f.name == node.op);
    let known = |node: &Node| lookup(&node.domain, &node.op).and_then(|op| op.evaluator()).is_some();
    let name = |node: &Node| match node.domain.as_str() {
        "" => node.op.to_string(),
        domain => format!("{domain}::{}", node.op),
    };
    nodes.filter(|node| !known(node) && !local(node)).map(name).collect()
}

/// Evaluates every data set of a test. Only types and shapes of random outputs are compared.
///
/// # Errors
/// Describes the difference.
fn evaluate(case: &Path, model: &Model, random: bool) -> Result<Close, String> {
    let mut worst = Close::Exact;
    for number in 0.. {
        let folder = case.join(format!("test_data_set_{number}"));
        if !folder.exists() {
            break;
        }
        worst = worst.max(set(&folder, model, random)?);
    }
    Ok(worst)
}

fn set(folder: &Path, model: &Model, random: bool) -> Result<Close, String> {
    let kinds = data::Kinds::from_model(model);
    let inputs = kinds.inputs(folder)?;
    let expected = kinds.outputs(folder)?;
    let limits = Limits { bytes: 1 << 30, steps: 10_000_000_000, ..Limits::default() };
    let found = match catch_unwind(AssertUnwindSafe(|| run(model, inputs, limits))) {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("it PANICKED".to_owned()),
    };
    let mut worst = Close::Exact;
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let judge = if random { same_type } else { compare };
        let close = judge(found, expected).map_err(|why| format!("output {index}: {why}"))?;
        worst = worst.max(close);
    }
    Ok(worst)
}

/// Checks failures against the list, and returns the unexpected ones and the stale entries.
fn judge(
    what: &str,
    failed: &BTreeMap<String, String>,
    ran: &[String],
    known: &toml::Table,
    verbose: bool,
) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, why) in failed {
        if verbose || !known.contains_key(name) {
            problems.push(format!("{what} of {name}: {why}"));
        }
    }
    for name in known.keys() {
        if ran.contains(name) && !failed.contains_key(name) {
            problems.push(format!("{what} of {name} is listed as a known failure and passes"));
        }
    }
    problems
}

#[test]
fn the_tests_of_the_onnx_package_hold() {
    let folder = repository().join("target/onnx-tests");
    let mut cases = cases(&folder);
    if cases.is_empty() {
        skip("`cargo xtask conformance` writes the tests of the onnx package");
    }
    let filter = std::env::var("ONNXPORT_CONFORMANCE").unwrap_or_default();
    cases.retain(|name, _| name.contains(&filter));
    let list = fs::read_to_string(repository().join("tests/rust/conformance/known_failures.toml"))
        .expect("the list");
    let list: toml::Table = list.parse().expect("a TOML file");
    let known = |section: &str| list.get(section).and_then(|s| s.as_table()).cloned().unwrap_or_default();
    let random = known("random");
    let (mut close, mut wrong, mut refused) = ([0usize; 3], BTreeMap::new(), BTreeMap::new());
    let (mut types, mut contradicted) = ([0usize; 3], BTreeMap::new());
    let (mut expanded, mut unlike) = (0, BTreeMap::new());
    let (mut without, mut problems) = (0, Vec::new());
    for (name, case) in &cases {
        let mut model = match import(&case.join("model.onnx")) {
            Ok(model) => model,
            Err(why) => {
                refused.insert(name.clone(), why.message);
                continue;
            }
        };
        let missing = missing(&model);
        if let Some(by_bodies) = body::expanded(&model).filter(|_| missing.is_empty()) {
            match evaluate(case, &by_bodies, random.contains_key(name)) {
                Ok(_) => expanded += 1,
                Err(why) => drop(unlike.insert(name.clone(), why)),
            }
        }
        if missing.is_empty() {
            match evaluate(case, &model, random.contains_key(name)) {
                Ok(how) => close[how as usize] += 1,
                Err(why) => drop(wrong.insert(name.clone(), why)),
            }
        } else {
            without += 1;
            let new = missing.iter().filter(|op| {
                let (domain, name) = op.split_once("::").unwrap_or(("", op));
                ops::without(domain, name).is_none()
            });
            problems.extend(new.map(|op| format!("evaluation of {name}: {op} has no evaluator")));
        }
        match infer::check(case, &mut model) {
            Ok(how) => types[how as usize] += 1,
            Err(why) => drop(contradicted.insert(name.clone(), why)),
        }
    }
    let names: Vec<String> = cases.keys().filter(|n| !refused.contains_key(*n)).cloned().collect();
    let total = names.len();
    println!("{} tests; {} are not read", cases.len(), refused.len());
    println!(
        "evaluation: {} of {total} pass: {} exact, {} within 1e-5, {} within 1e-3; {} fail, {without} have no evaluator",
        close.iter().sum::<usize>(),
        close[Close::Exact as usize],
        close[Close::Tight as usize],
        close[Close::Loose as usize],
        wrong.len(),
    );
    println!("bodies: {expanded} of {} pass", expanded + unlike.len());
    println!(
        "inference: of {total}, {} know every size, {} some, {} nothing; {} contradict",
        types[Known::All as usize],
        types[Known::Some as usize],
        types[Known::Nothing as usize],
        contradicted.len()
    );
    let floor = list.get("known_extents").and_then(toml::Value::as_integer).unwrap_or(0);
    if filter.is_empty() && (types[Known::All as usize] as i64) < floor {
        problems.push(format!("inference knew every size of {floor} tests"));
    }
    let all: Vec<String> = cases.keys().cloned().collect();
    let verbose = !filter.is_empty();
    problems.extend(judge("reading", &refused, &all, &known("read"), verbose));
    problems.extend(judge("evaluation", &wrong, &names, &known("evaluate"), verbose));
    problems.extend(judge("bodies", &unlike, &names, &known("bodies"), verbose));
    problems.extend(judge("inference", &contradicted, &names, &known("infer"), verbose));
    for problem in &problems {
        println!("{problem}");
    }
    assert!(verbose || problems.is_empty(), "{} surprises", problems.len());
}
