//! The places of `QuantizeLinear` and `DequantizeLinear`: which nodes are quantized, which values have codes, and which
//! of these share a scale.
//!
//! The result of a quantized node is read through a pair of the two operators by everything, so that it has no other
//! reader: runtimes fuse the pairs around a node into an integer kernel. Other values with codes are read as floats by
//! nodes that stay floats. Nodes in branches, loops and local functions stay floats.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Def, Graph, Model, NodeId, ValueId};
use crate::op;
use crate::tensor::DType;

use crate::legalise::rules::{Role, Rule, Rules};

/// The nodes and values of a model to quantize.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// The quantized nodes, in topological order.
    pub layers: Vec<Layer>,
    /// The values with codes. Those with the same number share a scale.
    pub values: BTreeMap<ValueId, usize>,
    /// The nodes that pass on values with codes.
    pub sharing: BTreeSet<NodeId>,
    /// The nodes that stay although there is a rule for their operator, with the reasons.
    pub kept: Vec<(NodeId, &'static str)>,
}

/// A quantized node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// The node.
    pub node: NodeId,
    /// Its activations.
    pub inputs: Vec<ValueId>,
    /// Its result, behind the operators that are fused with it.
    pub output: ValueId,
    /// Its weight, if it has one.
    pub weight: Option<Weight>,
}

/// The weight of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    /// The initializer.
    pub value: ValueId,
    /// The axis of the output channels.
    pub axis: usize,
    /// The axis of the channels that are summed.
    pub summed: usize,
    /// The number of groups of a convolution.
    pub groups: u64,
    /// The initializer of the bias, if there is one.
    pub bias: Option<ValueId>,
    /// Whether the node can have a bias.
    pub takes_bias: bool,
}

impl Weight {
    /// The axis of the activation whose channels are summed; -1 is the last one.
    pub(super) fn channels_of_input(&self) -> i64 {
        // The weights of convolutions begin with the output channels, like the transposed ones of products, but have
        // more axes.
        if self.groups > 0 { 1 } else { -1 }
    }
}

impl Plan {
    /// Plans the quantization of `model`, whose types are inferred.
    pub(super) fn of(model: &Model, rules: &Rules) -> Self {
        let mut placing = Placing {
            graph: &model.graph,
            opset: model.opset(),
            rules,
            roots: BTreeMap::new(),
            layers: BTreeMap::new(),
        };
        let order: Vec<NodeId> = model.graph.order(model.graph.main()).collect();
        let mut kept = Vec::new();
        for node in &order {
            if let Some((rule, always)) = placing.weighted(*node)
                && let Err(why) = placing.add_weighted(*node, rule, always)
            {
                kept.push((*node, why));
            }
        }
        // A node can follow another one that follows.
        loop {
            let before = placing.layers.len();
            for node in &order {
                placing.follow(*node);
            }
            if placing.layers.len() == before {
                break;
            }
        }
        placing.plan(&order, kept)
    }

    /// The same for a single layer.
    #[must_use]
    pub(super) fn only(&self, layer: &Layer) -> Self {
        let values = layer.inputs.iter().chain([&layer.output]);
        let values = values.filter_map(|value| Some((*value, *self.values.get(value)?))).collect();
        Self { layers: vec![layer.clone()], values, ..Self::default() }
    }

    /// The nodes that read `value` as codes; `None` for all of its readers, since the kernel that makes it gives nothing
    /// but codes.
    pub(super) fn readers(&self, graph: &Graph, value: ValueId) -> Option<BTreeSet<NodeId>> {
        let is_shared = matches!(graph.values[value].def, Def::Node(node, _) if self.sharing.contains(&node));
        if is_shared || self.layers.iter().any(|layer| layer.output == value) {
            return None;
        }
        let reads = |node: &NodeId| graph.nodes[*node].inputs.contains(&Some(value));
        let layers = self.layers.iter().filter(|layer| layer.inputs.contains(&value)).map(|layer| layer.node);
        Some(layers.chain(self.sharing.iter().copied().filter(reads)).collect())
    }

    /// The number of scales.
    pub(super) fn scales(&self) -> usize {
        self.values.values().max().map_or(0, |last| last + 1)
    }
}

struct Placing<'a> {
    graph: &'a Graph,
    opset: i64,
    rules: &'a Rules,
    /// The values with codes, each with another one that shares its scale, or itself.
    roots: BTreeMap<ValueId, ValueId>,
    layers: BTreeMap<NodeId, Layer>,
}

