//! `log/1`: a plugin sends messages to the user.
//!
//! A host-side interface: no plugin provides it. The host collects messages during a run and shows them with its
//! own diagnostics, never on standard output.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

use crate::RStr;
use crate::lowering::Context;
use abi_stable::StableAbi;

/// The name of the interface.
pub const INTERFACE: &str = "log/1";

/// The revision of the contract that brought the interface.
pub const SINCE: crate::Version = crate::Version { major: 1, minor: 0 };

/// The importance of a message.
pub mod level {
    /// The result may not be what the user expects.
    pub const WARN: u32 = 1;
    /// Progress, for an interested user.
    pub const INFO: u32 = 2;
    /// For the plugin's author.
    pub const DEBUG: u32 = 3;
}

/// Takes messages.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct LogHost {
    /// The largest [`level`] that is shown; messages above it need not be created.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, also several at once.
    /// - Takes: nothing borrowed.
    /// - Answers a number that is not a status.
    pub level: extern "C" fn() -> u32,
    /// Takes one message of the plugin with this id. `cx` is the context of the call of `lowering/1` that the message
    /// is about, on its thread and before it returns; null if there is none.
    ///
    /// - Since contract 1.0.
    /// - Thread: any, also several at once.
    /// - Takes: arguments are borrowed until the call returns.
    /// - Cannot fail.
    pub message: extern "C" fn(plugin: RStr<'_>, level: u32, text: RStr<'_>, cx: Context),
}

crate::table::interface!(LogHost, INTERFACE, base: 2);
