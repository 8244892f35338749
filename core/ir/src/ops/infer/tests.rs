use super::infer;
use crate::ir::{Attr, Attribute, Graph, Shape, Type, ValueId};
use crate::sym::{Range, Symbols};
use crate::tensor::{DType, LazyTensor};

/// A graph under test; values are written as `f32[s0, 8]`.
#[derive(Default)]
struct Bench {
    graph: Graph,
    symbols: Symbols,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self::default();
        for name in ["s0", "s1"] {
            let dim = bench.symbols.symbol(name);
            let id = bench.symbols.as_symbol(dim).unwrap();
            bench.symbols.get_mut(id).range = Range { min: Some(2), max: None };
        }
        bench
    }

    fn input(&mut self, text: &str) -> ValueId {
        let (dtype, dims) = text.trim_end_matches(']').split_once('[').unwrap();
        let dims = dims.split(", ").filter(|d| !d.is_empty());
        let dims = dims.map(|d| (d != "?").then(|| self.symbols.parse(d).unwrap())).collect();
        let main = self.graph.main();
        self.graph.add_input(main, None, Type::tensor(dtype.parse().unwrap(), Shape::Ranked(dims)))
    }

    fn ints(&mut self, values: &[i64]) -> ValueId {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.graph.add_initializer(None, LazyTensor::inline(DType::I64, vec![values.len() as u64], bytes))
    }

    fn floats(&mut self, values: &[f32]) -> ValueId {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.graph.add_initializer(None, LazyTensor::inline(DType::F32, vec![values.len() as u64], bytes))
    }

    fn node(
        &mut self,
        op: &str,
        inputs: &[Option<ValueId>],
        attrs: &[(&str, Attr)],
        outputs: usize,
    ) -> Vec<ValueId> {
        let attributes =
            attrs.iter().map(|(n, v)| Attribute { name: (*n).into(), value: v.clone() }).collect();
        let main = self.graph.main();
        let node = self.graph.append(main, "", op, inputs.iter().copied(), attributes, outputs, None);
        infer(&mut self.graph, &mut self.symbols, 20, node);
        self.graph.nodes[node].outputs.iter().copied().flatten().collect()
    }

    fn op(&mut self, op: &str, inputs: &[ValueId], attrs: &[(&str, Attr)]) -> ValueId {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        self.node(op, &inputs, attrs, 1)[0]
    }

    fn text(&self, value: ValueId) -> String {
        match &self.graph.values[value].ty {
            Type::Tensor { dtype, shape: Shape::Ranked(dims) } => {
                let dims: Vec<String> = dims
                    .iter()
                    .map(|d| d.map_or_else(|| "?".to_owned(), |d| self.symbols.display(d)))
                    .collect();
                format!("{}[{}]", dtype.map_or("?", DType::as_str), dims.join(", "))
            }
            Type::Tensor { dtype, .. } => format!("{}*", dtype.map_or("?", DType::as_str)),
            other => format!("{other:?}"),
        }
    }

    fn contents(&self, value: ValueId) -> Option<Vec<String>> {
        let contents = self.graph.shape_value(value)?;
        Some(contents.into_iter().map(|d| self.symbols.display(d)).collect())
    }
}

/// The type of the first output of `op` for inputs and attributes.
fn typed(op: &str, inputs: &[&str], attrs: &[(&str, Attr)]) -> String {
    let mut bench = Bench::new();
    let inputs: Vec<ValueId> = inputs
        .iter()
        .map(|i| match i.strip_prefix('=') {
            Some(list) => {
                let list: Vec<i64> =
                    list.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect();
                bench.ints(&list)
            }
            None => bench.input(i),
        })
        .collect();
    let out = bench.op(op, &inputs, attrs);
    bench.text(out)
}

fn ints(values: &[i64]) -> Attr {
    Attr::Ints(values.to_vec())
}

#[test]
fn an_attribute_of_the_enclosing_function_has_no_default() {
    let caller = Attr::Ref("keep".to_owned(), None);
    assert_eq!(typed("ReduceSum", &["f32[2, 3]", "=1"], &[]), "f32[2, 1]");
    assert_eq!(typed("ReduceSum", &["f32[2, 3]", "=1"], &[("keepdims", caller.clone())]), "Unknown");
    assert_eq!(typed("Flatten", &["f32[2, 3, 4]"], &[("axis", caller)]), "Unknown");
}

