//! The calls of a chain and the types of their values, as the schema's JSON.

use serde_json::{Value, json};

use super::Chain;

/// The size of the last axis.
pub(super) const WIDTH: usize = 64;

/// The two sizes that the last axis is viewed as.
const FOLDED: [usize; 2] = [8, 8];

/// The batch as an integer of the graph.
pub(super) const SIZE: &str = "sym_size_int";

/// The buffer, as the graph calls it.
pub(super) const STATE: &str = "b_state";

/// In a chain with writes, every block of this many adds to the buffer.
const BLOCKS_PER_WRITE: usize = 16;

/// A call of a block. Results have the sizes `[batch, ..tail]`.
enum Step<'a> {
    /// The sum with a value.
    Add(&'a str),
    /// An operator of one argument, and its tail.
    Unary(&'a str, &'a [usize]),
    /// A view with another tail.
    View(&'a [usize]),
    /// The sum of the buffer and a value, in place.
    WriteState(&'a str),
}

/// Calls and values; JSON text, since a chain may be long.
pub(super) struct Graph {
    /// The nodes, separated by commas.
    pub(super) nodes: String,
    /// The types of the values, separated by commas.
    pub(super) types: String,
    /// The number of blocks, each of which has a parameter.
    pub(super) blocks: usize,
    /// The name of the last value.
    pub(super) output: String,
    count: usize,
}

impl Graph {
    pub(super) fn of(chain: &Chain) -> Self {
        let mut graph =
            Self { nodes: String::new(), types: String::new(), blocks: 0, output: "x".to_owned(), count: 0 };
        graph.state("x", &[]);
        graph.stated(STATE, &json!([{ "as_int": WIDTH }]), &json!([{ "as_int": 1 }]));
        graph.size();
        while graph.count < chain.nodes {
            graph.block(chain);
        }
        graph
    }

    /// `sym_size_int = aten.sym_size.int(x, 0)`.
    fn size(&mut self) {
        let inputs = [("self", tensor("x")), ("dim", json!({ "as_int": 0 }))];
        let output = json!({ "as_sym_int": { "as_name": SIZE } });
        self.node("sym_size.int", SIZE, &inputs, &output);
    }

    /// A block; the last one ends where the chain does.
    fn block(&mut self, chain: &Chain) {
        let block = self.blocks;
        self.blocks += 1;
        let bias = parameter(block);
        self.stated(&bias, &json!([{ "as_int": WIDTH }]), &json!([{ "as_int": 1 }]));
        let relu = if chain.writes { "relu_.default" } else { "relu.default" };
        let residual = self.output.clone();
        let writes = chain.writes && block.is_multiple_of(BLOCKS_PER_WRITE);
        let steps = [
            Step::Add(&bias),
            Step::Unary("relu.default", &[WIDTH]),
            Step::View(&FOLDED),
            Step::Unary(relu, &FOLDED),
            Step::View(&[WIDTH]),
            Step::Add(&residual),
            Step::Unary(relu, &[WIDTH]),
            Step::Unary("tanh.default", &[WIDTH]),
            Step::WriteState(&bias),
            Step::Add(STATE),
        ];
        let steps = steps.iter().take(if writes { 10 } else { 8 });
        for step in steps.take(chain.nodes - self.count) {
            match step {
                Step::Add(other) => self.add(other),
                Step::Unary(op, tail) => self.call(op, &[("self", tensor(&self.output))], tail),
                Step::View(tail) => self.view(tail),
                Step::WriteState(other) => self.write_state(other),
            }
        }
    }

    fn add(&mut self, other: &str) {
        let inputs = [("self", tensor(&self.output)), ("other", tensor(other))];
        self.call("add.Tensor", &inputs, &[WIDTH]);
    }

    fn view(&mut self, tail: &[usize]) {
        let mut sizes = vec![json!({ "as_name": SIZE })];
        sizes.extend(tail.iter().map(|size| json!({ "as_int": size })));
        let inputs = [("self", tensor(&self.output)), ("size", json!({ "as_sym_ints": sizes }))];
        self.call("view.default", &inputs, tail);
    }

    /// `b_state.add_(other)`, whose result nothing uses.
    fn write_state(&mut self, other: &str) {
        let name = format!("add__{}", self.count);
        let inputs = [("self", tensor(STATE)), ("other", tensor(other))];
        self.stated(&name, &json!([{ "as_int": WIDTH }]), &json!([{ "as_int": 1 }]));
        self.node("add_.Tensor", &name, &inputs, &tensor(&name));
    }

    /// A call whose result `[batch, ..tail]` is the next value of the chain.
    fn call(&mut self, op: &str, inputs: &[(&str, Value)], tail: &[usize]) {
        let stem = op.split('.').next().unwrap_or(op);
        let name = format!("{stem}_{}", self.count);
        self.state(&name, tail);
        self.node(op, &name, inputs, &tensor(&name));
        self.output = name;
    }

    fn node(&mut self, op: &str, name: &str, inputs: &[(&str, Value)], output: &Value) {
        let inputs: Vec<Value> =
            inputs.iter().map(|(name, arg)| json!({ "name": name, "arg": arg, "kind": 1 })).collect();
        let block = self.blocks.saturating_sub(1);
        let node = json!({
            "target": format!("torch.ops.aten.{op}"),
            "inputs": inputs,
            "outputs": [output],
            "metadata": {
                "stack_trace": "File \"chain.py\", line 31, in forward\n    x = block(x)\n\
                    File \"chain.py\", line 12, in forward\n    return self.step(x + self.bias)",
                "nn_module_stack": format!(
                    "L__self__,,chain.Chain;L__self___blocks_{block},blocks.{block},chain.Block"
                ),
                "torch_fn": format!("{name};method_descriptor.{name}"),
            },
            "is_hop_single_tensor_return": null,
            "name": name,
        });
        push(&mut self.nodes, &node.to_string());
        self.count += 1;
    }

    /// States the type `[batch, ..tail]`; without a tail, that of the chain's ends.
    fn state(&mut self, name: &str, tail: &[usize]) {
        let tail = if tail.is_empty() { &[WIDTH] } else { tail };
        let mut sizes = vec![json!({ "as_expr": batch() })];
        sizes.extend(tail.iter().map(|size| json!({ "as_int": size })));
        let strides =
            (0..=tail.len()).map(|axis| json!({ "as_int": tail[axis..].iter().product::<usize>() }));
        self.stated(name, &json!(sizes), &strides.collect());
    }

    fn stated(&mut self, name: &str, sizes: &Value, strides: &Value) {
        push(&mut self.types, &format!("\"{name}\":{}", tensor_meta(sizes, strides)));
    }
}

/// The parameter of a block, as the graph calls it.
pub(super) fn parameter(block: usize) -> String {
    format!("p_blocks_{block}_bias")
}

/// The batch as an expression.
pub(super) fn batch() -> Value {
    json!({ "expr_str": "Symbol('s77', positive=True, integer=True)", "hint": { "as_int": 3 } })
}

/// The type of an f32 tensor.
pub(crate) fn tensor_meta(sizes: &Value, strides: &Value) -> Value {
    json!({
        "dtype": 7,
        "sizes": sizes,
        "requires_grad": false,
        "device": { "type": "cpu", "index": null },
        "strides": strides,
        "storage_offset": { "as_int": 0 },
        "layout": 7,
    })
}

/// A tensor as an argument.
pub(crate) fn tensor(name: &str) -> Value {
    json!({ "as_tensor": { "name": name } })
}

fn push(list: &mut String, item: &str) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(item);
}
