//! What a rule matched and what it put there, as models of their own.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::edit::Journal;
use super::matcher::Match;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::{Attr, Def, Model, NodeId, OpsetImport, ValueId};
use crate::write::{self, ExternalData, WriteOptions};

/// A weight of at most so many bytes stays what it is; a larger one, or one that is not there, becomes an input. What a
/// patch makes of weights stays.
const KEPT_BYTES: u64 = 1 << 20;

/// A place where a rule was applied.
#[derive(Clone, Debug)]
pub struct Matched {
    /// The plugin.
    pub plugin: String,
    /// The rule.
    pub rule: String,
    /// What was there: its inputs are what the match reads, its outputs what others read of it.
    pub before: Model,
    /// What stands there instead, with the same inputs and outputs.
    pub after: Model,
}

impl Matched {
    /// Writes both sides of each match to `folder`, which is made if it is not there: `0001-gelu.before.onnx`,
    /// `0001-gelu.after.onnx`, and so on, in the order of application. Returns the paths.
    ///
    /// # Errors
    /// When the folder cannot be made, and those of [`write::write`].
    pub fn write_all(all: &[Self], folder: &Path) -> Result<Vec<PathBuf>, Report> {
        std::fs::create_dir_all(folder).map_err(|e| {
            let message = format!("the folder {} cannot be made: {e}", folder.display());
            Diagnostic::error(Code::WRITE_IO, message).help("choose another folder")
        })?;
        let options = WriteOptions { external_data: ExternalData::Inline, ..WriteOptions::default() };
        let mut paths = Vec::new();
        for (number, matched) in all.iter().enumerate() {
            for (side, model) in [("before", &matched.before), ("after", &matched.after)] {
                let path = folder.join(format!("{:04}-{}.{side}.onnx", number + 1, matched.rule));
                write::write(model, &path, &options)?;
                paths.push(path);
            }
        }
        Ok(paths)
    }
}

/// Both sides of a match whose patch was made and not applied: `journal` has its nodes, `answer` stands for the outputs of
/// the roots. `None` where a node holds graphs or calls a function, or a value is no tensor.
pub(super) fn models(
    model: &Model,
    matched: &Match,
    journal: &Journal,
    answer: &[Option<ValueId>],
) -> Option<(Model, Model)> {
    let graph = &model.graph;
    let nodes: Vec<NodeId> = matched.nodes.iter().flatten().chain(&matched.roots).copied().collect();
    let outputs = matched.roots.iter().flat_map(|root| graph.nodes[*root].outputs.iter().copied());
    let pairs: Vec<(ValueId, ValueId)> =
        outputs.zip(answer).filter_map(|(old, new)| Some((old?, (*new)?))).collect();
    let names: Vec<String> = (0..pairs.len()).map(|at| format!("out{at}")).collect();
    let made = |value| journal.made(value);
    let mut before = Part::new(model, &nodes, &made);
    for (old, _) in &pairs {
        before.value(*old)?;
    }
    let mut after = Part::new(model, &journal.nodes, &made);
    // The same inputs in the same order, whether they are read or not.
    for outside in &before.inputs {
        after.input(*outside)?;
    }
    for (_, new) in &pairs {
        after.value(*new)?;
    }
    // What the patch alone reads is an input of both.
    for outside in after.inputs.clone() {
        before.input(outside)?;
    }
    let (old, new): (Vec<ValueId>, Vec<ValueId>) = pairs.into_iter().unzip();
    Some((before.finish(&old, names.clone())?, after.finish(&new, names)?))
}

/// Nodes of a model on their way to a model of their own.
struct Part<'a> {
    from: &'a Model,
    nodes: &'a [NodeId],
    /// Whether a value is of the patch.
    made: &'a dyn Fn(ValueId) -> bool,
    model: Model,
    /// What stands for a value of the other model.
    values: FxHashMap<ValueId, ValueId>,
    /// The values that are given, in the order of the inputs.
    inputs: Vec<ValueId>,
}

