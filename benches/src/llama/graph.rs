//! The calls of a decoder and the types of their values, as the schema's JSON.

use serde_json::{Value, json};

use super::{HEAD, Llama, TOKENS, VOCABULARY};
use crate::chain::graph::{tensor, tensor_meta};

/// The user's input: token ids `[1, tokens]`.
pub(super) const INPUT: &str = "tokens";

/// The parameter that is looked up, not multiplied.
pub(super) const EMBEDDING: &str = "embed.weight";

/// The module's names of its parameters, and their extents.
pub(super) fn weights(llama: &Llama) -> Vec<(String, Vec<u64>)> {
    let (hidden, inner) = (llama.hidden, llama.inner);
    let mut weights = vec![(EMBEDDING.to_owned(), vec![VOCABULARY, hidden])];
    for layer in 0..llama.layers {
        let mut add = |name: &str, shape: &[u64]| {
            weights.push((format!("layers.{layer}.{name}.weight"), shape.to_vec()));
        };
        add("norm", &[hidden]);
        for name in ["q", "k", "v", "o"] {
            add(name, &[hidden, hidden]);
        }
        add("mlp_norm", &[hidden]);
        add("gate", &[inner, hidden]);
        add("up", &[inner, hidden]);
        add("down", &[hidden, inner]);
    }
    weights.push(("norm.weight".to_owned(), vec![hidden]));
    weights.push(("head.weight".to_owned(), vec![VOCABULARY, hidden]));
    weights
}

/// A parameter as the graph calls it.
pub(super) fn placeholder(name: &str) -> String {
    format!("p_{}", name.replace('.', "_"))
}

/// A type: sizes that are known, row-major.
fn dense(shape: &[u64]) -> Value {
    let strides: Vec<u64> = (1..=shape.len()).map(|axis| shape.iter().skip(axis).product()).collect();
    strided(shape, &strides)
}

/// A type: sizes and strides that are known.
pub(super) fn strided(shape: &[u64], strides: &[u64]) -> Value {
    let ints = |ints: &[u64]| ints.iter().map(|n| json!({ "as_int": n })).collect::<Vec<Value>>();
    tensor_meta(&json!(ints(shape)), &json!(ints(strides)))
}

/// Calls and the types of values.
pub(super) struct Graph {
    pub(super) nodes: Vec<Value>,
    pub(super) types: serde_json::Map<String, Value>,
    /// The name of the result.
    pub(super) output: String,
}

impl Graph {
    pub(super) fn of(llama: &Llama) -> Self {
        let mut graph = Self { nodes: Vec::new(), types: serde_json::Map::new(), output: String::new() };
        for (name, shape) in weights(llama) {
            let meta = strided(&shape, &llama.strides(&name, &shape));
            graph.types.insert(placeholder(&name), meta);
        }
        let mut ids = dense(&[1, TOKENS]);
        // int64, in the schema's numbers.
        ids["dtype"] = json!(5);
        graph.types.insert(INPUT.to_owned(), ids);
        let stream = [1, TOKENS, llama.hidden];
        let table = [("weight", tensor("p_embed_weight")), ("indices", tensor(INPUT))];
        let mut x = graph.call("embedding.default", &table, &stream);
        for layer in 0..llama.layers {
            let weight = |name: &str| format!("p_layers_{layer}_{name}_weight");
            let y = graph.norm(&x, &weight("norm"), llama.hidden);
            let y = graph.attention(&y, llama.hidden, &weight);
            x = graph.binary("add.Tensor", &x, &y, &stream);
            let y = graph.norm(&x, &weight("mlp_norm"), llama.hidden);
            let wide = [1, TOKENS, llama.inner];
            let gate = graph.linear(&y, &weight("gate"), &wide);
            let gate = graph.call("silu.default", &[("self", tensor(&gate))], &wide);
            let up = graph.linear(&y, &weight("up"), &wide);
            let y = graph.binary("mul.Tensor", &gate, &up, &wide);
            let y = graph.linear(&y, &weight("down"), &stream);
            x = graph.binary("add.Tensor", &x, &y, &stream);
        }
        let x = graph.norm(&x, "p_norm_weight", llama.hidden);
        graph.output = graph.linear(&x, "p_head_weight", &[1, TOKENS, VOCABULARY]);
        graph
    }

