//! The host's side of `lowering/1`: the callbacks of a plugin during a call.
//!
//! A context is a pointer to the [`Frame`] of the call. Every callback converts it to references for its
//! own duration only, and no callback keeps any.

use std::panic::{AssertUnwindSafe, catch_unwind};

use onnxport_abi::lowering::{
    ABSENT, ArgRecord, AttrRecord, CallView, Context, DimRecord, GraphView, LoweringHost, NodeRecord,
    OriginView, RangeRecord, ShapeView, TypeRecord, arg_kind, attr_kind, dim_kind, dim_op,
};
use onnxport_abi::{RSlice, RSliceMut, RStr};
use onnxport_abi::{Table, status};

use super::bind::{describe, dim_record, type_record};
use super::contents::{constant_data, definition, definition_int, weight_data};
use super::driver::Driver;
use super::frame::{Frame, Refusal};
use super::metadata::metadata;
use crate::diagnose::OriginId;
use crate::incoming;
use crate::ir::{Attr, Attribute, Shape, Type};
use crate::program::{Arg, Body};
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor};

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
    begin_function,
    end_function,
    origin,
    weight_data,
    definition,
    definition_int,
    metadata,
};

/// The envelope of the host's functions.
pub(crate) fn host_table() -> Table {
    Table::of(&HOST)
}

/// Runs `body` with the frame and driver behind `cx`. A host panic must not cross the boundary.
pub(super) fn with<'p>(cx: Context, body: impl FnOnce(&mut Frame<'p>, &mut Driver<'p>) -> Option<()>) -> u32 {
    let run = || {
        // SAFETY: the host made the context from a live frame; its thread never changes.
        let thread = unsafe { cx.0.cast::<Frame<'p>>().as_ref() }.map(|frame| frame.thread)?;
        if thread != std::thread::current().id() {
            return None;
        }
        // SAFETY: the frame's driver is borrowed by the call that the plugin is answering, on this
        // thread, one call at a time.
        let frame = unsafe { cx.0.cast::<Frame<'p>>().as_mut() }?;
        // SAFETY: as above; the driver is not otherwise used until the plugin returns.
        let driver = unsafe { frame.driver.as_mut() }?;
        body(frame, driver)
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Some(())) => status::OK,
        Ok(None) | Err(_) => status::INVALID,
    }
}

/// A slice that the plugin may use until its next call into the host.
pub(super) fn lend<'a, T>(items: &[T]) -> RSlice<'a, T> {
    // SAFETY: the items live in the frame, which changes them only in a later call of the plugin;
    // the contract ends the borrow there.
    RSlice::from_slice(unsafe { std::slice::from_raw_parts(items.as_ptr(), items.len()) })
}

/// The same for arguments; the data that they borrow lives as long as the call.
fn lend_args<'a>(items: &[ArgRecord<'_>]) -> RSlice<'a, ArgRecord<'a>> {
    // SAFETY: as for `lend`; only lifetimes differ, and the call is freed after the plugin returned.
    RSlice::from_slice(unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), items.len()) })
}

/// The same for types; their sizes live in the frame.
fn lend_types<'a>(items: &[TypeRecord<'_>]) -> RSlice<'a, TypeRecord<'a>> {
    // SAFETY: as for `lend`; only lifetimes differ, and the frame keeps the sizes as long.
    RSlice::from_slice(unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), items.len()) })
}

impl Driver<'_> {
    fn dim(&self, record: DimRecord) -> Option<Dim> {
        match record.kind {
            dim_kind::CONST => Some(Dim::Const(record.value)),
            dim_kind::EXPR => self.model.symbols.check(record.expr).map(Dim::Expr),
            _ => None,
        }
    }

    fn ty(&self, record: &TypeRecord<'_>) -> Option<Type> {
        let shape = if record.rank < 0 {
            Shape::Unranked
        } else {
            let dims = record.dims.list().ok().filter(|dims| dims.len() == record.rank as usize)?;
            Shape::Ranked(dims.iter().map(|d| self.dim(*d)).collect())
        };
        Some(Type::tensor(DType::from_onnx(record.dtype)?, shape))
    }
}

extern "C" fn call<'a>(cx: Context, out: &mut CallView<'a>) -> u32 {
    with(cx, |frame, driver| {
        // SAFETY: the target lives in the program, which outlives the call.
        let target: &'a str = unsafe { &*std::ptr::from_ref::<str>(frame.target) };
        *out = CallView {
            target: RStr::from_str(target),
            opset: driver.model.opset(),
            args: lend_args(&frame.args),
            elements: lend_args(&frame.elements),
            results: lend_types(&frame.results),
        };
        Some(())
    })
}

