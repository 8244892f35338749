use super::{StatedTypes, correct_misrecorded, validate};
use crate::ir::{Attr, Attribute, Def, Model, ModelOrigin, NodeId, OpsetImport, Shape, Type, ValueId};
use crate::ops::infer;
use crate::sym::{Dim, Range};
use crate::tensor::{DType, LazyTensor};

/// `y = x + w` with `x: f32[s0, 4]`, and the parts that tests change.
struct Bench {
    model: Model,
    stated: StatedTypes,
    x: ValueId,
    y: ValueId,
    node: NodeId,
}

impl Bench {
    fn new() -> Self {
        let mut model =
            Model { opsets: vec![OpsetImport { domain: String::new(), version: 20 }], ..Model::default() };
        let s0 = model.symbols.symbol("s0");
        let id = model.symbols.find("s0").unwrap();
        *model.symbols.get_mut(id) =
            crate::sym::Symbol { name: "s0".into(), range: Range::new(2, 64), hint: Some(8) };
        let main = model.graph.main();
        let ty = Type::tensor(DType::F32, Shape::of([s0, Dim::Const(4)]));
        let x = model.graph.add_input(main, Some("x".into()), ty);
        let data = LazyTensor::inline(DType::F32, vec![4], vec![0; 16]);
        let w = model.graph.add_initializer(Some("w".into()), data);
        let node = op(&mut model, "Add", &[x, w], &[]);
        let y = model.graph.nodes[node].outputs[0].unwrap();
        model.graph.set_outputs(main, [y]);
        model.output_names = vec!["y".into()];
        Self { model, stated: StatedTypes::default(), x, y, node }
    }

    fn messages(&self) -> Vec<String> {
        validate(&self.model, &self.stated).into_iter().map(|d| d.message).collect()
    }

    fn state(&mut self, dtype: DType, dims: &[&str]) {
        let dims: Vec<Dim> = dims.iter().map(|d| self.model.symbols.parse(d).unwrap()).collect();
        self.stated = StatedTypes::default();
        self.stated.offer(self.y, (dtype, Shape::of(dims)).into());
    }
}

fn op(model: &mut Model, op: &str, inputs: &[ValueId], attrs: &[(&str, Attr)]) -> NodeId {
    let attributes = attrs.iter().map(|(n, v)| Attribute { name: (*n).into(), value: v.clone() }).collect();
    let main = model.graph.main();
    let node = model.graph.append(main, "", op, inputs.iter().copied().map(Some), attributes, 1, None);
    infer::infer(&mut model.graph, &mut model.symbols, 20, node);
    node
}

#[test]
fn a_sound_model_has_nothing_to_report() {
    let mut bench = Bench::new();
    bench.state(DType::F32, &["s0", "4"]);
    assert_eq!(bench.messages(), Vec::<String>::new());
}

#[test]
fn the_program_is_contradicted() {
    let mut bench = Bench::new();
    bench.state(DType::F16, &["s0", "4"]);
    assert_eq!(bench.messages(), ["Add: value #2 is f32[s0, 4], but the program states f16[s0, 4]"]);
    bench.state(DType::F32, &["s0", "5"]);
    assert_eq!(bench.messages().len(), 1);
    bench.state(DType::F32, &["s0 + 1", "4"]);
    assert_eq!(bench.messages().len(), 1);
    bench.state(DType::F32, &["s0", "1", "4"]);
    assert_eq!(bench.messages().len(), 1);
    // Different text, but equal at the traced size.
    bench.state(DType::F32, &["(s0//2)*2", "4"]);
    assert_eq!(bench.messages(), Vec::<String>::new());
}

#[test]
fn signatures_are_checked() {
    let mut bench = Bench::new();
    let x = bench.x;
    op(&mut bench.model, "Relu", &[], &[]);
    op(&mut bench.model, "Nonsense", &[x], &[]);
    op(&mut bench.model, "Softmax", &[x], &[("axes", Attr::Int(1))]);
    op(&mut bench.model, "Softmax", &[x], &[("axis", Attr::Float(1.0))]);
    op(&mut bench.model, "Cast", &[x], &[]);
    op(&mut bench.model, "Not", &[x], &[]);
    assert_eq!(
        bench.messages(),
        [
            "Relu: does not take 0 inputs",
            "Nonsense: opset 20 has no such operator",
            "Softmax: has no attribute `axes`",
            "Softmax: the attribute `axis` is not of type Int",
            "Cast: the attribute `to` is missing",
            "Not: input `X` cannot be f32",
            "Not: output `Y` cannot be f32",
        ]
    );
}

#[test]
fn models_that_were_read_have_operators_of_onnx_runtime() {
    let mut bench = Bench::new();
    let scale = bench
        .model
        .graph
        .add_initializer(Some("scale".into()), LazyTensor::inline(DType::F32, vec![4], vec![0; 16]));
    let norm =
        op(&mut bench.model, "SimplifiedLayerNormalization", &[bench.x, scale], &[("axis", Attr::Int(-1))]);
    assert_eq!(bench.messages(), ["SimplifiedLayerNormalization: opset 20 has no such operator"]);
    bench.model.origin = ModelOrigin::Imported(Box::default());
    assert_eq!(bench.messages(), Vec::<String>::new());
    let made = bench.model.graph.nodes[norm].outputs[0].unwrap();
    assert_eq!(bench.model.graph.values[made].ty, bench.model.graph.values[bench.x].ty);
    op(&mut bench.model, "SimplifiedLayerNormalization", &[bench.x], &[]);
    op(&mut bench.model, "Nonsense", &[bench.x], &[]);
    assert_eq!(
        bench.messages(),
        ["SimplifiedLayerNormalization: does not take 1 inputs", "Nonsense: opset 20 has no such operator"]
    );
}

