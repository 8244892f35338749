//! The functions that a rule calls while it is checked or builds its patch.

use crate::lent::Lent;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use onnxport_abi::graph::{AttributeView, GraphContext, NOTHING, NewNode};
use onnxport_abi::lowering::{TypeRecord, attr_kind};
use onnxport_abi::rules::{MatchView, RulesHost};
use onnxport_abi::{RSlice, RSliceMut, RStr};

use super::super::Tensor;
use super::super::graph::{Attr, Node, ValueInfo};
use super::super::lowering::lend;
use super::Frame;
use crate::abi::{Table, status};
use crate::{DType, Dim, Refusal};

static HOST: RulesHost = RulesHost { matched, emit, constant, view, set_type, finish, refuse };

/// The envelope of the test kit's functions.
pub(in super::super) fn host_table() -> Table {
    Table::of(&HOST)
}

/// Runs `body` with the frame behind `cx`. A panic must not cross the boundary.
pub(super) fn with(cx: GraphContext, body: impl FnOnce(&mut Frame) -> Option<()>) -> u32 {
    let run = || {
        // SAFETY: the context comes from a frame that lives until the plugin returns; plugins call back
        // on that thread only, one call at a time.
        let frame = unsafe { cx.0.cast::<Frame>().as_mut() }?;
        body(frame)
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Some(())) => status::OK,
        Ok(None) | Err(_) => status::INVALID,
    }
}

/// The same for functions that change the graph.
fn building(cx: GraphContext, body: impl FnOnce(&mut Frame) -> Option<()>) -> u32 {
    with(cx, |frame| if frame.building { body(frame) } else { None })
}

extern "C" fn matched<'a>(cx: GraphContext, out: &mut MatchView<'a>) -> u32 {
    with(cx, |frame| {
        let node = |number: Option<usize>| {
            number.and_then(|n| frame.places.get(n)).map_or(NOTHING, |place| frame.node_id(*place))
        };
        let nodes = frame.matched.nodes.iter().map(|n| node(*n)).collect();
        let values = frame.matched.values.iter().map(|v| v.map_or(NOTHING, Frame::value_id)).collect();
        frame.scratch.ids = [nodes, values, Vec::new()];
        let [nodes, values, _] = &frame.scratch.ids;
        *out = MatchView { nodes: lend(nodes), values: lend(values) };
        Some(())
    })
}

extern "C" fn emit(cx: GraphContext, node: &NewNode<'_>, outputs: RSliceMut<'_, u64>) -> u32 {
    building(cx, |frame| {
        let input = |id: &u64| if *id == NOTHING { Some(None) } else { frame.value(*id).map(Some) };
        let inputs = node.inputs.lent().iter().map(input).collect::<Option<Vec<_>>>()?;
        let attribute = |a: &AttributeView<'_>| Some((a.name.lent().to_owned(), set(a)?));
        let attributes = node.attributes.lent().iter().map(attribute).collect::<Option<BTreeMap<_, _>>>()?;
        let graph = &mut frame.lowered.graph;
        let made: Vec<usize> = (0..outputs.len()).map(|_| graph.add(ValueInfo::default())).collect();
        let (domain, op) = (node.domain.lent().to_owned(), node.op.lent().to_owned());
        frame.insert(Node { domain, op, inputs, outputs: made.clone(), attributes });
        for (place, value) in outputs.lent().iter_mut().zip(made) {
            *place = Frame::value_id(value);
        }
        Some(())
    })
}

