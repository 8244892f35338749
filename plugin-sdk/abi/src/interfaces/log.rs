//! `log/1`: a plugin tells the user something.
//!
//! A host-side interface: no plugin provides it. The host collects what plugins say during a run and shows it
//! with its own diagnostics, never on standard output.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::RStr;
use crate::lowering::Context;
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "log/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// How much a message matters.
pub mod level {
    /// The result may not be what the user expects.
    pub const WARN: u32 = 1;
    /// For a user who wants to follow what happens.
    pub const INFO: u32 = 2;
    /// For the plugin's author.
    pub const DEBUG: u32 = 3;
}

/// Takes messages.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct LogHost {
    /// The largest [`level`] that is shown; a message above it need not be made.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, also several at once.
    /// - Takes: nothing borrowed.
    /// - Answers a number that is no status.
    pub level: extern "C" fn() -> u32,
    /// Takes one message of the plugin with this id. `cx` is that of the call of `lowering/1` which the message
    /// is about, on its thread and before it returns; null for none.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, also several at once.
    /// - Takes: what is passed is borrowed until the call returns.
    /// - Cannot fail.
    pub message: extern "C" fn(plugin: RStr<'_>, level: u32, text: RStr<'_>, cx: Context),
}

crate::table::interface!(LogHost, INTERFACE, base: 2);
