//! What rules compute: each file of `tests/files/standard` and `tests/files/fusions` before and after, by the evaluator.

use super::{FUSIONS, STANDARD};
use crate::files::{self, Outcome, Sections};
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::optimise::{Level, OptimiseOptions, optimise};
use onnxport_core::tensor::{DType, Kind};
use onnxport_core::valid::Stated;
use onnxport_ir::ops::{Limits, Tensor, Value, run};

/// What the operators of `com.microsoft` that fusions emit mean.
const CONTRIB: &str = "\
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
  %turned = Transpose(%out) {perm = [0, 2, 1, 3]}
  %whole = Reshape(%turned, %joined)
  output %whole
}
";

/// Sizes of symbols, one per run.
const SIZES: [i64; 4] = [1, 2, 5, 0];

/// Draws numbers; the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Between -4 and 4; where `special`, also what arithmetic treats in its own way.
    fn float(&mut self, special: bool) -> f64 {
        const SPECIAL: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0];
        let drawn = self.next();
        if special && drawn.is_multiple_of(6) {
            return SPECIAL[self.next() as usize % SPECIAL.len()];
        }
        f64::from((drawn % 8001) as u32) / 1000.0 - 4.0
    }

    fn tensor(&mut self, dtype: DType, shape: Vec<usize>, special: bool) -> Tensor {
        let count: usize = shape.iter().product();
        let made = match dtype.kind() {
            Kind::Bool => {
                Tensor::of_bools(shape, (0..count).map(|_| self.next().is_multiple_of(2)).collect())
            }
            Kind::Int => Tensor::of_ints(
                dtype,
                shape,
                (0..count).map(|_| i128::from(self.next() % 100) - 50).collect(),
            ),
            _ => Tensor::of_floats(dtype, shape, (0..count).map(|_| self.float(special)).collect()),
        };
        made.expect("a tensor")
    }
}

/// A value for every input of `model`, whose symbols all have this size.
pub(crate) fn inputs(model: &Model, size: i64, special: bool, random: &mut Random) -> Vec<Option<Value>> {
    let block = &model.graph.blocks[model.graph.main()];
    let drawn = block.inputs.iter().map(|input| {
        let ty = &model.graph.values[*input].ty;
        let shape = ty.shape().and_then(|shape| shape.dims()).expect("a rank");
        let extent = |dim: &Option<_>| model.symbols.eval(dim.expect("an extent"), &|_| Some(size));
        let shape = shape.iter().map(|dim| extent(dim).expect("a size") as usize).collect();
        Some(Value::Tensor(random.tensor(ty.dtype().expect("a type"), shape, special)))
    });
    drawn.collect()
}

/// Whether `found` is `wanted` but for `tolerance`, relative to the larger of 1 and the number.
pub(crate) fn agree(wanted: &Tensor, found: &Tensor, tolerance: f64) -> bool {
    if (wanted.dtype(), wanted.shape()) != (found.dtype(), found.shape()) {
        return false;
    }
    let (Ok(wanted_floats), Ok(found_floats)) = (wanted.floats(), found.floats()) else {
        return wanted == found;
    };
    let close = |a: f64, b: f64| {
        let is_same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        is_same || tolerance > 0.0 && (a == b || (a - b).abs() <= tolerance * a.abs().max(1.0))
    };
    wanted_floats.into_iter().zip(found_floats).all(|(a, b)| close(a, b))
}

/// The model of a file before and after the rules of `host`, and how often one was applied.
fn optimised(host: &Host, sections: &Sections) -> (Model, Model, usize) {
    let before = Model::parse(sections.get("input").expect("an input section")).expect("a model");
    let mut after = before.clone();
    let options = OptimiseOptions { level: Level::Target, ..OptimiseOptions::default() };
    let (done, _) = optimise(host, &mut after, &mut Stated::default(), &options).expect("it runs");
    (before, after, done.applied)
}

/// Holds a file to `tolerance` under the rules of `host`. Its text is compared elsewhere.
fn hold(host: &Host, sections: &Sections, tolerance: f64) -> Outcome {
    let (before, mut after, _) = optimised(host, sections);
    after.functions.extend(Model::parse(CONTRIB).expect("functions").functions);
    let mut random = Random(7);
    let symbolic = before.symbols.iter().next().is_some();
    for (round, size) in SIZES.into_iter().cycle().take(24).enumerate() {
        let is_possible = before.symbols.iter().all(|(_, symbol)| symbol.range.contains(size));
        if size == 0 && !symbolic || !is_possible {
            continue;
        }
        let given = inputs(&before, size, tolerance == 0.0 && round % 2 == 1, &mut random);
        let wanted = match run(&before, given.clone(), Limits::default()) {
            Ok(wanted) => wanted,
            // Without elements the open extent of a `Reshape` is anything.
            Err(_) if size == 0 => continue,
            Err(error) => panic!("the model does not run: {error:?}"),
        };
        let found = run(&after, given, Limits::default()).expect("the optimised model runs");
        for (at, (wanted, found)) in wanted.iter().zip(&found).enumerate() {
            let (wanted, found) = (wanted.tensor().expect("a tensor"), found.tensor().expect("a tensor"));
            assert!(agree(wanted, found, tolerance), "output {at} at size {size}: {wanted:?}, {found:?}");
        }
    }
    ("output", sections.get("output").unwrap_or_default().to_owned())
}

// The standard rules change no bit; those of attention and fusions stay within their tolerance.
file_tests!("optimise::numeric::standard", "standard", |sections| hold(&STANDARD, sections, 0.0));
file_tests!("optimise::numeric::attention", "attention", |sections| hold(&STANDARD, sections, 1e-5));
file_tests!("optimise::numeric::fusions", "fusions", |sections| hold(&FUSIONS, sections, 1e-5));

#[test]
fn the_files_have_rules_to_judge() {
    for (folder, host) in [("standard", &*STANDARD), ("attention", &*STANDARD), ("fusions", &*FUSIONS)] {
        let paths =
            std::fs::read_dir(files::at(folder)).expect("the folder").map(|entry| entry.expect("it").path());
        let applied = paths.map(|path| {
            let text = std::fs::read_to_string(path).expect("a readable file");
            optimised(host, &Sections::of(&text)).2
        });
        assert!(applied.sum::<usize>() > 0, "no rule was applied in `{folder}`");
    }
}
