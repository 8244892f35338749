//! Known architectures with drawn weights, as text: small ones for the processor, those of full size for a GPU.

use std::fmt::Write;

use onnxport_ir::ir::Model;
use onnxport_ir::ops::Tensor;
use onnxport_ir::tensor::DType;

/// A model under construction.
struct Text {
    dtype: DType,
    constants: String,
    nodes: String,
    next: usize,
}

/// A transformer: sizes, and how many.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) dim: usize,
    pub(super) depth: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) hidden: usize,
    pub(super) vocabulary: usize,
    pub(super) tokens: usize,
}

impl Text {
    fn new(dtype: DType) -> Self {
        Self { dtype, constants: String::new(), nodes: String::new(), next: 0 }
    }

    fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    /// A weight without bytes, which are drawn later.
    fn weight(&mut self, shape: &[usize]) -> String {
        let name = self.name();
        let _ = writeln!(self.constants, "  constant {name}: {}{shape:?} = ...", self.dtype);
        name
    }

    fn longs(&mut self, items: &[i64]) -> String {
        let name = self.name();
        let _ = writeln!(self.constants, "  constant {name}: i64[{}] = {items:?}", items.len());
        name
    }

    fn number(&mut self, x: f64) -> String {
        let name = self.name();
        let _ = writeln!(self.constants, "  constant {name}: {}[] = [{x:?}]", self.dtype);
        name
    }

    fn op(&mut self, op: &str, inputs: &[&str], attributes: &str) -> String {
        let name = self.name();
        let _ = writeln!(self.nodes, "  {name} = {op}({}) {{{attributes}}}", inputs.join(", "));
        name
    }

    fn linear(&mut self, x: &str, from: usize, to: usize) -> String {
        let (w, b) = (self.weight(&[from, to]), self.weight(&[to]));
        let product = self.op("MatMul", &[x, &w], "");
        self.op("Add", &[&product, &b], "")
    }

    fn layer_norm(&mut self, x: &str, dim: usize) -> String {
        let (w, b) = (self.weight(&[dim]), self.weight(&[dim]));
        self.op("LayerNormalization", &[x, &w, &b], "axis = -1")
    }

    /// `[1, tokens, heads · size]` as `[1, heads, tokens, size]`.
    fn heads(&mut self, x: &str, heads: usize, size: usize) -> String {
        let shape = self.longs(&[1, -1, heads as i64, size as i64]);
        let split = self.op("Reshape", &[x, &shape], "");
        self.op("Transpose", &[&split], "perm = [0, 2, 1, 3]")
    }

    /// Turns pairs of elements by angles that depend on the place.
    fn rotated(&mut self, x: &str, tokens: usize, size: usize) -> String {
        let half = (size / 2) as i64;
        let (cos, sin) = (self.weight(&[tokens, size]), self.weight(&[tokens, size]));
        let [start, middle, end, axis] = [0, half, i64::MAX, -1].map(|n| self.longs(&[n]));
        let left = self.op("Slice", &[x, &start, &middle, &axis], "");
        let right = self.op("Slice", &[x, &middle, &end, &axis], "");
        let negative = self.op("Neg", &[&right], "");
        let transposed = self.op("Concat", &[&negative, &left], "axis = -1");
        let (a, b) = (self.op("Mul", &[x, &cos], ""), self.op("Mul", &[&transposed, &sin], ""));
        self.op("Add", &[&a, &b], "")
    }

    fn attention(&mut self, x: &str, s: Size, causal: bool, rotary: bool) -> String {
        let size = s.dim / s.heads;
        let [q, k, v] = [s.heads, s.kv_heads, s.kv_heads].map(|heads| {
            let flat = self.linear(x, s.dim, heads * size);
            self.heads(&flat, heads, size)
        });
        let (q, mut k, mut v) = if rotary {
            (self.rotated(&q, s.tokens, size), self.rotated(&k, s.tokens, size), v)
        } else {
            (q, k, v)
        };
        if s.kv_heads != s.heads {
            let share = s.heads / s.kv_heads;
            let spread = self.longs(&[1, s.kv_heads as i64, share as i64, s.tokens as i64, size as i64]);
            let joined = self.longs(&[1, s.heads as i64, s.tokens as i64, size as i64]);
            let axis = self.longs(&[2]);
            [k, v] = [k, v].map(|x| {
                let more = self.op("Unsqueeze", &[&x, &axis], "");
                let wide = self.op("Expand", &[&more, &spread], "");
                self.op("Reshape", &[&wide, &joined], "")
            });
        }
        let transposed = self.op("Transpose", &[&k], "perm = [0, 1, 3, 2]");
        let scores = self.op("MatMul", &[&q, &transposed], "");
        let scale = self.number((size as f64).sqrt());
        let mut scores = self.op("Div", &[&scores, &scale], "");
        if causal {
            let (shape, start) = (self.longs(&[s.tokens as i64; 2]), self.number(f64::NEG_INFINITY));
            let full = self.op("Expand", &[&start, &shape], "");
            let one = self.longs(&[1]);
            let none: [i64; 0] = [];
            let scalar = self.longs(&none);
            let diagonal = self.op("Reshape", &[&one, &scalar], "");
            let mask = self.op("Trilu", &[&full, &diagonal], "upper = 1");
            scores = self.op("Add", &[&scores, &mask], "");
        }
        let weights = self.op("Softmax", &[&scores], "axis = -1");
        let mixed = self.op("MatMul", &[&weights, &v], "");
        let back = self.op("Transpose", &[&mixed], "perm = [0, 2, 1, 3]");
        let shape = self.longs(&[1, s.tokens as i64, s.dim as i64]);
        let flat = self.op("Reshape", &[&back, &shape], "");
        self.linear(&flat, s.dim, s.dim)
    }

