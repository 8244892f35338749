//! Replaces nodes by ones that compute on transposed data.

use rustc_hash::FxHashMap;

use super::kind::{Kind, is_single, rank_of};
use super::region::{Region, inverse};
use crate::diagnose::OriginId;
use crate::ir::{Attr, Attribute, Graph, Model, NodeId, Shape, Type, ValueId};
use crate::op;
use crate::ops::infer::infer;
use crate::sym::Symbols;
use crate::tensor::{DType, LazyTensor};

/// Where nodes are added: in front of `node`.
struct Rewriting<'a> {
    graph: &'a mut Graph,
    symbols: &'a mut Symbols,
    opset: i64,
    perm: Vec<usize>,
    back: Vec<usize>,
    /// The transposed form of each value.
    transposed: FxHashMap<ValueId, ValueId>,
    node: NodeId,
}

/// Transposes the nodes of `region` that `transposed` lists, and returns their number.
pub(super) fn apply(model: &mut Model, region: &Region, transposed: &[bool]) -> usize {
    let Some(first) = transposed.iter().position(|transposed| *transposed) else { return 0 };
    let opset = model.opset();
    let mut work = Rewriting {
        graph: &mut model.graph,
        symbols: &mut model.symbols,
        opset,
        back: inverse(&region.perm),
        perm: region.perm.clone(),
        transposed: FxHashMap::default(),
        node: region.nodes[first].0,
    };
    for (value, edge) in &region.values {
        let source = region.edges[*edge as usize].source;
        work.transposed.extend(source.map(|source| (*value, source)));
    }
    let mut old = Vec::new();
    for ((node, kind), _) in region.nodes.iter().zip(transposed).filter(|(_, transposed)| **transposed) {
        work.transpose(*node, kind, region);
        old.push(*node);
    }
    for node in old.iter().rev() {
        let read = |value: &ValueId| work.graph.is_read(*value);
        if !work.graph.nodes[*node].outputs.iter().flatten().any(read) {
            work.graph.remove(*node);
        }
    }
    old.len()
}

