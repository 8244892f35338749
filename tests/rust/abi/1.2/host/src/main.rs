//! A host of contract 1.2 over the contract alone: loads a library, says whether it fits, lowers one call into
//! a list of nodes, and runs the executor.
//!
//! `frozen_host LIBRARY OPERATOR`: exit code 0 and the nodes; 1 and why the plugin or the call was refused.

use std::ffi::c_void;
use std::fmt::Write;
use std::process::ExitCode;

use onnxport_abi::abi_stable::library::{LibHeader, lib_header_from_path};
use onnxport_abi::about::AboutTable;
use onnxport_abi::executor::{ExecutorTable, Handle, Sink, TensorView};
use onnxport_abi::lowering::*;
use onnxport_abi::{HostRoot, Interface, PluginRoot, PluginRootRef, RSlice, RSliceMut, RStr, Table, Version, status};

/// What the plugin did in a call.
#[derive(Default)]
struct Toy {
    target: String,
    values: u32,
    lines: String,
    refusal: Option<String>,
}

const F32: i32 = 1;
static DIMS: [DimRecord; 1] = [DimRecord { kind: dim_kind::CONST, expr: 0, value: 2 }];

fn tensor(kind: u32) -> TypeRecord<'static> {
    TypeRecord { kind, dtype: F32, rank: 1, dims: RSlice::from_slice(&DIMS) }
}

fn toy<'a>(cx: Context) -> &'a mut Toy {
    // SAFETY: the context is the toy of the call, used by one thread, one function at a time.
    unsafe { &mut *cx.0.cast::<Toy>() }
}

extern "C" fn call<'a>(cx: Context, out: &mut CallView<'a>) -> u32 {
    let text = RStr::from_str("");
    let x = ArgRecord {
        name: RStr::from_str("self"),
        text,
        int: i64::from(F32),
        float: 0.0,
        imaginary: 0.0,
        value: 0,
        first: 0,
        len: 1,
        kind: arg_kind::TENSOR,
    };
    *out = CallView {
        target: RStr::from_str(toy(cx).target.clone().leak()),
        opset: 20,
        args: RSlice::from_slice(Vec::leak(vec![x])),
        elements: RSlice::EMPTY,
        results: RSlice::from_slice(Vec::leak(vec![tensor(arg_kind::TENSOR)])),
    };
    status::OK
}

extern "C" fn value_type<'a>(_: Context, _: u32, out: &mut TypeRecord<'a>) -> u32 {
    *out = tensor(arg_kind::TENSOR);
    status::OK
}

extern "C" fn constant_data<'a>(_: Context, _: u32, _: &mut DataView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn shape_contents<'a>(_: Context, _: u32, _: &mut ShapeView<'a>) -> u32 {
    status::INVALID
}

extern "C" fn dim_op(_: Context, _: u32, a: DimRecord, _: DimRecord) -> DimRecord {
    a
}

extern "C" fn dim_range(_: Context, _: DimRecord) -> RangeRecord {
    RangeRecord { min: 0, max: i64::MAX }
}

extern "C" fn emit(cx: Context, node: &NodeRecord<'_>, outputs: RSliceMut<'_, u32>) -> u32 {
    let toy = toy(cx);
    let outputs = outputs.get().expect("places");
    for output in outputs.iter_mut() {
        toy.values += 1;
        *output = toy.values;
    }
    let inputs = node.inputs.get().expect("a slice");
    let _ = writeln!(toy.lines, "{} {inputs:?} -> {:?}", node.op.get().expect("a text"), outputs);
    status::OK
}

extern "C" fn constant(
    cx: Context,
    dtype: i32,
    dims: RSlice<'_, u64>,
    bytes: RSlice<'_, u8>,
    out: &mut u32,
) -> u32 {
    let toy = toy(cx);
    toy.values += 1;
    *out = toy.values;
    let (dims, bytes) = (dims.get().expect("a slice"), bytes.get().expect("a slice"));
    let _ = writeln!(toy.lines, "constant {dtype} {dims:?} {bytes:?} -> {out}");
    status::OK
}

extern "C" fn dims_value(_: Context, _: RSlice<'_, DimRecord>, _: &mut u32) -> u32 {
    status::INVALID
}

