//! File tests of optimising: `tests/files/optimise/*.txt`, with the rules and passes of [`plugin`], and
//! `tests/files/standard/*.txt` and `tests/files/attention/*.txt`, with the rules of `plugins/optimise`.
//!
//! - `options`: `explain NAME`, `level LEVEL` (`target` unless it is stated), `stop-after N`, `sweeps N` and `growth N`, a line each;
//! - `input`: a model in text form;
//! - `output`: the resulting model, the applied rules, the diagnostics, and the explanations
//!   about the rule in `explain`.

mod checks;
pub(crate) mod draw;
mod examples;
mod generated;
mod inlined;
mod layouts;
mod levels;
mod modules;
pub(crate) mod numeric;
mod outlined;
mod plugin;
mod refusals;
mod supported;

use std::fmt::Write;
use std::sync::LazyLock;
use std::time::Duration;

use cpu_time::ThreadTime;
use onnxport_core::diagnose::Code;
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::ops::infer::infer_all;
use onnxport_core::optimise::{Level, OptimiseOptions, Outcome, optimise};
use onnxport_core::valid::{StatedTypes, validate};

use crate::files::{Outcome as Expected, Sections};

fn host() -> Host {
    Host::new(&[&plugin::ROOT]).unwrap_or_else(|report| panic!("{:?}", report.diagnostics))
}

/// The rules of `plugins/optimise`.
static STANDARD: LazyLock<Host> =
    LazyLock::new(|| Host::new(&[&onnxport_optimise::ROOT]).expect("the plugin attaches"));

/// The rules of `plugins/fusions`.
static FUSIONS: LazyLock<Host> =
    LazyLock::new(|| Host::new(&[&onnxport_fusions::ROOT]).expect("the plugin attaches"));

fn options(text: &str) -> OptimiseOptions {
    // Files are about rules, unless they say by how much constants may grow.
    let mut options = OptimiseOptions { fold: 0, level: Level::Target, ..OptimiseOptions::default() };
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.split_once(' ') {
            Some(("explain", name)) => options.explain = Some(name.to_owned()),
            Some(("level", level)) => options.level = level.parse().expect("a level"),
            Some(("stop-after", count)) => options.stop_after = Some(count.parse().expect("a number")),
            Some(("fold", bytes)) => options.fold = bytes.parse().expect("a number"),
            Some(("growth", count)) => options.max_growth = Some(count.parse().expect("a number")),
            Some(("sweeps", count)) => options.max_sweeps = count.parse().expect("a number"),
            _ => panic!("unknown option `{line}`"),
        }
    }
    options
}

fn parsed(text: &str) -> Model {
    Model::parse(text).unwrap_or_else(|error| panic!("input:{error}"))
}

/// The model that a text describes, with inferred types.
fn read(text: &str) -> Model {
    let mut model = parsed(text);
    inferred(&mut model);
    model
}

fn inferred(model: &mut Model) {
    let opset = model.opset();
    infer_all(&mut model.graph, &mut model.symbols, opset);
}

fn outcome(host: &Host, sections: &Sections, read: fn(&str) -> Model) -> Expected {
    let input = sections.get("input").expect("an input section");
    let mut model = read(input);
    let sound = validate(&model, &StatedTypes::default()).is_empty();
    let options = options(sections.get("options").unwrap_or_default());
    let (done, found) = match optimise(host, &mut model, &mut StatedTypes::default(), &options) {
        Ok(done) => done,
        Err(problem) => {
            let help = problem.help.unwrap_or_default();
            return ("error", format!("{}: {}\n{help}\n", problem.code, problem.message));
        }
    };
    let after = validate(&model, &StatedTypes::default());
    assert!(!sound || after.is_empty(), "a sound model became {after:?}");
    let mut text = model.to_text();
    for count in &done.counts {
        let _ = writeln!(text, "applied {} {}", count.name, count.applied);
    }
    if done.folded > 0 {
        let _ = writeln!(text, "folded {}", done.folded);
    }
    let _ = writeln!(text, "sweeps {}{}", done.sweeps, if done.stopped { ", stopped" } else { "" });
    for diagnostic in found {
        let place = diagnostic.origin.map(|origin| format!(" [{}]", model.origins.get(origin).node));
        let message = format!("{}{}", diagnostic.message, place.unwrap_or_default());
        let _ = writeln!(text, "{}: {message}", diagnostic.code);
        for note in diagnostic.notes {
            let _ = writeln!(text, "  {note}");
        }
    }
    for place in done.places {
        let reason = if place.reason.is_empty() { String::new() } else { format!(": {}", place.reason) };
        let _ = writeln!(text, "{}: {:?}{reason}", place.node, place.outcome);
    }
    ("output", text)
}