impl Rewriting<'_> {
    /// Replaces `old` by a node that computes on transposed data.
    fn transpose(&mut self, old: NodeId, kind: &Kind, region: &Region) {
        self.node = old;
        let mut node = self.graph.nodes[old].clone();
        for index in 0..node.inputs.len() {
            let Some(value) = node.inputs[index] else { continue };
            if kind.transposes(index, &node.op) && !is_single(self.graph, value) {
                node.inputs[index] = Some(self.operand(value, region));
            }
        }
        match kind {
            Kind::Pointwise | Kind::Alone => {}
            Kind::Axis(axis) => set(&mut node.attributes, "axis", Attr::Int(self.perm[*axis] as i64)),
            Kind::Axes(axes, place) | Kind::Absorbs(axes, place) => {
                let axes: Vec<i64> = axes.iter().map(|axis| self.perm[*axis] as i64).collect();
                match place {
                    Some(place) => {
                        let like = node.inputs[*place].and_then(|old| self.graph.values[old].ty.dtype());
                        node.inputs[*place] = Some(self.ints(&axes, like));
                    }
                    None => set(&mut node.attributes, "axes", Attr::Ints(axes)),
                }
            }
            Kind::Lists(places) => {
                for (place, times) in places {
                    let rank = self.perm.len();
                    let order =
                        (0..*times).flat_map(|time| self.back.iter().map(move |axis| axis + time * rank));
                    let order: Vec<i64> = order.map(|place| place as i64).collect();
                    let (order, list) = (self.ints(&order, None), node.inputs[*place]);
                    node.inputs[*place] = self.add(op::Gather, &[list, Some(order)], int("axis", 0), None);
                }
            }
        }
        let (op, outputs) = (node.op.as_str(), node.outputs.len());
        let new =
            self.graph.append(self.graph.main(), "", op, node.inputs, node.attributes, outputs, node.origin);
        self.graph.move_before(new, old);
        for (index, value) in node.outputs.iter().enumerate() {
            let (Some(value), Some(made)) = (*value, self.graph.nodes[new].outputs[index]) else { continue };
            let ty = self.graph.values[value].ty.clone();
            if matches!(kind, Kind::Absorbs(..)) {
                self.graph.values[made].ty = ty;
                self.graph.swap_definitions(value, made);
                continue;
            }
            self.graph.values[made].ty = permuted(&ty, &self.back);
            self.transposed.insert(value, made);
            self.hand_over(value, made, region, node.origin);
        }
    }

    /// Gives those who read `value` the same as it is, or `made` where they transpose it.
    fn hand_over(&mut self, value: ValueId, made: ValueId, region: &Region, origin: Option<OriginId>) {
        let Some(edge) = region.values.get(&value).map(|edge| &region.edges[*edge as usize]) else { return };
        for transpose in &edge.transposes {
            if let Some(result) = self.graph.nodes[*transpose].outputs.first().copied().flatten() {
                self.graph.replace_uses(result, made);
                self.graph.remove(*transpose);
                if let Some(source) = self.transposed.get(&result).copied() {
                    self.transposed.insert(made, source);
                }
                // Who knows the result as a value that is there knows this one.
                for source in self.transposed.values_mut().filter(|source| **source == result) {
                    *source = made;
                }
            }
        }
        // Nodes that are transposed later read it until then, so the transpose may end up dead.
        let attributes = vec![permutation(&self.perm)];
        let back =
            self.graph.append(self.graph.main(), "", op::Transpose, [Some(made)], attributes, 1, origin);
        self.graph.move_before(back, self.node);
        if let Some(result) = self.graph.nodes[back].outputs.first().copied().flatten() {
            self.graph.values[result].ty = self.graph.values[value].ty.clone();
            // The value keeps its name and its readers.
            self.graph.swap_definitions(value, result);
        }
    }

    /// Returns the value that a node reads instead of `value`.
    fn operand(&mut self, value: ValueId, region: &Region) -> ValueId {
        if let Some(transposed) = self.transposed.get(&value) {
            return *transposed;
        }
        let transposes = region.values.get(&value).map(|edge| &region.edges[*edge as usize].transposes);
        let there =
            transposes.into_iter().flatten().find(|transpose| self.graph.is_before(**transpose, self.node));
        if let Some(made) =
            there.and_then(|transpose| self.graph.nodes[*transpose].outputs.first().copied().flatten())
        {
            self.transposed.insert(value, made);
            return made;
        }
        let (rank, own) = (self.perm.len(), rank_of(self.graph, value).unwrap_or(0));
        let missing = rank - own.min(rank);
        // Where the axes of a value of a lower rank go.
        let places: Vec<usize> = (missing..rank).map(|axis| self.perm[axis]).collect();
        let made = if missing > 0 && places.is_sorted() {
            let first = places.first().copied().unwrap_or(rank);
            let open: Vec<i64> = (first..rank)
                .filter(|axis| !places.contains(axis))
                .map(|axis| (axis - first) as i64)
                .collect();
            if open.is_empty() { Some(value) } else { self.unsqueezed(value, &open) }
        } else {
            let whole = if missing > 0 {
                self.unsqueezed(value, &(0..missing as i64).collect::<Vec<_>>())
            } else {
                Some(value)
            };
            let ty = whole.map(|whole| permuted(&self.graph.values[whole].ty, &self.back));
            self.add(op::Transpose, &[whole], permutation(&self.back), ty)
        };
        let made = made.unwrap_or(value);
        self.transposed.insert(value, made);
        made
    }

    fn unsqueezed(&mut self, value: ValueId, axes: &[i64]) -> Option<ValueId> {
        let axes = self.ints(axes, None);
        self.add(op::Unsqueeze, &[Some(value), Some(axes)], None, None)
    }

    /// Adds a standard ONNX node and returns its output; infers its type unless `ty` is given.
    fn add(
        &mut self,
        op: &str,
        inputs: &[Option<ValueId>],
        attribute: impl Into<Option<Attribute>>,
        ty: Option<Type>,
    ) -> Option<ValueId> {
        let origin = self.graph.nodes[self.node].origin;
        let attributes = attribute.into().into_iter().collect();
        let inputs = inputs.iter().copied();
        let new = self.graph.append(self.graph.main(), "", op, inputs, attributes, 1, origin);
        self.graph.move_before(new, self.node);
        let made = self.graph.nodes[new].outputs.first().copied().flatten()?;
        match ty {
            Some(ty) => self.graph.values[made].ty = ty,
            None => infer(self.graph, self.symbols, self.opset, new),
        }
        Some(made)
    }

    /// A constant list, of i64 unless it is to be like one of i32.
    fn ints(&mut self, ints: &[i64], like: Option<DType>) -> ValueId {
        let narrow = |n: &i64| (*n as i32).to_le_bytes();
        let data = if like == Some(DType::I32) {
            (DType::I32, ints.iter().flat_map(narrow).collect::<Vec<u8>>())
        } else {
            (DType::I64, ints.iter().flat_map(|n| n.to_le_bytes()).collect())
        };
        self.graph.add_initializer(None, LazyTensor::inline(data.0, vec![ints.len() as u64], data.1))
    }
}

/// Returns the type of a tensor transposed by `perm`.
fn permuted(ty: &Type, perm: &[usize]) -> Type {
    let mut ty = ty.clone();
    if let Type::Tensor { shape: Shape::Ranked(dims), .. } = &mut ty {
        *dims = perm.iter().map(|axis| dims.get(*axis).copied().flatten()).collect();
    }
    ty
}

fn int(name: &str, value: i64) -> Attribute {
    Attribute { name: name.into(), value: Attr::Int(value) }
}

fn permutation(perm: &[usize]) -> Attribute {
    Attribute { name: "perm".into(), value: Attr::Ints(perm.iter().map(|axis| *axis as i64).collect()) }
}

fn set(attributes: &mut Vec<Attribute>, name: &str, value: Attr) {
    attributes.retain(|attribute| attribute.name != name);
    attributes.push(Attribute { name: name.into(), value });
}