#[test]
fn elementwise_operators_broadcast_symbolic_extents() {
    assert_eq!(typed("Add", &["f32[s0, 1, 8]", "f32[s1, 1]"], &[]), "f32[s0, s1, 8]");
    assert_eq!(typed("Add", &["f32[s0]", "f32[s0]"], &[]), "f32[s0]");
    assert_eq!(typed("Add", &["f32[?, 4]", "f32[s0, 1]"], &[]), "f32[s0, 4]");
    assert_eq!(typed("Add", &["f32[?]", "f32[?]"], &[]), "f32[?]");
    assert_eq!(typed("Add", &["f32[free]", "f32[other]"], &[]), "f32[?]");
    assert_eq!(typed("Add", &["f32[3]", "f32[4]"], &[]), "f32*");
    assert_eq!(typed("Equal", &["i64[s0]", "i64[1]"], &[]), "bool[s0]");
    assert_eq!(typed("Where", &["bool[s0, 1]", "f16[1, 3]", "f16[]"], &[]), "f16[s0, 3]");
    assert_eq!(typed("Cast", &["f32[s0]"], &[("to", Attr::Int(10))]), "f16[s0]");
    assert_eq!(typed("CastLike", &["f32[s0]", "i8[]"], &[]), "i8[s0]");
}

#[test]
fn products_of_matrices() {
    assert_eq!(typed("MatMul", &["f32[s0, 4, 8]", "f32[8, 3]"], &[]), "f32[s0, 4, 3]");
    assert_eq!(typed("MatMul", &["f32[8]", "f32[s0, 8, 3]"], &[]), "f32[s0, 3]");
    assert_eq!(typed("MatMul", &["f32[8]", "f32[8]"], &[]), "f32[]");
    assert_eq!(typed("Gemm", &["f32[s0, 8]", "f32[16, 8]"], &[("transB", Attr::Int(1))]), "f32[s0, 16]");
    let equation = |e: &str| [("equation", Attr::Str(e.to_owned()))];
    assert_eq!(typed("Einsum", &["f32[s0, 2]", "f32[2, 5]"], &equation("ij, jk -> ik")), "f32[s0, 5]");
    assert_eq!(typed("Einsum", &["f32[s0, 2]", "f32[2, 5]"], &equation("ij,jk")), "f32[s0, 5]");
}

#[test]
fn reshapes_follow_symbolic_extents() {
    assert_eq!(typed("Reshape", &["f32[s0, 4, 6]", "=0,-1"], &[]), "f32[s0, 24]");
    assert_eq!(typed("Reshape", &["f32[s0, 4, 6]", "=-1,8"], &[]), "f32[3*s0, 8]");
    assert_eq!(typed("Reshape", &["f32[s0, ?, 4, 6]", "=0,0,-1"], &[]), "f32[s0, ?, ?]");
    assert_eq!(typed("Reshape", &["f32[?, 4, 6]", "=-1,24"], &[]), "f32[?, 24]");
    assert_eq!(typed("Reshape", &["f32[s0, 4]", "i64[3]"], &[]), "f32[?, ?, ?]");
    assert_eq!(typed("Reshape", &["f32[s0, 4]", "i64[?]"], &[]), "f32*");
    assert_eq!(typed("Flatten", &["f32[s0, 4, s1]"], &[("axis", Attr::Int(2))]), "f32[4*s0, s1]");
    assert_eq!(typed("Transpose", &["f32[s0, 4, 6]"], &[("perm", ints(&[2, 0, 1]))]), "f32[6, s0, 4]");
    assert_eq!(typed("Squeeze", &["f32[s0, 1, 6]", "=-2"], &[]), "f32[s0, 6]");
    assert_eq!(typed("Unsqueeze", &["f32[s0]", "=0,-1"], &[]), "f32[1, s0, 1]");
    assert_eq!(typed("Expand", &["f32[1, 4]", "=3,1,1"], &[]), "f32[3, 1, 4]");
}

#[test]
fn a_shape_is_followed_through_its_arithmetic() {
    let mut b = Bench::new();
    let x = b.input("f32[s0, 6, s1]");
    let shape = b.op("Shape", &[x], &[]);
    let first = b.ints(&[0]);
    let last = b.ints(&[2]);
    let (batch, length) = (b.op("Gather", &[shape, first], &[]), b.op("Gather", &[shape, last], &[]));
    let two = b.ints(&[2]);
    let half = b.op("Div", &[length, two], &[]);
    assert_eq!(b.contents(half).unwrap(), ["s1//2"]);
    let twelve = b.ints(&[12]);
    let target = b.op("Concat", &[batch, half, twelve], &[("axis", Attr::Int(0))]);
    assert_eq!(b.contents(target).unwrap(), ["s0", "s1//2", "12"]);
    let y = b.op("Reshape", &[x, target], &[]);
    assert_eq!(b.text(y), "f32[s0, s1//2, 12]");
    let parts = b.node("Split", &[Some(shape), None], &[("num_outputs", Attr::Int(3))], 3);
    assert_eq!(b.contents(parts[2]).unwrap(), ["s1"]);
    let fill = LazyTensor::inline(DType::F32, vec![1], 0f32.to_le_bytes().to_vec());
    let zeros = b.op("ConstantOfShape", &[target], &[("value", Attr::Tensor(fill))]);
    assert_eq!(b.text(zeros), "f32[s0, s1//2, 12]");
    let tail = b.node("Shape", &[Some(x)], &[("start", Attr::Int(-1))], 1)[0];
    assert_eq!(b.contents(tail).unwrap(), ["s1"]);
}

