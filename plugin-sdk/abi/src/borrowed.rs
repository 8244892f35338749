//! Slices and strings that cross the boundary: a pointer and a length, not checked yet.
//!
//! They are laid out like `RSlice`, `RSliceMut` and `RStr` of `abi_stable`, whose layouts the fingerprints of the
//! contract cover. Unlike those they do not dereference: what came from the other side is read through a check
//! ([`RSlice::get`], [`RStr::get`]) or not at all.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use abi_stable::StableAbi;
use abi_stable::abi_stability::get_static_equivalent::GetStaticEquivalent_;
use abi_stable::std_types;
use abi_stable::type_layout::TypeLayout;

/// The longest list that is read: of records, ids, texts.
pub const MAX_ITEMS: usize = 1 << 24;

/// The longest text that is read, in bytes.
pub const MAX_TEXT: usize = 64 << 20;

/// How much of a message is kept, in bytes.
const MAX_MESSAGE: usize = 64 << 10;

/// Why a slice or a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It has a length and a null pointer.
    Null,
    /// Its pointer is not aligned as its items are.
    Misaligned,
    /// The length exceeds the limit of the reader, or any memory.
    Long {
        /// The length that it states.
        len: usize,
    },
    /// It lies where no memory is.
    Unmapped,
    /// A text that is not UTF-8.
    NotUtf8,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => write!(f, "a null pointer with a length"),
            Self::Misaligned => write!(f, "a pointer that is not aligned"),
            Self::Long { len } => write!(f, "a length of {len}, which cannot be"),
            Self::Unmapped => write!(f, "an invalid pointer"),
            Self::NotUtf8 => write!(f, "a text that is not UTF-8"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Checks that `len` items can lie at `data`. An empty slice needs no memory, and its pointer may be null.
fn check<T>(data: *const T, len: usize, limit: usize) -> Result<(), Malformed> {
    if len == 0 {
        return Ok(());
    }
    let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
    let fits = bytes.is_some_and(|bytes| data.addr().checked_add(bytes).is_some());
    if len > limit || !fits {
        return Err(Malformed::Long { len });
    }
    if data.is_null() {
        return Err(Malformed::Null);
    }
    if data.is_aligned() { Ok(()) } else { Err(Malformed::Misaligned) }
}

/// Items that the other side lends.
#[repr(C)]
pub struct RSlice<'a, T> {
    data: *const T,
    length: usize,
    borrow: PhantomData<&'a [T]>,
}

/// Places that the other side lends to be written.
#[repr(C)]
pub struct RSliceMut<'a, T> {
    data: *mut T,
    length: usize,
    borrow: PhantomData<&'a mut [T]>,
}

/// A text that the other side lends.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct RStr<'a> {
    bytes: RSlice<'a, u8>,
}

impl<'a, T> RSlice<'a, T> {
    /// No items. The pointer is not null, for readers of older builds.
    pub const EMPTY: Self = Self::from_slice(&[]);

    /// The items of a slice.
    pub const fn from_slice(items: &'a [T]) -> Self {
        Self { data: items.as_ptr(), length: items.len(), borrow: PhantomData }
    }

    /// A slice of any pointer and length. Nothing reads it without a check, which cannot see everything.
    ///
    /// # Safety
    /// For as long as `'a`, `length` items lie at `data`, or the check refuses the two.
    pub const unsafe fn from_raw_parts(data: *const T, length: usize) -> Self {
        Self { data, length, borrow: PhantomData }
    }

    /// Where the items are said to lie.
    pub const fn as_ptr(&self) -> *const T {
        self.data
    }

    /// How many items there are said to be.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether there are said to be none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The items.
    ///
    /// # Errors
    /// When memory cannot hold them as stated.
    pub fn get(self) -> Result<&'a [T], Malformed> {
        self.at_most(usize::MAX)
    }

    /// The items of a list.
    ///
    /// # Errors
    /// As [`RSlice::get`], and when there are more than [`MAX_ITEMS`].
    pub fn list(self) -> Result<&'a [T], Malformed> {
        self.at_most(MAX_ITEMS)
    }

    fn at_most(self, limit: usize) -> Result<&'a [T], Malformed> {
        check(self.data, self.length, limit)?;
        if self.length == 0 {
            return Ok(&[]);
        }
        // SAFETY: the pointer is aligned and not null, and the length fits memory. The other side guarantees that
        // the items exist.
        Ok(unsafe { std::slice::from_raw_parts(self.data, self.length) })
    }
}

