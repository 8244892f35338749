//! The functions that a plugin calls.
//!
//! A context is a pointer to the [`Frame`] of the call; every callback turns it into a reference for its
//! own duration only.

use crate::lent::Lent;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use onnxport_abi::lowering::{
    ArgRecord, AttrRecord, CallView, Context, DataView, DimRecord, GraphView, LoweringHost, NodeRecord,
    OriginView, RangeRecord, ShapeView, TypeRecord, arg_kind, attr_kind,
};
use onnxport_abi::{RSlice, RSliceMut, RStr};

use super::super::graph::{Attr, Block, Node, ValueInfo};
use super::super::{Tensor, infer};
use super::{Frame, Open};
use crate::abi::{Table, status};
use crate::{DType, Dim, Refusal};

/// Constants of at most this many bytes can be read by plugins, as in the host.
const MAX_CONSTANT: usize = 64 << 10;

static HOST: LoweringHost = LoweringHost {
    call,
    value_type,
    constant_data,
    shape_contents,
    dim_op: dim_arithmetic,
    dim_range,
    emit,
    constant,
    dims_value,
    set_type,
    graph,
    begin_block,
    block_input,
    inline_graph,
    end_block,
    finish,
    refuse,
    begin_function: Some(begin_function),
    end_function: Some(end_function),
    origin: Some(origin),
    weight_data: None,
    definition: None,
    definition_int: None,
};

/// The envelope of the test kit's functions.
pub(in super::super) fn host_table() -> Table {
    Table::of(&HOST)
}

/// Runs `body` with the frame behind `cx`. A panic must not cross the boundary.
fn with<'p>(cx: Context, body: impl FnOnce(&mut Frame<'p>) -> Option<()>) -> u32 {
    let run = || {
        // SAFETY: `run` made the context from a frame that lives until the plugin returns; plugins call
        // back on that thread only, one call at a time.
        let frame = unsafe { cx.0.cast::<Frame<'p>>().as_mut() }?;
        body(frame)
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Some(())) => status::OK,
        Ok(None) | Err(_) => status::INVALID,
    }
}

/// A slice that the plugin may use until its next call.
pub(in super::super) fn lend<'a, T>(items: &[T]) -> RSlice<'a, T> {
    // SAFETY: the items live in the frame, which changes them only in a later call of the plugin; the
    // contract ends the borrow there.
    RSlice::from_slice(unsafe { std::slice::from_raw_parts(items.as_ptr(), items.len()) })
}

/// The same for arguments; what they borrow outlives the call.
fn lend_args<'a>(items: &[ArgRecord<'_>]) -> RSlice<'a, ArgRecord<'a>> {
    // SAFETY: as for `lend`; only lifetimes differ.
    RSlice::from_slice(unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), items.len()) })
}

extern "C" fn call<'a>(cx: Context, out: &mut CallView<'a>) -> u32 {
    with(cx, |frame| {
        // SAFETY: the target outlives the call.
        let target: &'a str = unsafe { &*std::ptr::from_ref::<str>(frame.target) };
        *out = CallView {
            target: RStr::from_str(target),
            opset: frame.opset,
            args: lend_args(&frame.args),
            elements: lend_args(&frame.elements),
            results: lend(&frame.results),
        };
        Some(())
    })
}

extern "C" fn value_type<'a>(cx: Context, value: u32, out: &mut TypeRecord<'a>) -> u32 {
    with(cx, |frame| {
        let info = &frame.graph.values[frame.value(value)?];
        let shape = info.shape.as_deref();
        let (dtype, rank) = (info.dtype.map_or(0, DType::onnx), shape.map_or(-1, |s| s.len() as i32));
        frame.dims = shape.unwrap_or_default().iter().map(|d| d.record()).collect();
        *out = TypeRecord { kind: arg_kind::TENSOR, dtype, rank, dims: lend(&frame.dims) };
        Some(())
    })
}

