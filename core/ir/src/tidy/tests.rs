use super::{Tidied, layouts, tidy};
use crate::ir::{Attr, Attribute, BlockId, Graph, Shape, Type, ValueId};
use crate::ops::infer;
use crate::sym::{Dim, Symbols};
use crate::tensor::{DType, LazyTensor};

struct Bench {
    graph: Graph,
    symbols: Symbols,
}

impl Bench {
    fn new() -> (Self, ValueId) {
        let (mut graph, mut symbols) = (Graph::default(), Symbols::default());
        let main = graph.main();
        let shape = Shape::of([symbols.symbol("s0"), Dim::Const(4)]);
        let x = graph.add_input(main, Some("x".into()), Type::tensor(DType::F32, shape));
        (Self { graph, symbols }, x)
    }

    fn op(&mut self, block: BlockId, op: &str, inputs: &[ValueId], attrs: &[(&str, Attr)]) -> ValueId {
        let attributes = attrs.iter().map(|(n, v)| Attribute { name: (*n).into(), value: v.clone() });
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        let node = self.graph.append(block, "", op, inputs, attributes.collect(), 1, None);
        infer::infer(&mut self.graph, &mut self.symbols, 20, node);
        self.graph.nodes[node].outputs[0].unwrap()
    }

    fn int(&mut self, n: i64) -> ValueId {
        self.graph.add_initializer(None, LazyTensor::inline(DType::I64, vec![], n.to_le_bytes().to_vec()))
    }

    fn ops(&self, block: BlockId) -> Vec<&str> {
        self.graph.order(block).map(|n| self.graph.nodes[n].op.as_str()).collect()
    }
}

#[test]
fn unread_nodes_and_constants_go() {
    let (mut b, x) = Bench::new();
    let main = b.graph.main();
    let (one, two) = (b.int(1), b.int(2));
    let y = b.op(main, "Relu", &[x], &[]);
    let dead = b.op(main, "Add", &[one, two], &[]);
    b.op(main, "Neg", &[dead], &[]);
    b.op(main, "Tanh", &[y], &[]);
    b.graph.set_outputs(main, [y, two]);
    let tidied = tidy(&mut b.graph);
    assert_eq!(tidied, Tidied { dead_nodes: 3, dead_initializers: 1, ..Tidied::default() });
    assert_eq!(b.ops(main), ["Relu"]);
    assert_eq!(b.graph.initializers.len(), 1);
    assert_eq!(b.graph.initializer(two).unwrap().read().unwrap()[0], 2);
    assert!(b.graph.values[y].uses.is_empty());
}

#[test]
fn equal_sizes_are_computed_once() {
    let (mut b, x) = Bench::new();
    let main = b.graph.main();
    let mut sizes = Vec::new();
    for _ in 0..2 {
        let zero = b.int(0);
        let shape = b.op(main, "Shape", &[x], &[]);
        sizes.push(b.op(main, "Gather", &[shape, zero], &[("axis", Attr::Int(0))]));
    }
    let tail = b.op(main, "Shape", &[x], &[("start", Attr::Int(1))]);
    let product = b.op(main, "Mul", &sizes.clone(), &[]);
    b.graph.set_outputs(main, [product, tail, sizes[1]]);
    let tidied = tidy(&mut b.graph);
    assert_eq!(tidied, Tidied { merged_constants: 1, merged_nodes: 2, ..Tidied::default() });
    assert_eq!(b.ops(main), ["Shape", "Gather", "Shape", "Mul"]);
    assert_eq!(b.graph.blocks[main].outputs()[2], sizes[0]);
    assert_eq!(b.graph.values[sizes[0]].uses.len(), 2);
}

#[test]
fn what_a_branch_computes_stays_in_it() {
    let (mut b, x) = Bench::new();
    let main = b.graph.main();
    let c = b.graph.add_input(main, Some("c".into()), Type::tensor(DType::Bool, Shape::of([])));
    let (yes, no) = (b.graph.add_block(main), b.graph.add_block(main));
    for block in [yes, no] {
        let shape = b.op(block, "Shape", &[x], &[]);
        b.graph.set_outputs(block, [shape]);
    }
    let unread = b.op(yes, "Relu", &[x], &[]);
    let branches = [("then_branch", Attr::Block(yes)), ("else_branch", Attr::Block(no))];
    let chosen = b.op(main, "If", &[c], &branches);
    let after = b.op(main, "Shape", &[x], &[]);
    b.graph.set_outputs(main, [chosen, after]);
    let tidied = tidy(&mut b.graph);
    assert_eq!(tidied, Tidied { dead_nodes: 1, ..Tidied::default() });
    assert_eq!((b.ops(yes), b.ops(no), b.ops(main)), (vec!["Shape"], vec!["Shape"], vec!["If", "Shape"]));
    assert_eq!(b.graph.values[unread].def, crate::ir::Def::Gone);
}

#[test]
fn a_value_with_many_readers_takes_linear_time() {
    let (mut b, x) = Bench::new();
    let main = b.graph.main();
    for _ in 0..50_000 {
        b.op(main, "Relu", &[x], &[]);
    }
    b.graph.set_outputs(main, [x]);
    assert_eq!(tidy(&mut b.graph).dead_nodes, 50_000);
    assert!(b.graph.values[x].uses.is_empty());
}

#[test]
fn axes_in_another_order_are_a_node() {
    let (mut b, _) = Bench::new();
    let main = b.graph.main();
    let dense = LazyTensor::inline(DType::F32, vec![8, 4, 16], vec![7; 8 * 4 * 16 * 4]);
    let view = |shape: &[u64], strides: &[u64]| LazyTensor {
        shape: shape.to_vec(),
        strides: Some(strides.to_vec()),
        ..dense.clone()
    };
    let weights = [
        ("transposed", view(&[16, 8, 4], &[1, 64, 16])),
        ("dense", dense.clone()),
        ("tied", dense.clone()),
        ("part", view(&[16, 4, 4], &[1, 64, 16])),
        (
            "other",
            LazyTensor {
                source: crate::tensor::Source::Inline(vec![7; 2048].into()),
                ..view(&[16, 8, 4], &[1, 64, 16])
            },
        ),
    ];
    let values = weights.map(|(name, data)| b.graph.add_weight(Some(name.into()), data));
    for value in values {
        let read = b.op(main, "Relu", &[value], &[]);
        b.graph.add_output(main, read);
    }
    assert_eq!(layouts(&mut b.graph), 1);
    let names: Vec<_> =
        b.graph.initializers.iter().map(|i| b.graph.values[i.value].name.clone().unwrap()).collect();
    assert_eq!(names, ["dense", "tied", "part", "other"]);
    let node = b.graph.order(main).next().unwrap();
    let node = &b.graph.nodes[node];
    assert_eq!((node.op.as_str(), node.inputs[0]), ("Transpose", Some(values[1])));
    assert!(matches!(node.attr("perm"), Some(Attr::Ints(perm)) if *perm == [2, 0, 1]));
    let output = &b.graph.values[node.outputs[0].unwrap()];
    assert_eq!((output.name.as_deref(), output.uses.len()), (Some("transposed"), 1));
    // The same again changes nothing.
    assert_eq!(layouts(&mut b.graph), 0);
}
