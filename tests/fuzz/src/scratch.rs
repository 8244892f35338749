//! Files for code that maps its input. `TMPDIR` should name a folder in memory.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// Returns the folder of this thread, which lives as long as the thread.
pub(crate) fn folder() -> PathBuf {
    FOLDER.with_borrow_mut(|folder| {
        let folder = folder.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder"));
        folder.path().to_owned()
    })
}

/// Runs `work` on a file called `name` with these contents.
pub(crate) fn with_file<T>(name: &str, contents: &[u8], work: impl FnOnce(&Path) -> T) -> T {
    let path = folder().join(name);
    std::fs::write(&path, contents).expect("a writable temporary folder");
    let result = work(&path);
    // A new file for the next run: a mapping that outlives `work` keeps its contents.
    std::fs::remove_file(&path).expect("the file");
    result
}
