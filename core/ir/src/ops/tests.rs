use super::{Fault, Limits, Tensor, Value, fold, run};
use crate::ir::Model;
use crate::tensor::DType;

/// The outputs of a model in text form.
fn outputs(text: &str, inputs: &[Tensor]) -> super::Res<Vec<Value>> {
    let model = Model::parse(text).unwrap();
    run(&model, inputs.iter().map(|t| Some(Value::Tensor(t.clone()))).collect(), Limits::default())
}

fn floats(shape: &[usize], items: &[f64]) -> Tensor {
    Tensor::of_floats(DType::F32, shape.to_vec(), items.to_vec()).unwrap()
}

#[test]
fn a_graph_is_run_node_by_node() {
    let text = "opset 20\ngraph {\n  constant %two: f32[] = [2.0]\n  input %x: f32[2, 1]\n  input %y: f32[3]\n  \
                %0 = Mul(%x, %two)\n  %1 = Add(%0, %y)\n  %2 = Transpose(%1)\n  output %2 as z\n  output %y as same\n}\n";
    let (x, y) = (floats(&[2, 1], &[1.0, 2.0]), floats(&[3], &[0.5, 0.25, 0.0]));
    let out = outputs(text, &[x, y.clone()]).unwrap();
    assert_eq!(out[0].tensor().unwrap(), &floats(&[3, 2], &[2.5, 4.5, 2.25, 4.25, 2.0, 4.0]));
    assert_eq!(out[1].tensor().unwrap(), &y);
}

#[test]
fn the_mean_and_the_sum_of_one_tensor_are_the_tensor() {
    for op in ["Mean", "Sum"] {
        let text = format!("opset 20\ngraph {{\n  input %x: f32[2]\n  %0 = {op}(%x)\n  output %0 as y\n}}\n");
        let out = outputs(&text, &[floats(&[2], &[-0.0, 0.0])]).unwrap();
        let signs: Vec<bool> =
            out[0].tensor().unwrap().floats().unwrap().iter().map(|x| x.is_sign_negative()).collect();
        assert_eq!(signs, [true, false], "{op}");
    }
}

#[test]
fn an_operator_stands_in_one_family() {
    let twice =
        super::all().windows(2).find(|pair| (pair[0].domain, pair[0].name) == (pair[1].domain, pair[1].name));
    assert!(twice.is_none(), "{twice:?}");
}

#[test]
fn functions_get_their_attributes() {
    let text = "opset 20\nopset local 1\ngraph {\n  input %x: f32[2]\n  %0 = local::Leak(%x) {slope = 0.5}\n  output %0 as y\n}\n\
                function local::Leak(slope) {\n  input %x\n  %0 = LeakyRelu(%x) {alpha = ref slope}\n  output %0\n}\n";
    let out = outputs(text, &[floats(&[2], &[-4.0, 4.0])]).unwrap();
    assert_eq!(out[0].tensor().unwrap(), &floats(&[2], &[-2.0, 4.0]));
}

#[test]
fn functions_have_defaults_and_operator_sets_of_their_own() {
    // A softmax of opset 12 is one over all axes from the second on.
    let text = "opset 20\nopset local 1\ngraph {\n  input %x: f32[1, 2, 2]\n  %0 = local::Old(%x)\n  output %0 as y\n}\n\
                function local::Old(slope = 0.5) opset 12 {\n  input %x\n  %0 = LeakyRelu(%x) {alpha = ref slope}\n  \
                %1 = Softmax(%0)\n  output %1\n}\n";
    let out = outputs(text, &[floats(&[1, 2, 2], &[0.0, 0.0, 0.0, -2.0 * 3f64.ln()])]).unwrap();
    near(out[0].tensor().unwrap(), &[1, 2, 2], &[0.3, 0.3, 0.3, 0.1], 1e-6);
}

