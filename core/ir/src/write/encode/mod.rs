//! The protobuf message of a model.

pub(super) mod about;
mod block;
mod chunks;
mod message;
mod node;

pub(super) use chunks::Chunks;
pub(super) use message::{Message, outside};

use onnxport_proto::{FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use rustc_hash::{FxHashMap, FxHashSet};

use super::constants::{self, Constants, entries};
use super::names::{GraphNames, Names};
use super::plan::{Plan, Weight};
use super::value_info::{Types, some};
use super::{WriteOptions, metadata};
use crate::ir::{Attr, Def, Function, Graph, Model, ValueId, ValueNote};
use crate::op;
use block::Sink as _;
use chunks::Encoded;

/// A graph that is written.
struct Part<'a> {
    graph: &'a Graph,
    names: &'a GraphNames,
    constants: Constants<'a>,
}

/// Makes protobuf messages of a model.
pub(in crate::write) struct Encoder<'a> {
    model: &'a Model,
    options: &'a WriteOptions,
    types: Types<'a>,
    /// The declarations of initializers of nested graphs whose bytes are not in the model.
    outside: FxHashMap<ValueId, TensorProto>,
}

impl<'a> Encoder<'a> {
    pub(in crate::write) fn new(model: &'a Model, options: &'a WriteOptions) -> Self {
        Self { model, options, types: Types::new(model), outside: FxHashMap::default() }
    }

    /// The message of the model, with its weights placed as `plan` says.
    pub(in crate::write) fn model(
        mut self,
        names: &Names,
        weights: &[Weight<'a>],
        plan: &Plan,
        data_names: &[String],
    ) -> Message<'a> {
        let model = self.model;
        let nested = weights.iter().zip(&plan.places).filter(|(weight, _)| weight.is_nested);
        let declared = nested
            .filter_map(|(weight, place)| Some((weight.value, outside(weight, place, plan, data_names)?)));
        self.outside = declared.collect();
        let functions = model.functions.iter().zip(&names.functions);
        let functions: Vec<_> = functions.map(|(f, names)| self.function(f, names)).collect();
        let constants = constants::of(&model.graph);
        let source = Part { graph: &model.graph, names: &names.graph, constants };
        let mut encoded = Encoded::default();
        if !model.origin.is_imported() {
            for weight in weights.iter().filter(|weight| !weight.is_input) {
                let note = model.graph.notes.values.get(&weight.value);
                let value = &model.graph.values[weight.value];
                if note.is_some_and(ValueNote::declares) && !matches!(value.def, Def::Input(..)) {
                    let ty = &value.ty;
                    encoded.info(self.types.value(weight.name, ty, note));
                }
            }
        }
        let mut graph = self.contents(&source, model.graph.main(), "main", &mut encoded);
        let weight_inputs = weights.iter().filter(|weight| weight.is_input);
        let weight_inputs = weight_inputs.map(|w| {
            let note = model.graph.notes.values.get(&w.value);
            self.types.value(w.name, &model.graph.values[w.value].ty, note)
        });
        graph.input.extend(weight_inputs);
        let mut metadata_props = metadata::model(model, names);
        metadata::extend(&mut metadata_props, metadata::of_weights(weights, plan));
        let mut proto = ModelProto {
            ir_version: Some(about::ir_version(model)),
            opset_import: about::opsets(&model.opsets),
            producer_name: Some("onnxport".to_owned()),
            producer_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            metadata_props,
            functions,
            ..ModelProto::default()
        };
        if let Some(header) = model.origin.header() {
            about::stated(&mut proto, header);
        }
        Message::from_model(&proto, encoded.with(graph), weights, plan, data_names)
    }

    fn function(&mut self, function: &Function, names: &GraphNames) -> FunctionProto {
        let main = function.graph.main();
        let source = Part { graph: &function.graph, names, constants: constants::of(&function.graph) };
        let body = self.block(&source, main, &function.name);
        // A function has no initializers, so that its constants are nodes. Nested graphs of models that were read keep theirs.
        let constants = function.graph.initializers.iter();
        let constants = constants.filter(|i| i.block == main || !self.model.origin.is_imported());
        let constants = constants.map(|initializer| NodeProto {
            output: vec![names.value(initializer.value).to_owned()],
            op_type: Some(op::Constant.to_owned()),
            attribute: vec![self.attribute(&source, None, "value", &Attr::Tensor(initializer.data.clone()))],
            ..NodeProto::default()
        });
        let mut node: Vec<NodeProto> = constants.collect();
        node.extend(body.node);
        // The inputs and outputs of a function have no types but these.
        let ends = body.input.iter().chain(&body.output).filter(|_| self.model.origin.is_imported());
        let mut known: FxHashSet<&str> = FxHashSet::default();
        let ends = ends.filter(|info| says(info) && known.insert(info.name())).cloned();
        let mut value_info: Vec<ValueInfoProto> = ends.collect();
        value_info.extend(body.value_info.into_iter().filter(|_| self.model.origin.is_imported()));
        let attributes = function.defaults.iter();
        FunctionProto {
            name: Some(function.name.clone()),
            domain: Some(function.domain.clone()),
            overload: some(&function.overload),
            input: body.input.iter().filter_map(|i| i.name.clone()).collect(),
            output: body.output.into_iter().filter_map(|o| o.name).collect(),
            attribute: function.attributes.clone(),
            attribute_proto: attributes.map(|a| self.attribute(&source, None, &a.name, &a.value)).collect(),
            node,
            opset_import: about::opsets(function.opsets(self.model)),
            doc_string: some(&function.about.doc),
            metadata_props: entries(&function.about.metadata),
            value_info,
        }
    }
}

/// Whether a declaration says anything about its value.
fn says(info: &ValueInfoProto) -> bool {
    info.r#type.is_some() || info.doc_string.is_some() || !info.metadata_props.is_empty()
}
