//! A library that breaks the contract in the way that its file's name says: `libwild.MODE.so`.
//!
//! It lowers `aten.relu.default`, before every other plugin.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use onnxport_sdk::abi::about::{self, AboutTable};
use onnxport_sdk::abi::backend;
use onnxport_sdk::abi::lowering::{self, LoweringTable};
use onnxport_sdk::abi::{HostRoot, PluginRoot, Table, status};
use onnxport_sdk::abi::{RSlice, RStr};

mod calls;
mod listing;

/// A plugin as an author would write it; its tables are then corrupted.
mod proper {
    use onnxport_sdk::backend::{Backend, Claim, Op, Profile, Region};
    use onnxport_sdk::prelude::*;

    #[lowering("aten.relu.default", priority = 10)]
    fn relu(cx: &Lower, x: Value) -> Res<Value> {
        super::misbehave();
        match super::mode() {
            "refuse_long" => Err("x".repeat(100 << 20).into()),
            "refuse_ansi" => Err("evil \x1b[31mred\x1b]0;t\x07 \u{202e}abc\n\rX".into()),
            _ => Ok(cx.op(op::Relu).input(x).one()),
        }
    }

    /// A backend that misbehaves where the mode says so.
    #[derive(Default)]
    struct Wild;

    impl Backend for Wild {
        fn profile(&self) -> Profile {
            let float = [DType::F32];
            Profile::new("wild-npu")
                .domain("test.wild", 1)
                .op(Op::named(["*"]).inputs(&float).outputs(&float).dynamic())
        }

        fn claim(&self, claim: &mut Claim<'_>) -> Res<()> {
            super::misbehave_in("claim");
            claim.offered().into_iter().try_for_each(|node| claim.take(node))
        }

        fn compile(&self, region: &mut Region<'_>) -> Res<()> {
            let mut program = region.blob();
            // A blob beyond 1 MiB is on disk while its model is converted.
            program.append(&vec![7; if super::mode() == "small" { 800 << 10 } else { 2 << 20 }])?;
            super::misbehave_in("compile");
            let (inputs, weights, outputs) = (region.inputs(), region.weights(), region.outputs());
            let node = region.own("Program").inputs(inputs).inputs(weights).blob("program", &program);
            let made = node.outputs_like(&outputs).emit()?;
            region.replace(&made)
        }

        fn environment(&self) -> Option<String> {
            Some(format!("SDK 3.1, driver {}", super::mode().strip_prefix("driver").unwrap_or("7")))
        }
    }

    onnxport_sdk::export_plugin! { id: "wild", schemas: "# none\n", backend: Wild }
}

static ROOT: PluginRoot = PluginRoot { query, attach };
onnxport_sdk::abi::export_root!(ROOT);

/// The middle part of this library's file name.
fn mode() -> &'static str {
    static MODE: OnceLock<String> = OnceLock::new();
    MODE.get_or_init(|| {
        let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the address lies in this library, and the loader keeps its file name.
        let path = unsafe {
            libc::dladdr(std::ptr::from_ref(&ROOT).cast(), info.as_mut_ptr());
            CStr::from_ptr(info.assume_init().dli_fname)
        };
        let name = Path::new(OsStr::from_bytes(path.to_bytes())).file_stem().unwrap_or_default();
        let name = name.to_string_lossy();
        name.split_once('.').map_or(String::new(), |(_, mode)| mode.to_owned())
    })
}

/// During a lowering.
fn misbehave() {
    act(mode());
}

/// In a call of a backend, in a mode such as `compile-abort`.
fn misbehave_in(call: &str) {
    if let Some(what) = mode().strip_prefix(call).and_then(|rest| rest.strip_prefix('-')) {
        act(what);
    }
}

