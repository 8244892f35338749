//! A plugin that claims contract 2.3. Its tables may be anything; nobody may read them.

use onnxport_abi::abi_stable::std_types::{RSlice, RStr};
use onnxport_abi::{HostRoot, PluginRoot, Table, Version, status};

static NOT_A_TABLE: [u8; 64] = [0xff; 64];
static PRINTS: [u64; 8] = [7; 8];

extern "C" fn query(_: RStr<'_>) -> Table {
    Table {
        version: Version { major: 2, minor: 3 },
        size: 64,
        pointer: NOT_A_TABLE.as_ptr().cast(),
        layout: RSlice::from_slice(&PRINTS),
    }
}

extern "C" fn attach(_: &HostRoot) -> u32 {
    status::OK
}

static ROOT: PluginRoot = PluginRoot { query, attach };

onnxport_abi::export_root!(ROOT);
