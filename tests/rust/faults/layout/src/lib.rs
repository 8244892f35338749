//! A root with the name of ours and other fields.

use abi_stable::StableAbi;
use abi_stable::export_root_module;
use abi_stable::library::RootModule;
use abi_stable::package_version_strings;
use abi_stable::prefix_type::PrefixTypeTrait;
use abi_stable::sabi_types::VersionStrings;

#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef)))]
pub struct PluginRoot {
    pub query: extern "C" fn(number: u64) -> u64,
    #[sabi(last_prefix_field)]
    pub version: u32,
}

impl RootModule for PluginRootRef {
    abi_stable::declare_root_module_statics! {PluginRootRef}
    const BASE_NAME: &'static str = "onnxport_plugin";
    const NAME: &'static str = "onnxport plugin";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}

extern "C" fn query(number: u64) -> u64 {
    number
}

#[export_root_module]
fn root() -> PluginRootRef {
    PluginRoot { query, version: 1 }.leak_into_prefix()
}