extern "C" fn constant_data<'a>(cx: Context, value: u32, out: &mut DataView<'a>) -> u32 {
    with(cx, |frame| {
        let info = &frame.graph.values[frame.value(value)?];
        *out = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };
        let Some(tensor) = &info.constant else { return Some(()) };
        let Some(bytes) = tensor.to_bytes().filter(|bytes| bytes.len() <= MAX_CONSTANT) else {
            return Some(());
        };
        let dtype = tensor.dtype().onnx();
        frame.extents = tensor.shape().iter().map(|n| *n as u64).collect();
        frame.bytes = bytes;
        *out = DataView { dtype, dims: lend(&frame.extents), bytes: lend(&frame.bytes) };
        Some(())
    })
}

extern "C" fn shape_contents<'a>(cx: Context, value: u32, out: &mut ShapeView<'a>) -> u32 {
    with(cx, |frame| {
        let contents = frame.graph.known_dims(frame.value(value)?);
        frame.dims = contents.iter().flatten().map(|d| d.record()).collect();
        *out = ShapeView { known: u32::from(contents.is_some()), dims: lend(&frame.dims) };
        Some(())
    })
}

extern "C" fn dim_arithmetic(cx: Context, op: u32, a: DimRecord, b: DimRecord) -> DimRecord {
    let mut result = Dim::Unknown;
    with(cx, |frame| {
        let (a, b) = (frame.dim(a)?, frame.dim(b)?);
        result = frame.symbols.apply(op, a, b);
        Some(())
    });
    result.record()
}

extern "C" fn dim_range(cx: Context, dim: DimRecord) -> RangeRecord {
    let mut record = RangeRecord { min: i64::MIN, max: i64::MAX };
    with(cx, |frame| {
        let range = frame.symbols.range(frame.dim(dim)?);
        record = RangeRecord { min: range.min, max: range.max };
        Some(())
    });
    record
}

extern "C" fn emit(cx: Context, node: &NodeRecord<'_>, outputs: RSliceMut<'_, u32>) -> u32 {
    with(cx, |frame| {
        let inputs = frame.optional(node.inputs.lent())?;
        let attributes = node
            .attributes
            .lent()
            .iter()
            .map(|a| Some((a.name.lent().to_owned(), attribute(frame, a)?)))
            .collect::<Option<BTreeMap<_, _>>>()?;
        let made: Vec<usize> = (0..outputs.len()).map(|_| frame.graph.add(ValueInfo::default())).collect();
        let (domain, op) = (node.domain.lent().to_owned(), node.op.lent().to_owned());
        frame.push(Node { domain, op, inputs, outputs: made.clone(), attributes });
        for (place, value) in outputs.lent().iter_mut().zip(made) {
            *place = value as u32;
        }
        Some(())
    })
}

fn attribute(frame: &Frame<'_>, record: &AttrRecord<'_>) -> Option<Attr> {
    Some(match record.kind {
        attr_kind::INT => Attr::Int(*record.ints.lent().first()?),
        attr_kind::FLOAT => Attr::Float(*record.floats.lent().first()?),
        attr_kind::STR => Attr::Str(record.text.lent().to_owned()),
        attr_kind::INTS => Attr::Ints(record.ints.lent().to_vec()),
        attr_kind::FLOATS => Attr::Floats(record.floats.lent().to_vec()),
        attr_kind::STRS => Attr::Strs(record.texts.lent().iter().map(|t| t.lent().to_owned()).collect()),
        attr_kind::TENSOR => Attr::Tensor(frame.graph.values[frame.value(record.value)?].constant.clone()?),
        attr_kind::BLOCK => {
            Attr::Block(Some(record.value as usize).filter(|b| *b > 0 && *b < frame.graph.blocks.len())?)
        }
        attr_kind::REF => {
            let name = record.text.lent().to_owned();
            let value = frame.functions.last()?.call.attributes.get(&name)?.clone();
            Attr::Ref { name, value: Box::new(value) }
        }
        _ => return None,
    })
}