    fn feed_forward(&mut self, x: &str, s: Size, approximate: &str) -> String {
        let wide = self.linear(x, s.dim, s.hidden);
        let bent = self.op("Gelu", &[&wide], &format!("approximate = \"{approximate}\""));
        self.linear(&bent, s.hidden, s.dim)
    }

    fn model(self, input: &str, output: &str, seed: u64) -> Model {
        let text = format!(
            "opset 20\ngraph {{\n{}  input %x: {input}\n{}  output {output} as y\n}}\n",
            self.constants, self.nodes
        );
        let mut model = Model::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        let mut draw = Draw(seed);
        for initializer in &mut model.graph.initializers {
            // Numbers without axes are not weights.
            if initializer.data.dtype.is_float() && !initializer.data.shape.is_empty() {
                let shape: Vec<usize> = initializer.data.shape.iter().map(|d| *d as usize).collect();
                initializer.data = draw.weight(self.dtype, &shape).to_lazy().unwrap();
            }
        }
        model
    }
}

/// Numbers of 24 bits, so that every float type but the narrow ones holds the same.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / f64::from(1 << 23) - 1.0
    }

    /// Vectors are near 1; matrices preserve the magnitude of the other operand.
    fn weight(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let fan = match shape {
            [_] => return self.tensor(dtype, shape, 1.0, 0.125),
            [rows, _] => *rows,
            [_, rest @ ..] => rest.iter().product(),
            [] => 1,
        };
        self.tensor(dtype, shape, 0.0, f64::from((3.0 / fan as f64).sqrt() as f32))
    }

    pub(super) fn tensor(&mut self, dtype: DType, shape: &[usize], middle: f64, spread: f64) -> Tensor {
        let count: usize = shape.iter().product();
        let items = (0..count).map(|_| f64::from((middle + spread * self.next()) as f32)).collect();
        Tensor::of_floats(dtype, shape.to_vec(), items).unwrap()
    }
}

/// Two basic blocks in each of four stages, of `width` to eight times `width` channels.
pub(super) fn resnet18(dtype: DType, width: usize, image: usize, classes: usize) -> Model {
    let mut t = Text::new(dtype);
    let normed = |t: &mut Text, x: &str, from: usize, to: usize, kernel: usize, stride: usize| {
        let w = t.weight(&[to, from, kernel, kernel]);
        let pad = kernel / 2;
        let c = t.op(
            "Conv",
            &[x, &w],
            &format!("strides = [{stride}, {stride}], pads = [{pad}, {pad}, {pad}, {pad}]"),
        );
        let p: Vec<String> = (0..4).map(|_| t.weight(&[to])).collect();
        t.op("BatchNormalization", &[&c, &p[0], &p[1], &p[2], &p[3]], "")
    };
    let stem = normed(&mut t, "%x", 3, width, 7, 2);
    let stem = t.op("Relu", &[&stem], "");
    let mut x = t.op("MaxPool", &[&stem], "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]");
    let mut channels = width;
    for stage in 0..4 {
        for block in 0..2 {
            let to = width << stage;
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let a = normed(&mut t, &x, channels, to, 3, stride);
            let a = t.op("Relu", &[&a], "");
            let b = normed(&mut t, &a, to, to, 3, 1);
            let short = if stride == 2 { normed(&mut t, &x, channels, to, 1, 2) } else { x.clone() };
            let sum = t.op("Add", &[&b, &short], "");
            x = t.op("Relu", &[&sum], "");
            channels = to;
        }
    }
    let pooled = t.op("GlobalAveragePool", &[&x], "");
    let flat = t.op("Flatten", &[&pooled], "");
    let out = t.linear(&flat, channels, classes);
    t.model(&format!("{dtype}[1, 3, {image}, {image}]"), &out, 1)
}

