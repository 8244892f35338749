use std::ffi::c_void;

use onnxport_abi::graph::{GraphContext, GraphHost, NOTHING, NodeView};
use onnxport_abi::status;
use onnxport_abi::{RSlice, RStr};
use onnxport_sdk::{Attribute, DType, Dim, GraphSession, Range, op};

use super::{Access, Frame, host_table, with};
use crate::ir::{Def, Model, NodeId};
use crate::tensor::LazyTensor;

const TEXT: &str = r#"opset 20
opset com.microsoft 1
symbol s0 2..64 hint 3
graph {
  constant %w: f32[2, 3] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
  constant %axes: i64[1] = [-1]
  input %x: f32[s0, 2]
  input %c: bool[]
  %h: f32[s0, 3] = MatMul(%x, %w) @ linear (aten.linear.default) in fc at "m.py":3
  %m: f32[s0, 1] = ReduceMax(%h, %axes) {keepdims = 1}
  %y: f32[s0, 3] = If(%c) {else_branch = {
    output %h
  }, then_branch = {
    %g: f32[s0, 3] = com.microsoft::Gelu(%h)
    output %g
  }}
  output %y as result
  output %m as peak
}
"#;

fn model() -> Model {
    Model::parse(TEXT).unwrap()
}

/// Runs `body` with the model as a plugin sees it.
fn reading<T>(model: &Model, body: impl FnOnce(&GraphSession) -> T) -> T {
    let mut frame = Frame::new(Access::read(model), ());
    let session = GraphSession::new(&host_table(), frame.context()).unwrap();
    body(&session)
}

#[test]
fn a_graph_is_read_as_it_stands() {
    let model = model();
    reading(&model, |session| {
        let graph = session.graph();
        assert_eq!((graph.opset(), graph.opset_of("com.microsoft"), graph.opset_of("none")), (20, 1, 0));
        let ops: Vec<String> = graph.nodes().iter().map(|n| n.op()).collect();
        assert_eq!(ops, ["MatMul", "ReduceMax", "Gelu", "If"]);
        let [matmul, reduce, gelu, choose] = graph.nodes()[..] else { panic!("four nodes") };
        assert_eq!(
            (matmul.exported().as_str(), matmul.target().as_str(), matmul.module().as_str()),
            ("linear", "aten.linear.default", "fc")
        );
        assert!(gelu.is_in("com.microsoft", "Gelu") && !gelu.is(op::Gelu));
        assert_eq!(reduce.int("keepdims"), Some(1));
        assert_eq!(reduce.attribute("axis"), Attribute::None);
        assert_eq!(choose.attributes(), ["else_branch", "then_branch"]);
        assert_eq!(choose.blocks()[1], gelu.block());
        assert_eq!(gelu.block().parent(), Some(graph.main()));
        let h = matmul.output(0).unwrap();
        assert_eq!(h.name(), "h");
        assert_eq!(h.producer(), Some((matmul, 0)));
        assert_eq!(h.uses(), [(reduce, 0), (gelu, 0)]);
        assert!(h.is_returned() && h.only_use().is_none());
        let axes = reduce.input(1).unwrap();
        assert_eq!(axes.only_use(), Some((reduce, 1)));
        assert_eq!(axes.contents(), Some(vec![Dim::Const(-1)]));
        assert_eq!(axes.constant().unwrap().ints(), Some(vec![-1]));
        let x = matmul.input(0).unwrap();
        assert_eq!(x.input_of(), Some((graph.main(), 0)));
        assert_eq!((x.dtype(), x.rank(), x.extents()), (Some(DType::F32), Some(2), None));
        let batch = x.shape().unwrap()[0];
        assert_eq!(graph.dim_text(batch), "s0");
        assert_eq!(graph.dim_range(batch), Range { min: 2, max: 64 });
        let outputs: Vec<(String, String)> =
            graph.outputs().into_iter().map(|(name, value)| (name, value.name())).collect();
        assert_eq!(outputs, [("result".into(), "y".into()), ("peak".into(), "m".into())]);
        assert!(session.take_failure().is_none());
    });
}

#[test]
fn an_attribute_that_is_not_stated_has_its_default() {
    let text = r"opset 12
opset ai.onnx.ml 3
graph {
  input %x: f32[2, 3]
  %s: f32[2, 3] = Softmax(%x)
  %g: f32[2, 2] = Gemm(%x, %x) {alpha = 0.5, transB = 1}
  %n: f32[2, 3] = ai.onnx.ml::Normalizer(%x)
  %t: f32[3, 2] = Transpose(%x)
  %u: f32[2, 3] = test.unknown::Softmax(%x)
  output %s
  output %g
  output %n
  output %t
  output %u
}
";
    let later = text.replace("opset 12", "opset 13");
    for (text, axis) in [(text, 1), (&later, -1)] {
        reading(&Model::parse(text).unwrap(), |session| {
            let [softmax, gemm, normalizer, transpose, unknown] = session.graph().nodes()[..] else {
                panic!("five nodes")
            };
            assert_eq!(softmax.int("axis"), Some(axis), "the default of the version in force");
            assert!(softmax.attributes().is_empty() && softmax.attributes_but(&[]).is_empty());
            assert_eq!((gemm.float("alpha"), gemm.float("beta")), (Some(0.5), Some(1.0)));
            assert_eq!((gemm.int("transA"), gemm.int("transB")), (Some(0), Some(1)));
            assert_eq!(normalizer.str("norm").as_deref(), Some("MAX"));
            assert_eq!(transpose.attribute("perm"), Attribute::None, "it depends on the operand");
            assert_eq!(unknown.attribute("axis"), Attribute::None);
        });
    }
}