file_tests!("optimise", |sections| outcome(&host(), sections, parsed));
file_tests!("standard", |sections| outcome(&STANDARD, sections, read));
file_tests!("attention", |sections| outcome(&STANDARD, sections, parsed));
file_tests!("fusions", |sections| outcome(&FUSIONS, sections, parsed));

#[test]
fn nothing_happens_unless_it_is_enabled() {
    let text = "opset 20\ngraph {\n  input %x: f32[2]\n  %a: f32[2] = Relu(%x)\n  %b: f32[2] = Relu(%a)\n  output %b as y\n}\n";
    let mut model = Model::parse(text).expect("a model");
    let options = OptimiseOptions { level: Level::Nothing, ..OptimiseOptions::default() };
    let (done, found) =
        optimise(&host(), &mut model, &mut StatedTypes::default(), &options).expect("nothing to do");
    assert_eq!((model.to_text().as_str(), done.applied, found.len()), (text, 0, 0));
    let nobody = Host::new(&[&onnxport_aten::ROOT]).expect("the plugin attaches");
    let (done, _) = optimise(&nobody, &mut model, &mut StatedTypes::default(), &OptimiseOptions::default())
        .expect("nobody has rules");
    assert_eq!((done.applied, done.sweeps), (0, 0));
}

#[test]
fn what_the_program_states_moves_with_the_values() {
    let text = "opset 20\ngraph {\n  input %x: f32[2]\n  %a: f32[2] = Relu(%x)\n  %b: f32[2] = Relu(%a)\n  output %b as y\n}\n";
    let mut model = Model::parse(text).expect("a model");
    let output = model.graph.blocks[model.graph.main()].outputs()[0];
    let dtype = model.graph.values[output].ty.dtype().expect("a type");
    let shape = model.graph.values[output].ty.shape().expect("a shape").clone();
    let mut stated = StatedTypes::default();
    stated.offer(output, (dtype, shape).into());
    optimise(&host(), &mut model, &mut stated, &OptimiseOptions::default()).expect("it runs");
    let new = model.graph.blocks[model.graph.main()].outputs()[0];
    assert!(new != output && stated.get(new).is_some());
}

#[test]
fn a_match_takes_its_graphs_and_functions_along() {
    let text = "opset 20\nopset t 1\nsymbol n 0..\ngraph {\n  input %c: bool[]\n  input %x: f32[n]\n  %w: f32[n] = Exp(%x)\n  %a: f32[n] = If(%c) {else_branch = {\n    %b: f32[n] = Neg(%w)\n    output %b\n  }, then_branch = {\n    %d: f32[n] = t::Within(%x)\n    output %d\n  }}\n  %e: f32[n] = t::Through(%a)\n  output %e as y\n}\nfunction t::Within() {\n  input %x\n  %y = Identity(%x)\n  output %y\n}\nfunction t::Through() {\n  input %x\n  %y = t::Within(%x)\n  output %y\n}\nfunction t::Idle() {\n  input %x\n  %y = Neg(%x)\n  output %y\n}\n";
    let mut model = Model::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let options = OptimiseOptions { keep_matches: true, ..OptimiseOptions::default() };
    let (done, found) =
        optimise(&host(), &mut model, &mut StatedTypes::default(), &options).expect("it runs");
    assert!(found.is_empty(), "{found:?}");
    let [matched] = &done.matches[..] else { panic!("{} matches", done.matches.len()) };
    let names = |model: &Model| model.functions.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(&matched.before), names(&matched.after)),
        (vec!["Within".into(), "Through".into()], Vec::new())
    );
    for side in [&matched.before, &matched.after] {
        let found = validate(side, &StatedTypes::default());
        assert!(found.is_empty(), "{found:?}\n{}", side.to_text());
    }
    // Outer values that the branch reads are given; unmatched nodes are not computed.
    let before = matched.before.to_text();
    assert!(before.contains("If(") && before.contains("Neg(%w)") && !before.contains("Exp"), "{before}");
    assert_eq!(Model::parse(&before).map(|model| model.to_text()).ok(), Some(before));
}

