//! Flushes written files to disk, before anything refers to them.

use std::fs::File;
use std::io;
use std::path::Path;

/// Flushes a file with all that is in it.
///
/// # Errors
/// Those of the system, which says each once.
pub(super) fn file(file: &File) -> io::Result<()> {
    #[cfg(test)]
    tests::note(file);
    file.sync_all()
}

/// Flushes the names in a folder. Not every file system can; the files themselves are safe.
pub(super) fn folder(path: &Path) {
    if let Ok(folder) = File::open(path) {
        let _ = file(&folder);
    }
}

#[cfg(all(test, not(unix)))]
mod tests {
    pub(super) fn note(_file: &std::fs::File) {}
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::RefCell;
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use crate::ir::{Model, OpsetImport};
    use crate::tensor::{DType, LazyTensor};
    use crate::write::{ExternalData, WriteOptions, package, write};

    thread_local! {
        /// The files that this thread flushed.
        static FLUSHED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn note(file: &File) {
        let inode = file.metadata().unwrap().ino();
        FLUSHED.with_borrow_mut(|flushed| flushed.push(inode));
    }

    fn model() -> Model {
        let mut model = Model::default();
        model.opsets.push(OpsetImport { domain: String::new(), version: 20 });
        let main = model.graph.main();
        let data = LazyTensor::inline(DType::U8, vec![4096], vec![7; 4096]);
        let value = model.graph.add_weight(Some("w".into()), data);
        model.graph.add_output(main, value);
        model.output_names.push("y".to_owned());
        model
    }

    /// Whether the folder and everything in it was flushed, the folder after the last file.
    fn is_safe(folder: &Path) -> bool {
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        FLUSHED.with_borrow(|flushed| {
            let last = |inode: u64| flushed.iter().rposition(|other| *other == inode);
            let files = fs::read_dir(folder).unwrap().map(|entry| last(inode(&entry.unwrap().path())));
            let files: Option<Vec<usize>> = files.collect();
            files.is_some_and(|files| last(inode(folder)) > files.into_iter().max())
        })
    }

    #[test]
    fn everything_is_on_the_disk_before_it_is_done() {
        let parent = tempfile::tempdir().unwrap();
        let external = ExternalData::External;
        let options = WriteOptions { external_data: external, manifest: true, ..WriteOptions::default() };
        let folder = parent.path().join("model");
        fs::create_dir(&folder).unwrap();
        write(&model(), &folder.join("m.onnx"), &options).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        assert!(is_safe(&folder));
        let folder = parent.path().join("package");
        package(vec![("m".to_owned(), model())], &folder, &options).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        assert!(is_safe(&folder));
        // The name of the folder as well.
        let parent = fs::metadata(parent.path()).unwrap().ino();
        assert!(FLUSHED.with_borrow(|flushed| flushed.last() == Some(&parent)));
    }
}
