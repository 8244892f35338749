//! Calls that no host would make: an index that does not exist, a context of nothing, a host that answers
//! every question with `INVALID`, and one that names values which nobody knows. The plugin must refuse.

use onnxport_abi::lowering::{
    ArgRecord, CallView, Context, DataView, DefinitionView, DimRecord, GraphView, LoweringHost,
    LoweringTable, NodeRecord, OriginView, RangeRecord, ShapeView, TypeRecord, arg_kind, dim_kind,
};
use onnxport_abi::{RSlice, RSliceMut, RStr};
use onnxport_abi::{Table, status};

use crate::Finding;
use crate::journal::Journal;
use onnxport_core::host::Validated;

/// A value that no host gave out.
const NOBODY: u32 = 0x7fff_fff0;

pub(super) fn check(table: &LoweringTable, journal: &mut Journal) {
    let nothing = Context(std::ptr::null_mut());
    let count = table.entries.len() as u32;
    let check = "lowering/1 unknown index";
    journal.step(check, |_| {
        let answers = [count, u32::MAX].map(|index| (table.lower)(index, &Table::of(&DEAF), nothing));
        Some(if answers.contains(&status::OK) {
            Finding::fail(check, "a lowering that does not exist succeeds")
        } else if answers.contains(&status::PANICKED) {
            Finding::fail(check, "a lowering that does not exist panics").next("answer `INVALID`")
        } else {
            Finding::pass(check, "is refused")
        })
    });
    for (check, host, what) in [
        ("lowering/1 deaf host", &DEAF, "a host that answers nothing"),
        ("lowering/1 stale values", &STALE, "values that do not exist"),
    ] {
        // One step per lowering, so that each that ends the process is named.
        let (mut panicked, mut succeeded) = (Vec::new(), Vec::new());
        for index in 0..count {
            let target =
                table.entries.validated().get(index as usize).map_or("?", |entry| entry.target.validated());
            journal.step(&format!("{check}, {target}"), |_| {
                match (table.lower)(index, &Table::of(host), nothing) {
                    status::OK => succeeded.push(target),
                    status::PANICKED => panicked.push(target),
                    _ => {}
                }
                None
            });
        }
        journal.step(check, |_| {
            let list = |targets: &[&str]| targets.iter().take(5).copied().collect::<Vec<_>>().join("`, `");
            Some(if !panicked.is_empty() {
                let (n, list) = (panicked.len(), list(&panicked));
                Finding::fail(check, format!("{n} of {count} panic for {what}: `{list}`"))
                    .next("read values from the host with `?`, not with `unwrap` or an index")
            } else if !succeeded.is_empty() {
                let (n, list) = (succeeded.len(), list(&succeeded));
                Finding::fail(check, format!("{n} of {count} succeed for {what}: `{list}`"))
                    .next("return the host's answer to `finish`")
            } else {
                Finding::pass(check, format!("refused by every lowering: {what}"))
            })
        });
    }
}

static DEAF: LoweringHost = host(deaf_call);
static STALE: LoweringHost = host(stale_call);

const fn host(call: for<'a> extern "C" fn(Context, &mut CallView<'a>) -> u32) -> LoweringHost {
    LoweringHost {
        call,
        value_type,
        constant_data,
        shape_contents,
        dim_op,
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
    }
}

extern "C" fn deaf_call<'a>(_: Context, _: &mut CallView<'a>) -> u32 {
    status::INVALID
}

