//! `If`, `Loop` and local functions.

use super::super::graph::{Attr, Node};
use super::super::tensor::Tensor;
use super::Run;
use super::movement::join;

impl Run<'_> {
    pub(super) fn control(&mut self, node: &Node) -> Result<Vec<Tensor>, String> {
        if node.op == "If" {
            let condition = self.input(node, 0)?.ok_or("it has no condition")?;
            let taken = condition.to_i64().first() != Some(&0);
            return self.body(node, if taken { "then_branch" } else { "else_branch" }, &[]);
        }
        let trips = self.input(node, 0)?.and_then(|t| t.to_i64().first().copied()).unwrap_or(i64::MAX);
        let mut going = self.input(node, 1)?.is_none_or(|c| c.to_i64().first() != Some(&0));
        let mut carried = Vec::new();
        for index in 2..node.inputs.len() {
            carried.push(self.input(node, index)?.ok_or("a carried value is missing")?);
        }
        let mut scans: Vec<Vec<Tensor>> = vec![Vec::new(); node.outputs.len() - carried.len()];
        let mut trip = 0;
        while going && trip < trips {
            let mut arguments = vec![Tensor::i64([], [trip]), Tensor::bool([], [true])];
            arguments.append(&mut carried);
            let mut outputs = self.body(node, "body", &arguments)?.into_iter();
            going = outputs.next().is_some_and(|c| c.to_i64().first() != Some(&0));
            carried.extend(outputs.by_ref().take(node.inputs.len() - 2));
            for (scan, output) in scans.iter_mut().zip(outputs) {
                let mut shape = output.shape.clone();
                shape.insert(0, 1);
                scan.push(output.reshaped(shape)?);
            }
            trip += 1;
        }
        for scan in scans {
            let parts: Vec<&Tensor> = scan.iter().collect();
            carried.push(join(&parts, 0).map_err(|_| "the test kit cannot stack no iterations".to_owned())?);
        }
        Ok(carried)
    }

    /// A call of a local function.
    pub(super) fn function(&mut self, node: &Node) -> Result<Vec<Tensor>, String> {
        let mut arguments = Vec::new();
        for index in 0..node.inputs.len() {
            arguments.push(self.input(node, index)?.ok_or("a function takes no absent values")?);
        }
        self.body(node, "body", &arguments)
    }

    fn input(&self, node: &Node, index: usize) -> Result<Option<Tensor>, String> {
        let value = node.inputs.get(index).copied().flatten();
        value.map(|value| self.value(value).cloned()).transpose()
    }

    /// The outputs of the body `name`.
    fn body(&mut self, node: &Node, name: &str, arguments: &[Tensor]) -> Result<Vec<Tensor>, String> {
        let Some(Attr::Block(index)) = node.attribute(name) else {
            return Err(format!("it has no `{name}`"));
        };
        let lowered = self.lowered;
        let block = &lowered.graph.blocks[*index];
        if block.inputs.len() != arguments.len() {
            return Err(format!(
                "its body takes {} values, it is given {}",
                block.inputs.len(),
                arguments.len()
            ));
        }
        for (value, tensor) in block.inputs.iter().zip(arguments) {
            self.values.insert(*value, tensor.clone());
        }
        self.block(*index)?;
        block.outputs.iter().map(|value| self.value(*value).cloned()).collect()
    }
}