#[test]
fn sequences_of_a_batch_are_scanned_to_their_own_lengths() {
    let text = "opset 8\ngraph {\n  input %n: i64[2]\n  input %s: f32[2]\n  input %x: f32[2, 3]\n  \
                %0, %1 = Scan(%n, %s, %x) {num_scan_inputs = 1, body = {\n    input %a: f32[]\n    input %b: f32[]\n    \
                %2 = Add(%a, %b)\n    output %2\n    output %2\n  }}\n  output %0 as sum\n  output %1 as sums\n}\n";
    let x = floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let start = floats(&[2], &[0.0, 10.0]);
    let lengths = |n: [i64; 2]| Tensor::of_longs(vec![2], n).unwrap();
    let out = outputs(text, &[lengths([3, 2]), start.clone(), x.clone()]).unwrap();
    near(out[0].tensor().unwrap(), &[2], &[6.0, 19.0], 0.0);
    near(out[1].tensor().unwrap(), &[2, 3], &[1.0, 3.0, 6.0, 14.0, 19.0, 0.0], 0.0);
    let error = outputs(text, &[lengths([3, 4]), start, x]).unwrap_err();
    assert_eq!(error.fault, Fault::Invalid, "{error}");
}

#[test]
fn maps_are_made_and_taken_apart() {
    let text = "opset 20\nopset ai.onnx.ml 3\ngraph {\n  input %x: f32[1, 3]\n  \
                %0 = ai.onnx.ml::ZipMap(%x) {classlabels_strings = [\"a\", \"b\", \"c\"]}\n  %i = Constant() {value_int = 0}\n  \
                %1 = SequenceAt(%0, %i)\n  %2 = ai.onnx.ml::DictVectorizer(%1) {string_vocabulary = [\"c\", \"z\", \"a\"]}\n  \
                output %2 as y\n}\n";
    let out = outputs(text, &[floats(&[1, 3], &[1.0, 2.0, 3.0])]).unwrap();
    assert_eq!(out[0].tensor().unwrap(), &floats(&[3], &[3.0, 0.0, 1.0]));
}

#[test]
fn trees_that_lead_back_to_themselves_are_refused() {
    let text = "opset 20\nopset ai.onnx.ml 3\ngraph {\n  input %x: f32[1, 1]\n  \
                %0 = ai.onnx.ml::TreeEnsembleRegressor(%x) {n_targets = 1, nodes_treeids = [0, 0], nodes_nodeids = [0, 1], \
                nodes_featureids = [0, 0], nodes_modes = [\"BRANCH_LEQ\", \"BRANCH_LEQ\"], nodes_values = [1.0, 1.0], \
                nodes_truenodeids = [1, 0], nodes_falsenodeids = [1, 0]}\n  output %0 as y\n}\n";
    let error = outputs(text, &[floats(&[1, 1], &[0.0])]).unwrap_err();
    assert_eq!(error.fault, Fault::Invalid, "{error}");
}

#[test]
fn a_result_that_is_too_large_is_an_error() {
    let text = "opset 20\ngraph {\n  input %s: i64[2]\n  input %x: f32[]\n  %0 = Expand(%x, %s)\n  output %0 as y\n}\n";
    let shape = Tensor::of_longs(vec![2], [1 << 40, 1 << 40]).unwrap();
    let error = outputs(text, &[shape, floats(&[], &[1.0])]).unwrap_err();
    assert_eq!(error.fault, Fault::Memory);
    assert!(error.message.starts_with("Expand (value 2): "), "{error}");
}

