//! A plugin on the bare contract, with errors that the SDK's types prevent.

use std::sync::atomic::{AtomicU64, Ordering};

use onnxport_sdk::abi::about::{self, AboutTable};
use onnxport_sdk::abi::backend::{
    self, BackendEntry, BackendHost, BackendTable, EmitRecord, NO_BLOB, OpRecord,
};
use onnxport_sdk::abi::graph::GraphContext;
use onnxport_sdk::abi::lowering::{TypeRecord, arg_kind};
use onnxport_sdk::abi::{HostRoot, PluginRoot, Table, Version, status};
use onnxport_sdk::abi::{RSlice, RSliceMut, RStr};

static ABOUT: AboutTable = AboutTable {
    id: RStr::from_str("raw"),
    version: RStr::from_str("0.1.0"),
    description: RStr::from_str(""),
    contract: Version::CURRENT,
    needs: Version { major: 1, minor: 0 },
    provides: RSlice::from_slice(&[RStr::from_str(backend::INTERFACE)]),
    options: None,
    configure: None,
};

const fn relu(outputs: RSlice<'static, i32>) -> OpRecord {
    OpRecord {
        domain: RStr::from_str(""),
        op: RStr::from_str("Relu"),
        min_version: 1,
        max_version: 99,
        inputs: RSlice::EMPTY,
        outputs,
        min_rank: 0,
        max_rank: u32::MAX,
        layout: 0,
        flags: 1,
    }
}

const fn entry(id: &'static str, ops: &'static [OpRecord]) -> BackendEntry {
    BackendEntry {
        id: RStr::from_str(id),
        description: RStr::from_str(""),
        priority: 0,
        flags: 0,
        min_nodes: 1,
        domain_version: 1,
        domain: RStr::from_str("test.raw"),
        ops: RSlice::from_slice(ops),
    }
}

static RELU: [OpRecord; 1] = [relu(RSlice::EMPTY)];
static WRONG: [OpRecord; 1] = [relu(RSlice::from_slice(&[99]))];

static TABLE: BackendTable = BackendTable {
    entries: RSlice::from_slice(&[
        entry("stale_node", &RELU),
        entry("stale_value", &RELU),
        entry("twice", &RELU),
        entry("malformed", &WRONG),
        entry("odd_status", &RELU),
    ]),
    claim,
    compile,
    environment: None,
    cost: None,
};

pub(crate) static ROOT: PluginRoot = PluginRoot { query, attach };

extern "C" fn query(interface: RStr<'_>) -> Table {
    match interface.get().unwrap_or_default() {
        about::INTERFACE => Table::of(&ABOUT),
        backend::INTERFACE => Table::of(&TABLE),
        _ => Table::NONE,
    }
}

extern "C" fn attach(_: &HostRoot) -> u32 {
    status::OK
}

/// The first node that was offered in an earlier call.
static EARLIER: AtomicU64 = AtomicU64::new(0);

extern "C" fn claim(index: u32, host: &Table, _: &Table, cx: GraphContext) -> u32 {
    // SAFETY: the host passes its table of this interface.
    let Ok(Some(host)) = (unsafe { host.read::<BackendHost>() }) else { return status::INVALID };
    let mut offered = RSlice::EMPTY;
    assert_eq!((host.offered)(cx, &mut offered), status::OK);
    // Functions of `compile` are invalid here.
    assert_eq!((host.finish)(cx, RSlice::EMPTY), status::INVALID);
    let ids = offered.get().expect("the host gives ids");
    match index {
        // The first call leaves an id behind, the second claims with it.
        0 => match EARLIER.swap(ids.first().copied().unwrap_or(0), Ordering::Relaxed) {
            0 => status::OK,
            earlier => {
                assert_eq!((host.claim)(cx, RSlice::from_slice(&[earlier]), 0), status::INVALID);
                status::OK
            }
        },
        4 => 77,
        _ => (host.claim)(cx, RSlice::from_slice(ids), 0),
    }
}

extern "C" fn compile(_: u32, host: &Table, _: &Table, cx: GraphContext) -> u32 {
    // SAFETY: the host passes its table of this interface.
    let Ok(Some(host)) = (unsafe { host.read::<BackendHost>() }) else { return status::INVALID };
    let mut offered = RSlice::EMPTY;
    assert_eq!((host.offered)(cx, &mut offered), status::INVALID);
    // The index of a value in the epoch of another call.
    let stale = [1 << 62 | 5];
    let types = [TypeRecord { kind: arg_kind::TENSOR, dtype: 1, rank: -1, dims: RSlice::EMPTY }];
    let record = EmitRecord {
        domain: RStr::from_str(""),
        op: RStr::from_str("Relu"),
        inputs: RSlice::from_slice(&stale),
        attributes: RSlice::EMPTY,
        outputs: RSlice::from_slice(&types),
        blob: NO_BLOB,
        blob_attribute: RStr::from_str(""),
    };
    let mut outputs = [0];
    assert_eq!((host.emit)(cx, &record, RSliceMut::from_mut_slice(&mut outputs)), status::INVALID);
    assert_eq!((host.finish)(cx, RSlice::from_slice(&stale)), status::INVALID);
    status::OK
}