extern "C" fn value_type<'a>(cx: Context, value: u32, out: &mut TypeRecord<'a>) -> u32 {
    with(cx, |frame, driver| {
        let value = frame.told.value(value)?;
        let ty = &driver.model.graph.values[value].ty;
        let dims = ty.shape().and_then(Shape::dims);
        frame.scratch.dims = dims.unwrap_or_default().iter().map(|d| dim_record(*d)).collect();
        *out = TypeRecord {
            kind: arg_kind::TENSOR,
            dtype: ty.dtype().map_or(0, DType::onnx),
            rank: dims.map_or(-1, |d| d.len() as i32),
            dims: lend(&frame.scratch.dims),
        };
        Some(())
    })
}

extern "C" fn shape_contents<'a>(cx: Context, value: u32, out: &mut ShapeView<'a>) -> u32 {
    with(cx, |frame, driver| {
        let value = frame.told.value(value)?;
        let contents = driver.model.graph.shape_value(value);
        frame.scratch.dims = contents.iter().flat_map(|c| c.iter()).map(|d| dim_record(Some(*d))).collect();
        *out = ShapeView { known: u32::from(contents.is_some()), dims: lend(&frame.scratch.dims) };
        Some(())
    })
}

extern "C" fn dim_arithmetic(cx: Context, op: u32, a: DimRecord, b: DimRecord) -> DimRecord {
    let mut result = None;
    with(cx, |_, driver| {
        let (a, b) = (driver.dim(a)?, driver.dim(b)?);
        let symbols = &mut driver.model.symbols;
        result = Some(match op {
            dim_op::ADD => symbols.add(a, b),
            dim_op::SUB => symbols.sub(a, b),
            dim_op::MUL => symbols.mul(a, b),
            dim_op::FLOOR_DIV => symbols.floor_div(a, b),
            dim_op::MOD => symbols.modulo(a, b),
            dim_op::MIN => symbols.min(a, b),
            dim_op::MAX => symbols.max(a, b),
            _ => return None,
        });
        Some(())
    });
    dim_record(result)
}

extern "C" fn dim_range(cx: Context, dim: DimRecord) -> RangeRecord {
    let mut record = RangeRecord { min: i64::MIN, max: i64::MAX };
    with(cx, |_, driver| {
        let range = driver.model.symbols.range(driver.dim(dim)?);
        record = RangeRecord { min: range.min.unwrap_or(i64::MIN), max: range.max.unwrap_or(i64::MAX) };
        Some(())
    });
    record
}

extern "C" fn emit(cx: Context, node: &NodeRecord<'_>, outputs: RSliceMut<'_, u32>) -> u32 {
    with(cx, |frame, driver| {
        let inputs = node
            .inputs
            .list()
            .ok()?
            .iter()
            .map(|raw| if *raw == ABSENT { Some(None) } else { frame.told.value(*raw).map(Some) })
            .collect::<Option<Vec<_>>>()?;
        let attributes = node.attributes.list().ok()?.iter().map(|a| attribute(frame, driver, a));
        let attributes = attributes.collect::<Option<Vec<_>>>()?;
        let outputs = outputs.list().ok()?;
        let (domain, count) = (node.domain.get().ok()?, outputs.len());
        let made = driver.emit(domain, node.op.get().ok()?, inputs, attributes, count)?;
        driver.import(domain, node.version);
        for (place, value) in outputs.iter_mut().zip(made) {
            *place = value.map_or(ABSENT, |value| frame.told.tell(value));
        }
        Some(())
    })
}

fn attribute(frame: &mut Frame<'_>, driver: &Driver<'_>, record: &AttrRecord<'_>) -> Option<Attribute> {
    let value = match record.kind {
        attr_kind::INT => Attr::Int(*record.ints.list().ok()?.first()?),
        attr_kind::FLOAT => Attr::Float(*record.floats.list().ok()?.first()?),
        attr_kind::STR => Attr::Str(record.text.get().ok()?.to_owned()),
        attr_kind::INTS => Attr::Ints(record.ints.get().ok()?.to_vec()),
        attr_kind::FLOATS => Attr::Floats(record.floats.get().ok()?.to_vec()),
        attr_kind::STRS => Attr::Strs(incoming::strings(record.texts)?),
        attr_kind::TENSOR => {
            let value = frame.told.value(record.value)?;
            Attr::Tensor(driver.model.graph.initializer(value)?.clone())
        }
        attr_kind::BLOCK => Attr::Block(frame.told.block(record.value)?),
        attr_kind::REF => Attr::Ref(record.text.get().ok()?.to_owned(), None),
        _ => return None,
    };
    Some(Attribute { name: record.name.get().ok()?.into(), value })
}