impl<'a, T> RSliceMut<'a, T> {
    /// Returns a slice that the other side can write to.
    pub fn from_mut_slice(items: &'a mut [T]) -> Self {
        Self { data: items.as_mut_ptr(), length: items.len(), borrow: PhantomData }
    }

    /// Returns the stated number of items, unchecked.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are said to be none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the items.
    ///
    /// # Errors
    /// If memory cannot hold them as stated.
    pub fn get(self) -> Result<&'a mut [T], Malformed> {
        self.at_most(usize::MAX)
    }

    /// Returns the items of a list.
    ///
    /// # Errors
    /// As [`RSliceMut::get`], and if there are more than [`MAX_ITEMS`].
    pub fn list(self) -> Result<&'a mut [T], Malformed> {
        self.at_most(MAX_ITEMS)
    }

    fn at_most(self, limit: usize) -> Result<&'a mut [T], Malformed> {
        check(self.data, self.length, limit)?;
        if self.length == 0 {
            return Ok(&mut []);
        }
        // SAFETY: as in `RSlice::at_most`; the borrow is exclusive because this type is neither `Copy` nor `Clone`.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.data, self.length) })
    }
}

impl<'a> RStr<'a> {
    /// The empty text.
    pub const EMPTY: Self = Self::from_str("");

    /// A text.
    pub const fn from_str(text: &'a str) -> Self {
        Self { bytes: RSlice::from_slice(text.as_bytes()) }
    }

    /// A text of any pointer and length. Nothing reads it without a check, which cannot see everything.
    ///
    /// # Safety
    /// As [`RSlice::from_raw_parts`]; the bytes need not be UTF-8.
    pub const unsafe fn from_raw_parts(data: *const u8, length: usize) -> Self {
        // SAFETY: the caller's.
        Self { bytes: unsafe { RSlice::from_raw_parts(data, length) } }
    }

    /// How many bytes there are said to be.
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are said to be none.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes.
    pub const fn bytes(self) -> RSlice<'a, u8> {
        self.bytes
    }

    /// The text.
    ///
    /// # Errors
    /// When it is longer than [`MAX_TEXT`], cannot be in memory as stated, or is not UTF-8.
    pub fn get(self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes.at_most(MAX_TEXT)?).map_err(|_| Malformed::NotUtf8)
    }

    /// Returns the text for display: invalid UTF-8 is replaced, and a long text is truncated.
    pub fn message(self) -> Cow<'a, str> {
        let bytes = match self.bytes.get() {
            Ok(bytes) => bytes,
            Err(malformed) => return Cow::Owned(format!("({malformed} instead of a message)")),
        };
        match bytes.get(..MAX_MESSAGE) {
            None => String::from_utf8_lossy(bytes),
            Some(head) => Cow::Owned(format!("{} …", String::from_utf8_lossy(head))),
        }
    }
}

impl<T> Clone for RSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RSlice<'_, T> {}

impl<T> Default for RSlice<'_, T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Default for RStr<'_> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a, T> From<&'a [T]> for RSlice<'a, T> {
    fn from(items: &'a [T]) -> Self {
        Self::from_slice(items)
    }
}

impl<'a, T> From<&'a mut [T]> for RSliceMut<'a, T> {
    fn from(items: &'a mut [T]) -> Self {
        Self::from_mut_slice(items)
    }
}

impl<'a> From<&'a str> for RStr<'a> {
    fn from(text: &'a str) -> Self {
        Self::from_str(text)
    }
}

impl<T: fmt::Debug> fmt::Debug for RSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(items) => items.fmt(f),
            Err(malformed) => write!(f, "<{malformed}>"),
        }
    }
}

impl fmt::Debug for RStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(text) => text.fmt(f),
            Err(malformed) => write!(f, "<{malformed}>"),
        }
    }
}

// SAFETY: it represents a `&[T]`.
unsafe impl<'a, T> Send for RSlice<'a, T> where &'a [T]: Send {}
// SAFETY: it represents a `&[T]`.
unsafe impl<'a, T> Sync for RSlice<'a, T> where &'a [T]: Sync {}
// SAFETY: it represents a `&mut [T]`.
unsafe impl<'a, T> Send for RSliceMut<'a, T> where &'a mut [T]: Send {}
// SAFETY: it represents a `&mut [T]`.
unsafe impl<'a, T> Sync for RSliceMut<'a, T> where &'a mut [T]: Sync {}

