use onnxport_abi::about::{self, AboutTable};
use onnxport_abi::{HostRoot, PluginRoot, Table, Version, status};
use onnxport_abi::{RSlice, RStr};

use crate::diagnose::Code;
use crate::host::Host;

/// Defines a plugin with the given description of itself.
macro_rules! fixture {
    ($name:ident, $contract:expr, $needs:expr, $attach:expr) => {
        mod $name {
            use super::*;

            static ABOUT: AboutTable = AboutTable {
                id: RStr::from_str(stringify!($name)),
                version: RStr::from_str("3.2.1"),
                description: RStr::from_str(""),
                contract: $contract,
                needs: $needs,
                provides: RSlice::from_slice(&[RStr::from_str("sorting/1")]),
                options: None,
                configure: None,
            };

            extern "C" fn query(interface: RStr<'_>) -> Table {
                if interface.get() == Ok(about::INTERFACE) { Table::of(&ABOUT) } else { Table::NONE }
            }

            extern "C" fn attach(_: &HostRoot) -> u32 {
                $attach
            }

            pub(super) static ROOT: PluginRoot = PluginRoot { query, attach };
        }
    };
}

const OURS: Version = Version::CURRENT;
fixture!(next_major, Version { major: 2, minor: 1 }, Version { major: 2, minor: 0 }, status::OK);
fixture!(needs_more, Version { major: 1, minor: 7 }, Version { major: 1, minor: 5 }, status::OK);
fixture!(newer, Version { major: 1, minor: 7 }, OURS, status::REFUSED);
fixture!(panics, OURS, OURS, status::PANICKED);
fixture!(useless, OURS, OURS, status::OK);

fn refusal(root: &'static PluginRoot) -> (Code, String) {
    let report = Host::new(&[root]).err().expect("the plugin is refused");
    let problem = report.diagnostics.first().expect("a reason");
    (problem.code.clone(), problem.message.clone())
}

#[test]
fn a_refusal_names_the_plugin_and_both_versions() {
    let ours = OURS.to_string();
    for (root, code, message) in [
        (
            &next_major::ROOT,
            Code::PLUGIN_VERSION,
            "plugin `next_major` is built for plugin contract 2.1, this host has {ours}",
        ),
        (
            &needs_more::ROOT,
            Code::PLUGIN_VERSION,
            "plugin `needs_more` needs a host of plugin contract 1.5 or newer, this one has {ours}",
        ),
        (
            &newer::ROOT,
            Code::PLUGIN_VERSION,
            "plugin `newer` of plugin contract 1.7 refuses this host of contract {ours}",
        ),
        (&panics::ROOT, Code::PLUGIN_PANIC, "plugin `panics` panicked while it was attached"),
        (
            &useless::ROOT,
            Code::PLUGIN_CONTRACT,
            "plugin `useless` provides no interface that this host knows",
        ),
    ] {
        assert_eq!(refusal(root), (code, message.replace("{ours}", &ours)));
    }
}
