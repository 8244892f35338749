mod chosen;

use super::{Block, Form, Overflow, Patterns, PrecisionOptions, Scheme, apply, known};
use crate::diagnose::Code;
use crate::ir::Model;
use crate::ops::{self, Limits, Tensor, Value};
use crate::tensor::transform::Bits;
use crate::tensor::{DType, LazyTensor};
use crate::valid;

fn model(text: &str, opset: i64) -> Model {
    let mut model = Model::parse(&format!("opset {opset}\ngraph {{\n{text}\n}}\n")).unwrap();
    for initializer in &mut model.graph.initializers {
        initializer.weight = true;
        let count = initializer.data.elements().unwrap();
        if initializer.data.dtype == DType::F32 {
            let values = (0..count).flat_map(|i| ((i % 97) as f32 - 40.0).to_le_bytes());
            let bytes: Vec<u8> = values.collect();
            initializer.data = LazyTensor::inline(DType::F32, initializer.data.shape.clone(), bytes);
        }
    }
    model
}

const LINEAR: &str = "  constant %w: f32[8, 64] = ...
  constant %b: f32[8] = ...
  input %x: f32[s0, 3, 64]
  %t: f32[64, 8] = Transpose(%w) {perm = [1, 0]}
  %y: f32[s0, 3, 8] = MatMul(%x, %t)
  %z: f32[s0, 3, 8] = Add(%y, %b)
  output %z as z";

fn run(model: &mut Model, options: &PrecisionOptions) -> Result<Vec<(Code, String)>, Vec<Code>> {
    stored(model, options, false)
}

fn stored(
    model: &mut Model,
    options: &PrecisionOptions,
    transpose: bool,
) -> Result<Vec<(Code, String)>, Vec<Code>> {
    let host = crate::host::Host::new(&[]).unwrap_or_else(|_| panic!("a host without plugins"));
    let result = known(model, options).and_then(|_| apply(&host, model, options, transpose));
    let found = valid::validate(model, &valid::StatedTypes::default());
    assert!(found.is_empty(), "{found:?}");
    match result {
        Ok((_, notes)) => Ok(notes.into_iter().map(|note| (note.code, note.message)).collect()),
        Err(report) => Err(report.diagnostics.into_iter().map(|d| d.code).collect()),
    }
}

fn quantise(scheme: &str, form: Form) -> PrecisionOptions {
    let scheme = Scheme { form, ..scheme.parse().unwrap() };
    PrecisionOptions { quantise: Some(scheme), ..PrecisionOptions::default() }
}

fn narrow(dtype: DType, overflow: Overflow) -> PrecisionOptions {
    PrecisionOptions { dtype: Some(dtype), overflow, ..PrecisionOptions::default() }
}

fn ops(model: &Model) -> Vec<&str> {
    let graph = &model.graph;
    graph.order(graph.main()).map(|n| graph.nodes[n].op.as_str()).collect()
}