/// Gives a type the layout of its counterpart in `abi_stable`, by which both sides know it.
macro_rules! laid_out_like {
    ($([$($generic:tt)*] $own:ty => $other:ty, $equivalent:ty;)*) => {$(
        // SAFETY: the equivalent is that of the counterpart, which is told from every other type.
        unsafe impl<$($generic)*> GetStaticEquivalent_ for $own {
            type StaticEquivalent = $equivalent;
        }

        // SAFETY: the fields are the counterpart's, in its order, of its types; the test below holds sizes and
        // alignments against each other.
        unsafe impl<$($generic)*> StableAbi for $own {
            type IsNonZeroType = <$other as StableAbi>::IsNonZeroType;

            const LAYOUT: &'static TypeLayout = <$other as StableAbi>::LAYOUT;
        }
    )*};
}

laid_out_like! {
    ['a, T: StableAbi + 'a] RSlice<'a, T> => std_types::RSlice<'a, T>,
        <std_types::RSlice<'a, T> as GetStaticEquivalent_>::StaticEquivalent;
    ['a, T: StableAbi + 'a] RSliceMut<'a, T> => std_types::RSliceMut<'a, T>,
        <std_types::RSliceMut<'a, T> as GetStaticEquivalent_>::StaticEquivalent;
    ['a] RStr<'a> => std_types::RStr<'a>, <std_types::RStr<'a> as GetStaticEquivalent_>::StaticEquivalent;
}

#[cfg(test)]
mod tests {
    use std::mem::{align_of, offset_of, size_of};

    use abi_stable::std_types;

    use super::{MAX_ITEMS, MAX_TEXT, Malformed, RSlice, RSliceMut, RStr};

    #[test]
    fn the_layouts_are_those_of_the_counterparts() {
        let own = [size_of::<RSlice<'_, u16>>(), size_of::<RSliceMut<'_, u16>>(), size_of::<RStr<'_>>()];
        let other = [
            size_of::<std_types::RSlice<'_, u16>>(),
            size_of::<std_types::RSliceMut<'_, u16>>(),
            size_of::<std_types::RStr<'_>>(),
        ];
        assert_eq!(own, other);
        assert_eq!(align_of::<RSlice<'_, u16>>(), align_of::<std_types::RSlice<'_, u16>>());
        assert_eq!(
            (offset_of!(RSlice<'_, u16>, data), offset_of!(RSlice<'_, u16>, length)),
            (0, size_of::<usize>())
        );
        let theirs = std_types::RStr::from_str("both");
        // SAFETY: the two have the same fields.
        let ours = unsafe { std::mem::transmute::<std_types::RStr<'_>, RStr<'_>>(theirs) };
        assert_eq!(ours.get(), Ok("both"));
    }

    #[test]
    fn what_cannot_be_is_refused_before_it_is_read() {
        // SAFETY: the checks refuse all of these before they are read.
        let slice = |at: usize, len| unsafe {
            RSlice::<'_, u64>::from_raw_parts(std::ptr::without_provenance(at), len).get()
        };
        assert_eq!(slice(0, 0), Ok(&[][..]), "nothing needs no memory");
        assert_eq!(slice(0, 1), Err(Malformed::Null));
        assert_eq!(slice(9, 1), Err(Malformed::Misaligned));
        assert_eq!(slice(8, 1 << 61), Err(Malformed::Long { len: 1 << 61 }));
        assert_eq!(slice(usize::MAX - 7, 2), Err(Malformed::Long { len: 2 }), "around the end of memory");
        // SAFETY: as above.
        let list = unsafe { RSlice::<'_, u8>::from_raw_parts(std::ptr::dangling(), MAX_ITEMS + 1) };
        assert_eq!(list.list(), Err(Malformed::Long { len: MAX_ITEMS + 1 }));
        // SAFETY: as above.
        let text = unsafe { RStr::from_raw_parts(std::ptr::dangling(), MAX_TEXT + 1) };
        assert_eq!(text.get(), Err(Malformed::Long { len: MAX_TEXT + 1 }));
        // SAFETY: as above.
        assert_eq!(unsafe { RStr::from_raw_parts(std::ptr::null(), 0) }.get(), Ok(""));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_or_replaced() {
        for bytes in [&b"caf\xe9"[..], b"Re\xff\xfelu", b"cut \xe2\x82", b"b\xf0 x"] {
            // SAFETY: the bytes live on.
            let text = unsafe { RStr::from_raw_parts(bytes.as_ptr(), bytes.len()) };
            assert_eq!(text.get(), Err(Malformed::NotUtf8));
            assert!(text.message().contains('\u{fffd}'));
        }
        let long = "é".repeat(1 << 20);
        let message = RStr::from_str(&long).message();
        assert!(message.len() < 70 << 10 && message.ends_with('…'), "{} bytes", message.len());
    }
}
