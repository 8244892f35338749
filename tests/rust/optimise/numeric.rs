//! Compares the results of each file of `tests/files/standard` and `tests/files/fusions` before and after rules, by
//! the evaluator.
//!
//! A file is a generator: its model is drawn at the sizes of its symbols, 0 and 1 included, with each symbol and all of them
//! at 0 where their ranges allow it, with symbols and with numbers in their places, with every element type that its operators take, and with NaN, infinities and ties unless a rule
//! says that it is about finite values. A rule that is applied in none of them is judged by nobody, and fails.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::draw::Random;
use super::draw::{agree, empty, fixed, of_types, sizes, values};
use super::{FUSIONS, STANDARD};
use crate::files::{self, Outcome, Sections};
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::optimise::{Bound, Level, OptimiseOptions, Optimised, optimise};
use onnxport_core::sym::SymId;
use onnxport_core::tensor::DType;
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_ir::ops::{Limits, Value, run};

/// The semantics of the operators of `com.microsoft` that fusions emit.
static CONTRIB: LazyLock<Model> = LazyLock::new(|| {
    Model::parse(
        "\
opset 20
graph {
}
function com.microsoft::MultiHeadAttention(num_heads, scale) {
  constant %zeros: i64[2] = [0, 0]
  constant %zero: i64[1] = [0]
  input %q
  input %k
  input %v
  input %offset
  input %padding
  input %bias
  %heads = Constant() {value_int = ref num_heads}
  %number = Unsqueeze(%heads, %zero)
  %wide = Shape(%q) {start = 2}
  %each = Div(%wide, %number)
  %divided = Concat(%zeros, %number, %each) {axis = 0}
  %wide_value = Shape(%v) {start = 2}
  %each_value = Div(%wide_value, %number)
  %divided_value = Concat(%zeros, %number, %each_value) {axis = 0}
  %joined = Concat(%zeros, %wide_value) {axis = 0}
  %q4 = Reshape(%q, %divided)
  %qt = Transpose(%q4) {perm = [0, 2, 1, 3]}
  %k4 = Reshape(%k, %divided)
  %kt = Transpose(%k4) {perm = [0, 2, 3, 1]}
  %v4 = Reshape(%v, %divided_value)
  %vt = Transpose(%v4) {perm = [0, 2, 1, 3]}
  %product = MatMul(%qt, %kt)
  %scale = Constant() {value_float = ref scale}
  %scores = Mul(%product, %scale)
  %biased = OptionalHasElement(%bias)
  %shifted = If(%biased) {else_branch = {
    %same = Identity(%scores)
    output %same
  }, then_branch = {
    %sum = Add(%scores, %bias)
    output %sum
  }}
  %parts = Softmax(%shifted) {axis = -1}
  %out = MatMul(%parts, %vt)
  %transposed = Transpose(%out) {perm = [0, 2, 1, 3]}
  %whole = Reshape(%transposed, %joined)
  output %whole
}
function com.microsoft::RotaryEmbedding() {
  constant %zero: i64[1] = [0]
  constant %last: i64[1] = [-1]
  constant %end: i64[1] = [9223372036854775807]
  input %x
  input %place
  input %cos
  input %sin
  %ends = Shape(%cos) {start = 1}
  %lower = Slice(%x, %zero, %ends, %last)
  %upper = Slice(%x, %ends, %end, %last)
  %lower_cos = Mul(%lower, %cos)
  %upper_sin = Mul(%upper, %sin)
  %first = Sub(%lower_cos, %upper_sin)
  %upper_cos = Mul(%upper, %cos)
  %lower_sin = Mul(%lower, %sin)
  %second = Add(%upper_cos, %lower_sin)
  %y = Concat(%first, %second) {axis = -1}
  output %y
}
",
    )
    .expect("functions")
});

/// How often the sizes of a model are drawn.
const ROUNDS: usize = 12;

/// How far results may be off after a rule that states no bound, which no level but an own request runs.
const UNSTATED: Bound = Bound { relative: 1e-5, ulps: 32.0, finite: true };

/// How often values are drawn for each of them.
const VALUES: usize = 4;

/// Returns the models that a file generates.
fn models(sections: &Sections) -> Vec<Model> {
    let text = sections.get("input").expect("an input section");
    let mut models = of_types(text);
    let own = models.remove(0);
    // With another element type a file may be no model.
    models.retain(|model| validate(model, &StatedTypes::default()).is_empty());
    models.insert(0, own);
    models
}

/// Optimizes a model with the rules of `host`; returns the result and the steps.
fn optimised(host: &Host, before: &Model, level: Level, stop_after: Option<usize>) -> (Model, Optimised) {
    let mut after = before.clone();
    let options = OptimiseOptions { level, stop_after, ..OptimiseOptions::default() };
    let (done, found) = optimise(host, &mut after, &mut StatedTypes::default(), &options).expect("it runs");
    assert!(found.is_empty(), "{found:?}");
    (after, done)
}

/// Checks the model after every single patch.
fn sound(host: &Host, before: &Model, level: Level) {
    // Outputs of some files are called as values inside.
    if !validate(before, &StatedTypes::default()).is_empty() {
        return;
    }
    let (_, done) = optimised(host, before, level, None);
    for patch in 1..=done.applied {
        let (after, _) = optimised(host, before, level, Some(patch));
        let found = validate(&after, &StatedTypes::default());
        assert!(found.is_empty(), "patch {patch}: {found:?}\n{}", after.to_text());
    }
}

