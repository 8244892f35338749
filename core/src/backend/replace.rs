//! Replaces a region with the nodes that a backend emitted.

use rustc_hash::{FxHashMap, FxHashSet};

use super::blob::Finished;
use super::call::{Addition, Compile, Emitted};
use super::region::Region;
use super::{Blobs, EMBED_BYTES, epcontext};
use crate::diagnose::{CallSite, OriginId};
use crate::ir::{Artefact, Attr, Attribute, Def, Model, NodeId, Type, ValueId};
use crate::op;
use crate::ops::infer;
use crate::valid::dims_differ;

/// The result of a replacement.
#[derive(Clone, Debug, Default)]
pub(super) struct Replaced {
    /// The new nodes, in order.
    pub(super) nodes: Vec<NodeId>,
    /// The bytes of all blobs.
    pub(super) blob_bytes: u64,
    /// The files beside the model.
    pub(super) files: Vec<String>,
}

/// Replaces `region` in `model` with the contents of `compile`. The new nodes go to the end of the block;
/// the caller sorts it. `blobs` says where blobs are stored; their files are named after `stem`.
///
/// # Errors
/// A sentence without a subject if the replacement has other outputs or breaks the contract. The model is
/// unusable then.
pub(super) fn replace(
    model: &mut Model,
    region: &Region,
    mut compile: Compile,
    blobs: Blobs,
    stem: &str,
) -> Result<Replaced, String> {
    if let Some(broken) = compile.broken.take() {
        return Err(broken);
    }
    let answer = compile.answer.take().ok_or("it did not replace the outputs")?;
    let wanted = std::mem::take(&mut compile.ports.outputs);
    if answer.len() != wanted.len() {
        return Err(format!("it has {} outputs, but the region has {}", answer.len(), wanted.len()));
    }
    let origin = merged(model, &region.nodes);
    let mut replaced = Replaced::default();
    let mut values: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    for made in std::mem::take(&mut compile.made) {
        match made {
            Addition::Constant(number, data) => {
                values.insert(number, model.graph.add_initializer(None, data));
            }
            Addition::Node(emitted) => {
                let blob = finished(&mut compile, &emitted, blobs, stem, &mut replaced, model)?;
                let node = append(model, region, emitted, blob, origin, &mut values)?;
                replaced.nodes.push(node);
            }
        }
    }
    let answer: Vec<ValueId> = answer.iter().map(|v| values.get(v).copied().unwrap_or(*v)).collect();
    for (index, (old, new)) in wanted.iter().zip(&answer).enumerate() {
        agree(model, *old, *new).map_err(|why| format!("its output {index} {why}"))?;
    }
    remove(model, &region.nodes, &wanted);
    let mut given = FxHashSet::default();
    for (old, new) in wanted.iter().zip(answer) {
        let by = match model.graph.values[new].def {
            Def::Node(node, place) if replaced.nodes.contains(&node) && given.insert(new) => {
                Some((node, place))
            }
            _ => None,
        };
        let (node, place) = by.unwrap_or_else(|| {
            // An output that is also an input, or is requested twice.
            let node = model.graph.append(region.block, "", op::Identity, [Some(new)], Vec::new(), 1, origin);
            replaced.nodes.push(node);
            (node, 0)
        });
        rehome(model, *old, node, place as usize);
    }
    Ok(replaced)
}

/// The attributes by which a node refers to its blob.
fn finished(
    compile: &mut Compile,
    emitted: &Emitted,
    blobs: Blobs,
    stem: &str,
    replaced: &mut Replaced,
    model: &mut Model,
) -> Result<Vec<Attribute>, String> {
    let is_context = epcontext::is_context(&emitted.domain, &emitted.op);
    if is_context {
        epcontext::check(emitted)?;
    }
    let Some((number, name)) = &emitted.blob else { return Ok(Vec::new()) };
    let blob = compile.blobs.remove(number).ok_or("two of its nodes have one blob")?;
    let Finished { data, len, sha256 } = blob.finish().map_err(|e| format!("a blob cannot be kept: {e}"))?;
    replaced.blob_bytes += len;
    let embed = match blobs {
        Blobs::Auto => len <= EMBED_BYTES,
        Blobs::Embed => true,
        Blobs::File => false,
    };
    let attribute = |name: String, value: Attr| Attribute { name: name.into(), value };
    if embed {
        let embedded = || Ok(vec![attribute(name.clone(), Attr::Tensor(data.clone()))]);
        return if is_context { epcontext::embedded(&data) } else { embedded() };
    }
    // A unique name for every content: see `core/src/write/artefacts.rs`.
    let hash = sha256.get(..16).unwrap_or_default();
    let file = format!("{stem}.{hash}.bin");
    replaced.files.push(file.clone());
    // Equal regions share one.
    if !model.artefacts.iter().any(|known| known.file == file) {
        model.artefacts.push(Artefact { file: file.clone(), data, sha256: sha256.clone() });
    }
    if is_context {
        return Ok(epcontext::beside(file));
    }
    Ok(vec![
        attribute(format!("{name}_file"), Attr::Str(file)),
        attribute(format!("{name}_sha256"), Attr::Str(sha256)),
        attribute(format!("{name}_size"), Attr::Int(len as i64)),
    ])
}

