//! The binary contract between the onnxport host and its plugins.
//!
//! A plugin has one root of two functions that never changes ([`PluginRoot`]). Everything else is
//! reached through it by name: `query("lowering/1")` returns a [`Table`] that says how large the
//! table behind it is. Tables only ever grow at their end, and a reader uses only the prefix that it
//! knows. No Rust enum crosses: numbers with named constants do.
//!
//! Only the SDK and the host use this crate; plugin authors use `onnxport-sdk`.

mod dtype;
pub mod executor;
pub mod lowering;
mod root;

pub use abi_stable;
pub use dtype::{DType, Kind};
pub use root::{HostRoot, PluginRoot, Table, Version};

/// The status of a call across the boundary.
pub mod status {
    /// The call did what was asked.
    pub const OK: u32 = 0;
    /// The callee reported why it refused.
    pub const REFUSED: u32 = 1;
    /// The callee panicked; its library must not be called again.
    pub const PANICKED: u32 = 2;
    /// An argument was not valid: a stale id, an unknown number.
    pub const INVALID: u32 = 3;
    /// What was asked for is right, but beyond what the callee provides: a missing kernel.
    pub const UNSUPPORTED: u32 = 4;
}
