//! The binary contract between the onnxport host and its plugins.
//!
//! A plugin has one root of two functions that never changes ([`PluginRoot`]); a library exports it through
//! `abi_stable`, or as a plain struct of C ([`CRoot`]). Everything else is
//! reached through it by name: `query("lowering/1")` returns a [`Table`], the envelope of the table of
//! that interface. Tables only ever grow at their end, and a reader uses only the prefix that both
//! sides know ([`Table::read`]). No Rust enum crosses: numbers with named constants do.
//!
//! Libraries are never unloaded, so that tables and texts with the lifetime `'static` stay valid.
//!
//! The interfaces, their tables and records are generated from one specification, `contract.rs` beside this
//! crate's manifest. The envelope, the root and the fingerprints are written by hand.
//!
//! Only the SDK and the host use this crate; plugin authors use `onnxport-sdk`.

mod borrowed;
mod c_root;
mod dtype;
mod fingerprint;
mod interfaces;
mod root;
mod table;
mod traits;

pub use abi_stable;
pub use borrowed::{MAX_ITEMS, MAX_TEXT, Malformed, RSlice, RSliceMut, RStr};
pub use c_root::{CRoot, CRootError};
pub use dtype::{DType, Kind};
pub use fingerprint::{FINGERPRINTS, Shape};
pub use interfaces::*;
pub use root::{HostRoot, PANIC_PROBE, PluginRoot, PluginRootRef};
pub use table::{Interface, Mismatch, Table, Version, Why};
pub use traits::Traits;
