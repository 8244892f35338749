//! Training information: messages that are kept unchanged, except for the location of their tensors.

use onnxport_proto::{AttributeProto, GraphProto, SparseTensorProto, TrainingInfoProto};

use super::Res;
use super::data::Data;

/// `infos` with their tensors in them: the files that these lie in belong to the model that was read.
pub(super) fn embedded(mut infos: Vec<TrainingInfoProto>, data: &mut Data) -> Res<Vec<TrainingInfoProto>> {
    for info in &mut infos {
        for graph in info.initialization.iter_mut().chain(&mut info.algorithm) {
            embed(graph, data).map_err(|why| format!("in its training information, {why}"))?;
        }
    }
    Ok(infos)
}

fn embed(graph: &mut GraphProto, data: &mut Data) -> Res<()> {
    for tensor in &mut graph.initializer {
        data.embed(tensor).map_err(|why| format!("the initializer `{}` {why}", tensor.name()))?;
    }
    for tensor in &mut graph.sparse_initializer {
        sparse(tensor, data).map_err(|why| format!("a sparse initializer {why}"))?;
    }
    for node in &mut graph.node {
        for attribute in &mut node.attribute {
            let called = attribute.name().to_owned();
            of_attribute(attribute, data).map_err(|why| format!("the attribute `{called}` {why}"))?;
        }
    }
    Ok(())
}

fn of_attribute(attribute: &mut AttributeProto, data: &mut Data) -> Res<()> {
    for tensor in attribute.t.iter_mut().chain(&mut attribute.tensors) {
        data.embed(tensor)?;
    }
    for tensor in attribute.sparse_tensor.iter_mut().chain(&mut attribute.sparse_tensors) {
        sparse(tensor, data)?;
    }
    for graph in attribute.g.iter_mut().chain(&mut attribute.graphs) {
        embed(graph, data).map_err(|why| format!("contains a graph in which {why}"))?;
    }
    Ok(())
}

fn sparse(tensor: &mut SparseTensorProto, data: &mut Data) -> Res<()> {
    tensor.values.iter_mut().chain(&mut tensor.indices).try_for_each(|part| data.embed(part))
}