extern "C" fn constant(
    cx: Context,
    dtype: i32,
    dims: RSlice<'_, u64>,
    bytes: RSlice<'_, u8>,
    out: &mut u32,
) -> u32 {
    with(cx, |frame, driver| {
        let data = LazyTensor::inline(
            DType::from_onnx(dtype)?,
            incoming::extents(dims)?,
            bytes.get().ok()?.to_vec(),
        );
        if data.byte_len()? != bytes.len() as u64 {
            return None;
        }
        *out = frame.told.tell(driver.constant(data));
        Some(())
    })
}

extern "C" fn dims_value(cx: Context, dims: RSlice<'_, DimRecord>, out: &mut u32) -> u32 {
    with(cx, |frame, driver| {
        let dims = dims.list().ok()?.iter().map(|d| driver.dim(*d)).collect::<Option<Vec<_>>>()?;
        *out = frame.told.tell(driver.dims_value(&dims)?);
        Some(())
    })
}

extern "C" fn set_type(cx: Context, value: u32, ty: &TypeRecord<'_>) -> u32 {
    with(cx, |frame, driver| {
        let value = frame.told.value(value)?;
        let ty = driver.ty(ty)?;
        driver.model.graph.values[value].ty = ty;
        Some(())
    })
}

extern "C" fn graph<'a>(cx: Context, graph: u32, out: &mut GraphView<'a>) -> u32 {
    with(cx, |frame, _| {
        let body: &Body = &frame.graphs.get(graph as usize)?.body;
        let scratch = &mut frame.scratch;
        (scratch.nested, scratch.inputs, scratch.outputs) = (Vec::new(), Vec::new(), Vec::new());
        for (args, inputs) in [(&body.inputs, true), (&body.outputs, false)] {
            for arg in args {
                let (kind, dtype, dims) = match arg {
                    Arg::Value(val) => describe(&body.values[*val].ty),
                    // As an output, a constant number is a tensor like a symbolic one.
                    Arg::Int(_) => (arg_kind::SYM_INT, 0, Vec::new()),
                    Arg::Float(_) => (arg_kind::SYM_FLOAT, 0, Vec::new()),
                    Arg::Bool(_) => (arg_kind::SYM_BOOL, 0, Vec::new()),
                    _ => (arg_kind::NONE, 0, Vec::new()),
                };
                let record = type_record(kind, dtype, &dims);
                scratch.nested.push(dims);
                if inputs { scratch.inputs.push(record) } else { scratch.outputs.push(record) }
            }
        }
        *out = GraphView { inputs: lend_types(&scratch.inputs), outputs: lend_types(&scratch.outputs) };
        Some(())
    })
}

extern "C" fn begin_block(cx: Context) -> u32 {
    with(cx, |frame, driver| {
        driver.block = driver.model.graph.add_block(driver.block);
        frame.told.begin(driver.block);
        Some(())
    })
}

extern "C" fn block_input(cx: Context, ty: &TypeRecord<'_>, out: &mut u32) -> u32 {
    with(cx, |frame, driver| {
        let ty = driver.ty(ty)?;
        if driver.block == driver.model.graph.main() {
            return None;
        }
        *out = frame.told.tell(driver.model.graph.add_input(driver.block, None, ty));
        Some(())
    })
}

extern "C" fn inline_graph(
    cx: Context,
    graph: u32,
    inputs: RSlice<'_, u32>,
    outputs: RSliceMut<'_, u32>,
) -> u32 {
    with(cx, |frame, driver| {
        let graph = *frame.graphs.get(graph as usize)?;
        // The captures of a nested graph lie outside the function.
        if !driver.functions.is_empty() {
            return None;
        }
        let inputs =
            inputs.list().ok()?.iter().map(|raw| frame.told.value(*raw)).collect::<Option<Vec<_>>>()?;
        let values = driver.inline(&graph.body, &inputs)?;
        let outputs = outputs.list().ok()?;
        if values.len() != outputs.len() {
            return None;
        }
        for (place, value) in outputs.iter_mut().zip(values) {
            *place = frame.told.tell(value);
        }
        Some(())
    })
}

