//! The functions of `graph/1`.

use onnxport_abi::graph::{
    AttributeView, BlockView, GraphContext, GraphHost, InitializerView, NOTHING, NodeView, UseRecord,
    UsesView, ValueView, attribute_kind, definition, value_kind,
};
use onnxport_abi::lowering::{DataView, DimRecord, RangeRecord, ShapeView, attr_kind, dim_kind};
use onnxport_abi::{RSlice, RSliceMut, RStr};
use onnxport_abi::{Table, status};
use rustc_hash::FxHashMap;

use super::derive::derive;
use super::{Access, read, with};
use crate::diagnose::Origin;
use crate::ir::{Attr, Attribute, Def, Model, Shape, Type, ValueId};
use crate::ops;
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor, Source};

/// The size in bytes up to which constants are shown.
const MAX_CONSTANT: u64 = 64 << 10;

/// The kind of attributes for which this revision of the contract has none.
const UNNAMED_KIND: u32 = u32::MAX;

const NO_DATA: DataView<'static> = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };

static HOST: GraphHost = GraphHost {
    opset,
    main,
    block,
    node,
    attribute,
    value,
    uses,
    output_name,
    constant,
    contents,
    initializer,
    read: read_bytes,
    dim_range,
    dim_text,
    derive,
};

/// The envelope of the functions.
pub(crate) fn host_table() -> Table {
    Table::of(&HOST)
}

/// A slice that the plugin may use until its next call into the host.
fn lend<'a, T>(items: &[T]) -> RSlice<'a, T> {
    // SAFETY: the items live in the model or in the scratch space of the access. Neither changes before the
    // next call of the plugin, where the contract ends the borrow.
    RSlice::from_slice(unsafe { std::slice::from_raw_parts(items.as_ptr(), items.len()) })
}

/// The same for text.
fn lend_text<'a>(text: &str) -> RStr<'a> {
    // SAFETY: as for `lend`.
    RStr::from_str(unsafe { &*std::ptr::from_ref::<str>(text) })
}

/// The sizes as they cross.
fn dims_of(dims: Option<&[Option<Dim>]>) -> impl Iterator<Item = DimRecord> {
    dims.unwrap_or_default().iter().map(|dim| dim_record(*dim))
}

/// A size as it crosses.
pub(crate) fn dim_record(dim: Option<Dim>) -> DimRecord {
    match dim {
        None => DimRecord { kind: dim_kind::UNKNOWN, expr: 0, value: 0 },
        Some(Dim::Const(value)) => DimRecord { kind: dim_kind::CONST, expr: 0, value },
        Some(Dim::Expr(expr)) => DimRecord { kind: dim_kind::EXPR, expr: expr.raw(), value: 0 },
    }
}

fn dim_from(model: &Model, record: DimRecord) -> Option<Dim> {
    match record.kind {
        dim_kind::CONST => Some(Dim::Const(record.value)),
        dim_kind::EXPR => model.symbols.check(record.expr).map(Dim::Expr),
        _ => None,
    }
}

extern "C" fn opset(cx: GraphContext, domain: RStr<'_>) -> i64 {
    let mut version = 0;
    with(cx, |access| {
        let domain = domain.get().ok()?;
        version = access.model().opset_of(domain)?;
        Some(())
    });
    version
}

extern "C" fn main(cx: GraphContext, out: &mut u64) -> u32 {
    with(cx, |access| {
        *out = access.epoch.block(access.model().graph.main());
        Some(())
    })
}

extern "C" fn block<'a>(cx: GraphContext, block: u64, out: &mut BlockView<'a>) -> u32 {
    with(cx, |access| {
        let id = access.block(block)?;
        let (epoch, graph) = (access.epoch, &access.model().graph);
        let block = &graph.blocks[id];
        let parent = block.parent.map_or(NOTHING, |parent| epoch.block(parent));
        let inputs = block.inputs.iter().map(|v| epoch.value(*v)).collect();
        let outputs = block.outputs().iter().map(|v| epoch.value(*v)).collect();
        let nodes = graph.order(id).map(|n| epoch.node(n)).collect();
        access.scratch.ids = [inputs, outputs, nodes];
        let [inputs, outputs, nodes] = &access.scratch.ids;
        *out = BlockView { parent, inputs: lend(inputs), outputs: lend(outputs), nodes: lend(nodes) };
        Some(())
    })
}

