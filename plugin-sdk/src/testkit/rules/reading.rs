//! `graph/1`: what a rule reads of the graph.

use crate::lent::Lent;
use onnxport_abi::graph::{
    AttributeView, BlockView, GraphContext, GraphHost, InitializerView, NOTHING, NodeView, UseRecord,
    UsesView, ValueView, attribute_kind, definition, value_kind,
};
use onnxport_abi::lowering::{DataView, DimRecord, RangeRecord, ShapeView, attr_kind};
use onnxport_abi::{RSlice, RSliceMut, RStr};

use super::super::Tensor;
use super::super::graph::{Attr, Node};
use super::super::lowering::lend;
use super::host::with;
use super::matching::{maker, readers};
use super::{Frame, Place};
use crate::abi::Table;
use crate::{DType, Dim};

/// Constants of at most this many bytes can be read at once, as in the host.
const MAX_CONSTANT: usize = 64 << 10;

/// Kinds of ids, in their upper half.
const NODE: u64 = 1;
const VALUE: u64 = 2;
const BLOCK: u64 = 3;

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
    read,
    dim_range,
    dim_text,
    derive: None,
};

/// The envelope of the test kit's functions.
pub(in super::super) fn host_table() -> Table {
    Table::of(&HOST)
}

fn of(kind: u64, id: u64) -> Option<usize> {
    (id >> 32 == kind).then_some((id & u64::from(u32::MAX)) as usize)
}

impl Frame {
    pub(super) fn node_id(&self, place: Place) -> u64 {
        self.places.iter().position(|p| *p == place).map_or(NOTHING, |number| NODE << 32 | number as u64)
    }

    pub(super) fn value_id(value: usize) -> u64 {
        VALUE << 32 | value as u64
    }

    fn block_id(block: usize) -> u64 {
        BLOCK << 32 | block as u64
    }

    pub(super) fn value(&self, id: u64) -> Option<usize> {
        of(VALUE, id).filter(|value| *value < self.lowered.graph.values.len())
    }

    fn node(&self, id: u64) -> Option<(Place, &Node)> {
        let place = *self.places.get(of(NODE, id)?)?;
        Some((place, &self.lowered.graph.blocks[place.0].nodes[place.1]))
    }
}

extern "C" fn opset(cx: GraphContext, domain: RStr<'_>) -> i64 {
    let mut found = 0;
    with(cx, |frame| {
        let used = |domain: &str| {
            frame.lowered.graph.blocks.iter().flat_map(|b| &b.nodes).any(|node| node.domain == domain)
        };
        // What the version of another domain is, the test kit does not know.
        found = if domain.is_empty() { frame.lowered.opset } else { i64::from(used(domain.lent())) };
        Some(())
    });
    found
}

extern "C" fn main(cx: GraphContext, out: &mut u64) -> u32 {
    with(cx, |_| {
        *out = Frame::block_id(0);
        Some(())
    })
}

extern "C" fn block<'a>(cx: GraphContext, block: u64, out: &mut BlockView<'a>) -> u32 {
    with(cx, |frame| {
        let index = of(BLOCK, block)?;
        let found = frame.lowered.graph.blocks.get(index)?;
        let ids = |values: &[usize]| values.iter().map(|v| Frame::value_id(*v)).collect::<Vec<u64>>();
        let (inputs, outputs) = if index == 0 {
            let inputs: Vec<usize> = frame.lowered.inputs.iter().map(|input| input.value).collect();
            (inputs, frame.lowered.results.iter().flatten().copied().collect())
        } else {
            (found.inputs.clone(), found.outputs.clone())
        };
        let nodes = (0..found.nodes.len()).map(|at| frame.node_id((index, at))).collect();
        let parent = found.parent.map_or(NOTHING, Frame::block_id);
        frame.scratch.ids = [ids(&inputs), ids(&outputs), nodes];
        let [inputs, outputs, nodes] = &frame.scratch.ids;
        *out = BlockView { parent, inputs: lend(inputs), outputs: lend(outputs), nodes: lend(nodes) };
        Some(())
    })
}

extern "C" fn node<'a>(cx: GraphContext, node: u64, out: &mut NodeView<'a>) -> u32 {
    with(cx, |frame| {
        let ((block, _), found) = frame.node(node)?;
        let inputs = found.inputs.iter().map(|v| v.map_or(NOTHING, Frame::value_id)).collect();
        let outputs = found.outputs.iter().map(|v| Frame::value_id(*v)).collect();
        let names = found.attributes.keys().map(|name| outlive(name)).collect();
        let (domain, op) = (outlive(&found.domain), outlive(&found.op));
        frame.scratch.ids = [inputs, outputs, Vec::new()];
        frame.scratch.names = names;
        let [inputs, outputs, _] = &frame.scratch.ids;
        *out = NodeView {
            block: Frame::block_id(block),
            domain,
            op,
            inputs: lend(inputs),
            outputs: lend(outputs),
            attributes: lend(&frame.scratch.names),
            exported: RStr::from_str(""),
            target: RStr::from_str(""),
            module: RStr::from_str(""),
        };
        Some(())
    })
}