/// The attribute that a plugin sets; bodies cannot be.
fn set(view: &AttributeView<'_>) -> Option<Attr> {
    Some(match view.kind {
        attr_kind::INT => Attr::Int(*view.ints.lent().first()?),
        attr_kind::FLOAT => Attr::Float(*view.floats.lent().first()?),
        attr_kind::STR => Attr::Str(view.text.lent().to_owned()),
        attr_kind::INTS => Attr::Ints(view.ints.lent().to_vec()),
        attr_kind::FLOATS => Attr::Floats(view.floats.lent().to_vec()),
        attr_kind::STRS => Attr::Strs(view.texts.lent().iter().map(|text| text.lent().to_owned()).collect()),
        attr_kind::TENSOR => {
            let (dims, bytes) = (view.tensor.dims.lent(), view.tensor.bytes.lent());
            Attr::Tensor(Tensor::from_bytes(DType::from_onnx(view.tensor.dtype)?, dims, bytes)?)
        }
        _ => return None,
    })
}

impl Frame {
    fn add(&mut self, tensor: Tensor) -> u64 {
        Self::value_id(self.lowered.graph.add(ValueInfo {
            dtype: Some(tensor.dtype()),
            shape: Some(tensor.shape().iter().map(|n| Dim::Const(*n as i64)).collect()),
            constant: Some(tensor),
            ..ValueInfo::default()
        }))
    }
}

extern "C" fn constant(
    cx: GraphContext,
    dtype: i32,
    dims: RSlice<'_, u64>,
    bytes: RSlice<'_, u8>,
    out: &mut u64,
) -> u32 {
    building(cx, |frame| {
        let tensor = Tensor::from_bytes(DType::from_onnx(dtype)?, dims.lent(), bytes.lent())?;
        *out = frame.add(tensor);
        Some(())
    })
}

extern "C" fn view(
    cx: GraphContext,
    initializer: u64,
    axes: RSlice<'_, u32>,
    dims: RSlice<'_, u64>,
    out: &mut u64,
) -> u32 {
    building(cx, |frame| {
        let tensor = frame.lowered.graph.values[frame.value(initializer)?].constant.clone()?;
        let axes: Vec<usize> = axes.lent().iter().map(|axis| *axis as usize).collect();
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..tensor.shape().len()) {
            return None;
        }
        let bytes = tensor.to_bytes()?;
        let size = (tensor.dtype().bits() / 8) as usize;
        let mut strides = vec![size; tensor.shape().len()];
        for axis in (0..strides.len().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * tensor.shape()[axis + 1];
        }
        let mut moved = Vec::with_capacity(bytes.len());
        for position in 0..tensor.len() {
            let (mut rest, mut at) = (position, 0);
            for axis in axes.iter().rev() {
                let extent = tensor.shape()[*axis];
                at += rest % extent * strides[*axis];
                rest /= extent;
            }
            moved.extend_from_slice(bytes.get(at..at + size)?);
        }
        *out = frame.add(Tensor::from_bytes(tensor.dtype(), dims.lent(), &moved)?);
        Some(())
    })
}

extern "C" fn set_type(cx: GraphContext, value: u64, ty: &TypeRecord<'_>) -> u32 {
    building(cx, |frame| {
        let value = frame.value(value)?;
        let dims: Vec<Dim> = ty.dims.lent().iter().map(|d| Dim::from_record(*d)).collect();
        if !dims.iter().all(|d| frame.lowered.symbols.knows(*d)) {
            return None;
        }
        let info = &mut frame.lowered.graph.values[value];
        info.dtype = DType::from_onnx(ty.dtype);
        info.shape = (ty.rank >= 0).then_some(dims);
        Some(())
    })
}

extern "C" fn finish(cx: GraphContext, outputs: RSlice<'_, u64>) -> u32 {
    building(cx, |frame| {
        let value = |id: &u64| if *id == NOTHING { Some(None) } else { frame.value(*id).map(Some) };
        frame.answer = Some(outputs.lent().iter().map(value).collect::<Option<_>>()?);
        Some(())
    })
}

extern "C" fn refuse(cx: GraphContext, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>) {
    with(cx, |frame| {
        frame.refusal = Some(Refusal {
            code: code.lent().to_owned().into(),
            message: message.lent().to_owned(),
            help: help.lent().to_owned(),
        });
        Some(())
    });
}