extern "C" fn node<'a>(cx: GraphContext, node: u64, out: &mut NodeView<'a>) -> u32 {
    with(cx, |access| {
        let id = access.node(node)?;
        let (epoch, model) = (access.epoch, access.model());
        let node = &model.graph.nodes[id];
        let ids = |values: &[Option<ValueId>]| -> Vec<u64> {
            values.iter().map(|v| v.map_or(NOTHING, |v| epoch.value(v))).collect()
        };
        let none = Origin::default();
        let known = node.origin.filter(|o| o.index() < model.origins.len());
        let origin = known.map_or(&none, |o| model.origins.get(o));
        let names = node.attributes.iter().map(|a| lend_text(&a.name)).collect();
        let [inputs, outputs] = [ids(&node.inputs), ids(&node.outputs)];
        let mut view = NodeView {
            block: epoch.block(node.block?),
            domain: lend_text(&node.domain),
            op: lend_text(&node.op),
            inputs: RSlice::EMPTY,
            outputs: RSlice::EMPTY,
            attributes: RSlice::EMPTY,
            exported: lend_text(&origin.node),
            target: lend_text(&origin.target),
            module: lend_text(&origin.module),
            traits: ops::traits(node).bits(),
        };
        access.scratch.ids = [inputs, outputs, Vec::new()];
        access.scratch.names = names;
        let [inputs, outputs, _] = &access.scratch.ids;
        (view.inputs, view.outputs) = (lend(inputs), lend(outputs));
        view.attributes = lend(&access.scratch.names);
        *out = view;
        Some(())
    })
}

extern "C" fn attribute<'a>(cx: GraphContext, node: u64, name: RStr<'_>, out: &mut AttributeView<'a>) -> u32 {
    with(cx, |access| {
        let id = access.node(node)?;
        let name = name.get().ok()?;
        let model = access.model();
        let node = &model.graph.nodes[id];
        let found = match node.attributes.iter().find(|a| a.name == name) {
            Some(stated) => std::ptr::from_ref(stated),
            None => {
                let version = model.opset_of(&node.domain);
                let default = version.and_then(|version| node.default_of(name, version)).copied();
                let Some(default) = default else {
                    *out = attribute_view("", None, access)?;
                    return Some(());
                };
                let default = Attribute { name: name.into(), value: default.into() };
                std::ptr::from_ref(access.scratch.default.insert(default))
            }
        };
        // SAFETY: the attribute lives in the model or in the scratch space of the access. Neither changes before the
        // next call of the plugin.
        let found = unsafe { &*found };
        *out = attribute_view(&found.name, Some(&found.value), access)?;
        Some(())
    })
}

/// Returns the record of an attribute. It borrows from `name`, `value` and the scratch space of `access`.
pub(crate) fn attribute_view<'a>(
    name: &str,
    value: Option<&Attr>,
    access: &mut Access<'_>,
) -> Option<AttributeView<'a>> {
    let epoch = access.epoch;
    let mut view = AttributeView {
        name: lend_text(name),
        kind: attribute_kind::NONE,
        block: NOTHING,
        ints: RSlice::EMPTY,
        floats: RSlice::EMPTY,
        text: RStr::from_str(""),
        texts: RSlice::EMPTY,
        tensor: NO_DATA,
    };
    let Some(value) = value else { return Some(view) };
    let (mut names, mut shown) = (Vec::new(), None);
    view.kind = match value {
        Attr::Int(int) => {
            view.ints = lend(std::slice::from_ref(int));
            attr_kind::INT
        }
        Attr::Float(float) => {
            view.floats = lend(std::slice::from_ref(float));
            attr_kind::FLOAT
        }
        Attr::Str(text) => {
            view.text = lend_text(text);
            attr_kind::STR
        }
        Attr::Ints(ints) => {
            view.ints = lend(ints);
            attr_kind::INTS
        }
        Attr::Floats(floats) => {
            view.floats = lend(floats);
            attr_kind::FLOATS
        }
        Attr::Strs(texts) => {
            names = texts.iter().map(|t| lend_text(t)).collect();
            attr_kind::STRS
        }
        Attr::Tensor(data) => {
            shown = Some(data.clone());
            attr_kind::TENSOR
        }
        Attr::Block(block) => {
            view.block = epoch.block(*block);
            attr_kind::BLOCK
        }
        Attr::Ref(outer, _) => {
            view.text = lend_text(outer);
            attribute_kind::REFERENCE
        }
        Attr::Bytes(_)
        | Attr::BytesList(_)
        | Attr::Text(_)
        | Attr::Sparse(_)
        | Attr::Tensors(_)
        | Attr::Sparses(_)
        | Attr::Blocks(_)
        | Attr::Type(_)
        | Attr::Types(_) => UNNAMED_KIND,
    };
    access.scratch.names = names;
    view.texts = lend(&access.scratch.names);
    if let Some(data) = shown {
        view.tensor = show(access, &data, true)?;
    }
    Some(view)
}