/// A text of the graph, which does not change before the plugin's next call.
fn outlive<'a>(text: &str) -> RStr<'a> {
    // SAFETY: as for `lend`: the contract ends the borrow at the plugin's next call.
    RStr::from_str(unsafe { &*std::ptr::from_ref::<str>(text) })
}

extern "C" fn attribute<'a>(cx: GraphContext, node: u64, name: RStr<'_>, out: &mut AttributeView<'a>) -> u32 {
    with(cx, |frame| {
        let (_, found) = frame.node(node)?;
        let value = found.attributes.get(name.lent()).cloned();
        let key = found.attributes.get_key_value(name.lent()).map(|(key, _)| outlive(key));
        frame.scratch.attribute = value;
        *out = AttributeView {
            name: key.unwrap_or(RStr::from_str("")),
            kind: attribute_kind::NONE,
            block: NOTHING,
            ints: RSlice::EMPTY,
            floats: RSlice::EMPTY,
            text: RStr::from_str(""),
            texts: RSlice::EMPTY,
            tensor: DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY },
        };
        let scratch = &mut frame.scratch;
        match &scratch.attribute {
            None | Some(Attr::Dims(_)) => {}
            Some(Attr::Int(n)) => {
                scratch.number = vec![*n];
                (out.kind, out.ints) = (attr_kind::INT, lend(&scratch.number));
            }
            Some(Attr::Float(x)) => {
                scratch.float = vec![*x];
                (out.kind, out.floats) = (attr_kind::FLOAT, lend(&scratch.float));
            }
            Some(Attr::Str(text)) => (out.kind, out.text) = (attr_kind::STR, outlive(text)),
            Some(Attr::Ints(ints)) => (out.kind, out.ints) = (attr_kind::INTS, lend(ints)),
            Some(Attr::Floats(floats)) => (out.kind, out.floats) = (attr_kind::FLOATS, lend(floats)),
            Some(Attr::Strs(texts)) => {
                scratch.texts = texts.iter().map(|text| outlive(text)).collect();
                (out.kind, out.texts) = (attr_kind::STRS, lend(&scratch.texts));
            }
            Some(Attr::Block(block)) => (out.kind, out.block) = (attr_kind::BLOCK, Frame::block_id(*block)),
            Some(Attr::Ref { name, .. }) => (out.kind, out.text) = (attribute_kind::REFERENCE, outlive(name)),
            Some(Attr::Tensor(tensor)) => {
                let tensor = tensor.clone();
                (out.kind, out.tensor) = (attr_kind::TENSOR, frame.show(&tensor)?);
            }
        }
        Some(())
    })
}

impl Frame {
    /// The tensor in the scratch space; one of more than 64 KiB without its bytes.
    fn show<'a>(&mut self, tensor: &Tensor) -> Option<DataView<'a>> {
        self.scratch.extents = tensor.shape().iter().map(|n| *n as u64).collect();
        self.scratch.bytes = tensor.to_bytes()?;
        let bytes: &[u8] = &self.scratch.bytes;
        let bytes = if bytes.len() > MAX_CONSTANT { RSlice::EMPTY } else { lend(bytes) };
        Some(DataView { dtype: tensor.dtype().onnx(), dims: lend(&self.scratch.extents), bytes })
    }
}

extern "C" fn value<'a>(cx: GraphContext, value: u64, out: &mut ValueView<'a>) -> u32 {
    with(cx, |frame| {
        let value = frame.value(value)?;
        let info = &frame.lowered.graph.values[value];
        let shape = info.shape.as_deref();
        let name = outlive(info.name.as_deref().unwrap_or(""));
        let (dtype, rank) = (info.dtype.map_or(0, DType::onnx), shape.map_or(-1, |s| s.len() as i32));
        let dims = shape.unwrap_or_default().iter().map(|d| d.record()).collect();
        let constant = info.constant.is_some();
        let input = |block: usize, values: &[usize]| {
            Some((Frame::block_id(block), values.iter().position(|v| *v == value)? as u32))
        };
        let inputs: Vec<usize> = frame.lowered.inputs.iter().map(|input| input.value).collect();
        let body = frame.lowered.graph.blocks.iter().enumerate().find_map(|(at, b)| input(at, &b.inputs));
        let (definition, (by, index)) = if constant {
            (definition::INITIALIZER, (NOTHING, 0))
        } else if let Some((place, output)) = maker(&frame.lowered, value) {
            (definition::NODE, (frame.node_id(place), output as u32))
        } else {
            (definition::INPUT, input(0, &inputs).or(body)?)
        };
        frame.scratch.dims = dims;
        let kind = if dtype == 0 { value_kind::UNKNOWN } else { value_kind::TENSOR };
        let dims = lend(&frame.scratch.dims);
        *out = ValueView { name, kind, dtype, rank, definition, dims, by, index };
        Some(())
    })
}

