//! The plugin `python`: one root for the process, whose tables are those of the conversion on the thread.

use onnxport_sdk::abi::about::{self, AboutTable};
use onnxport_sdk::abi::{
    HostRoot, Interface, PANIC_PROBE, PluginRoot, RSlice, RStr, Table, Version, lowering, pass, rules,
};

use super::functions;

/// The plugin's id.
pub(super) const ID: &str = "python";

/// The plugin's root.
pub(super) static ROOT: PluginRoot = PluginRoot { query, attach };

static ABOUT: AboutTable = AboutTable {
    id: RStr::from_str(ID),
    version: RStr::from_str(env!("CARGO_PKG_VERSION")),
    description: RStr::from_str("lowerings, rules and passes that are written in Python"),
    contract: Version::CURRENT,
    needs: Version { major: Version::CURRENT.major, minor: 0 },
    provides: RSlice::from_slice(&[
        RStr::from_str(lowering::INTERFACE),
        RStr::from_str(rules::INTERFACE),
        RStr::from_str(pass::INTERFACE),
    ]),
    options: None,
    configure: None,
};

extern "C" fn query(interface: RStr<'_>) -> Table {
    fn of<T: Interface>(table: Option<&'static T>) -> Table {
        table.map_or(Table::NONE, Table::of)
    }
    onnxport_sdk::answer(|| {
        let tables = functions::tables();
        match interface.get().unwrap_or_default() {
            PANIC_PROBE => onnxport_sdk::panic_probe(),
            about::INTERFACE => Table::of(&ABOUT),
            lowering::INTERFACE => of(tables.lowering),
            rules::INTERFACE => of(tables.rules),
            pass::INTERFACE => of(tables.pass),
            _ => Table::NONE,
        }
    })
}

extern "C" fn attach(host: &HostRoot) -> u32 {
    onnxport_sdk::attach(host, module_path!(), ID)
}
