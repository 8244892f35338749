//! The index of zip archives: it refuses damage, and finds what an archive has.

use std::io::{Cursor, Write};

use arbitrary::{Result, Unstructured};
use onnxport_ir::tensor::zip_index::{Region, ZipIndex};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An entry to write.
struct Entry {
    name: String,
    content: Vec<u8>,
    deflate: bool,
}

pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    if mode % 2 == 0 {
        read(rest);
        return;
    }
    let _ = written(&mut Unstructured::new(rest));
}

/// Reads an archive of chosen entries, which is then damaged.
fn written(u: &mut Unstructured<'_>) -> Result<()> {
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..u.int_in_range(0..=5)? {
        let folder = u.choose(&["", "", "a/", "a/b/", "../", "/"])?;
        let name = format!("{folder}{}", u.choose(&["x", "y", "data.pkl", "é", "version", "x\\y"])?);
        let len = u.int_in_range(0..=40)?;
        let content = u.bytes(len)?.to_vec();
        let deflate = u.ratio(1, 3)?;
        if entries.iter().all(|entry| entry.name != name) {
            entries.push(Entry { name, content, deflate });
        }
    }
    let mut bytes = zip(&entries);
    let patches = u.int_in_range(0..=4)?;
    for _ in 0..patches {
        // Records of entries are at the end.
        let at = usize::from(u.arbitrary::<u16>()?) % bytes.len();
        let at = bytes.len() - 1 - at;
        bytes[at] = u.arbitrary()?;
    }
    let index = read(&bytes);
    if patches == 0 {
        let index = index.expect("a sound archive");
        assert_eq!(index.iter().count(), entries.len());
        for entry in &entries {
            let found = index.get(&entry.name).expect("an entry of the archive");
            assert_eq!(found.stored, !entry.deflate);
            assert_eq!(*index.read(&entry.name, found).expect("a sound entry"), *entry.content);
        }
    }
    Ok(())
}

fn zip(entries: &[Entry]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for Entry { name, content, deflate } in entries {
        let method = if *deflate { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        writer.start_file(name, SimpleFileOptions::default().compression_method(method)).expect("an entry");
        writer.write_all(content).expect("an entry");
    }
    writer.finish().expect("an archive").into_inner()
}

/// Reads every entry of an archive, if it is one.
fn read(bytes: &[u8]) -> Option<ZipIndex> {
    let index = ZipIndex::open(Region::Memory(bytes.to_vec().into()), "").ok()?;
    assert!(index.root().is_empty() || index.root().ends_with('/'));
    let mut ends = Vec::new();
    for (name, entry) in index.iter() {
        assert!(name.starts_with(index.root()));
        assert!(index.describe(name).ends_with(name));
        assert!(entry.offset + entry.compressed_size <= bytes.len() as u64, "{name} lies outside");
        ends.push((entry.offset, entry.offset + entry.compressed_size));
        let region = index.region(name, entry);
        if let Ok(region) = &region {
            assert_eq!(region.len(), entry.size, "{name} has another size");
            assert_eq!(region.as_ref().len() as u64, entry.size);
        }
        if let Ok(read) = index.read(name, entry) {
            assert_eq!(*read, *region.expect("an entry that was read").as_ref(), "{name} has two contents");
        }
    }
    ends.sort_unstable();
    assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "entries overlap");
    Some(index)
}