extern "C" fn uses<'a>(cx: GraphContext, value: u64, out: &mut UsesView<'a>) -> u32 {
    with(cx, |frame| {
        let value = frame.value(value)?;
        let found = readers(&frame.lowered, value);
        let found = found.map(|(place, index)| UseRecord { node: frame.node_id(place), index: index as u32 });
        let found: Vec<UseRecord> = found.collect();
        let bodies = frame.lowered.graph.blocks.iter().skip(1).flat_map(|b| &b.outputs);
        let results = frame.lowered.results.iter().flatten();
        let returned = bodies.chain(results).filter(|v| **v == value).count() as u32;
        frame.scratch.uses = found;
        *out = UsesView { uses: lend(&frame.scratch.uses), returned };
        Some(())
    })
}

extern "C" fn output_name<'a>(cx: GraphContext, index: u32, out: &mut RStr<'a>) -> u32 {
    with(cx, |frame| {
        frame.lowered.results.get(index as usize)?;
        frame.scratch.text = format!("output_{index}");
        *out = outlive(&frame.scratch.text);
        Some(())
    })
}

extern "C" fn constant<'a>(cx: GraphContext, value: u64, out: &mut DataView<'a>) -> u32 {
    with(cx, |frame| {
        let value = frame.value(value)?;
        *out = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };
        let Some(tensor) = frame.lowered.graph.values[value].constant.clone() else { return Some(()) };
        if tensor.to_bytes()?.len() <= MAX_CONSTANT {
            *out = frame.show(&tensor)?;
        }
        Some(())
    })
}

extern "C" fn contents<'a>(cx: GraphContext, value: u64, out: &mut ShapeView<'a>) -> u32 {
    with(cx, |frame| {
        let contents = frame.lowered.graph.known_dims(frame.value(value)?);
        frame.scratch.dims = contents.iter().flatten().map(|d| d.record()).collect();
        *out = ShapeView { known: u32::from(contents.is_some()), dims: lend(&frame.scratch.dims) };
        Some(())
    })
}

extern "C" fn initializer<'a>(cx: GraphContext, value: u64, out: &mut InitializerView<'a>) -> u32 {
    with(cx, |frame| {
        let value = frame.value(value)?;
        let before = frame.lowered.graph.values.iter().take(value).filter(|v| v.constant.is_some());
        let storage = before.count() as u64 + 1;
        let constant = frame.lowered.graph.values[value].constant.as_ref();
        let shape = constant.map(|tensor| tensor.shape().iter().map(|n| *n as u64).collect());
        let facts = match constant {
            Some(tensor) => (tensor.dtype().onnx(), tensor.to_bytes()?.len() as u64),
            None => (0, 0),
        };
        frame.scratch.extents = shape.unwrap_or_default();
        let dims = lend(&frame.scratch.extents);
        let (dtype, byte_length) = facts;
        *out = InitializerView { dtype, dense: 1, dims, byte_length, storage, offset: 0 };
        Some(())
    })
}

extern "C" fn read(cx: GraphContext, value: u64, offset: u64, out: RSliceMut<'_, u8>) -> u32 {
    with(cx, |frame| {
        let bytes = frame.lowered.graph.values[frame.value(value)?].constant.as_ref()?.to_bytes()?;
        let start = usize::try_from(offset).ok()?;
        let bytes = bytes.get(start..start.checked_add(out.len())?)?;
        out.lent().copy_from_slice(bytes);
        Some(())
    })
}

extern "C" fn dim_range(cx: GraphContext, dim: DimRecord) -> RangeRecord {
    let mut record = RangeRecord { min: i64::MIN, max: i64::MAX };
    with(cx, |frame| {
        let dim = Some(Dim::from_record(dim)).filter(|d| frame.lowered.symbols.knows(*d))?;
        let range = frame.lowered.symbols.range(dim);
        record = RangeRecord { min: range.min, max: range.max };
        Some(())
    });
    record
}

extern "C" fn dim_text<'a>(cx: GraphContext, dim: DimRecord, out: &mut RStr<'a>) -> u32 {
    with(cx, |frame| {
        let dim = Some(Dim::from_record(dim)).filter(|d| frame.lowered.symbols.knows(*d))?;
        frame.scratch.text = frame.lowered.symbols.display(dim);
        *out = outlive(&frame.scratch.text);
        Some(())
    })
}