extern "C" fn value<'a>(cx: GraphContext, value: u64, out: &mut ValueView<'a>) -> u32 {
    with(cx, |access| {
        let id = access.value(value)?;
        let epoch = access.epoch;
        let info = &access.model().graph.values[id];
        let (definition, by, index) = match info.def {
            Def::Input(block, index) => (definition::INPUT, epoch.block(block), index),
            Def::Initializer(index) | Def::Literal(index) => (definition::INITIALIZER, NOTHING, index),
            Def::Node(node, index) => (definition::NODE, epoch.node(node), index),
            Def::Gone => return None,
        };
        let dims = info.ty.shape().and_then(Shape::dims);
        let mut view = ValueView {
            name: lend_text(info.name.as_deref().unwrap_or_default()),
            kind: match info.ty {
                Type::Tensor { .. } => value_kind::TENSOR,
                Type::Sequence(_) => value_kind::SEQUENCE,
                _ => value_kind::UNKNOWN,
            },
            dtype: info.ty.dtype().map_or(0, DType::onnx),
            rank: dims.map_or(-1, |dims| dims.len() as i32),
            definition,
            dims: RSlice::EMPTY,
            by,
            index,
        };
        let dims = dims_of(dims).collect();
        access.scratch.dims = dims;
        view.dims = lend(&access.scratch.dims);
        *out = view;
        Some(())
    })
}

extern "C" fn uses<'a>(cx: GraphContext, value: u64, out: &mut UsesView<'a>) -> u32 {
    with(cx, |access| {
        let id = access.value(value)?;
        let (epoch, graph) = (access.epoch, &access.model().graph);
        let mut places: Vec<_> = graph.values[id].uses().iter().map(|u| (u.node, u.index)).collect();
        places.sort_unstable();
        let returned = graph.returned(id);
        access.scratch.uses =
            places.iter().map(|(node, index)| UseRecord { node: epoch.node(*node), index: *index }).collect();
        *out = UsesView { uses: lend(&access.scratch.uses), returned: returned as u32 };
        Some(())
    })
}

extern "C" fn output_name<'a>(cx: GraphContext, index: u32, out: &mut RStr<'a>) -> u32 {
    with(cx, |access| {
        *out = lend_text(access.model().output_names.get(index as usize)?);
        Some(())
    })
}

extern "C" fn constant<'a>(cx: GraphContext, value: u64, out: &mut DataView<'a>) -> u32 {
    with(cx, |access| {
        let id = access.value(value)?;
        let graph = &access.model().graph;
        let data = graph.initializer(id).filter(|_| !graph.is_weight(id)).cloned();
        *out = match data {
            Some(data) => show(access, &data, false)?,
            None => NO_DATA,
        };
        Some(())
    })
}

/// Shows a tensor, with its bytes if it is small; of a larger one nothing, or only the type if `always`.
fn show<'a>(access: &mut Access<'_>, data: &LazyTensor, always: bool) -> Option<DataView<'a>> {
    let small = data.byte_len().is_some_and(|bytes| bytes <= MAX_CONSTANT);
    if !small && !always {
        return Some(NO_DATA);
    }
    access.scratch.extents.clone_from(&data.shape);
    access.scratch.bytes = if small { data.read()?.into_owned() } else { Vec::new() };
    Some(DataView {
        dtype: data.dtype.onnx(),
        dims: lend(&access.scratch.extents),
        bytes: lend(&access.scratch.bytes),
    })
}

