//! Additions to a graph on behalf of a plugin, with a journal by which they are checked and taken back.

use onnxport_abi::graph::{AttributeView, NOTHING, NewNode};
use onnxport_abi::lowering::{DimRecord, TypeRecord, attr_kind, dim_kind};

use super::view::NoView;
use crate::diagnose::OriginId;
use crate::graph_access::Access;
use crate::incoming;
use crate::ir::{Attr, Attribute, BlockId, Model, NodeId, OpsetImport, Shape, Type, ValueId};
use crate::ops::infer;
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor};

/// The added nodes, in order.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) nodes: Vec<NodeId>,
    /// The number of values before; later ones were added.
    values: usize,
    /// The operator sets that the model imported before the edit.
    opsets: Vec<OpsetImport>,
    /// The number of initializers before.
    initializers: usize,
    /// The first impossible request.
    pub(super) problem: Option<String>,
}

/// The position for new nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Insertion {
    pub(super) block: BlockId,
    /// The node before which they go; `None` for the end of the block.
    pub(super) before: Option<NodeId>,
    /// Their origin.
    pub(super) origin: Option<OriginId>,
}

impl Journal {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            nodes: Vec::new(),
            values: model.graph.values.len(),
            opsets: model.opsets.clone(),
            initializers: model.graph.initializers.len(),
            problem: None,
        }
    }

    /// Whether `value` was added.
    pub(super) fn made(&self, value: ValueId) -> bool {
        value.index() >= self.values
    }

    /// Removes everything that was added; nothing else may use it.
    pub(super) fn undo(self, model: &mut Model) {
        for node in self.nodes.into_iter().rev() {
            model.graph.remove(node);
        }
        model.graph.drop_initializers(self.initializers);
        model.opsets = self.opsets;
    }

    /// Adds a node; returns its outputs.
    pub(super) fn emit(
        &mut self,
        access: &mut Access<'_>,
        place: Insertion,
        record: &NewNode<'_>,
        outputs: usize,
    ) -> Option<Vec<ValueId>> {
        let inputs: Vec<Option<ValueId>> = record
            .inputs
            .list()
            .ok()?
            .iter()
            .map(|id| if *id == NOTHING { Some(None) } else { access.value(*id).map(Some) })
            .collect::<Option<_>>()?;
        let attributes: Vec<Attribute> =
            record.attributes.list().ok()?.iter().map(attribute).collect::<Option<_>>()?;
        let (domain, op) = (record.domain.get().ok()?, record.op.get().ok()?);
        let model = access.model_mut()?;
        self.import(model, domain, record.version);
        let opset = model.opset();
        let node = model.graph.append(place.block, domain, op, inputs, attributes, outputs, place.origin);
        if let Some(before) = place.before {
            model.graph.move_before(node, before);
        }
        self.nodes.push(node);
        infer::infer(&mut model.graph, &mut model.symbols, opset, node);
        Some(model.graph.nodes[node].outputs.iter().copied().flatten().collect())
    }

    fn import(&mut self, model: &mut Model, domain: &str, version: i64) {
        if domain.is_empty() {
            return;
        }
        match model.opsets.iter().find(|o| o.domain == domain) {
            None => {
                model.opsets.push(OpsetImport { domain: domain.to_owned(), version: version.max(1) });
                model.opsets.sort();
            }
            Some(found) if found.version != version.max(1) => {
                let problem = format!(
                    "it needs version {} of `{domain}`, but the model imports version {}",
                    version.max(1),
                    found.version
                );
                self.problem.get_or_insert(problem);
            }
            Some(_) => {}
        }
    }

    /// Adds an initializer.
    pub(super) fn constant(
        access: &mut Access<'_>,
        dtype: i32,
        dims: &[u64],
        bytes: &[u8],
    ) -> Option<ValueId> {
        let data = LazyTensor::inline(DType::from_onnx(dtype)?, dims.to_vec(), bytes.to_vec());
        if data.byte_len()? != bytes.len() as u64 {
            return None;
        }
        Some(access.model_mut()?.graph.add_initializer(None, data))
    }

    /// Adds a view of an initializer.
    pub(super) fn view(
        access: &mut Access<'_>,
        initializer: u64,
        axes: &[u32],
        dims: &[u64],
    ) -> Result<ValueId, NoView> {
        let value = access.value(initializer).ok_or(NoView::Invalid)?;
        let data = access.model().graph.initializer(value).ok_or(NoView::Invalid)?.clone();
        if access.keeps(value) {
            return Err(NoView::NeedsCopy);
        }
        let weight = access.model().graph.is_weight(value);
        let view = super::view::view(&data, axes, dims)?;
        let graph = &mut access.model_mut().ok_or(NoView::Invalid)?.graph;
        Ok(if weight { graph.add_weight(None, view) } else { graph.add_initializer(None, view) })
    }

    /// Sets the type of an added value that the host could not infer.
    pub(super) fn set_type(&self, access: &mut Access<'_>, value: u64, ty: &TypeRecord<'_>) -> Option<()> {
        let value = access.value(value)?;
        if !self.made(value) {
            return None;
        }
        let model = access.model_mut()?;
        let ty = type_of(model, ty)?;
        model.graph.values[value].ty = ty;
        Some(())
    }
}

/// Returns the attribute that a record describes; blocks and references are not supported.
pub(super) fn attribute(record: &AttributeView<'_>) -> Option<Attribute> {
    let value = match record.kind {
        attr_kind::INT => Attr::Int(*record.ints.list().ok()?.first()?),
        attr_kind::FLOAT => Attr::Float(*record.floats.list().ok()?.first()?),
        attr_kind::STR => Attr::Str(record.text.get().ok()?.to_owned()),
        attr_kind::INTS => Attr::Ints(record.ints.get().ok()?.to_vec()),
        attr_kind::FLOATS => Attr::Floats(record.floats.get().ok()?.to_vec()),
        attr_kind::STRS => Attr::Strs(incoming::strings(record.texts)?),
        attr_kind::TENSOR => {
            let tensor = &record.tensor;
            let dtype = DType::from_onnx(tensor.dtype)?;
            let data = LazyTensor::inline(
                dtype,
                tensor.dims.get().ok()?.to_vec(),
                tensor.bytes.get().ok()?.to_vec(),
            );
            if data.byte_len()? != tensor.bytes.len() as u64 {
                return None;
            }
            Attr::Tensor(data)
        }
        _ => return None,
    };
    let name = record.name.get().ok()?;
    (!name.is_empty()).then(|| Attribute { name: name.into(), value })
}

fn type_of(model: &Model, record: &TypeRecord<'_>) -> Option<Type> {
    let dim = |record: &DimRecord| match record.kind {
        dim_kind::CONST => Some(Some(Dim::Const(record.value))),
        dim_kind::EXPR => model.symbols.check(record.expr).map(|expr| Some(Dim::Expr(expr))),
        dim_kind::UNKNOWN => Some(None),
        _ => None,
    };
    let shape = if record.rank < 0 {
        Shape::Unranked
    } else {
        Shape::Ranked(record.dims.list().ok()?.iter().map(dim).collect::<Option<_>>()?)
    };
    Some(Type::tensor(DType::from_onnx(record.dtype)?, shape))
}