fn act(what: &str) {
    match what {
        "panic" => panic!("out of cheese"),
        "abort" => std::process::abort(),
        // SAFETY: none; that is the point.
        "segfault" => unsafe { std::ptr::without_provenance_mut::<u32>(8).write_volatile(1) },
        "overflow" => deeper(&[0; 64]),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "loop_globals" => {
            // SAFETY: the function does not unwind.
            unsafe { libc::atexit(without_globals) };
            loop {
                std::hint::spin_loop();
            }
        }
        "exit0" => std::process::exit(0),
        "exit3" => std::process::exit(3),
        "exit_thread" => {
            let _ = std::thread::spawn(|| std::process::exit(0)).join();
        }
        "thread" => {
            let outcome = std::thread::spawn(|| panic!("out of cheese in a thread")).join();
            assert!(outcome.is_err());
        }
        _ => {}
    }
}

/// Ends the process as a thread would that still uses the globals of a library when they are destroyed.
extern "C" fn without_globals() {
    std::process::abort();
}

#[expect(unconditional_recursion, reason = "the stack is to overflow")]
fn deeper(seed: &[u64; 64]) {
    let mut own = *seed;
    own[0] += 1;
    deeper(std::hint::black_box(&own));
    std::hint::black_box(&own);
}

extern "C" fn query(interface: RStr<'_>) -> Table {
    let table = (proper::ROOT.query)(interface);
    match (interface.get().unwrap_or_default(), mode()) {
        (about::INTERFACE, "mute") => Table::NONE,
        // It provides nothing else.
        (backend::INTERFACE, "null") => Table::NONE,
        (about::INTERFACE, "major") => {
            let mut other = table;
            other.version.major = 2;
            other
        }
        (about::INTERFACE, many) if many.starts_with("many") => renamed(&table, many),
        (lowering::INTERFACE, "size") => Table { size: table.size - 8, ..table },
        (lowering::INTERFACE, "short") => {
            let fields = &table.layout.get().expect("a layout")[..2];
            Table { layout: RSlice::from_slice(fields), ..table }
        }
        (lowering::INTERFACE, "fields") => {
            let changed: Vec<u64> =
                table.layout.get().expect("a layout").iter().map(|print| print ^ 1).collect();
            Table { layout: RSlice::from_slice(changed.leak()), ..table }
        }
        (lowering::INTERFACE, "null") => Table { pointer: std::ptr::null(), ..table },
        (lowering::INTERFACE, "null_function") => spoilt(&table, std::mem::offset_of!(LoweringTable, lower)),
        (lowering::INTERFACE, "null_text") => spoilt(&table, std::mem::offset_of!(LoweringTable, schemas)),
        (about::INTERFACE, "exit_about") => std::process::exit(0),
        (about::INTERFACE, mode) if mode.starts_with("about_") => listing::about(&table, mode),
        (lowering::INTERFACE, "size_huge") => Table { size: u64::MAX, ..table },
        (lowering::INTERFACE, "misaligned") => {
            // SAFETY: the address is only looked at, and its bytes are those of the table.
            Table { pointer: unsafe { table.pointer.cast::<u8>().add(1).cast() }, ..table }
        }
        (lowering::INTERFACE, "layout_huge") => {
            // SAFETY: none; that is the point.
            Table { layout: unsafe { RSlice::from_raw_parts(table.layout.as_ptr(), 1 << 50) }, ..table }
        }
        (lowering::INTERFACE, mode) if mode.starts_with("call_") => {
            let mut own = read::<LoweringTable>(&table);
            own.lower = calls::lower;
            envelope(own, &table)
        }
        (lowering::INTERFACE, "stale" | "foreign_thread" | "unfinished" | "swapped") => {
            let mut own = read::<LoweringTable>(&table);
            own.lower = lower;
            envelope(own, &table)
        }
        (lowering::INTERFACE, "latin1") => {
            let mut own = read::<LoweringTable>(&table);
            // SAFETY: none; that is the point.
            own.schemas = unsafe { RStr::from_raw_parts(b"caf\xe9(Tensor self) -> Tensor\n".as_ptr(), 28) };
            envelope(own, &table)
        }
        (lowering::INTERFACE, "long_list") => {
            let mut own = read::<LoweringTable>(&table);
            // SAFETY: none; that is the point.
            own.entries = unsafe { RSlice::from_raw_parts(own.entries.as_ptr(), 1 << 40) };
            envelope(own, &table)
        }
        _ => table,
    }
}