#[test]
fn initializers_are_read_in_pieces() {
    let mut model = model();
    let dense = model.graph.initializers[0].data.clone();
    let transposed = LazyTensor { shape: vec![3, 2], strides: Some(vec![1, 3]), offset: 0, ..dense.clone() };
    model.graph.add_initializer(Some("wt".into()), transposed);
    reading(&model, |session| {
        let graph = session.graph();
        let w = graph.nodes()[0].input(1).unwrap();
        let facts = w.initializer().unwrap();
        assert_eq!((facts.dtype, facts.shape, facts.byte_length), (DType::F32, vec![2, 3], 24));
        assert!(facts.dense && w.is_initializer());
        let mut bytes = [0; 8];
        assert!(w.read(4, &mut bytes));
        assert_eq!(bytes, [1.0_f32.to_le_bytes(), 2.0_f32.to_le_bytes()].concat()[..]);
        assert!(!w.read(20, &mut bytes), "the bytes end behind the tensor");
        assert!(!w.read(u64::MAX, &mut bytes));
        assert!(!graph.inputs()[0].read(0, &mut bytes), "an input has no bytes");
        assert_eq!(graph.inputs()[0].initializer(), None);
    });
    // No node reads the view, so that only its id reaches it.
    let view = model.graph.initializers[2].value;
    let mut frame = Frame::new(Access::read(&model), ());
    let epoch = frame.access.epoch;
    let cx = frame.context();
    let host = host();
    let mut bytes = [0_u8; 10];
    let answer = (host.read)(cx, epoch.value(view), 6, (&mut bytes[..]).into());
    assert_eq!(answer, status::OK);
    let whole: Vec<u8> = [0.0_f32, 3.0, 1.0, 4.0, 2.0, 5.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(bytes, whole[6..16]);
    let facts = |value| {
        let mut out = onnxport_abi::graph::InitializerView {
            dtype: 0,
            dense: 0,
            dims: RSlice::EMPTY,
            byte_length: 0,
            storage: 0,
            offset: 0,
        };
        assert_eq!((host.initializer)(cx, epoch.value(value), &mut out), status::OK);
        (out.storage, out.dense)
    };
    let numbers: Vec<_> = model.graph.initializers.iter().map(|i| facts(i.value)).collect();
    assert_eq!(numbers, [(1, 1), (2, 1), (1, 0)]);
}

fn host() -> GraphHost {
    // SAFETY: the envelope is the host's own for this interface.
    unsafe { host_table().read::<GraphHost>() }.unwrap().unwrap()
}

fn empty<'a>() -> NodeView<'a> {
    let none = RStr::from_str("");
    NodeView {
        block: NOTHING,
        domain: none,
        op: none,
        inputs: RSlice::EMPTY,
        outputs: RSlice::EMPTY,
        attributes: RSlice::EMPTY,
        exported: none,
        target: none,
        module: none,
        traits: 0,
    }
}

#[test]
fn ids_of_another_call_or_kind_name_nothing() {
    let model = model();
    let host = host();
    let ask = |cx: GraphContext, id: u64| (host.node)(cx, id, &mut empty());
    let mut first = Frame::new(Access::read(&model), ());
    let mut second = Frame::new(Access::read(&model), ());
    let node = first.access.epoch.node(NodeId::new(0));
    let value = first.access.epoch.value(crate::arena::Id::new(0));
    let cx = first.context();
    assert_eq!(ask(cx, node), status::OK);
    assert_eq!(ask(second.context(), node), status::INVALID, "it belongs to another call");
    for foreign in [value, NOTHING, u64::MAX, 1, node + 4, node | 1 << 31] {
        assert_eq!(ask(cx, foreign), status::INVALID, "{foreign:#x}");
    }
    assert_eq!(ask(GraphContext(std::ptr::null_mut::<c_void>()), node), status::INVALID);
}

#[test]
fn what_was_removed_is_gone_and_the_plugin_is_told() {
    let mut model = model();
    let mut frame = Frame::new(Access::edit(&mut model), ());
    let cx = frame.context();
    let session = GraphSession::new(&host_table(), cx).unwrap();
    let reduce = session.graph().nodes()[1];
    let peak = reduce.output(0).unwrap();
    assert!(reduce.exists());
    let answer = with(cx, |access| {
        let graph = &mut access.model_mut()?.graph;
        let main = graph.main();
        let first = graph.blocks[main].outputs().first().copied();
        graph.set_outputs(main, first);
        graph.remove(NodeId::new(1));
        graph.values.iter().any(|(_, value)| value.def == Def::Gone).then_some(())
    });
    assert_eq!(answer, status::OK);
    assert!(!reduce.exists() && session.take_failure().is_none());
    assert_eq!(reduce.op(), "");
    let failure = session.take_failure().expect("the question is remembered");
    assert_eq!(failure.message, "the plugin asked about a node that does not exist");
    assert_eq!(peak.producer(), None);
    assert!(session.take_failure().is_some());
}

#[test]
fn a_graph_that_is_lent_for_reading_cannot_be_edited() {
    let mut model = model();
    assert!(Access::read(&model).model_mut().is_none());
    assert!(Access::edit(&mut model).model_mut().is_some());
}
