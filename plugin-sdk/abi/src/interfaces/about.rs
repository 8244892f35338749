//! `about/1`: the description of a plugin. The only table that may be read before the plugin is attached.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::executor::OptionRecord;
use crate::executor::Sink;
use crate::{RSlice, RStr, Version};
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "about/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The description of the plugin.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct AboutTable {
    /// The plugin's id, `aten`, used in diagnostics and options.
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
    /// The options that the plugin takes, sorted by name.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: any, also several at once.
    /// - Takes: nothing borrowed.
    /// - Gives: the value stays valid for the rest of the process.
    /// - Cannot fail.
    pub options: Option<extern "C" fn() -> RSlice<'static, OptionEntry<'static>>>,
    /// Passes the options that the user set, with names and values that fit [`AboutTable::options`]; other options
    /// have their defaults. Called by every host after the plugin was attached and before another table is used, even
    /// if nothing was set. The options hold for the whole process; the last call counts.
    ///
    /// - Since contract 1.0; `None` where it is not provided.
    /// - Thread: any, but one at a time for one handle.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Gives: through the sink; borrowed until the sink's function returns.
    /// - Answers [`OK`](crate::status::OK), [`REFUSED`](crate::status::REFUSED), [`PANICKED`](crate::status::PANICKED).
    pub configure: Option<extern "C" fn(options: RSlice<'_, OptionRecord<'_>>, sink: &Sink) -> u32>,
}

crate::table::interface!(AboutTable, INTERFACE, base: 6);

/// Kinds of [`OptionEntry`]: the form of a value.
pub mod option_kind {
    /// Any text.
    pub const TEXT: u32 = 0;
    /// `true` or `false`.
    pub const BOOL: u32 = 1;
    /// A decimal integer of 64 bits.
    pub const INT: u32 = 2;
    /// A decimal number.
    pub const FLOAT: u32 = 3;
    /// A path of this system.
    pub const PATH: u32 = 4;
}

/// An option that a plugin takes.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct OptionEntry<'a> {
    /// The name, `threads`.
    pub name: RStr<'a>,
    /// One of [`option_kind`].
    pub kind: u32,
    /// 1 when a plugin without it cannot be used.
    pub required: u32,
    /// The default as text; empty when there is none.
    pub default: RStr<'a>,
    /// A description of one line.
    pub doc: RStr<'a>,
    /// The values that it may have; empty when every value of the kind is right.
    pub allowed: RSlice<'a, RStr<'a>>,
}
