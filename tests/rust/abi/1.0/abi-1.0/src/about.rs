//! `about/1`: what a plugin is. The only table that may be read before the plugin is attached.

use abi_stable::StableAbi;
use abi_stable::std_types::{RSlice, RStr};

use crate::Version;

/// The name of the interface.
pub const INTERFACE: &str = "about/1";

/// What the plugin is.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct AboutTable {
    /// The plugin's id, `aten`: what diagnostics and options call it.
    pub id: RStr<'static>,
    /// The plugin's own version, `0.3.1`.
    pub version: RStr<'static>,
    /// One sentence; may be empty.
    pub description: RStr<'static>,
    /// The contract that the plugin was built with.
    pub contract: Version,
    /// The oldest contract of a host that the plugin works with.
    pub needs: Version,
    /// The interfaces that it provides besides this one, `lowering/1`.
    pub provides: RSlice<'static, RStr<'static>>,
}

crate::table::interface!(AboutTable, INTERFACE, base: 6);