#[test]
fn what_hangs_on_constants_alone_is_folded_under_a_budget() {
    let text = "opset 20\ngraph {\n  constant %a: f32[2] = [1.0, 2.0]\n  constant %n: i64[1] = [1000]\n  input %x: f32[2]\n  \
                %0 = Neg(%a)\n  %1 = Add(%0, %x)\n  %2 = ConstantOfShape(%n)\n  %3 = Sqrt(%2)\n  output %1 as y\n  output %3 as z\n}\n";
    let mut model = Model::parse(text).unwrap();
    assert_eq!(fold(&mut model, 1024), 1);
    let graph = &model.graph;
    let ops: Vec<&str> = graph.order(graph.main()).map(|n| graph.nodes[n].op.as_str()).collect();
    assert_eq!(ops, ["Add", "ConstantOfShape", "Sqrt"]);
    let x = Some(Value::Tensor(floats(&[2], &[5.0, 5.0])));
    let out = run(&model, vec![x], Limits::default()).unwrap();
    assert_eq!(out[0].tensor().unwrap(), &floats(&[2], &[4.0, 3.0]));
    assert_eq!(fold(&mut model, 4000), 1);
}

#[test]
fn a_loop_without_end_runs_out_of_steps() {
    let text = "opset 20\ngraph {\n  constant %c: bool[] = [true]\n  input %x: f32[1]\n  \
                %0 = Loop(_, %c, %x) {body = {\n    input %i: i64[]\n    input %go: bool[]\n    input %v: f32[1]\n    \
                %1 = Neg(%v)\n    output %go\n    output %1\n  }}\n  output %0 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let limits = Limits { steps: 10_000, ..Limits::default() };
    let error = run(&model, vec![Some(Value::Tensor(floats(&[1], &[1.0])))], limits).unwrap_err();
    assert_eq!(error.fault, Fault::Steps, "{error}");
}

#[test]
fn functions_that_call_each_other_twice_run_out_of_steps() {
    let graph = "graph {\n  input %x: f32[1]\n  %0 = f::E39(%x)\n  output %0 as y\n}\n";
    let functions = (0..40).map(|n| {
        let callee = if n == 0 { "Neg".to_owned() } else { format!("f::E{}", n - 1) };
        let body = format!("  input %a\n  %0 = {callee}(%a)\n  %1 = {callee}(%0)\n  output %1\n");
        format!("function f::E{n}() {{\n{body}}}\n")
    });
    let text = format!("opset 20\nopset f 1\n{graph}{}", functions.collect::<String>());
    let model = Model::parse(&text).unwrap();
    let limits = Limits { steps: 10_000_000, ..Limits::default() };
    let error = run(&model, vec![Some(Value::Tensor(floats(&[1], &[1.0])))], limits).unwrap_err();
    assert_eq!(error.fault, Fault::Steps, "{error}");
}

/// The result of one node with these attributes.
fn node(opset: i64, op: &str, inputs: &[Tensor], attributes: &str) -> Tensor {
    let declare = |(i, t): (usize, &Tensor)| format!("  input %i{i}: {}{:?}\n", t.dtype(), t.shape());
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("%i{i}")).collect();
    let declared = inputs.iter().enumerate().map(declare).collect::<Vec<_>>().concat();
    let text = format!(
        "opset {opset}\ngraph {{\n{declared}  %0 = {op}({}) {{{attributes}}}\n  output %0 as y\n}}\n",
        names.join(", ")
    );
    outputs(&text, inputs).unwrap_or_else(|e| panic!("{e}: {text}"))[0].tensor().unwrap().clone()
}

fn near(found: &Tensor, shape: &[usize], expected: &[f64], tolerance: f64) {
    assert_eq!(found.shape(), shape);
    for (a, b) in found.floats().unwrap().iter().zip(expected) {
        assert!((a - b).abs() <= tolerance, "{a} in place of {b}");
    }
}

