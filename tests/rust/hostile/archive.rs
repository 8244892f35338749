//! A small sound archive, to be broken in one way at a time.

use std::io::{Cursor, Read, Write};

use serde_json::Value;
use tempfile::NamedTempFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const BASE: &[u8] = include_bytes!("../../files/golden/torch-2.15.0/mlp.pt2");

/// The entries of an archive, in order.
#[derive(Clone)]
pub(crate) struct Archive {
    pub(crate) entries: Vec<(String, Vec<u8>)>,
    /// The entries that are compressed, by the end of their names.
    pub(crate) deflated: Vec<&'static str>,
}

impl Archive {
    /// A sound archive of PyTorch 2.15.
    pub(crate) fn base() -> Self {
        Self { entries: unzip(BASE), deflated: Vec::new() }
    }

    /// An archive of these entries.
    pub(crate) fn from_entries(entries: &[(&str, &[u8])]) -> Self {
        let entries = entries.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
        Self { entries, deflated: Vec::new() }
    }

    /// The bytes of the entry whose name ends so.
    pub(crate) fn entry(&mut self, suffix: &str) -> &mut Vec<u8> {
        let found = self.entries.iter_mut().find(|(name, _)| name.ends_with(suffix));
        &mut found.unwrap_or_else(|| panic!("no entry {suffix}")).1
    }

    /// The archive with an edited JSON entry.
    pub(crate) fn edit(mut self, suffix: &str, edit: impl FnOnce(&mut Value)) -> Self {
        let bytes = self.entry(suffix);
        let mut json = serde_json::from_slice(bytes).unwrap();
        edit(&mut json);
        *bytes = serde_json::to_vec(&json).unwrap();
        self
    }

    /// The archive with an edited program.
    pub(crate) fn edit_program(self, edit: impl FnOnce(&mut Value)) -> Self {
        self.edit("models/model.json", edit)
    }

    /// The archive with a text of an entry replaced wherever it occurs.
    pub(crate) fn replace(mut self, suffix: &str, from: &str, to: &str) -> Self {
        let bytes = self.entry(suffix);
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(text.contains(from), "no {from} in {suffix}");
        *bytes = text.replace(from, to).into_bytes();
        self
    }

    /// The archive with another content of an entry.
    pub(crate) fn with(mut self, suffix: &str, bytes: &[u8]) -> Self {
        bytes.clone_into(self.entry(suffix));
        self
    }

    /// The archive without the entries whose names end so.
    pub(crate) fn without(mut self, suffix: &str) -> Self {
        let before = self.entries.len();
        self.entries.retain(|(name, _)| !name.ends_with(suffix));
        assert!(self.entries.len() < before, "no entry {suffix}");
        self
    }

    /// The archive with its sample inputs replaced by a file of this pickle and these storages.
    pub(crate) fn with_samples(self, pickle: &[u8], storages: &[(&str, &[u8])]) -> Self {
        let names: Vec<String> = storages.iter().map(|(key, _)| format!("archive/data/{key}")).collect();
        let mut entries = vec![("archive/data.pkl", pickle)];
        entries.extend(names.iter().map(String::as_str).zip(storages.iter().map(|(_, bytes)| *bytes)));
        let file = Archive::from_entries(&entries).bytes();
        self.with("sample_inputs/model.pt", &file)
    }

    /// The zip.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in &self.entries {
            let deflate = self.deflated.iter().any(|suffix| name.ends_with(suffix));
            let method = if deflate { CompressionMethod::Deflated } else { CompressionMethod::Stored };
            writer.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// The zip in a file.
    pub(crate) fn write(&self) -> NamedTempFile {
        write(&self.bytes())
    }
}

/// These bytes in a file.
pub(crate) fn write(bytes: &[u8]) -> NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".pt2").tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.flush().unwrap();
    file
}

fn unzip(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut entries = Vec::new();
    for at in 0..zip.len() {
        let mut file = zip.by_index(at).unwrap();
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        entries.push((file.name().unwrap().into_owned(), content));
    }
    entries
}