#[test]
fn shapes_that_contradict_their_nodes_are_corrected() {
    let mut bench = Bench::new();
    bench.model.origin = ModelOrigin::Imported(Box::default());
    let relu = op(&mut bench.model, "Relu", &[bench.x], &[]);
    let neg = {
        let made = bench.model.graph.nodes[relu].outputs[0].unwrap();
        op(&mut bench.model, "Neg", &[made], &[])
    };
    let [relu, neg] = [relu, neg].map(|node| bench.model.graph.nodes[node].outputs[0].unwrap());
    let flat = Type::tensor(DType::F32, Shape::of([Dim::Const(7)]));
    for value in [relu, neg] {
        bench.model.graph.values[value].ty = flat.clone();
    }
    assert!(!bench.messages().is_empty());
    let corrected = correct_misrecorded(&mut bench.model);
    assert_eq!(corrected.len(), 2, "{corrected:?}");
    assert!(
        corrected[0].message.contains("is recorded as f32[7], but the node makes f32[s0, 4]"),
        "{corrected:?}"
    );
    assert_eq!(bench.model.graph.values[relu].ty, Type::Unknown);
    assert_eq!(bench.messages(), Vec::<String>::new());

    // An output is declared as its node makes it. Types of elements are not corrected.
    let right = bench.model.graph.values[bench.y].ty.clone();
    bench.model.graph.values[bench.y].ty = flat;
    bench.model.graph.values[neg].ty = Type::tensor(DType::F16, Shape::Unranked);
    let corrected = correct_misrecorded(&mut bench.model);
    assert_eq!(corrected.len(), 1, "{corrected:?}");
    assert_eq!(bench.model.graph.values[bench.y].ty, right);
    assert_eq!(bench.messages().len(), 1, "{:?}", bench.messages());
}

#[test]
fn type_variables_stand_for_one_type() {
    let mut bench = Bench::new();
    let data = LazyTensor::inline(DType::I64, vec![], vec![0; 8]);
    let n = bench.model.graph.add_initializer(Some("n".into()), data);
    let x = bench.x;
    op(&mut bench.model, "Mul", &[x, n], &[]);
    assert_eq!(bench.messages(), ["Mul: input `B` is i64, but `T` is f32"]);
}

#[test]
fn structure_is_checked() {
    let mut bench = Bench::new();
    bench.model.graph.values[bench.x].uses.clear();
    assert_eq!(bench.messages(), ["`x` lists 0 uses and has 1"]);

    let mut bench = Bench::new();
    let later = op(&mut bench.model, "Relu", &[bench.x], &[]);
    bench.model.graph.nodes[bench.node].inputs[1] = bench.model.graph.nodes[later].outputs[0];
    assert!(bench.messages()[0].contains("which is not defined there"), "{:?}", bench.messages());

    let mut bench = Bench::new();
    bench.model.graph.values[bench.y].def = Def::Gone;
    assert!(!bench.messages().is_empty());

    let mut bench = Bench::new();
    let relu = op(&mut bench.model, "Relu", &[bench.y], &[]);
    bench.model.graph.remove(bench.node);
    let messages = bench.messages();
    assert!(
        messages[0].starts_with("Relu: input 0 is value #2, whose definition was removed"),
        "{messages:?}"
    );
    assert!(messages[1].contains("not defined where it is returned"), "{messages:?}");
    assert!(bench.model.graph.nodes[relu].block.is_some());
}

#[test]
fn a_branch_is_not_visible_outside() {
    let mut bench = Bench::new();
    let main = bench.model.graph.main();
    let ty = Type::tensor(DType::Bool, Shape::of([]));
    let c = bench.model.graph.add_input(main, Some("c".into()), ty);
    let (yes, no) = (bench.model.graph.add_block(main), bench.model.graph.add_block(main));
    let inner = bench.model.graph.append(yes, "", "Relu", [Some(bench.x)], Vec::new(), 1, None);
    infer::infer(&mut bench.model.graph, &mut bench.model.symbols, 20, inner);
    let inside = bench.model.graph.nodes[inner].outputs[0].unwrap();
    bench.model.graph.set_outputs(yes, [inside]);
    bench.model.graph.set_outputs(no, [bench.x]);
    let branches = [("then_branch", Attr::Block(yes)), ("else_branch", Attr::Block(no))];
    op(&mut bench.model, "If", &[c], &branches);
    assert_eq!(bench.messages(), Vec::<String>::new());
    bench.model.graph.set_outputs(main, [inside]);
    assert_eq!(bench.messages().len(), 1);
}

#[test]
fn names_clash() {
    let mut bench = Bench::new();
    bench.model.graph.values[bench.x].name = Some("w".into());
    assert_eq!(bench.messages(), ["two inputs or initializers are called `w`"]);
    let mut bench = Bench::new();
    bench.model.output_names = vec!["x".into()];
    assert_eq!(bench.messages(), ["the output name `x` is taken"]);
    bench.model.output_names.clear();
    assert_eq!(bench.messages(), ["the graph has 1 outputs but names for 0"]);
    let mut bench = Bench::new();
    bench.model.opsets[0].version = 10;
    assert!(bench.messages()[0].contains("opset 10"), "{:?}", bench.messages());
}

#[test]
fn time_is_linear_in_readers() {
    let mut bench = Bench::new();
    for _ in 0..50_000 {
        op(&mut bench.model, "Relu", &[bench.x], &[]);
    }
    assert_eq!(bench.messages(), Vec::<String>::new());
}