/// Asserts that `after` computes the same as `before`; returns whether there was anything to compare.
fn same(before: &Model, after: &Model, given: &[Option<Value>], tolerance: f64) -> bool {
    // If `before` does not run, since sizes do not fit, there is nothing to compare.
    let Ok(wanted) = run(before, given.to_vec(), Limits::default()) else { return false };
    let found = run(after, given.to_vec(), Limits::default());
    let found = found.unwrap_or_else(|error| panic!("after: {error:?}\n{}", after.to_text()));
    for (at, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
        let (Some(wanted), Some(found)) = (wanted.tensor(), found.tensor()) else { continue };
        assert!(
            agree(wanted, found, tolerance),
            "output {at} is off by more than {tolerance}: {:?}, then {:?}\n{}\nbecame\n{}",
            wanted.floats(),
            found.floats(),
            before.to_text(),
            after.to_text()
        );
    }
    true
}

/// The distance of 1 from the next larger number, in the coarsest float type of a model.
fn unit(model: &Model) -> f64 {
    let of = |dtype| match dtype {
        DType::BF16 => 2_f64.powi(-7),
        DType::F16 => 2_f64.powi(-10),
        DType::F32 => 2_f64.powi(-23),
        _ => f64::EPSILON,
    };
    let types = model.graph.values.iter().filter_map(|(_, value)| value.ty.dtype());
    types.map(of).fold(f64::EPSILON, f64::max)
}

/// The error bound of results after the rewrites of `before`: the bound of each rule, as often as it was applied; and
/// whether that holds for finite values only.
fn allowed(host: &Host, before: &Model, done: &Optimised) -> (f64, bool) {
    let unit = unit(before);
    let bounds = done.counts.iter().map(|count| {
        let rule = host.catalog.listed().iter().find(|rule| rule.name == count.name);
        let bound = rule.expect("a rule that is listed").class.bound().unwrap_or(UNSTATED);
        (count.applied as f64 * bound.relative.max(bound.ulps * unit), bound.finite)
    });
    bounds.fold((0.0, false), |(sum, any), (bound, finite)| (sum + bound, any || finite))
}

/// Checks a file against the claims of the rules of `host` at `level`. Its text is compared elsewhere.
fn hold(host: &Host, sections: &Sections, level: Level) -> Outcome {
    let mut random = Random(7);
    let mut held = 0;
    for (at, before) in models(sections).iter().enumerate() {
        if at == 0 {
            sound(host, before, level);
        }
        // With sizes that differ where a node needs them to be equal, it does not run.
        let mut before = before.clone();
        onnxport_ir::equate::equate(&mut before);
        let before = &before;
        // The evaluator needs functions for the operators of `com.microsoft`.
        let optimised = |model: &Model| {
            let (mut after, done) = optimised(host, model, level, None);
            let (allowed, finite) = allowed(host, model, &done);
            after.functions.extend(CONTRIB.functions.iter().cloned());
            (after, allowed, finite)
        };
        let symbolic = optimised(before);
        let empties = if at == 0 { empty(before, &mut Random(11)) } else { Vec::new() };
        let mut other = Random(13);
        for round in 0..ROUNDS + empties.len() {
            let at_empty = round.checked_sub(ROUNDS).and_then(|at| empties.get(at));
            let (count, random) = if at_empty.is_some() { (1, &mut other) } else { (VALUES, &mut random) };
            let sizes = at_empty.cloned().unwrap_or_else(|| sizes(before, random));
            let size = |symbol: SymId| sizes.get(symbol.index()).copied();
            let numbers = fixed(before, &sizes);
            // Sizes that are numbers may contradict each other where symbols did not.
            let concrete =
                validate(&numbers, &StatedTypes::default()).is_empty().then(|| optimised(&numbers));
            for draw in 0..count {
                let special = draw % 2 == 1;
                let given = values(before, &size, special, random);
                let both = [(before, Some(&symbolic)), (&numbers, concrete.as_ref())];
                for (before, (after, allowed, finite)) in both.into_iter().filter_map(|(b, a)| Some((b, a?)))
                {
                    held += usize::from(!(special && *finite) && same(before, after, &given, *allowed));
                }
            }
        }
    }
    assert!(held > 0, "the model ran at no size");
    ("output", sections.get("output").unwrap_or_default().to_owned())
}

// The standard rules change no bit; those of attention and fusions stay within their bounds.
file_tests!("optimise::numeric::standard", "standard", |sections| hold(&STANDARD, sections, Level::Exact));
file_tests!("optimise::numeric::attention", "attention", |sections| hold(&STANDARD, sections, Level::Target));
file_tests!("optimise::numeric::fusions", "fusions", |sections| hold(&FUSIONS, sections, Level::Target));

#[test]
fn every_rule_is_judged_by_a_file() {
    for (folders, host) in [(&["standard", "attention"][..], &*STANDARD), (&["fusions"], &*FUSIONS)] {
        let mut applied = BTreeSet::new();
        for folder in folders {
            let entries = std::fs::read_dir(files::at(folder)).expect("the folder");
            for path in entries.map(|entry| entry.expect("it").path()) {
                let sections = Sections::from_text(&std::fs::read_to_string(path).expect("a readable file"));
                // Also with no more types than the file states, which keeps other rules from being first.
                let stated = super::parsed(sections.get("input").expect("an input section"));
                for model in models(&sections).into_iter().chain([stated]) {
                    // At the level of a target its own operators go before ONNX's.
                    for level in [Level::Bounded, Level::Target] {
                        let (_, done) = optimised(host, &model, level, None);
                        applied.extend(done.counts.into_iter().map(|count| count.name));
                    }
                }
            }
        }
        let rules = host.catalog.listed().iter().map(|rule| rule.name.to_owned());
        let unjudged: Vec<String> = rules.filter(|rule| !applied.contains(rule)).collect();
        assert!(unjudged.is_empty(), "no file of {folders:?} applies {}", unjudged.join(", "));
    }
}