impl<'a> Part<'a> {
    fn new(from: &'a Model, nodes: &'a [NodeId], made: &'a dyn Fn(ValueId) -> bool) -> Self {
        let model = Model { opsets: from.opsets.clone(), symbols: from.symbols.clone(), ..Model::default() };
        Self { from, nodes, made, model, values: FxHashMap::default(), inputs: Vec::new() }
    }

    /// What stands for `value`: it is computed where its node belongs to the part, and given otherwise. A node is added
    /// behind those that it reads; a match is no deeper than its pattern.
    fn value(&mut self, value: ValueId) -> Option<ValueId> {
        if let Some(known) = self.values.get(&value) {
            return Some(*known);
        }
        match self.from.graph.values[value].def {
            Def::Node(node, _) if self.nodes.contains(&node) => {
                self.node(node)?;
                self.values.get(&value).copied()
            }
            Def::Initializer(_) => self.initializer(value),
            _ => self.input(value),
        }
    }

    fn node(&mut self, id: NodeId) -> Option<()> {
        let node = &self.from.graph.nodes[id];
        let stands_alone = |value: &Attr| !matches!(value, Attr::Block(_) | Attr::Ref(..));
        let calls = (self.from.functions.iter()).any(|f| f.domain == *node.domain && f.name == *node.op);
        if calls || !node.attributes.iter().all(|attribute| stands_alone(&attribute.value)) {
            return None;
        }
        let inputs: Vec<Option<ValueId>> = (node.inputs.iter())
            .map(|input| input.map_or(Some(None), |value| self.value(value).map(Some)))
            .collect::<Option<_>>()?;
        let (main, count) = (self.model.graph.main(), node.outputs.len());
        let made = self.model.graph.append(
            main,
            &node.domain,
            &node.op,
            inputs,
            node.attributes.clone(),
            count,
            None,
        );
        let outputs = self.model.graph.nodes[made].outputs.clone();
        for (old, new) in node.outputs.iter().zip(outputs) {
            let (Some(old), Some(new)) = (*old, new) else { continue };
            self.model.graph.values[new].ty = self.from.graph.values[old].ty.clone();
            self.values.insert(old, new);
        }
        Some(())
    }

    fn initializer(&mut self, value: ValueId) -> Option<ValueId> {
        let graph = &self.from.graph;
        let data = graph.initializer(value)?;
        let is_weight = graph.is_weight(value);
        let is_large = data.unbound().is_some() || data.byte_len().is_none_or(|bytes| bytes > KEPT_BYTES);
        if is_weight && is_large && !(self.made)(value) {
            return self.input(value);
        }
        let (name, data) = (graph.values[value].name.clone(), data.clone());
        let own = &mut self.model.graph;
        let made = if is_weight { own.add_weight(name, data) } else { own.add_initializer(name, data) };
        self.values.insert(value, made);
        Some(made)
    }

    fn input(&mut self, value: ValueId) -> Option<ValueId> {
        if let Some(known) = self.values.get(&value) {
            return Some(*known);
        }
        let is = &self.from.graph.values[value];
        is.ty.dtype()?;
        let main = self.model.graph.main();
        let name = is.name.clone().unwrap_or_else(|| format!("in{}", self.inputs.len()).into());
        let made = self.model.graph.add_input(main, Some(name), is.ty.clone());
        self.values.insert(value, made);
        self.inputs.push(value);
        Some(made)
    }

    fn finish(mut self, outputs: &[ValueId], names: Vec<String>) -> Option<Model> {
        let returned: Vec<ValueId> = outputs.iter().map(|value| self.value(*value)).collect::<Option<_>>()?;
        let main = self.model.graph.main();
        self.model.graph.set_outputs(main, returned);
        self.model.output_names = names;
        let nodes = self.model.graph.order(main);
        let domains: Vec<String> =
            nodes.map(|node| self.model.graph.nodes[node].domain.to_string()).collect();
        self.model.opsets.retain(|OpsetImport { domain, .. }| domain.is_empty() || domains.contains(domain));
        Some(self.model)
    }
}