extern "C" fn end_block(cx: Context, outputs: RSlice<'_, u32>, out: &mut u32) -> u32 {
    with(cx, |frame, driver| {
        let block = driver.block;
        let outer = driver.model.graph.blocks.find(block)?.parent?;
        let outputs =
            outputs.list().ok()?.iter().map(|raw| frame.told.value(*raw)).collect::<Option<Vec<_>>>()?;
        *out = frame.told.end(block, &driver.model.graph)?;
        driver.block = outer;
        driver.model.graph.set_outputs(block, outputs);
        Some(())
    })
}

extern "C" fn finish(cx: Context, results: RSlice<'_, u32>) -> u32 {
    with(cx, |frame, driver| {
        let values = results
            .list()
            .ok()?
            .iter()
            .map(|raw| if *raw == ABSENT { Some(None) } else { frame.told.value(*raw).map(Some) })
            .collect::<Option<Vec<_>>>()?;
        if values.len() != frame.results.len() || !driver.functions.is_empty() {
            return None;
        }
        frame.answer = Some(values);
        Some(())
    })
}

extern "C" fn refuse(cx: Context, code: RStr<'_>, message: RStr<'_>, help: RStr<'_>) {
    with(cx, |frame, _| {
        frame.refusal = Some(Refusal {
            code: code.message().into_owned(),
            message: message.message().into_owned(),
            help: help.message().into_owned(),
        });
        Some(())
    });
}

extern "C" fn begin_function(cx: Context, call: &NodeRecord<'_>, inputs: RSliceMut<'_, u32>) -> u32 {
    with(cx, |frame, driver| {
        let values =
            call.inputs.list().ok()?.iter().map(|raw| frame.told.value(*raw)).collect::<Option<Vec<_>>>()?;
        let attributes = call.attributes.list().ok()?.iter().map(|a| attribute(frame, driver, a));
        let attributes = attributes.collect::<Option<Vec<_>>>()?;
        let inputs = inputs.list().ok()?;
        if values.len() != inputs.len() {
            return None;
        }
        let about = (call.domain.get().ok()?, call.op.get().ok()?, call.version);
        let formal = driver.begin_function(about, values, attributes)?;
        frame.told.enter();
        for (place, value) in inputs.iter_mut().zip(formal) {
            *place = frame.told.tell(value);
        }
        Some(())
    })
}

extern "C" fn end_function(cx: Context, outputs: RSlice<'_, u32>, results: RSliceMut<'_, u32>) -> u32 {
    let mut refused = false;
    let answer = with(cx, |frame, driver| {
        let values =
            outputs.list().ok()?.iter().map(|raw| frame.told.value(*raw)).collect::<Option<Vec<_>>>()?;
        let results = results.list().ok()?;
        if values.len() != results.len() {
            return None;
        }
        let made = driver.end_function(values).transpose()?;
        frame.told.leave();
        match made {
            Ok(made) => {
                for (place, value) in results.iter_mut().zip(made) {
                    *place = frame.told.tell(value);
                }
            }
            Err(problem) => {
                refused = true;
                frame.problem.get_or_insert(Box::new(problem));
            }
        }
        Some(())
    });
    if refused { status::REFUSED } else { answer }
}

extern "C" fn origin<'a>(cx: Context, out: &mut OriginView<'a>) -> u32 {
    with(cx, |_, driver| {
        let origin = driver.model.origins.get(driver.origin?);
        let frame = origin.user_frame();
        let text = |text: Option<&str>| {
            let text = text.unwrap_or_default();
            // SAFETY: as for `lend`; a call neither creates nor changes origins. The bytes are a text's.
            unsafe { RStr::from_raw_parts(text.as_ptr(), text.len()) }
        };
        *out = OriginView {
            node: text(Some(&origin.node)),
            module: text(Some(&origin.module)),
            class: text(Some(&origin.class)),
            file: text(frame.map(|frame| frame.file.as_str())),
            function: text(frame.map(|frame| frame.function.as_str())),
            code: text(frame.map(|frame| frame.code.trim())),
            line: frame.map_or(0, |frame| frame.line),
        };
        Some(())
    })
}

/// Returns the origin of the call behind `cx`, if this thread lowers it.
pub(crate) fn origin_of(cx: Context) -> Option<OriginId> {
    let mut found = None;
    with(cx, |_, driver| {
        found = driver.origin;
        Some(())
    });
    found
}