extern "C" fn set_type(_: Context, _: u32, _: &TypeRecord<'_>) -> u32 {
    status::OK
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

extern "C" fn finish(cx: Context, results: RSlice<'_, u32>) -> u32 {
    let _ = writeln!(toy(cx).lines, "finish {:?}", results.get().expect("a slice"));
    status::OK
}

extern "C" fn refuse(cx: Context, _: RStr<'_>, message: RStr<'_>, _: RStr<'_>) {
    toy(cx).refusal = Some(message.get().expect("a text").to_owned());
}

extern "C" fn origin<'a>(_: Context, out: &mut OriginView<'a>) -> u32 {
    let text = RStr::from_str("");
    *out = OriginView {
        node: text,
        module: text,
        class: text,
        file: text,
        function: text,
        code: text,
        line: 7,
    };
    status::OK
}

static LOWERING: LoweringHost = LoweringHost {
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
    begin_function: None,
    end_function: None,
    origin: Some(origin),
};

extern "C" fn query(interface: RStr<'_>) -> Table {
    if interface.get().expect("a text") == INTERFACE { Table::of(&LOWERING) } else { Table::NONE }
}

static HOST: HostRoot = HostRoot { version: Version::CURRENT, query };

extern "C" fn on_tensor(receiver: *mut c_void, tensor: &TensorView<'_>) {
    let _ = writeln!(toy(Context(receiver)).lines, "gave {} {:?}", tensor.name.get().expect("a text"), tensor.bytes.get().expect("a slice"));
}

extern "C" fn on_text(receiver: *mut c_void, text: RStr<'_>) {
    let _ = writeln!(toy(Context(receiver)).lines, "executor {}", text.get().expect("a text"));
}

extern "C" fn on_error(receiver: *mut c_void, message: RStr<'_>, _: RStr<'_>) {
    toy(Context(receiver)).refusal = Some(message.get().expect("a text").to_owned());
}

fn table<T: Interface>(root: &PluginRoot) -> Result<T, String> {
    // SAFETY: the plugin answered for the interface of `T`.
    let table = unsafe { (root.query)(RStr::from_str(T::NAME)).read::<T>() };
    table.map_err(|mismatch| mismatch.to_string())?.ok_or_else(|| format!("it has no {}", T::NAME))
}

fn run(library: &str, target: &str) -> Result<String, String> {
    let root = lib_header_from_path(library.as_ref()).and_then(LibHeader::init_root_module::<PluginRootRef>);
    let root = root.map_err(|error| error.to_string())?.get();
    let about: AboutTable = table(&root)?;
    if about.contract.major != Version::CURRENT.major || about.needs > Version::CURRENT {
        return Err(format!("it needs contract {}, this is {}", about.needs, Version::CURRENT));
    }
    if (root.attach)(&HOST) != status::OK {
        return Err(format!("it refuses a host of contract {}", Version::CURRENT));
    }
    let mut toy = Toy { target: target.to_owned(), ..Toy::default() };
    let cx = Context(std::ptr::from_mut(&mut toy).cast());
    let lowering: LoweringTable = table(&root)?;
    let index = lowering.entries.get().expect("a slice").iter().position(|entry| entry.target.get().expect("a text") == target);
    let index = index.ok_or_else(|| format!("it does not lower {target}"))?;
    let answer = (lowering.lower)(index as u32, &Table::of(&LOWERING), cx);
    if answer != status::OK {
        return Err(format!("status {answer}: {}", toy.refusal.unwrap_or_default()));
    }
    let executor: ExecutorTable = table(&root)?;
    let sink =
        Sink { receiver: cx.0, tensor: on_tensor, text: on_text, error: on_error };
    let (mut runtime, mut session) = (Handle::NULL, Handle::NULL);
    let view = TensorView {
        name: RStr::from_str("x"),
        dtype: F32,
        dims: RSlice::from_slice(&[1]),
        bytes: RSlice::from_slice(&[1, 2, 3, 4]),
    };
    let answers = [
        (executor.open)(RSlice::EMPTY, &mut runtime, &sink),
        (executor.describe)(runtime, &sink),
        (executor.load)(runtime, RStr::from_str("nowhere"), &mut session, &sink),
        (executor.run)(session, RSlice::from_slice(&[view]), &sink),
    ];
    (executor.unload)(session);
    (executor.close)(runtime);
    if answers != [status::OK; 4] {
        return Err(format!("the executor answers {answers:?}"));
    }
    Ok(toy.lines)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, target] = arguments.as_slice() else { return ExitCode::from(2) };
    match run(library, target) {
        Ok(lines) => {
            print!("{lines}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            println!("refused: {why}");
            ExitCode::FAILURE
        }
    }
}
