//! Lies to the host during a call.
//!
//! The host's answer to each lie is reported in a refusal, `statuses 3 3`.

use std::mem::MaybeUninit;

use onnxport_sdk::abi::lowering::{
    self, AttrRecord, Context, DimRecord, LoweringHost, NodeRecord, TypeRecord, arg_kind, attr_kind, dim_kind,
};
use onnxport_sdk::abi::{RSlice, RStr, Table, status};

use super::mode;

const EMPTY: RStr<'static> = RStr::EMPTY;

/// A text of any bytes.
fn bytes(bytes: &'static [u8]) -> RStr<'static> {
    // SAFETY: the bytes live as long as the process; the host has to notice that they are not UTF-8.
    unsafe { RStr::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

fn list<T>(items: Vec<T>) -> RSlice<'static, T> {
    RSlice::from_slice(Vec::leak(items))
}

fn node(op: RStr<'static>, inputs: Vec<u32>) -> NodeRecord<'static> {
    NodeRecord { domain: EMPTY, version: 0, op, inputs: list(inputs), attributes: RSlice::EMPTY }
}

/// A node of a domain of its own, whose attributes nobody knows.
fn foreign(own: u32, attribute: AttrRecord<'static>) -> NodeRecord<'static> {
    let domain = RStr::from_str("wild");
    NodeRecord {
        domain,
        version: 1,
        attributes: list(vec![attribute]),
        ..node(RStr::from_str("Foo"), vec![own])
    }
}

fn attribute(name: RStr<'static>, kind: u32, text: RStr<'static>) -> AttrRecord<'static> {
    let (ints, floats) = (list(vec![1]), RSlice::EMPTY);
    AttrRecord { name, kind, value: 0, ints, floats, text, texts: RSlice::EMPTY }
}

fn dim(kind: u32, value: i64) -> DimRecord {
    DimRecord { kind, expr: u32::MAX, value }
}

pub(super) extern "C" fn lower(_: u32, host: &Table, cx: Context) -> u32 {
    // SAFETY: the host passes the envelope of its table.
    let Ok(Some(host)) = (unsafe { host.read::<LoweringHost>() }) else { return status::INVALID };
    let mut call = MaybeUninit::<lowering::CallView<'_>>::zeroed();
    // SAFETY: the host fills the record.
    let call = unsafe {
        (host.call)(cx, &mut *call.as_mut_ptr());
        call.assume_init()
    };
    let own = call.args.get().unwrap_or_default().first().map_or(lowering::ABSENT, |arg| arg.value);
    let mut said = Vec::new();
    let emit = |node: NodeRecord<'static>| {
        let mut made = [lowering::ABSENT];
        (host.emit)(cx, &node, (&mut made[..]).into())
    };
    let name = RStr::from_str("a");
    match mode() {
        "call_op" => said.push(emit(node(bytes(b"Re\xff\xfelu"), vec![own]))),
        "call_op_long" => said.push(emit(node(RStr::from_str("R".repeat(100 << 20).leak()), vec![own]))),
        "call_domain" => {
            let attribute = attribute(name, attr_kind::INT, EMPTY);
            said.push(emit(NodeRecord { domain: bytes(b"my\xff\xfe"), ..foreign(own, attribute) }));
        }
        "call_attribute" => {
            said.push(emit(foreign(own, attribute(bytes(b"al\xffa"), attr_kind::INT, EMPTY))))
        }
        "call_string" => said.push(emit(foreign(own, attribute(name, attr_kind::STR, bytes(b"al\xffa"))))),
        "call_strings" => {
            let mut record = attribute(name, attr_kind::STRS, EMPTY);
            record.texts = list(vec![name, bytes(b"al\xffa")]);
            said.push(emit(foreign(own, record)));
        }
        "call_kinds" => {
            for kind in (0..12).filter(|kind| ![1, 3, 4, 5, 6, 9].contains(kind)) {
                let record = AttrRecord { value: u32::MAX, ..attribute(name, kind, EMPTY) };
                said.push(emit(foreign(own, record)));
            }
        }
        "call_inputs" => {
            let mut record = node(RStr::from_str("Relu"), Vec::new());
            // SAFETY: none; that is the point of this one and of those below.
            record.inputs = unsafe { RSlice::from_raw_parts(std::ptr::dangling(), 1 << 40) };
            said.push(emit(record));
            // SAFETY: as above.
            record.inputs = unsafe { RSlice::from_raw_parts(std::ptr::null(), 1) };
            said.push(emit(record));
            // SAFETY: as above.
            record.inputs = unsafe { RSlice::from_raw_parts(std::ptr::without_provenance(1026), 1) };
            said.push(emit(record));
        }
        "call_outputs" => {
            let mut many = vec![lowering::ABSENT; 50_000_000];
            said.push((host.emit)(cx, &node(RStr::from_str("Relu"), vec![own]), (&mut many[..]).into()));
        }
        "call_ids" => {
            for id in [99_999, u32::MAX - 1, 1 << 31] {
                said.push(emit(node(RStr::from_str("Relu"), vec![id])));
            }
        }
        "call_constants" => {
            let wrong = [
                (1, vec![u64::MAX, 2], 0),
                (1, vec![1 << 62], 16),
                (0, vec![1], 4),
                (-1, vec![1], 0),
                (1, vec![0, u64::MAX], 0),
                (1, vec![2], 9),
            ];
            for (dtype, dims, size) in wrong {
                let (mut out, data) = (0, vec![0_u8; size]);
                let (dims, data) = (RSlice::from_slice(&dims), RSlice::from_slice(&data));
                said.push((host.constant)(cx, dtype, dims, data, &mut out));
            }
        }
        "call_types" => {
            let dims = [dim(9, -5)];
            let mut record =
                TypeRecord { kind: 0, dtype: 1, rank: i32::MAX, dims: RSlice::from_slice(&dims) };
            said.push((host.set_type)(cx, own, &record));
            // SAFETY: as above.
            record.dims = unsafe { RSlice::from_raw_parts(std::ptr::null(), 4) };
            said.push((host.set_type)(cx, own, &record));
            let small = [dim(dim_kind::CONST, i64::MIN), dim(dim_kind::CONST, -1), dim(dim_kind::CONST, 0)];
            for op in 0..20 {
                for (a, b) in small.iter().flat_map(|a| small.iter().map(move |b| (*a, *b))) {
                    let made = (host.dim_op)(cx, op, a, b);
                    (host.dim_range)(cx, made);
                }
            }
            let mut out = 0;
            let unknown = [DimRecord { kind: dim_kind::EXPR, expr: 4242, value: 0 }];
            said.push((host.dims_value)(cx, RSlice::from_slice(&unknown), &mut out));
            record = TypeRecord { kind: arg_kind::TENSOR, dtype: 99, rank: 0, dims: RSlice::EMPTY };
            said.push((host.set_type)(cx, own, &record));
        }
        "call_blocks" => {
            let mut block = 7;
            for _ in 0..3 {
                said.push((host.end_block)(cx, RSlice::from_slice(&[own]), &mut block));
            }
            (host.begin_block)(cx);
            said.push((host.end_block)(cx, RSlice::from_slice(&[4242]), &mut block));
        }
        "call_finish" => {
            said.push((host.finish)(cx, RSlice::from_slice(&[own, own, own])));
            said.push((host.finish)(cx, RSlice::EMPTY));
        }
        "call_refuse" => {
            let [code, message, help] = [b"c\xf0 x", b"b\xe2\x82x", b"h\xffh "].map(|text| bytes(text));
            (host.refuse)(cx, code, message, help);
            return status::REFUSED;
        }
        _ => {}
    }
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    let text = format!("statuses {}.", said.join(" "));
    (host.refuse)(cx, EMPTY, RStr::from_str(&text), EMPTY);
    status::REFUSED
}
