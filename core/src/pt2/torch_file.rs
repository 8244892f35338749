//! Files of `torch.save`: a zip with a pickle and its storages.

use std::cell::RefCell;
use std::collections::HashMap;

use super::pickle::{Heap, Ref, Storages, load};
use crate::diagnose::{Code, Diagnostic};
use crate::tensor::zip_index::{Region, ZipIndex};

/// The length limit of pickles. They contain structure; tensors are stored beside them.
const MAX_PICKLE: u64 = 128 << 20;

/// The contents of a file.
pub(crate) struct TorchFile {
    pub(crate) heap: Heap,
    /// The saved object.
    pub(crate) root: Ref,
    /// The size of all storages of the pickle, shared ones counted once.
    pub(crate) bytes: u64,
}

/// Reads the file in `region`, which the entry `label` of the archive holds.
///
/// # Errors
/// `OP102` and `OP108` for a damaged zip, `OP106` for missing storages, `OP107` for anything in the
/// pickle that is not data.
pub(crate) fn read(region: Region, label: &str) -> Result<TorchFile, Diagnostic> {
    let zip = ZipIndex::open(region, label)?;
    let root = zip.root().to_owned();
    check_byte_order(&zip, &root)?;
    let name = format!("{root}data.pkl");
    let Some(entry) = zip.get(&name) else {
        let message = format!("`{label}` has no `data.pkl`");
        return Err(Diagnostic::error(Code::READ_PAYLOAD, message));
    };
    if entry.size > MAX_PICKLE {
        let message = format!("`{}` has {} bytes", zip.describe(&name), entry.size);
        return Err(Diagnostic::error(Code::READ_SIZE, message));
    }
    let bytes = zip.read(&name, entry)?;
    let place = zip.describe(&name);
    let folder = Folder { zip: &zip, root: &root, regions: RefCell::default() };
    let (heap, root) = load(&bytes, &folder).map_err(|mut problem| {
        problem.message = format!("`{place}`: {}", problem.message);
        problem
    })?;
    let regions = folder.regions.into_inner();
    let bytes = regions.values().fold(0u64, |sum, region| sum.saturating_add(region.len()));
    Ok(TorchFile { heap, root, bytes })
}

/// Refuses an archive that was written on a big-endian machine.
pub(crate) fn check_byte_order(zip: &ZipIndex, root: &str) -> Result<(), Diagnostic> {
    let name = format!("{root}byteorder");
    let Some(entry) = zip.get(&name).filter(|entry| entry.size <= 16) else { return Ok(()) };
    let order = zip.read(&name, entry)?;
    if order.trim_ascii() == b"little" {
        return Ok(());
    }
    let order = String::from_utf8_lossy(&order).into_owned();
    let message = format!("`{}` states that tensors are {order}-endian", zip.describe(&name));
    Err(Diagnostic::error(Code::READ_PAYLOAD, message).help("export on a little-endian machine"))
}

struct Folder<'a> {
    zip: &'a ZipIndex,
    root: &'a str,
    /// Storages by key: a compressed one is decompressed once, however often the pickle names it.
    regions: RefCell<HashMap<String, Region>>,
}

impl Storages for Folder<'_> {
    fn storage(&self, key: &str) -> Result<Region, Diagnostic> {
        if let Some(region) = self.regions.borrow().get(key) {
            return Ok(region.clone());
        }
        let name = format!("{}data/{key}", self.root);
        let entry = self.zip.get(&name).ok_or_else(|| {
            let message = format!("`{}` is missing", self.zip.describe(&name));
            Diagnostic::error(Code::READ_PAYLOAD, message)
        })?;
        let region = self.zip.region(&name, entry)?;
        self.regions.borrow_mut().insert(key.to_owned(), region.clone());
        Ok(region)
    }
}