extern "C" fn attach(host: &HostRoot) -> u32 {
    match mode() {
        // Nothing catches it: the process aborts.
        "panic_attach" => panic!("out of cheese while attaching"),
        "caught_attach" => status::PANICKED,
        "unknown_status" => 4711,
        "loop_attach" => loop {
            std::hint::spin_loop();
        },
        _ => (proper::ROOT.attach)(host),
    }
}

/// A lowering by hand.
extern "C" fn lower(_: u32, host: &Table, cx: lowering::Context) -> u32 {
    static KEPT: AtomicU32 = AtomicU32::new(lowering::ABSENT);

    // SAFETY: the host passes the envelope of its table.
    let Ok(Some(host)) = (unsafe { host.read::<lowering::LoweringHost>() }) else { return status::INVALID };
    let mut call = MaybeUninit::<lowering::CallView<'_>>::zeroed();
    // SAFETY: the host fills the record.
    let call = unsafe {
        (host.call)(cx, &mut *call.as_mut_ptr());
        call.assume_init()
    };
    let own = call.args.get().unwrap_or_default().first().map_or(lowering::ABSENT, |arg| arg.value);
    let relu = |input: u32| lowering::NodeRecord {
        domain: RStr::from_str(""),
        version: 0,
        op: RStr::from_str("Relu"),
        inputs: RSlice::from_slice(Vec::leak(vec![input])),
        attributes: RSlice::EMPTY,
    };
    let mut made = [lowering::ABSENT];
    match mode() {
        "unfinished" => status::OK,
        "foreign_thread" => {
            let address = cx.0 as usize;
            let answer = std::thread::spawn(move || {
                let cx = lowering::Context(std::ptr::with_exposed_provenance_mut(address));
                (host.emit)(cx, &relu(own), (&mut [lowering::ABSENT][..]).into())
            });
            let text = format!("the host answered {}", answer.join().unwrap_or(u32::MAX));
            (host.refuse)(cx, RStr::from_str(""), RStr::from_str(&text), RStr::from_str(""));
            status::REFUSED
        }
        "swapped" => {
            // A result of another type than the program states.
            let shape = lowering::NodeRecord { op: RStr::from_str("Shape"), ..relu(own) };
            (host.emit)(cx, &shape, (&mut made[..]).into());
            (host.finish)(cx, RSlice::from_slice(&made))
        }
        // Reads the arguments of the previous call.
        _ => {
            let kept = KEPT.swap(own, Ordering::Relaxed);
            let input = if kept == lowering::ABSENT { own } else { kept };
            let answer = (host.emit)(cx, &relu(input), (&mut made[..]).into());
            if answer != status::OK {
                let text = format!("the host answered {answer}");
                (host.refuse)(cx, RStr::from_str(""), RStr::from_str(&text), RStr::from_str(""));
                return status::REFUSED;
            }
            (host.finish)(cx, RSlice::from_slice(&made))
        }
    }
}

fn read<T: Copy>(table: &Table) -> T {
    // SAFETY: the glue of the same build made the table.
    unsafe { table.pointer.cast::<T>().read() }
}

fn envelope<T>(own: T, table: &Table) -> Table {
    Table { pointer: std::ptr::from_ref(Box::leak(Box::new(own))).cast(), ..*table }
}

/// A copy of the table with a null pointer at `offset`, before a length that is not 0 if it is a text's.
fn spoilt(table: &Table, offset: usize) -> Table {
    let mut words = vec![0_usize; size_of::<LoweringTable>() / size_of::<usize>()];
    // SAFETY: the table is as long.
    unsafe {
        std::ptr::copy_nonoverlapping(table.pointer.cast(), words.as_mut_ptr(), words.len());
    }
    words[offset / size_of::<usize>()] = 0;
    Table { pointer: words.leak().as_ptr().cast(), ..*table }
}

/// The same plugin with another id.
fn renamed(table: &Table, id: &'static str) -> Table {
    let mut about = read::<AboutTable>(table);
    about.id = RStr::from_str(id);
    envelope(about, table)
}
