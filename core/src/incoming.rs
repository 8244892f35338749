//! Descriptions of plugins: validated when the plugin is attached, then read through [`Validated`].
//!
//! Values that plugins hand over during a call are checked on arrival, by [`RSlice::get`] and
//! [`RStr::get`].

use onnxport_abi::{Malformed, RSlice, RStr};

/// Validates a list that lives as long as the process.
///
/// # Errors
/// If its address is invalid, if it is longer than any list can be, or if it lies in unmapped memory.
pub(crate) fn list<T>(items: RSlice<'static, T>) -> Result<&'static [T], Malformed> {
    let start = items.as_ptr().cast::<u8>();
    let found = items.list()?;
    if found.is_empty() || mapped(start, size_of_val(found)) { Ok(found) } else { Err(Malformed::Unmapped) }
}

/// Returns the texts that a plugin hands over during a call; `None` if one of them is malformed.
pub(crate) fn strings(texts: RSlice<'_, RStr<'_>>) -> Option<Vec<String>> {
    texts.list().ok()?.iter().map(|text| text.get().ok().map(str::to_owned)).collect()
}

/// Returns the sizes of a tensor that a plugin hands over; `None` if ONNX has no such tensor.
pub(crate) fn extents(dims: RSlice<'_, u64>) -> Option<Vec<u64>> {
    let dims = dims.list().ok()?;
    dims.iter().all(|extent| i64::try_from(*extent).is_ok()).then(|| dims.to_vec())
}

/// Whether memory is mapped at each of `len` bytes from `start`. It may still not be readable.
#[cfg(target_os = "linux")]
fn mapped(start: *const u8, len: usize) -> bool {
    const PAGES: usize = 4096;
    // SAFETY: a question to the system.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096).max(1);
    let first = start.addr() / page * page;
    let end = start.addr().saturating_add(len);
    let mut told = [0_u8; PAGES];
    (first..end).step_by(page * PAGES).all(|at| {
        let size = (end - at).min(page * PAGES);
        // SAFETY: there is a byte for each page in question; the pages themselves are not touched.
        let answer =
            unsafe { libc::mincore(start.with_addr(at).cast_mut().cast(), size, told.as_mut_ptr().cast()) };
        answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOMEM)
    })
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
fn mapped(_: *const u8, _: usize) -> bool {
    true
}

/// A value that was validated when its plugin was attached. If the plugin has changed it since, it reads as empty.
pub trait Validated {
    /// The result of reading it.
    type Read;

    /// The items, the text.
    fn validated(self) -> Self::Read;
}

impl<'a, T> Validated for RSlice<'a, T> {
    type Read = &'a [T];

    fn validated(self) -> &'a [T] {
        self.list().unwrap_or_default()
    }
}

impl<'a> Validated for RStr<'a> {
    type Read = &'a str;

    fn validated(self) -> &'a str {
        self.get().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use onnxport_abi::{Malformed, RSlice, RStr};

    use super::{list, strings};

    #[test]
    fn what_is_there_is_read() {
        static NUMBERS: [u64; 1000] = [7; 1000];
        assert_eq!(list(RSlice::from_slice(&NUMBERS)), Ok(&NUMBERS[..]));
        assert_eq!(list(RSlice::<'_, u64>::EMPTY), Ok(&[][..]));
        assert_eq!(strings(RSlice::from_slice(&[RStr::from_str("é")])), Some(vec!["é".to_owned()]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_that_is_not_there_is_not_read() {
        static ONE: u64 = 1;
        // SAFETY: the check refuses unmapped memory, which is the point of the test.
        let numbers = unsafe { RSlice::<'static, u64>::from_raw_parts(std::ptr::without_provenance(64), 3) };
        assert_eq!(list(numbers), Err(Malformed::Unmapped));
        // SAFETY: as above; the stated range reaches beyond everything that a test maps behind it.
        let long = unsafe { RSlice::<'static, u64>::from_raw_parts(&raw const ONE, 1 << 24) };
        assert_eq!(list(long), Err(Malformed::Unmapped));
    }
}