#[test]
fn a_panic_sets_the_plugin_aside() {
    let text = "opset 20\nopset t 1\ngraph {\n  input %x: f32[2]\n  %a: f32[2] = t::Panics(%x)\n  %b: f32[2] = Relu(%a)\n  %c: f32[2] = Relu(%b)\n  output %c as y\n}\n";
    let mut model = Model::parse(text).expect("a model");
    let (done, found) =
        optimise(&host(), &mut model, &mut StatedTypes::default(), &OptimiseOptions::default())
            .expect("it runs");
    assert_eq!((done.applied, model.to_text().as_str()), (0, text));
    let codes: Vec<_> = found.iter().map(|d| d.code.clone()).collect();
    assert_eq!(codes, [Code::PLUGIN_PANIC, Code::PLUGIN_PANIC], "{found:?}");
    assert!(found[0].message.contains("the rule `panics` of plugin `test` panicked: out of tea"));
    assert!(found[1].message.contains("not tried: "), "{}", found[1].message);
}

#[test]
fn the_order_of_everything_is_that_of_the_graph() {
    let input = "opset 20\ngraph {\n  input %x: f32[2, 3, 4]\n  %0 = Transpose(%x) {perm = [1, 2, 0]}\n  %1 = Transpose(%0) {perm = [1, 2, 0]}\n  %2 = Transpose(%1) {perm = [1, 2, 0]}\n  %y: f32[2, 3, 4] = Relu(%2)\n  output %y as y\n}\n";
    let run = || {
        let mut model = Model::parse(input).expect("a model");
        let options = OptimiseOptions { explain: Some("transpose_transpose".into()), ..Default::default() };
        let (done, _) =
            optimise(&host(), &mut model, &mut StatedTypes::default(), &options).expect("it runs");
        (model.to_text(), done.places)
    };
    let first = run();
    assert!(first.1.iter().any(|place| place.outcome == Outcome::Applied));
    assert_eq!(first, run());
}

/// How long the processor works on a chain of `length` nodes, each of which is rewritten.
fn time_of(length: usize, op: &str) -> Duration {
    let mut text = String::from(
        "opset 20\nopset t 1\ngraph {\n  input %x: f32[2]\n  input %hub: f32[2]\n  %0: f32[2] = Relu(%x)\n",
    );
    for node in 1..=length {
        let last = node - 1;
        let _ = writeln!(text, "  %{node}: f32[2] = {}", op.replace("%x", &format!("%{last}")));
    }
    // Every tenth value is returned, too.
    for node in (10..=length).step_by(10) {
        let _ = writeln!(text, "  output %{node} as y{node}");
    }
    text.push_str("}\n");
    let mut model = Model::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let start = ThreadTime::now();
    let (done, _) = optimise(&host(), &mut model, &mut StatedTypes::default(), &OptimiseOptions::default())
        .expect("it runs");
    assert_eq!(done.applied, length);
    start.elapsed()
}

#[test]
fn the_time_of_patches_is_linear() {
    for op in ["t::Back(%x)", "t::Hub(%x, %hub)"] {
        let fastest = |length| (0..3).map(|_| time_of(length, op)).min().unwrap_or_default();
        let (short, long) = (fastest(1_000), fastest(8_000));
        // Eight times as many; with a quadratic part that counts it would be up to 64 times.
        assert!(long < short * 24, "{op}: {short:?}, then {long:?}");
    }
}
