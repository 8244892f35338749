//! An index over a zip archive in mapped memory. Entries are used in place; only compressed ones, which few writers
//! produce, are copied.

use std::borrow::Cow;
use std::io::{self, Cursor, Read};

use bytes::Bytes;
use indexmap::IndexMap;
use zip::read::{ArchiveOffset, Config};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::{Checksum, MappedFile, Source};

/// Archives with more entries than this are refused.
const MAX_ENTRIES: usize = 4_000_000;

/// A compressed entry may always grow to this size.
const INFLATE_FLOOR: u64 = 64 << 20;

/// Beyond [`INFLATE_FLOOR`], a compressed entry may grow to this multiple of its compressed size.
const INFLATE_RATIO: u64 = 64;

/// Contiguous bytes: a range of a mapped file, or a copy in memory.
#[derive(Clone, Debug)]
pub enum Region {
    /// `offset..offset + len` of a mapped file.
    Mapped {
        /// The file.
        file: MappedFile,
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        len: u64,
    },
    /// Bytes in memory.
    Memory(Bytes),
}

impl Region {
    /// The whole of a mapped file.
    pub fn whole(file: MappedFile) -> Self {
        let len = file.bytes().len() as u64;
        Self::Mapped { file, offset: 0, len }
    }

    /// The number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Region::Mapped { len, .. } => *len,
            Region::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part of `len` bytes from `start`, if it lies inside.
    pub fn slice(&self, start: u64, len: u64) -> Option<Self> {
        let end = start.checked_add(len).filter(|end| *end <= self.len())?;
        Some(match self {
            Region::Mapped { file, offset, .. } => {
                Region::Mapped { file: file.clone(), offset: offset.checked_add(start)?, len }
            }
            Region::Memory(bytes) => {
                Region::Memory(bytes.slice(usize::try_from(start).ok()?..usize::try_from(end).ok()?))
            }
        })
    }

    /// The same bytes as the source of a tensor.
    pub fn into_source(self) -> Source {
        match self {
            Region::Mapped { file, offset, len } => Source::Mapped { file, offset, len },
            Region::Memory(bytes) => Source::Inline(bytes),
        }
    }
}

impl AsRef<[u8]> for Region {
    fn as_ref(&self) -> &[u8] {
        match self {
            Region::Mapped { file, offset, len } => {
                let range = *offset as usize..offset.saturating_add(*len) as usize;
                file.bytes().get(range).unwrap_or_default()
            }
            Region::Memory(bytes) => bytes,
        }
    }
}

/// An entry of an archive.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The offset of its bytes from the start of the archive.
    pub offset: u64,
    /// Its size when stored or decompressed.
    pub size: u64,
    /// Its size in the archive.
    pub compressed_size: u64,
    /// Whether its bytes can be used in place.
    pub stored: bool,
    index: usize,
}

/// A zip archive and where each of its entries lies.
#[derive(Clone, Debug)]
pub struct ZipIndex {
    region: Region,
    archive: ZipArchive<Cursor<Region>>,
    entries: IndexMap<String, Entry>,
    label: String,
}

impl ZipIndex {
    /// Indexes the archive in `region`. `label` names it in diagnostics: empty for the file itself,
    /// else the entry that holds it.
    ///
    /// # Errors
    /// `OP102` for a damaged archive, a name that occurs twice or entries that overlap; `OP108` for
    /// sizes that cannot be.
    pub fn open(region: Region, label: &str) -> Result<Self, Diagnostic> {
        let place = if label.is_empty() { "the archive".to_owned() } else { format!("`{label}`") };
        let damaged = |e: ZipError| {
            Diagnostic::error(Code::READ_ARCHIVE, format!("{place} is not a readable zip archive: {e}"))
                .help("the file may be truncated or partly downloaded: save or copy it again")
        };
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let mut archive = ZipArchive::with_config(config, Cursor::new(region.clone())).map_err(damaged)?;
        if archive.has_duplicate_names() {
            let message = format!("{place} has two entries of the same name");
            return Err(Diagnostic::error(Code::READ_ARCHIVE, message));
        }
        if archive.len() > MAX_ENTRIES {
            let message = format!("{place} has {} entries", archive.len());
            return Err(Diagnostic::error(Code::READ_SIZE, message));
        }
        let mut entries = IndexMap::with_capacity(archive.len());
        let mut checksums = Vec::new();
        for index in 0..archive.len() {
            let file = archive.by_index_raw(index).map_err(damaged)?;
            if file.is_dir() {
                continue;
            }
            let name = file.name().map_err(damaged)?.into_owned();
            let entry = Entry {
                offset: file.data_start().unwrap_or(u64::MAX),
                size: file.size(),
                compressed_size: file.compressed_size(),
                stored: file.compression() == CompressionMethod::Stored,
                index,
            };
            check_entry(&entry, &name, &place, region.len(), file.encrypted(), file.compression())?;
            if let (Region::Mapped { offset, .. }, true) = (&region, entry.stored && entry.size > 0) {
                let start = offset.saturating_add(entry.offset);
                let range = start..start.saturating_add(entry.size);
                let shown = if label.is_empty() { name.clone() } else { format!("{label}!{name}") };
                // PyTorch writes 0 where it was told not to compute any.
                let sum = Checksum { name: shown, range, crc: file.crc32() };
                checksums.extend((sum.crc != 0).then_some(sum));
            }
            entries.insert(name, entry);
        }
        let inflated = entries.values().filter(|entry: &&Entry| !entry.stored);
        let inflated = inflated.fold(0u64, |sum, entry| sum.saturating_add(entry.size));
        if inflated > inflate_limit(region.len()) {
            let message = format!("the entries of {place} would grow to {inflated} bytes");
            return Err(Diagnostic::error(Code::READ_SIZE, message));
        }
        if archive.has_overlapping_entries().map_err(damaged)? {
            let message = format!("{place} has overlapping entries");
            return Err(Diagnostic::error(Code::READ_ARCHIVE, message));
        }
        if let Region::Mapped { file, .. } = &region {
            file.state_checksums(checksums);
        }
        Ok(Self { region, archive, entries, label: label.to_owned() })
    }

