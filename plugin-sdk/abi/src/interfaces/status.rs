//! The status of a call across the boundary.
// Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit.

/// The call succeeded.
pub const OK: u32 = 0;

/// The callee reported why it refused.
pub const REFUSED: u32 = 1;

/// The callee panicked; its library must not be called again.
pub const PANICKED: u32 = 2;

/// An argument was not valid: a stale id, an unknown number.
pub const INVALID: u32 = 3;

/// The request is valid, but the callee does not support it: a missing kernel.
pub const UNSUPPORTED: u32 = 4;