#[test]
fn descriptions_are_read() {
    let scheme = |text: &str| text.parse::<Scheme>();
    let plain = Scheme {
        bits: Bits::Four,
        block: Block::Size(32),
        symmetric: true,
        form: Form::Dequantize,
        quantiser: None,
        accuracy_level: 0,
    };
    assert_eq!(scheme("int4"), Ok(plain));
    assert_eq!(
        scheme("int4:block=64,asymmetric").map(|s| (s.block, s.symmetric)),
        Ok((Block::Size(64), false))
    );
    assert_eq!(scheme("int8:block=channel").map(|s| (s.bits, s.block)), Ok((Bits::Eight, Block::Channel)));
    for bad in
        ["int3", "int4:block", "int4:block=0", "int4:block=-1", "int4:block=99999999999999", "int4:fast", ""]
    {
        assert!(scheme(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_lower_type_is_cast_where_it_is_read() {
    let mut m = model(LINEAR, 20);
    assert_eq!(run(&mut m, &narrow(DType::F16, Overflow::Refuse)), Ok(vec![]));
    assert_eq!(ops(&m), ["Cast", "Transpose", "MatMul", "Add"]);
    let stored: Vec<DType> = m.graph.initializers.iter().map(|i| i.data.dtype).collect();
    assert_eq!(stored, [DType::F16, DType::F32], "vectors stay, and so does the order");
    assert_eq!(m.graph.values[m.graph.initializers[0].value].name.as_deref(), Some("w"));
    let mut m = model(LINEAR, 20);
    let keep =
        PrecisionOptions { keep: Patterns::new(["w".to_owned()]), ..narrow(DType::F16, Overflow::Refuse) };
    run(&mut m, &keep).unwrap();
    assert_eq!(ops(&m), ["Transpose", "MatMul", "Add"]);
}

#[test]
fn tied_weights_share_a_cast_and_returned_ones_stay() {
    let text = "  constant %a: f32[8, 8] = ...
  constant %b: f32[8, 8] = ...
  constant %c: f32[4, 16] = ...
  input %x: f32[8, 8]
  %y: f32[8, 8] = MatMul(%x, %a)
  %z: f32[8, 8] = MatMul(%y, %b)
  output %z as z
  output %c as d";
    let mut m = model(text, 20);
    let data = m.graph.initializers[0].data.clone();
    m.graph.initializers[1].data = data;
    run(&mut m, &narrow(DType::BF16, Overflow::Refuse)).unwrap();
    assert_eq!(ops(&m), ["Cast", "MatMul", "MatMul"]);
    let stored: Vec<DType> = m.graph.initializers.iter().map(|i| i.data.dtype).collect();
    assert_eq!(stored, [DType::BF16, DType::F32], "what is returned keeps its type");
}

#[test]
fn values_that_do_not_fit_are_the_users_choice() {
    let overflowing = || {
        let mut m = model(LINEAR, 20);
        let mut bytes = m.graph.initializers[0].data.read().unwrap().into_owned();
        bytes[..4].copy_from_slice(&70000f32.to_le_bytes());
        // The largest number that is rounded down.
        bytes[4..8].copy_from_slice(&65519f32.to_le_bytes());
        m.graph.initializers[0].data = LazyTensor::inline(DType::F32, vec![8, 64], bytes);
        m
    };
    assert_eq!(run(&mut overflowing(), &narrow(DType::F16, Overflow::Refuse)), Err(vec![Code::WEIGHT_VALUE]));
    let mut m = overflowing();
    let notes = run(&mut m, &narrow(DType::F16, Overflow::Keep)).unwrap();
    assert!(notes[0].1.contains("`w` has 1 value beyond the range of f16 (up to 7e4)"), "{notes:?}");
    assert_eq!(ops(&m), ["Transpose", "MatMul", "Add"]);
    let mut m = overflowing();
    assert_eq!(run(&mut m, &narrow(DType::F16, Overflow::Allow)).unwrap().len(), 1);
    assert_eq!(m.graph.initializers[0].data.read().unwrap()[..4], [0x00, 0x7c, 0xff, 0x7b]);
    assert_eq!(run(&mut overflowing(), &narrow(DType::BF16, Overflow::Refuse)), Ok(vec![]));
}

#[test]
fn codes_lie_as_products_take_them() {
    let mut m = model(LINEAR, 21);
    run(&mut m, &quantise("int4:block=16,asymmetric", Form::Dequantize)).unwrap();
    assert_eq!(ops(&m), ["DequantizeLinear", "MatMul", "Add"]);
    let types: Vec<(DType, &[u64])> =
        m.graph.initializers.iter().map(|i| (i.data.dtype, i.data.shape.as_slice())).collect();
    let scales: [&[u64]; 2] = [&[64, 8], &[4, 8]];
    assert_eq!(
        types,
        [(DType::U4, scales[0]), (DType::F32, &[8]), (DType::F32, scales[1]), (DType::U4, scales[1])]
    );
    let direct = "  constant %w: f32[64, 8] = ...
  input %x: f32[s0, 64]
  %y: f32[s0, 8] = Gemm(%x, %w)
  output %y as y";
    let mut m = model(direct, 21);
    run(&mut m, &quantise("int8:block=16", Form::Dequantize)).unwrap();
    assert_eq!(m.graph.initializers[1].data.shape, [4, 8]);
    let mut m = model(direct, 20);
    run(&mut m, &quantise("int8:block=channel", Form::Dequantize)).unwrap();
    assert_eq!(m.graph.initializers[1].data.shape, [8]);
    let transposed = direct.replace("[64, 8]", "[8, 64]").replace("(%x, %w)", "(%x, %w) {transB = 1}");
    let mut m = model(&transposed, 21);
    run(&mut m, &quantise("int8:block=16", Form::Dequantize)).unwrap();
    let codes: Vec<&[u64]> = m.graph.initializers.iter().map(|i| i.data.shape.as_slice()).collect();
    assert_eq!(codes, [[64, 8], [4, 8]]);
    let graph = &m.graph;
    assert!(graph.order(graph.main()).all(|node| graph.nodes[node].int("transB").is_none()));
}

#[test]
fn every_product_has_an_operator_of_its_own() {
    let text = "  constant %w: f32[32, 32] = ...
  input %x: f32[s0, 32]
  %t: f32[32, 32] = Transpose(%w) {perm = [1, 0]}
  %y: f32[s0, 32] = MatMul(%x, %t)
  %u: f32[32, 32] = Transpose(%w) {perm = [1, 0]}
  %z: f32[s0, 32] = MatMul(%y, %u)
  output %z as z";
    let mut m = model(text, 21);
    run(&mut m, &quantise("int4", Form::Dequantize)).unwrap();
    assert_eq!(ops(&m), ["DequantizeLinear", "MatMul", "DequantizeLinear", "MatMul"]);
    let names = m.graph.initializers.iter().map(|i| m.graph.values[i.value].name.as_deref().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["w", "w_scale", "w_2", "w_2_scale"]);
    let [first, second] = [0, 2].map(|at| &m.graph.initializers[at].data);
    assert!(first.same_bytes(second), "stored once");
}

/// A weight of 6 rows that are looked up, and that a product takes as well.
const TIED: &str = "  constant %w: f32[6, 64] = ...
  input %i: i64[2, s0]
  input %x: f32[64, 64]
  %r: f32[2, s0, 64] = Gather(%w, %i)
  %t: f32[64, 6] = Transpose(%w) {perm = [1, 0]}
  %y: f32[64, 6] = MatMul(%x, %t)
  output %r as r
  output %y as y";

#[test]
fn rows_that_are_looked_up_are_those_that_products_take() {
    let one = |i: usize| f64::from(u8::from(i.is_multiple_of(65)));
    let identity = Tensor::of_floats(DType::F32, vec![64, 64], (0..4096).map(one).collect()).unwrap();
    let indices: [i64; 8] = [0, 5, 3, -1, -6, 2, 1, -2];
    for scheme in [
        "int4",
        "int4:asymmetric,block=16",
        "int8",
        "int8:asymmetric,block=24",
        "int8:block=channel",
        "int8:block=channel,asymmetric",
        "int4:block=channel",
        "int4:block=channel,asymmetric",
    ] {
        let mut m = model(TIED, 21);
        assert_eq!(run(&mut m, &quantise(scheme, Form::Dequantize)), Ok(vec![]), "{scheme}");
        let floats = m.graph.initializers.iter().filter(|i| i.data.dtype.is_float());
        assert!(floats.map(|i| i.data.elements().unwrap()).max() < Some(6 * 64), "{scheme}");
        let given = [Tensor::of_longs(vec![2, 4], indices).unwrap(), identity.clone()];
        let given = given.map(|tensor| Some(Value::Tensor(tensor))).into();
        let made = ops::run(&m, given, Limits::default()).unwrap();
        let [rows, columns] = [0, 1].map(|at| made[at].tensor().unwrap().floats().unwrap());
        assert!(rows.iter().any(|value| *value != 0.0));
        for (row, index) in rows.chunks(64).zip(indices) {
            let column = index.rem_euclid(6) as usize;
            let expected: Vec<f64> = columns.iter().copied().skip(column).step_by(6).collect();
            assert_eq!(row, expected, "{scheme}: row {index}");
        }
    }
}

#[test]
fn an_odd_number_of_rows_of_four_bits_stays() {
    let odd = TIED.replace("[6, 64]", "[7, 64]").replace(", 6]", ", 7]");
    let mut m = model(&odd, 21);
    let notes = run(&mut m, &quantise("int4", Form::Dequantize)).unwrap();
    assert_eq!((notes[0].0.clone(), ops(&m)), (Code::WEIGHT_KEPT, vec!["Gather", "Transpose", "MatMul"]));
    assert_eq!(run(&mut m, &quantise("int8", Form::Dequantize)), Ok(vec![]));
    let mut m = model(&odd, 21);
    assert_eq!(run(&mut m, &quantise("int4", Form::MatMulNBits)), Ok(vec![]));
    assert_eq!(ops(&m), ["GatherBlockQuantized", "MatMulNBits"]);
}

#[test]
fn a_level_is_an_attribute_of_the_product() {
    let mut options = quantise("int8", Form::MatMulNBits);
    options.quantise.iter_mut().for_each(|scheme| scheme.accuracy_level = 4);
    let mut m = model(LINEAR, 20);
    let notes = run(&mut m, &options).unwrap();
    assert_eq!(notes[0].0, Code::WEIGHT_OPERAND);
    let level = |m: &Model| {
        let graph = &m.graph;
        graph.order(graph.main()).find_map(|node| graph.nodes[node].int("accuracy_level"))
    };
    assert_eq!(level(&m), Some(4));
    let mut m = model(LINEAR, 20);
    assert_eq!(run(&mut m, &quantise("int8", Form::MatMulNBits)), Ok(vec![]));
    assert_eq!(level(&m), None);
    options.quantise.iter_mut().for_each(|scheme| scheme.form = Form::Dequantize);
    assert_eq!(run(&mut model(LINEAR, 21), &options), Err(vec![Code::WEIGHT_SCHEME]));
}

#[test]
fn products_become_matmul_nbits() {
    let mut m = model(LINEAR, 20);
    run(&mut m, &quantise("int4:block=16", Form::MatMulNBits)).unwrap();
    assert_eq!(ops(&m), ["MatMulNBits", "Add"]);
    assert_eq!(m.opsets.len(), 2);
    let gemm = "  constant %w: f32[8, 64] = ...
  constant %b: f32[8] = ...
  input %x: f32[s0, 64]
  %y: f32[s0, 8] = Gemm(%x, %w, %b) {transB = 1}
  output %y as y";
    let mut m = model(gemm, 20);
    run(&mut m, &quantise("int4:block=16", Form::MatMulNBits)).unwrap();
    assert_eq!(ops(&m), ["MatMulNBits", "Add"]);
    let mut m = model(&gemm.replace("transB = 1", "transB = 1, alpha = 2.0"), 20);
    let notes = run(&mut m, &quantise("int4:block=16", Form::MatMulNBits)).unwrap();
    assert_eq!((notes[0].0.clone(), ops(&m)), (Code::WEIGHT_KEPT, vec!["Gemm"]));
}

#[test]
fn what_cannot_be_is_refused_and_what_is_quantised_stays() {
    let refused =
        |scheme: &str, form, opset| run(&mut model(LINEAR, opset), &quantise(scheme, form)).unwrap_err();
    assert_eq!(refused("int4", Form::Dequantize, 20), [Code::WEIGHT_SCHEME]);
    assert_eq!(refused("int4:block=channel", Form::Dequantize, 20), [Code::WEIGHT_SCHEME]);
    assert_eq!(refused("int4:block=channel", Form::MatMulNBits, 20), [Code::WEIGHT_SCHEME]);
    assert_eq!(refused("int4:block=24", Form::MatMulNBits, 20), [Code::WEIGHT_SCHEME]);
    let unmatched = PrecisionOptions {
        quantise_skip: Patterns::new(["lm_head.*".to_owned()]),
        ..quantise("int8:block=channel", Form::Dequantize)
    };
    assert_eq!(run(&mut model(LINEAR, 20), &unmatched), Err(vec![Code::WEIGHT_PATTERN]));
    let codes =
        "  constant %w: i8[8, 4] = hex \"0001020304050607ff01020304050607000102030405060700010203040506f8\"
  constant %s: f32[8] = ...
  input %x: f32[s0, 8]
  %d: f32[8, 4] = DequantizeLinear(%w, %s) {axis = 0}
  %y: f32[s0, 4] = MatMul(%x, %d)
  output %y as y";
    let mut m = model(codes, 20);
    let before = m.to_text();
    assert_eq!(run(&mut m, &quantise("int8:block=channel", Form::Dequantize)), Ok(vec![]));
    assert_eq!(run(&mut m, &narrow(DType::F16, Overflow::Refuse)), Ok(vec![]));
    assert_eq!(m.to_text(), before);
    let added =
        LINEAR.replace("  output %z as z", "  %u: f32[8, 64] = Neg(%w)\n  output %z as z\n  output %u as u");
    let mut m = model(&added, 21);
    let notes = run(&mut m, &quantise("int4", Form::Dequantize)).unwrap();
    assert_eq!((notes.len(), m.graph.initializers.len()), (1, 2));
}

#[test]
fn weights_are_stored_as_products_take_them() {
    let plain_options = PrecisionOptions::default();
    let given = || {
        let values = (0..6 * 64).map(|i| f64::from(i % 13) - 6.5).collect();
        Some(Value::Tensor(Tensor::of_floats(DType::F32, vec![2, 3, 64], values).unwrap()))
    };
    let plain = model(LINEAR, 20);
    let mut m = plain.clone();
    assert_eq!(stored(&mut m, &plain_options, true), Ok(vec![]));
    assert_eq!(ops(&m), ["MatMul", "Add"]);
    let names: Vec<_> =
        m.graph.initializers.iter().map(|i| m.graph.values[i.value].name.as_deref()).collect();
    assert_eq!(names, [Some("w.T"), Some("b")]);
    let results = [&plain, &m].map(|m| ops::run(m, vec![given()], Limits::default()).unwrap());
    assert_eq!(results[0], results[1]);
    // A weight with other kinds of readers is stored once, unchanged.
    let mut m = model(TIED, 20);
    let before = m.to_text();
    assert_eq!(stored(&mut m, &plain_options, true), Ok(vec![]));
    assert_eq!(m.to_text(), before);
}

/// Two products of one value with weights in both layouts, one of another value, and one whose weight is looked up.
const BESIDE: &str = "  constant %q: f32[8, 64] = ...
  constant %k: f32[64, 4] = ...
  constant %o: f32[64, 64] = ...
  constant %e: f32[6, 64] = ...
  input %x: f32[s0, 3, 64]
  input %i: i64[s0]
  %t: f32[64, 8] = Transpose(%q) {perm = [1, 0]}
  %y: f32[s0, 3, 8] = MatMul(%x, %t)
  %z: f32[s0, 3, 4] = MatMul(%x, %k)
  %u: f32[s0, 3, 64] = MatMul(%x, %o)
  %f: f32[s0, 64] = Gather(%e, %i) {axis = 0}
  %g: f32[64, 6] = Transpose(%e) {perm = [1, 0]}
  %h: f32[s0, 3, 6] = MatMul(%x, %g)
  output %y as y
  output %z as z
  output %u as u
  output %f as f
  output %h as h";

#[test]
fn products_of_one_value_are_one_before_they_are_quantised() {
    for form in [Form::Dequantize, Form::MatMulNBits] {
        let skipped = PrecisionOptions {
            quantise_skip: Patterns::new(["o".to_owned()]),
            ..quantise("int8:block=16,asymmetric", form)
        };
        let mut packed = model(BESIDE, 21);
        let notes = run(&mut packed, &skipped).unwrap();
        let product = if form == Form::Dequantize { "MatMul" } else { "MatMulNBits" };
        let names = ops(&packed);
        let count = |op: &str| names.iter().filter(|name| **name == op).count();
        // Both of `x` that are chosen, the one that is not, and the tied one.
        assert_eq!(count("Split"), 1, "{names:?} {notes:?}");
        assert_eq!(count("MatMul") + count("MatMulNBits"), 3, "{names:?}");
        assert!(count(product) >= 1, "{names:?}");
        // The codes and scales of each are those that it has alone.
        let mut alone = model(BESIDE, 21);
        let host = crate::host::Host::new(&[]).unwrap_or_else(|_| panic!("a host without plugins"));
        let scheme = skipped.quantise.clone().unwrap();
        let (mut changed, mut problems) = Default::default();
        let choice = crate::precision::Choice::from_options(&skipped);
        let kept = crate::precision::KeptWeights::default();
        crate::precision::quantise::apply(
            &host,
            &mut alone,
            &scheme,
            &choice,
            kept,
            &mut changed,
            &mut problems,
        );
        assert!(problems.is_empty(), "{problems:?}");
        if form == Form::Dequantize {
            let x: Vec<f64> = (0..2 * 3 * 64).map(|n| f64::from(n % 13) - 6.0).collect();
            let given = || {
                let x = Tensor::of_floats(DType::F32, vec![2, 3, 64], x.clone()).unwrap();
                let i = Tensor::of_ints(DType::I64, vec![2], vec![5, 0]).unwrap();
                vec![Some(Value::Tensor(x)), Some(Value::Tensor(i))]
            };
            let made = ops::run(&packed, given(), Limits::default()).unwrap();
            let wanted = ops::run(&alone, given(), Limits::default()).unwrap();
            for (made, wanted) in made.iter().zip(&wanted) {
                assert_eq!(
                    made.tensor().unwrap().floats().unwrap(),
                    wanted.tensor().unwrap().floats().unwrap()
                );
            }
        }
    }
}