    /// `x * rsqrt(mean(x²) + ε) * weight`.
    fn norm(&mut self, x: &str, weight: &str, hidden: u64) -> String {
        let (stream, one) = ([1, TOKENS, hidden], [1, TOKENS, 1]);
        let square = [("self", tensor(x)), ("exponent", json!({ "as_int": 2 }))];
        let y = self.call("pow.Tensor_Scalar", &square, &stream);
        let mean = [
            ("self", tensor(&y)),
            ("dim", json!({ "as_ints": [-1] })),
            ("keepdim", json!({ "as_bool": true })),
        ];
        let y = self.call("mean.dim", &mean, &one);
        let y =
            self.call("add.Tensor", &[("self", tensor(&y)), ("other", json!({ "as_float": 1e-5 }))], &one);
        let y = self.call("rsqrt.default", &[("self", tensor(&y))], &one);
        let y = self.binary("mul.Tensor", x, &y, &stream);
        self.binary("mul.Tensor", &y, weight, &stream)
    }

    fn attention(&mut self, x: &str, hidden: u64, weight: &dyn Fn(&str) -> String) -> String {
        let heads = hidden / HEAD;
        let (stream, split, transposed) =
            ([1, TOKENS, hidden], [1, TOKENS, heads, HEAD], [1, heads, TOKENS, HEAD]);
        let qkv = ["q", "k", "v"].map(|name| {
            let y = self.linear(x, &weight(name), &stream);
            let y = self.reshape("view.default", &y, &split);
            self.transpose(&y, &transposed)
        });
        let [q, k, v] = &qkv;
        let inputs = [
            ("query", tensor(q)),
            ("key", tensor(k)),
            ("value", tensor(v)),
            ("attn_mask", json!({ "as_none": true })),
            ("dropout_p", json!({ "as_float": 0.0 })),
            ("is_causal", json!({ "as_bool": true })),
        ];
        let y = self.call("scaled_dot_product_attention.default", &inputs, &transposed);
        let y = self.transpose(&y, &split);
        let y = self.reshape("reshape.default", &y, &stream);
        self.linear(&y, &weight("o"), &stream)
    }

    fn linear(&mut self, x: &str, weight: &str, shape: &[u64]) -> String {
        self.call("linear.default", &[("input", tensor(x)), ("weight", tensor(weight))], shape)
    }

    fn binary(&mut self, op: &str, a: &str, b: &str, shape: &[u64]) -> String {
        self.call(op, &[("self", tensor(a)), ("other", tensor(b))], shape)
    }

    fn reshape(&mut self, op: &str, x: &str, shape: &[u64]) -> String {
        let argument = if op.starts_with("view") { "size" } else { "shape" };
        self.call(op, &[("self", tensor(x)), (argument, json!({ "as_ints": shape }))], shape)
    }

    /// Exchanges the axes 1 and 2.
    fn transpose(&mut self, x: &str, shape: &[u64]) -> String {
        let axes = [("dim0", json!({ "as_int": 1 })), ("dim1", json!({ "as_int": 2 }))];
        let [dim0, dim1] = axes;
        self.call("transpose.int", &[("self", tensor(x)), dim0, dim1], shape)
    }

    /// A call whose result has these sizes; the name of the result.
    fn call(&mut self, op: &str, inputs: &[(&str, Value)], shape: &[u64]) -> String {
        let stem = op.split('.').next().unwrap_or(op);
        let name = format!("{stem}_{}", self.nodes.len());
        let inputs: Vec<Value> =
            inputs.iter().map(|(name, arg)| json!({ "name": name, "arg": arg, "kind": 1 })).collect();
        self.types.insert(name.clone(), dense(shape));
        self.nodes.push(json!({
            "target": format!("torch.ops.aten.{op}"),
            "inputs": inputs,
            "outputs": [tensor(&name)],
            "metadata": {},
            "is_hop_single_tensor_return": null,
            "name": name,
        }));
        name
    }
}
