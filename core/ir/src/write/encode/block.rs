//! Blocks as graphs.

use onnxport_proto::{GraphProto, NodeProto, TensorAnnotation, TensorProto, ValueInfoProto};
use rustc_hash::FxHashSet;

use super::{Encoder, Part, says};
use crate::ir::{BlockId, Def, Literal, ValueNote};
use crate::op;
use crate::write::constants::{self, Held, entries};
use crate::write::names::{GraphNames, Output};
use crate::write::value_info::some;

/// Where the nodes and the declarations of a graph go, in order.
pub(super) trait Sink {
    /// Takes a node.
    fn node(&mut self, node: NodeProto);

    /// Takes the declaration of a value.
    fn info(&mut self, info: ValueInfoProto);
}

/// Both lists as they are.
#[derive(Default)]
struct Lists {
    nodes: Vec<NodeProto>,
    infos: Vec<ValueInfoProto>,
}

impl Sink for Lists {
    fn node(&mut self, node: NodeProto) {
        self.nodes.push(node);
    }

    fn info(&mut self, info: ValueInfoProto) {
        self.infos.push(info);
    }
}

impl Encoder<'_> {
    /// The graph of `block`, called `name`.
    pub(super) fn block(&mut self, source: &Part<'_>, block: BlockId, name: &str) -> GraphProto {
        let mut lists = Lists::default();
        let proto = self.contents(source, block, name, &mut lists);
        GraphProto { node: lists.nodes, value_info: lists.infos, ..proto }
    }

    /// The graph of `block`, whose nodes and declarations go to `sink`.
    pub(super) fn contents(
        &mut self,
        source: &Part<'_>,
        block: BlockId,
        name: &str,
        sink: &mut impl Sink,
    ) -> GraphProto {
        let Part { graph, names, .. } = *source;
        let mut proto = GraphProto { name: Some(name.to_owned()), ..GraphProto::default() };
        let outputs = names.outputs(block);
        let notes = &graph.notes.values;
        for value in &graph.blocks[block].inputs {
            let info = &graph.values[*value];
            proto.input.push(self.types.value(names.value(*value), &info.ty, notes.get(value)));
        }
        // Outputs of the block are declared as outputs.
        let returned: FxHashSet<&str> =
            outputs.iter().filter(|o| !o.copied).map(|o| o.name.as_str()).collect();
        if let Some(note) = graph.notes.blocks.get(&block) {
            proto.doc_string = some(&note.about.doc);
            proto.metadata_props = entries(&note.about.metadata);
        }
        let is_main = block == graph.main();
        let is_own = std::ptr::eq(graph, &raw const self.model.graph);
        if self.model.origin.is_imported() || (is_own && !is_main) {
            self.held(source, block, &mut proto, &returned, sink);
        }
        for node in graph.order(block) {
            sink.node(self.node(source, node));
            if !self.options.value_info {
                continue;
            }
            for value in graph.nodes[node].outputs.iter().flatten() {
                let info = self.types.value(names.value(*value), &graph.values[*value].ty, notes.get(value));
                if says(&info) && !returned.contains(info.name()) {
                    sink.info(info);
                }
            }
        }
        let said = self.model.output_metadata.iter().map(Vec::as_slice);
        let mut said = said.filter(|_| is_main && is_own);
        for output in outputs {
            if output.copied {
                sink.node(identity(names, output));
            }
            let (info, note) = (&graph.values[output.value], notes.get(&output.value));
            let mut info = self.types.value(&output.name, &info.ty, note);
            info.metadata_props.extend(entries(said.next().unwrap_or_default()));
            proto.output.push(info);
        }
        proto
    }

    /// Encodes all parts but the nodes of a nested graph or of any graph of an imported model. Dense constants of
    /// the main graph are excluded: they are streamed.
    fn held(
        &mut self,
        source: &Part<'_>,
        block: BlockId,
        proto: &mut GraphProto,
        returned: &FxHashSet<&str>,
        sink: &mut impl Sink,
    ) {
        let graph = source.graph;
        if let Some(note) = graph.notes.blocks.get(&block) {
            proto.name = some(&note.name);
        }
        let is_own = std::ptr::eq(graph, &raw const self.model.graph);
        let streamed = block == graph.main() && is_own;
        for (value, held) in source.constants.get(&block).into_iter().flatten() {
            let name = source.names.value(*value);
            let note = graph.notes.values.get(value);
            let about = note.map(|note| &note.tensor);
            let called =
                |tensor| TensorProto { name: Some(name.to_owned()), ..constants::described(tensor, about) };
            match held {
                Held::Dense(_) if streamed => {}
                Held::Dense(data) => {
                    let outside = if is_own { self.outside.remove(value) } else { None };
                    proto.initializer.push(called(outside.unwrap_or_else(|| constants::dense(data))));
                }
                Held::Literal(Literal::Text(text)) => proto.initializer.push(called(constants::text(text))),
                Held::Literal(Literal::Sparse(sparse)) => {
                    let mut tensor = constants::sparse(sparse);
                    tensor.values = tensor.values.map(called);
                    proto.sparse_initializer.push(tensor);
                }
            }
            let info = &graph.values[*value];
            let declared = note.is_some_and(ValueNote::declares) && !matches!(info.def, Def::Input(..));
            if declared && !returned.contains(name) {
                sink.info(self.types.value(name, &info.ty, note));
            }
        }
        let quantised = graph.blocks[block].inputs.iter().copied();
        let constants = source.constants.get(&block).into_iter().flatten().map(|(value, _)| *value);
        let made = graph.order(block).flat_map(|node| graph.nodes[node].outputs.iter().flatten().copied());
        let mut seen = FxHashSet::default();
        for value in quantised.chain(constants).chain(made).filter(|value| seen.insert(*value)) {
            let Some(note) = graph.notes.values.get(&value).filter(|note| !note.quantised.is_empty()) else {
                continue;
            };
            proto.quantization_annotation.push(TensorAnnotation {
                tensor_name: Some(source.names.value(value).to_owned()),
                quant_parameter_tensor_names: entries(&note.quantised),
            });
        }
    }
}

fn identity(names: &GraphNames, output: &Output) -> NodeProto {
    NodeProto {
        input: vec![names.value(output.value).to_owned()],
        output: vec![output.name.to_string()],
        name: Some(format!("node_{}", output.name)),
        op_type: Some(op::Identity.to_owned()),
        ..NodeProto::default()
    }
}