/// A call of three tensors, none of which exists, with one result.
extern "C" fn stale_call<'a>(_: Context, out: &mut CallView<'a>) -> u32 {
    const DIMS: &[DimRecord] = &[
        DimRecord { kind: dim_kind::CONST, expr: 0, value: 2 },
        DimRecord { kind: dim_kind::EXPR, expr: NOBODY, value: 0 },
        DimRecord { kind: dim_kind::UNKNOWN, expr: 0, value: 0 },
    ];
    static ARGS: [ArgRecord<'static>; 3] = [tensor("self"), tensor("x"), tensor("input")];
    static RESULTS: [TypeRecord<'static>; 1] =
        [TypeRecord { kind: arg_kind::TENSOR, dtype: 1, rank: 3, dims: RSlice::from_slice(DIMS) }];
    *out = CallView {
        target: RStr::from_str("nobody.op.default"),
        opset: 20,
        args: RSlice::from_slice(&ARGS),
        elements: RSlice::EMPTY,
        results: RSlice::from_slice(&RESULTS),
    };
    status::OK
}

const fn tensor(name: &'static str) -> ArgRecord<'static> {
    ArgRecord {
        name: RStr::from_str(name),
        text: RStr::from_str(""),
        int: 1,
        float: 0.0,
        imaginary: 0.0,
        value: NOBODY,
        first: 0,
        len: 0,
        kind: arg_kind::TENSOR,
    }
}

extern "C" fn value_type<'a>(_: Context, _: u32, _: &mut TypeRecord<'a>) -> u32 {
    status::INVALID
}

extern "C" fn constant_data<'a>(_: Context, _: u32, _: &mut DataView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn shape_contents<'a>(_: Context, _: u32, _: &mut ShapeView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn dim_op(_: Context, _: u32, _: DimRecord, _: DimRecord) -> DimRecord {
    DimRecord { kind: dim_kind::UNKNOWN, expr: 0, value: 0 }
}

extern "C" fn dim_range(_: Context, _: DimRecord) -> RangeRecord {
    RangeRecord { min: i64::MIN, max: i64::MAX }
}

extern "C" fn emit(_: Context, _: &NodeRecord<'_>, _: RSliceMut<'_, u32>) -> u32 {
    status::INVALID
}

extern "C" fn constant(_: Context, _: i32, _: RSlice<'_, u64>, _: RSlice<'_, u8>, _: &mut u32) -> u32 {
    status::INVALID
}

extern "C" fn dims_value(_: Context, _: RSlice<'_, DimRecord>, _: &mut u32) -> u32 {
    status::INVALID
}

extern "C" fn set_type(_: Context, _: u32, _: &TypeRecord<'_>) -> u32 {
    status::INVALID
}

extern "C" fn graph<'a>(_: Context, _: u32, _: &mut GraphView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn begin_block(_: Context) -> u32 {
    status::INVALID
}

extern "C" fn block_input(_: Context, _: &TypeRecord<'_>, _: &mut u32) -> u32 {
    status::INVALID
}

extern "C" fn inline_graph(_: Context, _: u32, _: RSlice<'_, u32>, _: RSliceMut<'_, u32>) -> u32 {
    status::INVALID
}

extern "C" fn end_block(_: Context, _: RSlice<'_, u32>, _: &mut u32) -> u32 {
    status::INVALID
}

extern "C" fn finish(_: Context, _: RSlice<'_, u32>) -> u32 {
    status::INVALID
}

extern "C" fn refuse(_: Context, _: RStr<'_>, _: RStr<'_>, _: RStr<'_>) {}

extern "C" fn begin_function(_: Context, _: &NodeRecord<'_>, _: RSliceMut<'_, u32>) -> u32 {
    status::INVALID
}

extern "C" fn end_function(_: Context, _: RSlice<'_, u32>, _: RSliceMut<'_, u32>) -> u32 {
    status::INVALID
}

extern "C" fn origin<'a>(_: Context, _: &mut OriginView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn weight_data<'a>(_: Context, _: u32, _: &mut DataView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn definition<'a>(_: Context, _: u32, _: &mut DefinitionView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn definition_int(_: Context, _: u32, _: RStr<'_>, _: &mut i64) -> u32 {
    status::INVALID
}

extern "C" fn metadata(_: Context, _: u32, _: RStr<'_>, _: RStr<'_>) -> u32 {
    status::INVALID
}