/// Cases that the tests of the `onnx` package lack, with values of ONNX Runtime and PyTorch.
#[test]
fn images_are_resized_sampled_and_pooled() {
    let counted = floats(&[1, 1, 4, 4], &(0..16).map(f64::from).collect::<Vec<_>>());
    let grid = floats(&[1, 1, 2, 2], &[-1.5, 0.1, 0.9, 1.4]);
    let sampled =
        node(20, "GridSample", &[counted.clone(), grid], "mode = \"cubic\", padding_mode = \"border\"");
    near(&sampled, &[1, 1, 1, 2], &[6.632_000_01, 15.110_25], 1e-5);
    let rois = floats(&[2, 5], &[0.0, 0.0, 0.0, 3.0, 1.0, 0.0, 2.0, 1.0, 4.0, 7.0]);
    let attributes = "pooled_shape = [2, 2], spatial_scale = 0.5";
    let pooled = node(20, "MaxRoiPool", &[counted.clone(), rois], attributes);
    near(&pooled, &[2, 1, 2, 2], &[1.0, 2.0, 5.0, 6.0, 9.0, 10.0, 13.0, 14.0], 0.0);
    let (small, scales) = (floats(&[1, 1, 2, 2], &[1.0, 2.0, 3.0, 5.0]), floats(&[4], &[1.0, 1.0, 1.0, 2.0]));
    let wide = node(9, "Upsample", &[small, scales], "mode = \"linear\"");
    near(&wide, &[1, 1, 2, 4], &[1.0, 1.5, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0], 0.0);
    let less = floats(&[4], &[1.0, 1.0, f64::from(0.6f32), f64::from(0.6f32)]);
    near(&node(10, "Resize", &[counted, less], ""), &[1, 1, 2, 2], &[0.0, 2.0, 8.0, 10.0], 0.0);
}

#[test]
fn attributes_that_are_absent_have_the_default_of_the_operators_version() {
    let most = f64::from(f32::MAX);
    let wide = floats(&[2], &[f64::NEG_INFINITY, f64::INFINITY]);
    assert_eq!(node(6, "Clip", std::slice::from_ref(&wide), "").floats().unwrap(), [-most, most]);
    assert_eq!(node(13, "Clip", std::slice::from_ref(&wide), "").floats().unwrap(), wide.floats().unwrap());
    // Version 1 of `Cast` states the type as a text.
    let text =
        "opset 1\ngraph {\n  input %x: f32[2]\n  %0 = Cast(%x) {to = \"INT64\"}\n  output %0 as y\n}\n";
    let error = outputs(text, &[wide]).unwrap_err();
    assert!(error.to_string().contains("`to` is missing"), "{error}");
}

/// Inputs and attributes that contradict each other, or ask for more than there is.
#[test]
fn what_does_not_fit_is_an_error() {
    let refused = |op: &str, inputs: &[&str], attributes: &str| {
        let declared: Vec<String> =
            inputs.iter().enumerate().map(|(i, v)| format!("  constant %i{i}: {v}\n")).collect();
        let names: Vec<String> = (0..inputs.len()).map(|i| format!("%i{i}")).collect();
        let text = format!(
            "opset 20\ngraph {{\n{}  %0 = {op}({}) {{{attributes}}}\n  output %0 as y\n}}\n",
            declared.concat(),
            names.join(", ")
        );
        outputs(&text, &[]).map(|_| text).unwrap_err();
    };
    let image = "f32[1, 1, 2, 2] = [1, 2, 3, 4]";
    refused("Resize", &[image, "f32[0] = []", "f32[4] = [1, 1, 1e30, 1]"], "");
    refused("Resize", &[image, "f32[0] = []", "f32[4] = [1, 1, -1, 1]"], "");
    refused("Resize", &[image, "f32[0] = []", "f32[2] = [2, 2]"], "");
    refused("GridSample", &[image, "f32[1, 1, 1, 3] = [0, 0, 0]"], "");
    refused("RoiAlign", &[image, "f32[1, 4] = [0, 0, 1e30, 1]", "i64[1] = [0]"], "");
    refused("RoiAlign", &[image, "f32[1, 4] = [0, 0, 1, 1]", "i64[1] = [7]"], "");
    refused("MaxRoiPool", &[image, "f32[1, 5] = [-1, 0, 0, 1, 1]"], "pooled_shape = [1, 1]");
    refused("Col2Im", &["f32[1, 4, 2] = [1, 2, 3, 4, 5, 6, 7, 8]", "i64[2] = [2, 2]", "i64[2] = [2, 2]"], "");
    refused("DFT", &["f32[1, 2, 1] = [1, 2]", "i64[] = [-4]"], "");
    refused("STFT", &["f32[1, 2, 1] = [1, 2]", "i64[] = [1]", "f32[3] = [1, 1, 1]", "i64[] = [3]"], "");
    let sequence = ["f32[1, 1, 1] = [1]", "f32[1, 1, 1] = [1]", "f32[1, 1, 1] = [1]"];
    refused("RNN", &sequence, "hidden_size = 1, clip = -1.0");
    refused("HannWindow", &["i64[] = [9000000000000000000]"], "");
}