#[test]
fn slices_are_clamped() {
    let slice =
        |x: &str, start: &str, end: &str, step: &str| typed("Slice", &[x, start, end, "=0", step], &[]);
    assert_eq!(slice("f32[s0]", "=1", "=9223372036854775807", "=1"), "f32[s0 - 1]");
    assert_eq!(slice("f32[s0]", "=-1", "=9223372036854775807", "=1"), "f32[1]");
    assert_eq!(slice("f32[s0]", "=0", "=2", "=1"), "f32[2]");
    assert_eq!(slice("f32[s0]", "=0", "=10", "=1"), "f32[min(10, s0)]");
    assert_eq!(slice("f32[s0]", "=0", "=9223372036854775807", "=2"), "f32[(s0 + 1)//2]");
    assert_eq!(slice("f32[s0]", "=-1", "=-9223372036854775808", "=-1"), "f32[s0]");
    assert_eq!(slice("f32[10]", "=8", "=2", "=-3"), "f32[2]");
    assert_eq!(slice("f32[0]", "=-1", "=-9223372036854775808", "=-1"), "f32[0]");
    assert_eq!(slice("f32[10]", "=7", "=3", "=1"), "f32[0]");
    assert_eq!(slice("f32[s0]", "i64[1]", "=3", "=1"), "f32[?]");
}

#[test]
fn joining_splitting_and_padding() {
    let axis = |n| [("axis", Attr::Int(n))];
    assert_eq!(typed("Concat", &["f32[s0, 2]", "f32[s1, ?]"], &axis(0)), "f32[s0 + s1, 2]");
    assert_eq!(typed("Split", &["f32[s0, 8]", "=8"], &axis(1)), "f32[s0, 8]");
    let mut b = Bench::new();
    let x = b.input("f32[10, s0]");
    let parts = b.node("Split", &[Some(x)], &[("num_outputs", Attr::Int(3))], 3);
    assert_eq!(
        parts.iter().map(|p| b.text(*p)).collect::<Vec<_>>(),
        ["f32[4, s0]", "f32[4, s0]", "f32[2, s0]"]
    );
    assert_eq!(typed("Pad", &["f32[s0, 4]", "=0,1,0,2"], &[]), "f32[s0, 7]");
    assert_eq!(typed("Tile", &["f32[s0, 4]", "=2,3"], &[]), "f32[2*s0, 12]");
}

#[test]
fn convolutions_and_pools() {
    let attrs = [("pads", ints(&[3, 3, 3, 3])), ("strides", ints(&[2, 2]))];
    let conv = |x: &str| typed("Conv", &[x, "f32[64, 3, 7, 7]"], &attrs);
    assert_eq!(conv("f32[s0, 3, 224, 224]"), "f32[s0, 64, 112, 112]");
    assert_eq!(conv("f32[1, 3, s0, ?]"), "f32[1, 64, (s0 + 1)//2, ?]");
    let transposed = [("strides", ints(&[2])), ("output_padding", ints(&[1])), ("group", Attr::Int(2))];
    assert_eq!(typed("ConvTranspose", &["f32[1, 4, 5]", "f32[4, 3, 3]"], &transposed), "f32[1, 6, 12]");
    let pool = |ceil| [("kernel_shape", ints(&[2])), ("strides", ints(&[2])), ("ceil_mode", Attr::Int(ceil))];
    assert_eq!(typed("MaxPool", &["f32[1, 1, 7]"], &pool(0)), "f32[1, 1, 3]");
    assert_eq!(typed("MaxPool", &["f32[1, 1, 7]"], &pool(1)), "f32[1, 1, 4]");
    assert_eq!(typed("MaxPool", &["f32[1, 1, s0]"], &pool(1)), "f32[1, 1, ?]");
    assert_eq!(typed("GlobalAveragePool", &["f32[s0, 8, ?, 7]"], &[]), "f32[s0, 8, 1, 1]");
}