/// Appends a node to the region's block, and sets the types of its outputs.
fn append(
    model: &mut Model,
    region: &Region,
    emitted: Emitted,
    blob: Vec<Attribute>,
    origin: Option<OriginId>,
    values: &mut FxHashMap<ValueId, ValueId>,
) -> Result<NodeId, String> {
    let Emitted { domain, op, inputs, mut attributes, outputs, .. } = emitted;
    attributes.extend(blob);
    let inputs = inputs.into_iter().map(|v| v.map(|v| values.get(&v).copied().unwrap_or(v)));
    let node = model.graph.append(region.block, &domain, &op, inputs, attributes, outputs.len(), origin);
    let opset = model.opset();
    infer::infer(&mut model.graph, &mut model.symbols, opset, node);
    let made = model.graph.nodes[node].outputs.clone();
    for ((number, stated), value) in outputs.into_iter().zip(made.into_iter().flatten()) {
        let Type::Tensor { dtype: Some(dtype), shape } = stated else {
            return Err(format!("it does not state the result types of `{op}`"));
        };
        if let Some(found) = model.graph.values[value].ty.dtype().filter(|found| *found != dtype) {
            return Err(format!("it states {dtype} for `{op}`, but ONNX infers {found}"));
        }
        model.graph.values[value].ty.fill(dtype, &shape);
        values.insert(number, value);
    }
    Ok(node)
}

/// Whether `new` can replace `old`: element type and rank are equal, and no size certainly differs.
fn agree(model: &mut Model, old: ValueId, new: ValueId) -> Result<(), String> {
    let (old, new) = (model.graph.values[old].ty.clone(), model.graph.values[new].ty.clone());
    let (Some(was), Some(is)) = (old.dtype(), new.dtype()) else {
        return Err("has no known element type".to_owned());
    };
    if was != is {
        return Err(format!("is {is}, but the region has {was}"));
    }
    let dims = |ty: &Type| ty.shape().and_then(|s| s.dims()).map(<[_]>::to_vec);
    match (dims(&old), dims(&new)) {
        (None, _) => Ok(()),
        (Some(was), Some(is)) if was.len() == is.len() => {
            for (axis, (was, is)) in was.iter().zip(&is).enumerate() {
                let (Some(was), Some(is)) = (was, is) else { continue };
                if dims_differ(&mut model.symbols, *was, *is) {
                    let (was, is) = (model.symbols.display(*was), model.symbols.display(*is));
                    return Err(format!("has {is} along axis {axis}, but the region has {was}"));
                }
            }
            Ok(())
        }
        (Some(was), Some(is)) => Err(format!("has {} axes, but the region has {}", is.len(), was.len())),
        (Some(was), None) => Err(format!("has an unknown rank, but the region has {} axes", was.len())),
    }
}

/// Takes nodes out of the graph. The values of `kept` stay, without a definition.
fn remove(model: &mut Model, nodes: &[NodeId], kept: &[ValueId]) {
    let graph = &mut model.graph;
    for node in nodes {
        graph.remove(*node);
    }
    assert!(kept.iter().all(|v| graph.values[*v].def == Def::Gone), "outputs of the region");
}

/// Makes `old` the output at `place` of `node`. It keeps its name, its type and its uses.
fn rehome(model: &mut Model, old: ValueId, node: NodeId, place: usize) {
    let graph = &mut model.graph;
    let Some(slot) = graph.nodes[node].outputs.get_mut(place) else { return };
    let stand_in = slot.replace(old);
    graph.values[old].def = Def::Node(node, place as u32);
    let Some(stand_in) = stand_in else { return };
    graph.replace_uses(stand_in, old);
    graph.values[stand_in].def = Def::Gone;
}

/// Merges the origins of `nodes` into one for their replacement: the common part, and their names.
fn merged(model: &mut Model, nodes: &[NodeId]) -> Option<OriginId> {
    let mut ids: Vec<OriginId> = nodes.iter().filter_map(|n| model.graph.nodes[*n].origin).collect();
    ids.dedup();
    let mut seen = FxHashSet::default();
    ids.retain(|id| seen.insert(*id));
    let (first, rest) = ids.split_first()?;
    if rest.is_empty() {
        return Some(*first);
    }
    let mut origin = model.origins.get(*first).clone();
    for id in rest {
        let other = model.origins.get(*id);
        let place: &mut CallSite = &mut origin;
        place.module = common(&place.module, &other.module).into();
        for (own, theirs) in [(&mut place.target, &other.target), (&mut place.class, &other.class)] {
            if own != theirs {
                own.clear();
            }
        }
        let shared = place.frames.iter().zip(other.frames.iter()).take_while(|(a, b)| a == b).count();
        if shared < place.frames.len() {
            place.frames = place.frames.get(..shared).unwrap_or_default().into();
        }
    }
    let names: Vec<&str> = ids.iter().map(|id| model.origins.get(*id).node.as_str()).collect();
    origin.node = names.join(",").into();
    Some(model.origins.push(origin))
}

/// Returns the path of the innermost common module.
fn common(a: &str, b: &str) -> String {
    let parts = a.split('.').zip(b.split('.')).take_while(|(a, b)| a == b).map(|(a, _)| a);
    parts.collect::<Vec<_>>().join(".")
}