/// A vision transformer over square patches; `s.tokens` counts the class token.
pub(super) fn vit(dtype: DType, s: Size, patch: usize, image: usize) -> Model {
    let mut t = Text::new(dtype);
    let (w, b) = (t.weight(&[s.dim, 3, patch, patch]), t.weight(&[s.dim]));
    let c = t.op("Conv", &["%x", &w, &b], &format!("strides = [{patch}, {patch}]"));
    let shape = t.longs(&[1, s.dim as i64, -1]);
    let flat = t.op("Reshape", &[&c, &shape], "");
    let patches = t.op("Transpose", &[&flat], "perm = [0, 2, 1]");
    let class = t.weight(&[1, 1, s.dim]);
    let all = t.op("Concat", &[&class, &patches], "axis = 1");
    let places = t.weight(&[1, s.tokens, s.dim]);
    let mut x = t.op("Add", &[&all, &places], "");
    for _ in 0..s.depth {
        let n = t.layer_norm(&x, s.dim);
        let a = t.attention(&n, s, false, false);
        x = t.op("Add", &[&x, &a], "");
        let n = t.layer_norm(&x, s.dim);
        let f = t.feed_forward(&n, s, "none");
        x = t.op("Add", &[&x, &f], "");
    }
    let n = t.layer_norm(&x, s.dim);
    let zero = t.number(0.0);
    let first = t.op("Cast", &[&zero], "to = 7");
    let class = t.op("Gather", &[&n, &first], "axis = 1");
    let out = t.linear(&class, s.dim, s.vocabulary);
    t.model(&format!("{dtype}[1, 3, {image}, {image}]"), &out, 2)
}

/// `DistilBERT`: embeddings, and blocks that are normalised behind.
pub(super) fn bert(dtype: DType, s: Size) -> Model {
    let mut t = Text::new(dtype);
    let (table, places) = (t.weight(&[s.vocabulary, s.dim]), t.weight(&[1, s.tokens, s.dim]));
    let words = t.op("Gather", &[&table, "%x"], "");
    let sum = t.op("Add", &[&words, &places], "");
    let mut x = t.layer_norm(&sum, s.dim);
    for _ in 0..s.depth {
        let a = t.attention(&x, s, false, false);
        let sum = t.op("Add", &[&x, &a], "");
        x = t.layer_norm(&sum, s.dim);
        let f = t.feed_forward(&x, s, "none");
        let sum = t.op("Add", &[&x, &f], "");
        x = t.layer_norm(&sum, s.dim);
    }
    t.model(&format!("i64[1, {}]", s.tokens), &x, 3)
}

/// GPT-2: blocks that are normalised in front, and a mask.
pub(super) fn gpt2(dtype: DType, s: Size) -> Model {
    let mut t = Text::new(dtype);
    let (table, places) = (t.weight(&[s.vocabulary, s.dim]), t.weight(&[1, s.tokens, s.dim]));
    let words = t.op("Gather", &[&table, "%x"], "");
    let mut x = t.op("Add", &[&words, &places], "");
    for _ in 0..s.depth {
        let n = t.layer_norm(&x, s.dim);
        let a = t.attention(&n, s, true, false);
        x = t.op("Add", &[&x, &a], "");
        let n = t.layer_norm(&x, s.dim);
        let f = t.feed_forward(&n, s, "tanh");
        x = t.op("Add", &[&x, &f], "");
    }
    let n = t.layer_norm(&x, s.dim);
    let transposed = t.op("Transpose", &[&table], "perm = [1, 0]");
    let out = t.op("MatMul", &[&n, &transposed], "");
    t.model(&format!("i64[1, {}]", s.tokens), &out, 4)
}

/// Llama: root mean squares, rotated pairs, shared keys, gates.
pub(super) fn llama(dtype: DType, s: Size) -> Model {
    let mut t = Text::new(dtype);
    let table = t.weight(&[s.vocabulary, s.dim]);
    let mut x = t.op("Gather", &[&table, "%x"], "");
    let root = |t: &mut Text, x: &str| {
        let (two, epsilon, axes) = (t.number(2.0), t.number(1e-5), t.longs(&[-1]));
        let square = t.op("Pow", &[x, &two], "");
        let mean = t.op("ReduceMean", &[&square, &axes], "");
        let sum = t.op("Add", &[&mean, &epsilon], "");
        let root = t.op("Sqrt", &[&sum], "");
        let inverse = t.op("Reciprocal", &[&root], "");
        let normed = t.op("Mul", &[x, &inverse], "");
        let w = t.weight(&[s.dim]);
        t.op("Mul", &[&normed, &w], "")
    };
    for _ in 0..s.depth {
        let n = root(&mut t, &x);
        let a = t.attention(&n, s, true, true);
        x = t.op("Add", &[&x, &a], "");
        let n = root(&mut t, &x);
        let (gate, up) = (t.linear(&n, s.dim, s.hidden), t.linear(&n, s.dim, s.hidden));
        let open = t.op("Sigmoid", &[&gate], "");
        let silu = t.op("Mul", &[&gate, &open], "");
        let both = t.op("Mul", &[&silu, &up], "");
        let down = t.linear(&both, s.hidden, s.dim);
        x = t.op("Add", &[&x, &down], "");
    }
    let n = root(&mut t, &x);
    let out = t.linear(&n, s.dim, s.vocabulary);
    t.model(&format!("i64[1, {}]", s.tokens), &out, 5)
}