extern "C" fn constant(
    cx: Context,
    dtype: i32,
    dims: RSlice<'_, u64>,
    bytes: RSlice<'_, u8>,
    out: &mut u32,
) -> u32 {
    with(cx, |frame| {
        let tensor = Tensor::from_bytes(DType::from_onnx(dtype)?, dims.lent(), bytes.lent())?;
        *out = frame.constant(tensor) as u32;
        Some(())
    })
}

extern "C" fn dims_value(cx: Context, dims: RSlice<'_, DimRecord>, out: &mut u32) -> u32 {
    with(cx, |frame| {
        let dims = dims.lent().iter().map(|d| frame.dim(*d)).collect::<Option<Vec<_>>>()?;
        if let Some(ints) = dims.iter().map(|d| d.as_const()).collect::<Option<Vec<i64>>>() {
            *out = frame.constant(Tensor::i64([ints.len()], ints)) as u32;
            return Some(());
        }
        // The body of a function sees no extents but those of its inputs.
        if !frame.functions.is_empty() {
            return None;
        }
        let value = frame.graph.add(ValueInfo {
            dtype: Some(DType::I64),
            shape: Some(vec![Dim::Const(dims.len() as i64)]),
            contents: Some(dims.clone()),
            ..ValueInfo::default()
        });
        *out = value as u32;
        let attributes = BTreeMap::from([("dims".to_owned(), Attr::Dims(dims))]);
        let (domain, op) = (infer::TESTKIT.to_owned(), "Dims".to_owned());
        let node = Node { domain, op, inputs: Vec::new(), outputs: vec![value], attributes };
        frame.graph.blocks[frame.block].nodes.push(node);
        Some(())
    })
}

extern "C" fn set_type(cx: Context, value: u32, ty: &TypeRecord<'_>) -> u32 {
    with(cx, |frame| {
        let value = frame.value(value)?;
        let dims = || ty.dims.lent().iter().map(|d| Dim::from_record(*d)).collect();
        frame.graph.values[value].dtype = Some(DType::from_onnx(ty.dtype)?);
        frame.graph.values[value].shape = (ty.rank >= 0).then(dims);
        Some(())
    })
}

/// Nested graphs are not available.
extern "C" fn graph<'a>(_: Context, _: u32, _: &mut GraphView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn begin_block(cx: Context) -> u32 {
    with(cx, |frame| {
        frame.graph.blocks.push(Block { parent: Some(frame.block), ..Block::default() });
        frame.block = frame.graph.blocks.len() - 1;
        Some(())
    })
}

extern "C" fn block_input(cx: Context, ty: &TypeRecord<'_>, out: &mut u32) -> u32 {
    with(cx, |frame| {
        if frame.block == 0 {
            return None;
        }
        let dims = || ty.dims.lent().iter().map(|d| Dim::from_record(*d)).collect();
        let value = frame.graph.add(ValueInfo {
            dtype: Some(DType::from_onnx(ty.dtype)?),
            shape: (ty.rank >= 0).then(dims),
            ..ValueInfo::default()
        });
        frame.graph.blocks[frame.block].inputs.push(value);
        *out = value as u32;
        Some(())
    })
}

/// Nested graphs are not available.
extern "C" fn inline_graph(_: Context, _: u32, _: RSlice<'_, u32>, _: RSliceMut<'_, u32>) -> u32 {
    status::INVALID
}

extern "C" fn end_block(cx: Context, outputs: RSlice<'_, u32>, out: &mut u32) -> u32 {
    with(cx, |frame| {
        let block = frame.block;
        frame.block = frame.graph.blocks[block].parent?;
        let outputs = outputs.lent().iter().map(|raw| frame.value(*raw)).collect::<Option<Vec<_>>>()?;
        frame.graph.blocks[block].outputs = outputs;
        *out = block as u32;
        Some(())
    })
}

