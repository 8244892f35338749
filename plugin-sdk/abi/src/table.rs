//! The envelope of every table, and the one place where two builds of the contract meet.
//!
//! A table is a `repr(C)` struct of plain fields and functions that only ever grows at its end. The
//! envelope says how many fields the writer knows and a fingerprint of every prefix of them. A reader
//! takes the fields that both know, after the fingerprints of that prefix agree, and fills the rest of
//! its own struct with zeros, which mean *not provided*. So an older side can talk to a newer one, in
//! both directions.
//!
//! Records, the structs that tables' functions take and return, never change: a function that needs
//! more takes a new record and is a new field.

use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;

use abi_stable::StableAbi;

use crate::fingerprint::{Pointer, Shape};
use crate::{Malformed, RSlice};

/// A version of the contract: a larger `minor` only appends to tables.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, StableAbi)]
pub struct Version {
    /// Changes when nothing older can be used any more.
    pub major: u32,
    /// Changes when tables grow.
    pub minor: u32,
}

impl Version {
    /// The contract of this crate.
    pub const CURRENT: Self = crate::interfaces::CURRENT;
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A table behind an envelope. Implemented by the contract only, through `interface!`.
///
/// # Safety
/// The struct is `repr(C)`, and every field after the first [`Interface::BASE`] is valid when all of
/// its bytes are zero.
pub unsafe trait Interface: StableAbi + Copy + 'static {
    /// The name that is asked for, `lowering/1`.
    const NAME: &'static str;
    /// The number of fields in contract 1.0, without which the table is of no use.
    const BASE: usize;

    /// The fields as this build knows them.
    fn shape() -> &'static Shape;
}

/// Makes a struct an [`Interface`].
macro_rules! interface {
    ($ty:ty, $name:expr, base: $base:literal) => {
        // SAFETY: the struct is `repr(C)`; the test of the contract counts its fields.
        unsafe impl $crate::Interface for $ty {
            const NAME: &'static str = $name;
            const BASE: usize = $base;

            fn shape() -> &'static $crate::Shape {
                static SHAPE: std::sync::OnceLock<$crate::Shape> = std::sync::OnceLock::new();
                SHAPE.get_or_init($crate::Shape::for_type::<Self>)
            }
        }
    };
}
pub(crate) use interface;

/// The envelope of a table: who made it, how much of it there is, and where. It never changes.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct Table {
    /// The contract that the table was built with.
    pub version: Version,
    /// The size of the table in bytes; 0 when the interface is not provided.
    pub size: u64,
    /// The table, alive for the rest of the process; null when the interface is not provided.
    pub pointer: *const c_void,
    /// The fingerprint of the first field, of the first two, and so on: one per field.
    pub layout: RSlice<'static, u64>,
}

impl Table {
    /// The answer for an interface that is not provided.
    pub const NONE: Self = Self {
        version: Version { major: 0, minor: 0 },
        size: 0,
        pointer: std::ptr::null(),
        layout: RSlice::EMPTY,
    };

    /// The envelope of a table that lives for the rest of the process.
    pub fn of<T: Interface>(table: &'static T) -> Self {
        Self {
            version: Version::CURRENT,
            size: size_of::<T>() as u64,
            pointer: std::ptr::from_ref(table).cast(),
            layout: RSlice::from_slice(T::shape().prints()),
        }
    }

    /// Returns the part of the table that both sides know; `None` if the interface is not provided.
    ///
    /// # Errors
    /// If the table is of another major version, lacks a field of contract 1.0, or differs in a field that both
    /// sides know.
    ///
    /// # Safety
    /// The envelope is the answer of a plugin or host of this contract to [`Interface::NAME`] of `T`.
    pub unsafe fn read<T: Interface>(&self) -> Result<Option<T>, Mismatch> {
        if self.pointer.is_null() {
            return Ok(None);
        }
        let mismatch =
            |why| Mismatch { interface: T::NAME, theirs: self.version, ours: Version::CURRENT, why };
        if self.version.major != Version::CURRENT.major {
            return Err(mismatch(Why::Major));
        }
        let shape = T::shape();
        let theirs = self.layout.list().map_err(|malformed| mismatch(Why::Layout(malformed)))?;
        if theirs.len() < T::BASE {
            return Err(mismatch(Why::Short { fields: theirs.len(), needed: T::BASE }));
        }
        if let Some(field) = theirs.iter().zip(shape.prints()).position(|(a, b)| a != b) {
            return Err(mismatch(Why::Field(shape.name(field))));
        }
        let bytes = shape.end(theirs.len());
        if self.size < bytes as u64 {
            return Err(mismatch(Why::Size { bytes: self.size, needed: bytes }));
        }
        for field in 0..T::BASE {
            // SAFETY: the first `T::BASE` fields lie within `bytes`, and any bytes are a number.
            let word = |at| unsafe { self.pointer.cast::<u8>().add(at).cast::<usize>().read_unaligned() };
            let null = match shape.pointer(field) {
                None => false,
                Some(Pointer::Function(at)) => word(at) == 0,
                Some(Pointer::Slice(at)) => word(at) == 0 && word(at + size_of::<usize>()) != 0,
            };
            if null {
                return Err(mismatch(Why::Null(shape.name(field))));
            }
        }
        let mut table = MaybeUninit::<T>::zeroed();
        // SAFETY: the source is as large as its size says, which is at least `bytes`; `bytes` is at most
        // the size of `T`. A struct behind an envelope is aligned like `T`, and bytes need no alignment.
        unsafe {
            std::ptr::copy_nonoverlapping(self.pointer.cast::<u8>(), table.as_mut_ptr().cast(), bytes);
        }
        // SAFETY: the fields that both know have the same types, the others may be zero (`Interface`).
        Ok(Some(unsafe { table.assume_init() }))
    }
}

/// Two builds of the contract do not understand each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The interface.
    pub interface: &'static str,
    /// The contract that the table was built with.
    pub theirs: Version,
    /// The contract of this side.
    pub ours: Version,
    /// The reason.
    pub why: Why,
}

/// The reason for which a table is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The major version is another.
    Major,
    /// The list of its fingerprints cannot be read.
    Layout(Malformed),
    /// It has fewer fields than contract 1.0.
    Short {
        /// How many fields it has.
        fields: usize,
        /// How many it must have.
        needed: usize,
    },
    /// This field, or a record that it uses, has another layout.
    Field(&'static str),
    /// This field, which contract 1.0 has, is null.
    Null(&'static str),
    /// It is smaller than its fields.
    Size {
        /// The size that it states.
        bytes: u64,
        /// The size of its fields.
        needed: usize,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, theirs, ours, why } = self;
        write!(f, "its `{interface}` of contract {theirs} does not fit contract {ours}: ")?;
        match why {
            Why::Major => write!(f, "the major versions differ"),
            Why::Layout(malformed) => write!(f, "its fingerprints are {malformed}"),
            Why::Short { fields, needed } => {
                write!(f, "it has {fields} fields instead of {needed}")
            }
            Why::Field(name) => write!(f, "the layout of `{name}` differs"),
            Why::Null(name) => write!(f, "`{name}` is null"),
            Why::Size { bytes, needed } => {
                write!(f, "it claims {bytes} bytes for fields of {needed}")
            }
        }
    }
}

impl std::error::Error for Mismatch {}

#[cfg(test)]
mod tests;
