//! Checks that the file of a library is complete.
//!
//! The loader maps the ranges that the headers state and ignores the length of the file; using memory past its end
//! kills the process.

/// Returns the least length in bytes of a 64-bit ELF file by its own headers; `None` if it is not such a
/// file, or if its headers cannot be read, for which the loader has a better message.
pub(super) fn stated_len(file: &[u8]) -> Option<u64> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |at: usize| Some(u16::from_le_bytes(file.get(at..)?.first_chunk().copied()?));
    let word = |at: usize| Some(u32::from_le_bytes(file.get(at..)?.first_chunk().copied()?));
    let long = |at: usize| Some(u64::from_le_bytes(file.get(at..)?.first_chunk().copied()?));
    let (programs, program_size, program_count) = (long(0x20)?, half(0x36)?, half(0x38)?);
    let (sections, section_size, section_count) = (long(0x28)?, half(0x3a)?, half(0x3c)?);
    let mut end = sections.checked_add(u64::from(section_size) * u64::from(section_count))?;
    end = end.max(programs.checked_add(u64::from(program_size) * u64::from(program_count))?);
    for index in 0..u64::from(program_count) {
        let at = usize::try_from(programs.checked_add(index * u64::from(program_size))?).ok()?;
        // PT_LOAD: a mapped segment.
        if word(at) == Some(1) {
            end = end.max(long(at.checked_add(8)?)?.checked_add(long(at.checked_add(32)?)?)?);
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::stated_len;

    #[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
    #[test]
    fn a_whole_file_has_what_it_states() {
        let own = std::fs::read(std::env::current_exe().expect("this test")).expect("its file");
        let stated = stated_len(&own).expect("an ELF file");
        assert!(stated <= own.len() as u64 && stated > own.len() as u64 / 2, "{stated} of {}", own.len());
        let head = own.get(..4096).expect("a page");
        assert_eq!(stated_len(head), Some(stated), "the headers that count stand in front");
    }

    #[test]
    fn what_is_no_library_states_nothing() {
        for file in [&b""[..], b"\x7fELF", b"\x7fELF\x02\x01 and no more", b"MZ", &[0xff; 64]] {
            assert_eq!(stated_len(file), None, "{file:?}");
        }
        let mut wild = [0xff; 64];
        wild.get_mut(..6).expect("six bytes").copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(stated_len(&wild), None, "its tables lie around the end of numbers");
    }
}