extern "C" fn begin_function(cx: Context, call: &NodeRecord<'_>, inputs: RSliceMut<'_, u32>) -> u32 {
    with(cx, |frame| {
        let values = frame.optional(call.inputs.lent())?;
        let values = values.into_iter().collect::<Option<Vec<_>>>()?;
        if call.domain.is_empty() || values.len() != inputs.len() {
            return None;
        }
        let plain = [attr_kind::TENSOR, attr_kind::BLOCK, attr_kind::REF];
        let attributes = call
            .attributes
            .lent()
            .iter()
            .filter(|a| !plain.contains(&a.kind))
            .map(|a| Some((a.name.lent().to_owned(), attribute(frame, a)?)))
            .collect::<Option<BTreeMap<_, _>>>()?;
        if attributes.len() != call.attributes.len() {
            return None;
        }
        let (domain, op) = (call.domain.lent().to_owned(), call.op.lent().to_owned());
        let (outer, first) = (frame.block, frame.graph.values.len());
        let mut body = Block { parent: Some(outer), ..Block::default() };
        for (place, value) in inputs.lent().iter_mut().zip(&values) {
            let ValueInfo { dtype, shape, .. } = frame.graph.values[*value].clone();
            let formal = frame.graph.add(ValueInfo { dtype, shape, ..ValueInfo::default() });
            body.inputs.push(formal);
            *place = formal as u32;
        }
        frame.graph.blocks.push(body);
        frame.block = frame.graph.blocks.len() - 1;
        let inputs = values.into_iter().map(Some).collect();
        let call = Node { domain, op, inputs, outputs: Vec::new(), attributes };
        frame.functions.push(Open { outer, first, call });
        Some(())
    })
}

extern "C" fn end_function(cx: Context, outputs: RSlice<'_, u32>, results: RSliceMut<'_, u32>) -> u32 {
    with(cx, |frame| {
        let values = outputs.lent().iter().map(|raw| frame.value(*raw)).collect::<Option<Vec<_>>>()?;
        if values.len() != results.len() {
            return None;
        }
        let Open { outer, first, mut call } = frame.functions.pop()?;
        let body = std::mem::replace(&mut frame.block, outer);
        frame.closed.push(first..frame.graph.values.len());
        frame.graph.blocks[body].outputs.clone_from(&values);
        call.attributes.insert("body".to_owned(), Attr::Block(body));
        for (place, value) in results.lent().iter_mut().zip(values) {
            let ValueInfo { dtype, shape, .. } = frame.graph.values[value].clone();
            let made = frame.graph.add(ValueInfo { dtype, shape, ..ValueInfo::default() });
            call.outputs.push(made);
            *place = made as u32;
        }
        frame.graph.blocks[outer].nodes.push(call);
        Some(())
    })
}

extern "C" fn finish(cx: Context, results: RSlice<'_, u32>) -> u32 {
    with(cx, |frame| {
        let values = frame.optional(results.lent())?;
        if values.len() != frame.results.len() {
            return None;
        }
        frame.answer = Some(values);
        Some(())
    })
}

extern "C" fn refuse(cx: Context, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>) {
    with(cx, |frame| {
        let code = code.lent().to_owned().into();
        let (message, help) = (message.lent().to_owned(), help.lent().to_owned());
        frame.refusal = Some(Refusal { code, message, help });
        Some(())
    });
}

/// A call of a test comes from nowhere in a program.
extern "C" fn origin<'a>(cx: Context, out: &mut OriginView<'a>) -> u32 {
    with(cx, |_| {
        let empty = RStr::from_str("");
        *out = OriginView {
            node: empty,
            module: empty,
            class: empty,
            file: empty,
            function: empty,
            code: empty,
            line: 0,
        };
        Some(())
    })
}
