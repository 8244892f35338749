//! The binary contract between the onnxport host and its plugins.
//!
//! A plugin has one root of two functions that never changes ([`PluginRoot`]). Everything else is
//! reached through it by name: `query("lowering/1")` returns a [`Table`], the envelope of the table of
//! that interface. Tables only ever grow at their end, and a reader uses only the prefix that both
//! sides know ([`Table::read`]). No Rust enum crosses: numbers with named constants do.
//!
//! Libraries are never unloaded, so that tables and texts with the lifetime `'static` stay valid.
//!
//! Only the SDK and the host use this crate; plugin authors use `onnxport-sdk`.

pub mod about;
mod dtype;
pub mod executor;
mod fingerprint;
pub mod lowering;
mod root;
mod table;

pub use abi_stable;
pub use dtype::{DType, Kind};
pub use fingerprint::Shape;
pub use root::{HostRoot, PluginRoot, PluginRootRef};
pub use table::{Interface, Mismatch, Table, Version, Why};

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

#[cfg(test)]
mod tests {
    use super::{Interface, Version};

    #[test]
    fn every_field_of_the_first_contract_is_needed() {
        fn fields<T: Interface>() -> (usize, usize) {
            (T::BASE, T::shape().prints().len())
        }
        assert_eq!(Version::CURRENT.minor, 0, "later fields are no longer all needed");
        let tables = [
            fields::<super::about::AboutTable>(),
            fields::<super::lowering::LoweringTable>(),
            fields::<super::lowering::LoweringHost>(),
            fields::<super::executor::ExecutorTable>(),
        ];
        for (base, all) in tables {
            assert_eq!(base, all);
        }
    }
}
