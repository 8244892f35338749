//! The backend tests of the `onnx` package that the evaluator passes.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use onnxport_ir::ir::Model;
use onnxport_ir::ir::import::import;
use onnxport_ir::ops;

use super::compare::{Close, compare};
use super::kernels::nvrtc_checks;
use super::{data, engine, outputs, repository};
use crate::executor::emulated::launched;
use crate::executor::engine::Engine;
use crate::executor::source::Kernel;

fn cases(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = |path: &Path| {
        let list = fs::read_dir(path).into_iter().flatten().flatten();
        list.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let all = entries(folder).into_iter().flat_map(|kind| entries(&kind));
    let named = all.filter_map(|case| {
        let parts: Vec<&str> = case.iter().rev().take(2).filter_map(|p| p.to_str()).collect();
        let [name, kind] = parts.as_slice() else { return None };
        Some((format!("{kind}/{}", name.strip_prefix("test_").unwrap_or(name)), case.clone()))
    });
    named.filter(|(_, case)| case.join("model.onnx").exists()).collect()
}

fn is_random(model: &Model) -> bool {
    let graphs = model.functions.iter().map(|f| &f.graph).chain([&model.graph]);
    let mut nodes = graphs.flat_map(|graph| graph.nodes.iter().map(|(_, node)| node));
    nodes.any(|node| {
        let drops = node.op == "Dropout" && node.inputs.len() > 2;
        drops || ops::lookup(&node.domain, &node.op).is_some_and(ops::Op::is_random)
    })
}

/// How one test goes.
enum Outcome {
    /// The evaluator has no answer.
    Open,
    Close(Close),
    Wrong(String),
}

fn judge(engine: &mut Engine, case: &Path, model: &Model, lacking: &mut BTreeMap<String, u64>) -> Outcome {
    let (folder, kinds) = (case.join("test_data_set_0"), data::Kinds::from_model(model));
    let Ok(inputs) = kinds.inputs(&folder) else { return Outcome::Open };
    let limits = ops::Limits { bytes: 1 << 30, steps: 2_000_000_000, ..Default::default() };
    let Ok(expected) = ops::run(model, inputs.clone(), limits) else { return Outcome::Open };
    match outputs(engine, model, inputs) {
        Err(why) => Outcome::Wrong(why),
        Ok((found, counts)) => {
            for (op, count) in counts.lacking {
                *lacking.entry(op).or_default() += count;
            }
            let mut worst = Close::Exact;
            for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
                match compare(found, expected) {
                    Ok(close) => worst = worst.max(close),
                    Err(why) => return Outcome::Wrong(format!("output {index}: {why}")),
                }
            }
            Outcome::Close(worst)
        }
    }
}

/// The test that is refused: before opset 9 a batch was around everything that is scanned.
const REFUSED: &str = "node/scan_sum";

/// The results of some of the tests.
#[derive(Default)]
struct Tally {
    /// How many are close, by how close.
    close: [usize; 3],
    /// Those without an answer.
    open: usize,
    /// Those that needed nothing but the device.
    whole: usize,
    lacking: BTreeMap<String, u64>,
    wrong: Vec<(String, String)>,
    /// The kernels that ran.
    kernels: Vec<Kernel>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.close.iter_mut().zip(other.close).for_each(|(sum, more)| *sum += more);
        self.open += other.open;
        self.whole += other.whole;
        for (op, count) in other.lacking {
            *self.lacking.entry(op).or_default() += count;
        }
        self.wrong.extend(other.wrong);
        self.kernels.extend(other.kernels);
    }

    fn one(&mut self, engine: &mut Engine, name: &str, case: &Path) {
        let Ok(model) = import(&case.join("model.onnx")) else { return };
        if is_random(&model) {
            self.open += 1;
            return;
        }
        let before: u64 = self.lacking.values().sum();
        match judge(engine, case, &model, &mut self.lacking) {
            Outcome::Open => self.open += 1,
            Outcome::Close(how) => {
                self.close[how as usize] += 1;
                self.whole += usize::from(self.lacking.values().sum::<u64>() == before);
            }
            Outcome::Wrong(why) => self.wrong.push((name.to_owned(), why)),
        }
    }
}

/// Runs the tests on as many threads as there are processors, each with a device of its own.
fn run_all(cases: &BTreeMap<String, PathBuf>) -> Tally {
    let (cases, next): (Vec<_>, _) = (cases.iter().collect(), AtomicUsize::new(0));
    let work = || {
        let (mut found, mut engine) = (Tally::default(), engine(4, 1 << 30).expect("there is a compiler"));
        while let Some((name, case)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.one(&mut engine, name, case);
        }
        found.kernels = launched();
        found
    };
    let mut all = Tally::default();
    thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            all.add(worker.join().unwrap());
        }
    });
    all.wrong.sort();
    all
}

#[test]
fn the_node_tests_give_what_the_evaluator_gives() {
    let mut cases = cases(&repository().join("target/onnx-tests"));
    if cases.is_empty() {
        return onnxport_harness::note("`cargo xtask conformance` writes the tests of the onnx package");
    }
    let filter = std::env::var("ONNXPORT_CONFORMANCE").unwrap_or_default();
    cases.retain(|name, _| name.contains(&filter));
    if engine(4, 1 << 20).is_none() {
        return;
    }
    let Tally { close, open, whole, lacking, mut wrong, kernels } = run_all(&cases);
    println!(
        "{} of {} pass: {} exact, {} within 1e-5, {} within 1e-3; {whole} of them on the device alone; {open} have no answer",
        close.iter().sum::<usize>(),
        cases.len() - open,
        close[0],
        close[1],
        close[2],
    );
    let mut list: Vec<_> = lacking.iter().collect();
    list.sort_by_key(|(op, count)| (std::cmp::Reverse(**count), (*op).clone()));
    println!("evaluated on the processor: {list:?}");
    let before = wrong.len();
    wrong.retain(|(name, why)| !(name == REFUSED && why.contains("a node with a body")));
    assert!(wrong.len() < before || !filter.is_empty(), "{REFUSED} is listed as refused and passes");
    for (name, why) in &wrong {
        println!("{name}: {why}");
    }
    // Where all tests ran, most of them need nothing but the device.
    assert!(!filter.is_empty() || whole > 1500, "{whole} on the device alone");
    assert!(wrong.is_empty(), "{} differ", wrong.len());
    nvrtc_checks(kernels);
}