#[test]
fn picking_and_counting() {
    assert_eq!(typed("Gather", &["f32[10, 4]", "i64[s0, 3]"], &[]), "f32[s0, 3, 4]");
    assert_eq!(typed("GatherND", &["f32[5, s0, 4]", "i64[7, 1]"], &[]), "f32[7, s0, 4]");
    assert_eq!(typed("NonZero", &["f32[s0, 4]"], &[]), "i64[2, ?]");
    assert_eq!(typed("TopK", &["f32[s0, 9]", "=3"], &[]), "f32[s0, 3]");
    assert_eq!(
        typed("ArgMax", &["f32[s0, 9]"], &[("axis", Attr::Int(-1)), ("keepdims", Attr::Int(0))]),
        "i64[s0]"
    );
    assert_eq!(typed("ReduceMean", &["f32[s0, 3, 4]", "=-1,-2"], &[]), "f32[s0, 1, 1]");
    assert_eq!(typed("ReduceSum", &["f32[s0, 3, 4]"], &[("keepdims", Attr::Int(0))]), "f32[]");
    let noop = [("noop_with_empty_axes", Attr::Int(1))];
    assert_eq!(typed("ReduceSum", &["f32[s0, 3]", "="], &noop), "f32[s0, 3]");
    assert_eq!(typed("ReduceSum", &["f32[s0, 3]", "i64[1]"], &[]), "f32[?, ?]");
}

#[test]
fn a_list_that_is_not_reduced_has_no_product() {
    let product = |noop: i64| {
        let mut b = Bench::new();
        let x = b.input("f32[s0, 3]");
        let shape = b.op("Shape", &[x], &[]);
        let y = b.op("ReduceProd", &[shape], &[("noop_with_empty_axes", Attr::Int(noop))]);
        (b.text(y), b.graph.shape_value(y).is_some())
    };
    assert_eq!(product(0), ("i64[1]".to_owned(), true));
    assert_eq!(product(1), ("i64[2]".to_owned(), false));
}

#[test]
fn shapes_that_runtimes_disagree_about_are_left_open() {
    let noop = [("noop_with_empty_axes", Attr::Int(-1))];
    assert!(!typed("ReduceSum", &["f32[s0, 3]", "="], &noop).contains("s0"));
    assert!(!typed("Squeeze", &["f32[1, s0]", "="], &[]).contains("s0"));
}

#[test]
fn sizes_and_scales_of_images() {
    assert_eq!(typed("OneHot", &["i64[s0]", "=5", "f32[2]"], &[]), "f32[s0, 5]");
    let mut b = Bench::new();
    let x = b.input("f32[1, 3, s0, 9]");
    let scales = b.floats(&[1.0, 1.0, 2.0, 0.5]);
    let y = b.node("Resize", &[Some(x), None, Some(scales)], &[], 1)[0];
    assert_eq!(b.text(y), "f32[1, 3, 2*s0, 4]");
    let sizes = b.ints(&[1, 3, 20, 30]);
    let y = b.node("Resize", &[Some(x), None, None, Some(sizes)], &[], 1)[0];
    assert_eq!(b.text(y), "f32[1, 3, 20, 30]");
}

#[test]
fn recurrent_layers() {
    let mut b = Bench::new();
    let (x, w, r) = (b.input("f32[s0, s1, 8]"), b.input("f32[2, 64, 8]"), b.input("f32[2, 64, 16]"));
    let attrs = [("hidden_size", Attr::Int(16)), ("direction", Attr::Str("bidirectional".into()))];
    let out = b.node("LSTM", &[Some(x), Some(w), Some(r)], &attrs, 3);
    assert_eq!(b.text(out[0]), "f32[s0, 2, s1, 16]");
    assert_eq!(b.text(out[2]), "f32[2, s1, 16]");
}

#[test]
fn branches_agree_or_stay_unknown() {
    let mut b = Bench::new();
    let (x, y, c) = (b.input("f32[s0, 4]"), b.input("f32[s1, 4]"), b.input("bool[]"));
    let main = b.graph.main();
    let (yes, no) = (b.graph.add_block(main), b.graph.add_block(main));
    b.graph.add_output(yes, x);
    b.graph.add_output(no, y);
    let out = b.op("If", &[c], &[("then_branch", Attr::Block(yes)), ("else_branch", Attr::Block(no))]);
    assert_eq!(b.text(out), "f32[?, 4]");
}

#[test]
fn ranges_count_their_elements() {
    assert_eq!(typed("Range", &["=0", "=10", "=3"], &[]), "i64[4]");
    assert_eq!(typed("Range", &["i64[]", "=10", "=3"], &[]), "i64[?]");
    let mut b = Bench::new();
    let x = b.input("f32[s0]");
    let size = b.op("Size", &[x], &[]);
    let (zero, one) = (b.ints(&[0]), b.ints(&[1]));
    let r = b.op("Range", &[zero, size, one], &[]);
    assert_eq!(b.text(r), "i64[s0]");
}
