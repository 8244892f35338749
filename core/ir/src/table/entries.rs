//! The names of the entries of zip archives, by offset.

use std::collections::HashMap;

use crate::tensor::MappedFile;
use crate::tensor::zip_index::{Region, ZipIndex};

/// Archives lie in archives this deep at most: a file of `torch.save` in an exported program.
const DEPTH: usize = 2;

/// The archives among the files that hold tensors.
#[derive(Default)]
pub(super) struct Entries {
    files: Vec<(MappedFile, Option<Archive>)>,
}

impl Entries {
    /// Returns the entry that holds `len` bytes of `file` from `offset` on; `None` if the file is not an archive.
    pub(super) fn name(&mut self, file: &MappedFile, offset: u64, len: u64) -> Option<String> {
        let at = self.files.iter().rposition(|(known, _)| known.same(file)).unwrap_or_else(|| {
            self.files.push((file.clone(), Archive::open(&Region::whole(file.clone()), "", 0)));
            self.files.len() - 1
        });
        self.files.get_mut(at)?.1.as_mut()?.name(offset, len, DEPTH)
    }
}

/// The stored entries of an archive.
struct Archive {
    /// The offset, region and name of each entry, sorted.
    entries: Vec<(u64, Region, String)>,
    /// The nested archives, by index of their entry.
    nested: HashMap<usize, Option<Archive>>,
}

impl Archive {
    /// The archive in `region`, which starts at `offset` of its file.
    fn open(region: &Region, label: &str, offset: u64) -> Option<Self> {
        if !region.as_ref().starts_with(b"PK") {
            return None;
        }
        let zip = ZipIndex::open(region.clone(), label).ok()?;
        let stored = zip.iter().filter(|(_, entry)| entry.stored);
        let place = |(name, entry): (&str, &crate::tensor::zip_index::Entry)| {
            let region = region.slice(entry.offset, entry.size)?;
            Some((offset.checked_add(entry.offset)?, region, zip.describe(name)))
        };
        let mut entries: Vec<_> = stored.filter_map(place).collect();
        entries.sort_by_key(|(start, ..)| *start);
        Some(Self { entries, nested: HashMap::new() })
    }

    fn name(&mut self, offset: u64, len: u64, depth: usize) -> Option<String> {
        // Of entries that start at one byte only the last can hold any.
        let at = self.entries.partition_point(|(start, ..)| *start <= offset).checked_sub(1)?;
        let (start, region, name) = self.entries.get(at)?;
        if offset.checked_add(len)? > start.checked_add(region.len())? {
            return None;
        }
        if len < region.len() && depth > 1 {
            let nested = self.nested.entry(at).or_insert_with(|| Self::open(region, name, *start));
            if let Some(found) = nested.as_mut().and_then(|nested| nested.name(offset, len, depth - 1)) {
                return Some(found);
            }
        }
        Some(name.clone())
    }
}