#[test]
fn random_numbers_are_the_same_in_every_run_and_are_distributed_as_they_should() {
    let draw = |op: &str, more: &str| node(22, op, &[], &format!("shape = [100000]{more}")).floats().unwrap();
    assert_eq!(draw("RandomNormal", ", seed = 1.0"), draw("RandomNormal", ", seed = 1.0"));
    assert_ne!(draw("RandomNormal", ", seed = 1.0"), draw("RandomNormal", ", seed = 2.0"));
    // The error of a mean of 100,000 numbers is about 0.003 times their deviation.
    let moments = |items: &[f64]| {
        let mean = items.iter().sum::<f64>() / items.len() as f64;
        (mean, items.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / items.len() as f64)
    };
    let (mean, variance) = moments(&draw("RandomNormal", ", mean = 5.0, scale = 2.0"));
    assert!((mean - 5.0).abs() < 0.03 && (variance - 4.0).abs() < 0.1, "{mean} {variance}");
    let uniform = draw("RandomUniform", ", low = -1.0, high = 3.0");
    let (mean, variance) = moments(&uniform);
    assert!((mean - 1.0).abs() < 0.02 && (variance - 16.0 / 12.0).abs() < 0.02, "{mean} {variance}");
    assert!(uniform.iter().all(|x| (-1.0..3.0).contains(x)));
    let odds = floats(&[1, 3], &[1f64.ln(), 3f64.ln(), f64::NEG_INFINITY]);
    let drawn = node(22, "Multinomial", &[odds], "sample_size = 100000, dtype = 7").longs().unwrap();
    let ones = drawn.iter().filter(|n| **n == 1).count();
    assert!(ones.abs_diff(75_000) < 700 && !drawn.contains(&2), "{ones}");
}

#[test]
fn what_is_random_is_not_folded() {
    let text = "opset 22\ngraph {\n  constant %p: f32[2] = [0.5, 0.5]\n  %0 = Bernoulli(%p)\n  %1 = RandomUniformLike(%p)\n  \
                %2 = Add(%0, %1)\n  output %2 as y\n}\n";
    let mut model = Model::parse(text).unwrap();
    assert_eq!(fold(&mut model, 1024), 0);
}

/// Runs one node on `x: f32[2, 2]` and the constants `given`, and returns its result.
fn with_integers(op: &str, given: &[&str], attributes: &str) -> super::Res<Vec<Value>> {
    let constant = |(i, text): (usize, &&str)| format!("  constant %c{i}: i64{text}\n");
    let constants = given.iter().enumerate().map(constant).collect::<Vec<_>>().concat();
    let names = (0..given.len()).map(|i| format!(", %c{i}")).collect::<Vec<_>>().concat();
    let text = format!(
        "opset 20\ngraph {{\n{constants}  input %x: f32[2, 2]\n  %y = {op}(%x{names}) {{{attributes}}}\n  output %y as \
         y\n}}\n"
    );
    let mut model = Model::parse(&text).unwrap();
    let opset = model.opset();
    super::infer::infer_all(&mut model.graph, &mut model.symbols, opset);
    run(&model, vec![Some(Value::Tensor(floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0])))], Limits::default())
}