    /// Every entry with its name, in the archive's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// The entry called `name`.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// How diagnostics name the entry `name` of this archive.
    pub fn describe(&self, name: &str) -> String {
        if self.label.is_empty() { name.to_owned() } else { format!("{}!{name}", self.label) }
    }

    /// The folder that holds every entry, with its slash; empty if there is none.
    pub fn root(&self) -> &str {
        let folder = |name: &'_ str| name.find('/').map(|at| at + 1);
        let Some((first, _)) = self.entries.first() else { return "" };
        let Some(root) = folder(first).and_then(|end| first.get(..end)) else { return "" };
        if self.entries.keys().all(|name| name.starts_with(root)) { root } else { "" }
    }

    /// Returns the bytes of an entry, in place if it is stored. They are not read; the mapped file keeps their
    /// checksum for later.
    ///
    /// # Errors
    /// `OP108` if a compressed entry would expand to an absurd size, `OP102` if it is damaged.
    pub fn region(&self, name: &str, entry: &Entry) -> Result<Region, Diagnostic> {
        if !entry.stored {
            return self.inflate(name, entry).map(|bytes| Region::Memory(bytes.into()));
        }
        self.region.slice(entry.offset, entry.size).ok_or_else(|| {
            let message = format!("`{}` reaches beyond the end of the archive", self.describe(name));
            Diagnostic::error(Code::READ_SIZE, message)
        })
    }

    /// The bytes of an entry, with its checksum verified.
    ///
    /// # Errors
    /// As [`ZipIndex::region`], and `OP102` for a wrong checksum.
    pub fn read(&self, name: &str, entry: &Entry) -> Result<Cow<'_, [u8]>, Diagnostic> {
        if !entry.stored {
            return self.inflate(name, entry).map(Cow::Owned);
        }
        let mut archive = self.archive.clone();
        let mut file = archive.by_index(entry.index).map_err(|e| self.damaged(name, &e))?;
        io::copy(&mut file, &mut io::sink()).map_err(|e| self.damaged(name, &e))?;
        let range = entry.offset as usize..entry.offset.saturating_add(entry.size) as usize;
        Ok(Cow::Borrowed(self.region.as_ref().get(range).unwrap_or_default()))
    }

    fn inflate(&self, name: &str, entry: &Entry) -> Result<Vec<u8>, Diagnostic> {
        if entry.size > inflate_limit(entry.compressed_size) {
            let message = format!(
                "`{}` would grow from {} to {} bytes",
                self.describe(name),
                entry.compressed_size,
                entry.size
            );
            return Err(Diagnostic::error(Code::READ_SIZE, message)
                .help("if the archive is sound, store its entries without compression"));
        }
        let mut archive = self.archive.clone();
        let file = archive.by_index(entry.index).map_err(|e| self.damaged(name, &e))?;
        // The declared size is only a claim: nothing is reserved for it before bytes arrive.
        let mut bytes = Vec::new();
        file.take(entry.size.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| self.damaged(name, &e))?;
        if bytes.len() as u64 != entry.size {
            let message = format!("`{}` does not have its declared size", self.describe(name));
            return Err(Diagnostic::error(Code::READ_SIZE, message));
        }
        Ok(bytes)
    }

    fn damaged(&self, name: &str, error: &dyn std::fmt::Display) -> Diagnostic {
        let message = format!("`{}` is damaged: {error}", self.describe(name));
        Diagnostic::error(Code::READ_ARCHIVE, message)
    }
}

/// The size to which `compressed` bytes may grow.
fn inflate_limit(compressed: u64) -> u64 {
    compressed.saturating_mul(INFLATE_RATIO).max(INFLATE_FLOOR)
}

fn check_entry(
    entry: &Entry,
    name: &str,
    place: &str,
    archive_len: u64,
    encrypted: bool,
    compression: CompressionMethod,
) -> Result<(), Diagnostic> {
    if encrypted || !matches!(compression, CompressionMethod::Stored | CompressionMethod::Deflated) {
        let how = if encrypted { "encrypted".to_owned() } else { format!("compressed with {compression}") };
        return Err(Diagnostic::error(Code::READ_ARCHIVE, format!("`{name}` in {place} is {how}")));
    }
    let end = entry.offset.checked_add(entry.compressed_size);
    if end.is_none_or(|end| end > archive_len) {
        let message = format!("`{name}` in {place} reaches beyond the end of the archive");
        return Err(Diagnostic::error(Code::READ_SIZE, message));
    }
    if entry.stored && entry.size != entry.compressed_size {
        let message = format!(
            "`{name}` in {place} is stored in {} bytes and declares {}",
            entry.compressed_size, entry.size
        );
        return Err(Diagnostic::error(Code::READ_SIZE, message));
    }
    Ok(())
}