extern "C" fn contents<'a>(cx: GraphContext, value: u64, out: &mut ShapeView<'a>) -> u32 {
    with(cx, |access| {
        let id = access.value(value)?;
        let contents = access.model().graph.shape_value(id);
        let known: Vec<Option<Dim>> = contents.iter().flatten().map(|dim| Some(*dim)).collect();
        access.scratch.dims = dims_of(Some(&known)).collect();
        *out = ShapeView { known: u32::from(contents.is_some()), dims: lend(&access.scratch.dims) };
        Some(())
    })
}

extern "C" fn initializer<'a>(cx: GraphContext, value: u64, out: &mut InitializerView<'a>) -> u32 {
    with(cx, |access| {
        let id = access.value(value)?;
        let Some(data) = access.model().graph.initializer(id) else {
            *out = InitializerView {
                dtype: 0,
                dense: 0,
                dims: RSlice::EMPTY,
                byte_length: 0,
                storage: 0,
                offset: 0,
            };
            return Some(());
        };
        let (dtype, dense) = (data.dtype.onnx(), u32::from(data.strides.is_none()));
        let (extents, byte_length, offset) = (data.shape.clone(), data.byte_len()?, data.offset);
        let storages = access.scratch.storages.take().unwrap_or_else(|| storages(access.model()));
        let storage = storages.get(&id).copied()?;
        access.scratch.storages = Some(storages);
        access.scratch.extents = extents;
        let dims = lend(&access.scratch.extents);
        *out = InitializerView { dtype, dense, dims, byte_length, storage, offset };
        Some(())
    })
}

/// The identity of a storage.
#[derive(PartialEq, Eq, Hash)]
enum Storage<'m> {
    /// The bytes at an address. Two sources over the same bytes are one storage.
    Bytes(usize, usize),
    /// Bytes that are still missing.
    Unbound(&'m str),
    /// No bytes; such an initializer shares with none.
    Empty(ValueId),
}

/// A number per initializer; those whose bytes lie in one storage have the same.
fn storages(model: &Model) -> FxHashMap<ValueId, u64> {
    let mut numbers: FxHashMap<Storage<'_>, u64> = FxHashMap::default();
    let mut found = FxHashMap::default();
    for initializer in &model.graph.initializers {
        let bytes = initializer.data.source.bytes();
        // An initializer joined from several tensors has its own bytes and shares none.
        let joined = matches!(initializer.data.transforms().0.source, Source::Joined(_));
        let storage = match initializer.data.unbound().filter(|_| !joined) {
            Some(unbound) => Storage::Unbound(&unbound.storage),
            None if bytes.is_empty() => Storage::Empty(initializer.value),
            None => Storage::Bytes(bytes.as_ptr() as usize, bytes.len()),
        };
        let next = numbers.len() as u64 + 1;
        found.insert(initializer.value, *numbers.entry(storage).or_insert(next));
    }
    found
}

extern "C" fn read_bytes(cx: GraphContext, value: u64, offset: u64, out: RSliceMut<'_, u8>) -> u32 {
    let mut refused = false;
    let answer = with(cx, |access| {
        let id = access.value(value)?;
        let data = access.model().graph.initializer(id)?;
        let out = out.get().ok()?;
        let end = offset.checked_add(out.len() as u64)?;
        if end > data.byte_len()? {
            return None;
        }
        refused = read::bytes(data, offset, out).is_none();
        Some(())
    });
    if answer == status::OK && refused { status::REFUSED } else { answer }
}

extern "C" fn dim_range(cx: GraphContext, dim: DimRecord) -> RangeRecord {
    let mut record = RangeRecord { min: i64::MIN, max: i64::MAX };
    with(cx, |access| {
        let model = access.model();
        let range = model.symbols.range(dim_from(model, dim)?);
        record = RangeRecord { min: range.min.unwrap_or(i64::MIN), max: range.max.unwrap_or(i64::MAX) };
        Some(())
    });
    record
}

extern "C" fn dim_text<'a>(cx: GraphContext, dim: DimRecord, out: &mut RStr<'a>) -> u32 {
    with(cx, |access| {
        let model = access.model();
        let text = match dim_from(model, dim) {
            Some(dim) => model.symbols.display(dim),
            None if dim.kind == dim_kind::UNKNOWN => "?".to_owned(),
            None => return None,
        };
        access.scratch.text = text;
        *out = lend_text(&access.scratch.text);
        Some(())
    })
}