#[test]
fn extents_from_a_file_never_overflow() {
    const LEAST: &str = "-9223372036854775808";
    const MOST: &str = "9223372036854775807";
    let far = "[3] = [4611686018427387904, 4611686018427387904, 0]";
    let is_invalid = |op: &str, given: &[&str], attributes: &str| {
        let fault = with_integers(op, given, attributes).unwrap_err().fault;
        assert!(matches!(fault, Fault::Invalid | Fault::Memory), "{op} {given:?} {attributes}: {fault:?}");
    };
    is_invalid("Expand", &[&far.replace(", 0]", ", 0, 1, 1]").replace("[3]", "[5]")], "");
    is_invalid("Pad", &[&format!("[4] = [{MOST}, {MOST}, {MOST}, {MOST}]")], "mode = \"reflect\"");
    is_invalid("Reshape", &[far], "allowzero = 1");
    is_invalid("Tile", &["[2] = [4611686018427387904, 4611686018427387904]"], "");
    let shape = |result: super::Res<Vec<Value>>| result.unwrap()[0].tensor().unwrap().shape().to_vec();
    // 2 - 2^63 + 2^63 - 1 elements, beyond the last one.
    let cut = with_integers("Pad", &[&format!("[4] = [{LEAST}, 0, {MOST}, 0]")], "").unwrap();
    assert_eq!(cut[0].tensor().unwrap(), &floats(&[1, 2], &[0.0, 0.0]));
    let bounds = [format!("[1] = [{MOST}]"), format!("[1] = [{LEAST}]"), "[1] = [0]".to_owned()];
    let slice = |step: &str| {
        let step = format!("[1] = [{step}]");
        shape(with_integers("Slice", &[&bounds[0], &bounds[1], &bounds[2], &step], ""))
    };
    assert_eq!((slice(LEAST), slice("-1"), slice(MOST)), (vec![1, 2], vec![2, 2], vec![0, 2]));
    // One output of very many parts.
    assert_eq!(shape(with_integers("Split", &[], "num_outputs = 1099511627776")), [1, 2]);
}

#[test]
fn rounds_of_a_body_without_nodes_are_steps() {
    let text = "opset 20\ngraph {\n  constant %m: i64[] = [1152921504606846976]\n  input %x: f32[1]\n  \
                %0 = Loop(%m, _, %x) {body = {\n    input %i: i64[]\n    input %go: bool[]\n    input %v: f32[1]\n    \
                output %go\n    output %v\n  }}\n  output %0 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let limits = Limits { steps: 1 << 20, ..Limits::default() };
    let error = run(&model, vec![Some(Value::Tensor(floats(&[1], &[1.0])))], limits).unwrap_err();
    assert_eq!(error.fault, Fault::Steps, "{error}");
    assert!(error.message.ends_with("the budget of 1048576 steps is used up"), "{error}");
}

#[test]
fn a_loop_is_bounded_in_time_and_in_what_it_collects() {
    let text = "opset 20\ngraph {\n  constant %m: i64[] = [1152921504606846976]\n  input %x: f32[1000]\n  \
                %0 = Loop(%m, _) {body = {\n    input %i: i64[]\n    input %go: bool[]\n    \
                %1 = Neg(%x)\n    output %go\n    output %1\n  }}\n  output %0 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let fault = |limits| {
        let x = Value::Tensor(floats(&[1000], &[1.0; 1000]));
        run(&model, vec![Some(x)], limits).unwrap_err().fault
    };
    let bytes = 1 << 22;
    assert_eq!(fault(Limits { bytes, ..Limits::default() }), Fault::Memory);
    assert_eq!(fault(Limits { time: std::time::Duration::ZERO, ..Limits::default() }), Fault::Time);
    assert_eq!(fault(Limits { steps: 1 << 20, ..Limits::default() }), Fault::Steps);
}