impl<'a> Placing<'a> {
    fn rule(&self, node: NodeId) -> Option<&'a Rule> {
        let node = &self.graph.nodes[node];
        node.domain.is_empty().then(|| self.rules.of(&node.op)).flatten()
    }

    fn weighted(&self, node: NodeId) -> Option<(&'a Rule, bool)> {
        let rule = self.rule(node)?;
        match rule.role {
            Role::Weighted { always } => Some((rule, always)),
            _ => None,
        }
    }

    fn add_weighted(&mut self, node: NodeId, rule: &Rule, always: bool) -> Result<(), &'static str> {
        let (input, weight) = self.operands(node)?;
        let output = self.behind(node, rule).ok_or("it has no result")?;
        self.demand(input);
        if always {
            self.demand(output);
        }
        self.layers.insert(node, Layer { node, inputs: vec![input], output, weight: Some(weight) });
        Ok(())
    }

    /// The activation and the weight of a node.
    fn operands(&self, node: NodeId) -> Result<(ValueId, Weight), &'static str> {
        let graph = self.graph;
        let found = &graph.nodes[node];
        let operand = |index: usize| found.inputs.get(index).copied().flatten();
        let (Some(input), Some(value)) = (operand(0), operand(1)) else { return Err("it lacks an operand") };
        if !self.is_activation(input) {
            return Err("its activation is a constant, or is not f32");
        }
        let Some(data) = graph.initializer(value).filter(|data| data.dtype == DType::F32) else {
            return Err("its weight is not a constant of f32");
        };
        let rank = data.shape.len();
        if data.shape.contains(&0) {
            return Err("its weight is empty");
        }
        let attributes = found.at(self.opset);
        let (axis, summed, groups, takes_bias) = match found.op.as_str() {
            op::Conv if rank >= 3 => (0, 1, attributes.int("group").ok_or("it has no groups")?, true),
            op::MatMul if rank == 2 => (1, 0, 0, false),
            op::Gemm if rank == 2 => {
                let one = |name: &str| attributes.float(name) == Some(1.0);
                if attributes.flag("transA") != Some(false) || !one("alpha") || !one("beta") {
                    return Err("it is transposed or scaled");
                }
                match attributes.flag("transB") {
                    Some(true) => (0, 1, 0, true),
                    Some(false) => (1, 0, 0, true),
                    None => return Err("it is transposed or scaled"),
                }
            }
            _ => return Err("its weight has another rank"),
        };
        let channels = data.shape.get(axis).copied();
        let bias = operand(2);
        let is_vector = |bias: ValueId| {
            graph.initializer(bias).is_some_and(|bias| {
                bias.dtype == DType::F32 && bias.shape.len() == 1 && bias.shape.first().copied() == channels
            })
        };
        if bias.is_some_and(|bias| !is_vector(bias)) {
            return Err("its bias is not a constant vector of f32");
        }
        let groups = u64::try_from(groups).map_err(|_| "it has no groups")?;
        if groups > 1 && !channels.is_some_and(|channels| channels.is_multiple_of(groups)) {
            return Err("its groups do not divide its channels");
        }
        Ok((input, Weight { value, axis, summed, groups, bias, takes_bias }))
    }

    /// Quantizes a node all of whose inputs are quantized, if the rules say so.
    fn follow(&mut self, node: NodeId) {
        let Some(rule) = self.rule(node).filter(|rule| rule.role == Role::Follows) else { return };
        if self.layers.contains_key(&node) {
            return;
        }
        let inputs: Option<Vec<ValueId>> = self.graph.nodes[node].inputs.iter().copied().collect();
        let Some(inputs) = inputs.filter(|inputs| inputs.iter().all(|value| self.has_codes(*value))) else {
            return;
        };
        let Some(output) = self.behind(node, rule) else { return };
        for input in &inputs {
            self.demand(*input);
        }
        self.demand(output);
        self.layers.insert(node, Layer { node, inputs, output, weight: None });
    }

    /// Whether a value has codes, or passes on values that have.
    fn has_codes(&self, value: ValueId) -> bool {
        let mut at = value;
        loop {
            if self.roots.contains_key(&at) {
                return true;
            }
            match self.sharing(at).as_deref() {
                Some([input]) if self.is_activation(at) => at = *input,
                Some([..]) | None => return false,
            }
        }
    }

    /// Gives a value codes, and the values that are passed on to it.
    fn demand(&mut self, value: ValueId) {
        let (mut left, mut edges) = (vec![value], Vec::new());
        while let Some(value) = left.pop() {
            if self.roots.contains_key(&value) {
                continue;
            }
            self.roots.insert(value, value);
            let inputs = self.sharing(value).unwrap_or_default();
            edges.extend(inputs.iter().map(|input| (value, *input)));
            left.extend(inputs);
        }
        for (a, b) in edges {
            let (a, b) = (self.root(a), self.root(b));
            self.roots.insert(a.max(b), a.min(b));
        }
    }

    fn root(&self, value: ValueId) -> ValueId {
        let mut at = value;
        while let Some(next) = self.roots.get(&at).copied().filter(|next| *next != at) {
            at = next;
        }
        at
    }

    /// The inputs of the node that makes `value`, if it passes them through.
    fn sharing(&self, value: ValueId) -> Option<Vec<ValueId>> {
        let Def::Node(node, 0) = self.graph.values[value].def else { return None };
        self.rule(node).filter(|rule| rule.role == Role::Shares)?;
        let found = &self.graph.nodes[node];
        if found.outputs.len() != 1 || found.block != Some(self.graph.main()) {
            return None;
        }
        let inputs = if found.is(op::Concat) { found.inputs.len() } else { 1 };
        let inputs: Vec<ValueId> = found.inputs.iter().take(inputs).copied().collect::<Option<_>>()?;
        inputs.iter().all(|input| self.is_activation(*input)).then_some(inputs)
    }

    /// Whether a value of the main graph is computed or given, and is f32.
    fn is_activation(&self, value: ValueId) -> bool {
        let info = &self.graph.values[value];
        let main = self.graph.main();
        let is_here = match info.def {
            Def::Input(block, _) => block == main && !self.graph.defaults.iter().any(|d| d.value == value),
            Def::Node(node, _) => self.graph.nodes[node].block == Some(main),
            _ => false,
        };
        is_here && info.ty.dtype() == Some(DType::F32)
    }

    /// The result of a node behind the operators that are fused with it.
    fn behind(&self, node: NodeId, rule: &Rule) -> Option<ValueId> {
        let graph = self.graph;
        let result = |node: NodeId| graph.nodes[node].outputs.first().copied().flatten();
        let output = result(node)?;
        let [only] = graph.values[output].uses() else { return Some(output) };
        let next = &graph.nodes[only.node];
        let is_fused = next.domain.is_empty()
            && rule.fused.iter().any(|op| *op == *next.op)
            && next.block == Some(graph.main())
            && only.index == 0
            && !graph.is_returned(output);
        if is_fused { result(only.node) } else { Some(output) }
    }

    fn plan(self, order: &[NodeId], kept: Vec<(NodeId, &'static str)>) -> Plan {
        let values: BTreeSet<ValueId> = self.roots.keys().copied().collect();
        let mut numbers: BTreeMap<ValueId, usize> = BTreeMap::new();
        let mut numbered = BTreeMap::new();
        for value in values {
            let next = numbers.len();
            numbered.insert(value, *numbers.entry(self.root(value)).or_insert(next));
        }
        let layers = order.iter().filter_map(|node| self.layers.get(node).cloned()).collect();
        let sharing = numbered.keys().filter_map(|value| match self.graph.values[*value].def {
            Def::Node(node, _) => self.sharing(*value).map(|_| node),
            _ => None,
        });
        let sharing = sharing.collect();
        Plan { layers, values: numbered, sharing, kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::infer::infer_all;

    const RULES: &str = "activations=u8 weights=i8 channels bias=i32
Conv weighted fused=Relu,Clip
Gemm weighted output=needed
MatMul weighted output=needed
Add follows fused=Relu
MaxPool shares
Reshape shares
Concat shares";

    fn plan(text: &str) -> (Model, Plan) {
        let mut rules = Rules::default();
        RULES.lines().for_each(|line| rules.line(line).unwrap());
        let mut model = Model::parse(text).unwrap();
        let opset = model.opset();
        infer_all(&mut model.graph, &mut model.symbols, opset);
        let plan = Plan::of(&model, &rules);
        (model, plan)
    }

    /// The names of values with codes, and their scales' numbers.
    fn coded(text: &str) -> Vec<(String, usize)> {
        let (model, plan) = plan(text);
        let name = |value: ValueId| model.graph.values[value].name.clone().unwrap_or_default().to_string();
        let mut named: Vec<(String, usize)> =
            plan.values.iter().map(|(value, number)| (name(*value), *number)).collect();
        named.sort();
        named
    }

    fn names(text: &str) -> Vec<String> {
        coded(text).into_iter().map(|(name, _)| name).collect()
    }

    fn graph(body: &str) -> String {
        format!(
            "opset 20\ngraph {{\n input %x: f32[1, 2, 8, 8]\n constant %w: f32[2, 2, 1, 1] = [1.0, 2.0, 3.0, 4.0]\n{body}}}\n"
        )
    }

    #[test]
    fn a_fused_activation_has_the_pair_behind_it() {
        let text = graph(" %c = Conv(%x, %w)\n %r = Relu(%c)\n output %r as y\n");
        assert_eq!(names(&text), ["r", "x"]);
    }

    #[test]
    fn an_activation_of_a_value_with_other_readers_is_not_fused() {
        let text = graph(" %c = Conv(%x, %w)\n %r = Relu(%c)\n %s = Add(%c, %r)\n output %s as y\n");
        // The sum of a value with codes and one without stays a float.
        assert_eq!(names(&text), ["c", "x"]);
    }

    #[test]
    fn operators_that_pass_values_through_share_a_scale() {
        let text = graph(" %p = MaxPool(%x) {kernel_shape = [2, 2]}\n %c = Conv(%p, %w)\n output %c as y\n");
        let found = coded(&text);
        assert_eq!(found.len(), 3);
        let number = |name: &str| found.iter().find(|(own, _)| own == name).unwrap().1;
        assert_eq!(number("x"), number("p"));
        assert_ne!(number("x"), number("c"));
    }

    #[test]
    fn parts_of_a_concat_share_a_scale() {
        let text = graph(
            " %a = Conv(%x, %w)\n %s = Sigmoid(%x)\n %b = Concat(%a, %s) {axis = 0}\n %c = Conv(%b, %w)\n output %c as y\n",
        );
        let found = coded(&text);
        let number = |name: &str| found.iter().find(|(own, _)| own == name).unwrap().1;
        assert!(number("a") == number("s") && number("a") == number("b"));
        assert!(number("x") != number("a") && number("c") != number("a"));
    }

    #[test]
    fn sums_of_quantized_values_are_quantized() {
        let text = graph(" %a = Conv(%x, %w)\n %s = Add(%a, %x)\n %r = Relu(%s)\n output %r as y\n");
        assert_eq!(names(&text), ["a", "r", "x"]);
    }

    #[test]
    fn a_result_that_is_not_needed_stays_a_float() {
        let text = "opset 20\ngraph {\n input %x: f32[1, 2]\n constant %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]\n %a = MatMul(%x, %w)\n \
                    %s = Softmax(%a)\n %b = MatMul(%s, %w)\n %c = MatMul(%b, %w)\n output %c as y\n}\n";
        assert_eq!(names(text), ["b", "s", "x"]);
    }

    #[test]
    fn nodes_that_stay_floats_read_floats() {
        let text = graph(" %a = Sigmoid(%x)\n %c = Conv(%a, %w)\n %s = Mul(%a, %c)\n output %s as y\n");
        let (model, plan) = plan(&text);
        let graph = &model.graph;
        let named = |name: &str| {
            graph.values.iter().find(|(_, value)| value.name.as_deref() == Some(name)).unwrap().0
        };
        let readers = plan.readers(graph, named("a")).unwrap();
        let readers: Vec<&str> = readers.iter().map(|node| &*graph.nodes[*node].op).collect();
        assert_eq!(readers, ["Conv"]);
        assert_eq!(plan.readers(graph, named("c")), None);
    }

    #[test]
    fn what_cannot_be_quantized_has_a_reason() {
        let text = "opset 20\ngraph {\n input %x: f32[2, 2]\n input %v: f32[2, 2]\n constant %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]\n \
                    %a = MatMul(%x, %v)\n %b = Gemm(%a, %w) {alpha = 0.5}\n output %b as y\n}\n";
        let (_, plan) = plan(text);
        let reasons: Vec<&str> = plan.kept.iter().map(|(_, why)| *why).collect();
        assert_eq!(reasons, ["its weight is not a constant of f32", "it is transposed or scaled"]);
        assert!(plan.layers.is_empty() && plan.values.is_empty());
    }
}
