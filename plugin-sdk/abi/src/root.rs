//! The frozen root of a plugin, and the root that the host passes to it.

// `StableAbi` makes such an implementation for `PluginRootRef`.
#![allow(clippy::expl_impl_clone_on_copy)]

use abi_stable::StableAbi;
use abi_stable::library::RootModule;
use abi_stable::sabi_types::VersionStrings;

use crate::{RStr, Table, Version};

/// The functions of the host that a plugin can call outside of any call. It never changes.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HostRoot {
    /// The contract that the host was built with.
    pub version: Version,
    /// The host's table for an interface such as `lowering/1`, or [`Table::NONE`]. May be called from
    /// any thread.
    pub query: extern "C" fn(interface: RStr<'_>) -> Table,
}

/// A name that `query` may be asked for to see that a panic stays inside of the plugin: one that guards
/// its functions panics on the way and answers [`Table::NONE`], as every other plugin does.
pub const PANIC_PROBE: &str = "onnxport.panic/1";

/// The root of a plugin. It never changes.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef)))]
#[sabi(missing_field(panic))]
pub struct PluginRoot {
    /// The plugin's table for an interface such as `lowering/1`, or [`Table::NONE`]. May be called
    /// from any thread.
    pub query: extern "C" fn(interface: RStr<'_>) -> Table,
    /// Called once by every host, before any table but `about/1` is used, from the thread that makes
    /// the host. Returns a [`status`](crate::status).
    #[sabi(last_prefix_field)]
    pub attach: extern "C" fn(host: &HostRoot) -> u32,
}

impl PluginRootRef {
    /// The root by value.
    pub fn get(self) -> PluginRoot {
        PluginRoot { query: self.query(), attach: self.attach() }
    }
}

impl RootModule for PluginRootRef {
    abi_stable::declare_root_module_statics! {PluginRootRef}
    const BASE_NAME: &'static str = "onnxport_plugin";
    const NAME: &'static str = "onnxport plugin";
    // The root's own version, not that of any package: it never changes.
    const VERSION_STRINGS: VersionStrings =
        VersionStrings { version: abi_stable::std_types::RStr::from_str("1.0.0") };
}

/// Exports `$root` as the root of the shared library that this crate is built as.
///
/// A program that links two crates which both do so does not link; `export_plugin!` of the SDK does it
/// only under the crate's feature `cdylib`.
#[macro_export]
macro_rules! export_root {
    ($root:expr) => {
        // The expansion of `abi_stable::export_root_module`, which needs a direct dependency on that crate.
        const _: () = {
            use $crate::abi_stable::library::{CheckTypeLayout, LibHeader, RootModuleResult};

            fn root() -> $crate::PluginRootRef {
                $crate::abi_stable::prefix_type::PrefixTypeTrait::leak_into_prefix($root)
            }

            extern "C" fn erased() -> RootModuleResult {
                $crate::abi_stable::library::__call_root_module_loader(root)
            }

            // SAFETY: abi_stable looks up this name and expects a `LibHeader`; a library
            // has one root.
            #[unsafe(export_name = "_1as_0lib_1header_0root_bmodule_bloader")]
            static HEADER: LibHeader =
                // SAFETY: `erased` returns a `PluginRootRef`.
                unsafe {
                    LibHeader::from_constructor::<$crate::PluginRootRef>(erased, CheckTypeLayout::Yes)
                };
        };
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_header_has_the_name_that_is_looked_up() {
        let name = abi_stable::library::ROOT_MODULE_LOADER_NAME;
        assert_eq!(name, "_1as_0lib_1header_0root_bmodule_bloader");
    }
}
