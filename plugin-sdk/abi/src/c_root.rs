//! The root of a plugin in C: a plain struct under a symbol of its own, beside the root of `abi_stable`.

use std::fmt;

use crate::{HostRoot, PluginRoot, RStr, Table, Version};

type Query = extern "C" fn(interface: RStr<'_>) -> Table;
type Attach = extern "C" fn(host: &HostRoot) -> u32;

/// The data, not a function, that a C library exports under the name [`CRoot::SYMBOL`]. It only grows at its end,
/// with a higher minor version; a host reads the fields that it knows.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRoot {
    /// [`CRoot::MAGIC`].
    pub magic: u64,
    /// The size of the struct in bytes, as the plugin knows it.
    pub size: u64,
    /// The version of this struct, not of the contract: [`CRoot::VERSION`].
    pub version: Version,
    /// As in [`PluginRoot`].
    pub query: Option<Query>,
    /// As in [`PluginRoot`].
    pub attach: Option<Attach>,
}

impl CRoot {
    /// The symbol.
    pub const SYMBOL: &'static str = "onnxport_root";
    /// `ONNXPORT` in the order of a little-endian machine.
    pub const MAGIC: u64 = u64::from_le_bytes(*b"ONNXPORT");
    /// The version of the struct that this build knows.
    pub const VERSION: Version = Version { major: 1, minor: 0 };

    /// A root of this build's version.
    pub const fn new(query: Query, attach: Attach) -> Self {
        Self {
            magic: Self::MAGIC,
            size: size_of::<Self>() as u64,
            version: Self::VERSION,
            query: Some(query),
            attach: Some(attach),
        }
    }

    /// The functions of the root at `root`.
    ///
    /// # Errors
    /// When it is none, or one that this build does not understand.
    ///
    /// # Safety
    /// `root` is null, or the address of the symbol [`CRoot::SYMBOL`] of a library that stays loaded.
    pub unsafe fn read(root: *const Self) -> Result<PluginRoot, CRootError> {
        if root.is_null() || !root.is_aligned() {
            return Err(CRootError::Misplaced);
        }
        // The fields after the magic number are read only if that is right. Fields are read one by one: a root that
        // states a smaller size may be followed by unrelated data.
        // SAFETY: a symbol of data has at least a word behind it.
        let magic = unsafe { (&raw const (*root).magic).read() };
        if magic != Self::MAGIC {
            return Err(CRootError::Magic);
        }
        // SAFETY: every version of the struct begins with the magic number, its size and its version.
        let (size, version) =
            unsafe { ((&raw const (*root).size).read(), (&raw const (*root).version).read()) };
        if version.major != Self::VERSION.major {
            return Err(CRootError::Version(version));
        }
        if size < size_of::<Self>() as u64 {
            return Err(CRootError::Short(size));
        }
        // SAFETY: it states that it is as large as this.
        let Self { query, attach, .. } = unsafe { root.read() };
        match (query, attach) {
            (Some(query), Some(attach)) => Ok(PluginRoot { query, attach }),
            (None, _) => Err(CRootError::Null("query")),
            (_, None) => Err(CRootError::Null("attach")),
        }
    }
}

/// Why a root in C cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CRootError {
    /// The symbol lies where no struct can.
    Misplaced,
    /// It does not begin with the magic number.
    Magic,
    /// It is of another major version.
    Version(Version),
    /// It states this many bytes, fewer than its first version has.
    Short(u64),
    /// This function is null.
    Null(&'static str),
}

impl fmt::Display for CRootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symbol = CRoot::SYMBOL;
        match self {
            Self::Misplaced => write!(f, "has a symbol `{symbol}` that is not a struct"),
            Self::Magic => write!(f, "has a symbol `{symbol}` without the magic number of a plugin"),
            Self::Version(theirs) => {
                write!(f, "has a plugin root {theirs}, this host knows {}", CRoot::VERSION)
            }
            Self::Short(size) => {
                write!(f, "has a plugin root of {size} bytes instead of {}", size_of::<CRoot>())
            }
            Self::Null(function) => write!(f, "has a plugin root whose `{function}` is null"),
        }
    }
}

impl std::error::Error for CRootError {}

#[cfg(test)]
mod tests {
    use super::{CRoot, CRootError};
    use crate::{HostRoot, RStr, Table, Version};

    extern "C" fn query(_: RStr<'_>) -> Table {
        Table::NONE
    }

    extern "C" fn attach(_: &HostRoot) -> u32 {
        7
    }

    fn read(root: &CRoot) -> Result<(), CRootError> {
        // SAFETY: it is a whole root, whatever it states.
        unsafe { CRoot::read(root) }.map(|_| ())
    }

    #[test]
    fn a_root_is_taken_only_as_far_as_it_is_understood() {
        let right = CRoot::new(query, attach);
        assert_eq!(read(&right), Ok(()));
        let newer = CRoot { size: right.size + 8, version: Version { major: 1, minor: 4 }, ..right };
        assert_eq!(read(&newer), Ok(()), "a root that grew is one");
        let other = Version { major: 2, minor: 0 };
        assert_eq!(read(&CRoot { version: other, ..right }), Err(CRootError::Version(other)));
        assert_eq!(read(&CRoot { magic: 0, ..right }), Err(CRootError::Magic));
        assert_eq!(read(&CRoot { size: right.size - 1, ..right }), Err(CRootError::Short(right.size - 1)));
        assert_eq!(read(&CRoot { query: None, ..right }), Err(CRootError::Null("query")));
        assert_eq!(read(&CRoot { attach: None, ..right }), Err(CRootError::Null("attach")));
        // SAFETY: a null pointer is not read.
        assert_eq!(unsafe { CRoot::read(std::ptr::null()) }.err(), Some(CRootError::Misplaced));
    }
}
