//! The frozen root and the envelope of every table.

use std::ffi::c_void;

use abi_stable::StableAbi;
use abi_stable::std_types::RStr;

/// A version of the contract: a larger `minor` only appends to tables.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct Version {
    /// Changes when nothing older can be used any more.
    pub major: u32,
    /// Changes when tables grow.
    pub minor: u32,
}

impl Version {
    /// The contract of this crate.
    pub const CURRENT: Self = Self { major: 1, minor: 0 };
}

/// The envelope of a table: how much of it there is, and where.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Table {
    /// The minor version of the contract that the table was built with.
    pub version: u32,
    /// The size of the table in bytes; 0 when the interface is not provided.
    pub size: u32,
    /// The table, alive for the rest of the process; null when the interface is not provided.
    pub pointer: *const c_void,
}

impl Table {
    /// The answer for an interface that is not provided.
    pub const NONE: Self = Self { version: 0, size: 0, pointer: std::ptr::null() };

    /// The envelope of a table that lives for the rest of the process.
    pub const fn of<T>(table: &'static T) -> Self {
        Self {
            version: Version::CURRENT.minor,
            size: size_of::<T>() as u32,
            pointer: std::ptr::from_ref(table).cast(),
        }
    }

    /// The table, if it is at least as large as `T`.
    ///
    /// # Safety
    /// The envelope must come from [`Table::of`] of a table of the interface that `T` describes, at
    /// this or a later minor version.
    pub unsafe fn get<T>(&self) -> Option<&'static T> {
        if self.pointer.is_null() || (self.size as usize) < size_of::<T>() {
            return None;
        }
        // SAFETY: not null and large enough; the caller vouches for the rest.
        Some(unsafe { &*self.pointer.cast::<T>() })
    }
}

/// What a plugin can ask of the host outside of any call.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HostRoot {
    /// The contract that the host was built with.
    pub version: Version,
    /// The host's table for an interface such as `log/1`.
    pub query: extern "C" fn(interface: RStr<'_>) -> Table,
}

/// The root of a plugin. It never changes.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct PluginRoot {
    /// The plugin's table for an interface such as `lowering/1`, or [`Table::NONE`]. May be called
    /// from any thread.
    pub query: extern "C" fn(interface: RStr<'_>) -> Table,
    /// Called once, before any table is used, from the host's main thread. Returns a
    /// [`status`](crate::status).
    pub attach: extern "C" fn(host: &HostRoot) -> u32,
}
