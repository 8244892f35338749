//! Queries of a plugin about values beyond their types: the bytes of small constants and weights, and the
//! node that computes a value.

use onnxport_abi::lowering::{ABSENT, Context, DataView, DefinitionView};
use onnxport_abi::{RSlice, RStr, status};

use super::callbacks::{lend, with};
use super::driver::Driver;
use super::frame::Frame;
use crate::ir::{Def, Node, ValueId};

/// The size in bytes up to which plugins can read constants.
const MAX_CONSTANT: u64 = 64 << 10;

/// The bytes up to which plugins may read a weight: scales and zero points of 128 Ki channels.
const MAX_WEIGHT: u64 = 1 << 20;

pub(super) extern "C" fn constant_data<'a>(cx: Context, value: u32, out: &mut DataView<'a>) -> u32 {
    with(cx, |frame, driver| data_view(frame, driver, value, (false, MAX_CONSTANT), out))
}

pub(super) extern "C" fn weight_data<'a>(cx: Context, value: u32, out: &mut DataView<'a>) -> u32 {
    with(cx, |frame, driver| data_view(frame, driver, value, (true, MAX_WEIGHT), out))
}

/// Returns the contents of an initializer, if it is a weight (where one is requested) and no longer than `limit`
/// bytes.
fn data_view(
    frame: &mut Frame<'_>,
    driver: &Driver<'_>,
    value: u32,
    (weight, limit): (bool, u64),
    out: &mut DataView<'_>,
) -> Option<()> {
    let value = frame.told.value(value)?;
    *out = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };
    let graph = &driver.model.graph;
    let data = graph.initializer(value).filter(|_| graph.is_weight(value) == weight);
    let Some(data) = data.filter(|data| data.byte_len().is_some_and(|n| n <= limit)) else {
        return Some(());
    };
    let Some(bytes) = data.read() else { return weight.then_some(()) };
    frame.scratch.extents.clone_from(&data.shape);
    frame.scratch.bytes = bytes.into_owned();
    *out = DataView {
        dtype: data.dtype.onnx(),
        dims: lend(&frame.scratch.extents),
        bytes: lend(&frame.scratch.bytes),
    };
    Some(())
}

pub(super) extern "C" fn definition<'a>(cx: Context, value: u32, out: &mut DefinitionView<'a>) -> u32 {
    with(cx, |frame, driver| {
        let value = frame.told.value(value)?;
        *out = DefinitionView { op: RStr::from_str(""), inputs: RSlice::EMPTY };
        let Some(node) = node_of(driver, value) else { return Some(()) };
        frame.scratch.ids =
            node.inputs.iter().map(|input| input.map_or(ABSENT, |input| frame.told.tell(input))).collect();
        // SAFETY: as for `lend`; a lowering changes no operator of a node. The bytes are a text's.
        let op = unsafe { RStr::from_raw_parts(node.op.as_ptr(), node.op.len()) };
        *out = DefinitionView { op, inputs: lend(&frame.scratch.ids) };
        Some(())
    })
}

pub(super) extern "C" fn definition_int(cx: Context, value: u32, name: RStr<'_>, out: &mut i64) -> u32 {
    let mut stated = true;
    let answer = with(cx, |frame, driver| {
        let (value, name) = (frame.told.value(value)?, name.get().ok()?);
        match node_of(driver, value).and_then(|node| node.int(name)) {
            Some(number) => *out = number,
            None => stated = false,
        }
        Some(())
    });
    if stated { answer } else { status::REFUSED }
}

/// The node of ONNX's own operators that computes `value`.
fn node_of<'d>(driver: &'d Driver<'_>, value: ValueId) -> Option<&'d Node> {
    let Def::Node(node, _) = driver.model.graph.values[value].def else { return None };
    Some(&driver.model.graph.nodes[node]).filter(|node| node.domain.is_empty())
}
