//! Which kind of source a path is.

use std::path::{Path, PathBuf};

use super::{WeightSet, checkpoint, index, into_result, safetensors};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::pt2;
use crate::tensor::MappedFile;
use crate::tensor::zip_index::{Region, ZipIndex};

/// The first bytes of files from `torch.save` before PyTorch 1.6: a pickled magic number.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

/// Indices of sharded weights, as Hugging Face writes them, in the order in which they are looked for.
const INDICES: [&str; 2] = ["model.safetensors.index.json", "pytorch_model.bin.index.json"];

impl WeightSet {
    /// Opens files and folders; `key` is the path of a checkpoint's tensors, such as `state_dict`, with
    /// dots between levels.
    ///
    /// A folder is read through its index, else through all of its safetensors files, else through its only
    /// checkpoint.
    ///
    /// # Errors
    /// `OP101` and `OP631` for a source that cannot be read, `OP107` for a pickle with more than data,
    /// `OP636` for a name that occurs twice; every source's problems at once.
    pub fn open(paths: &[PathBuf], key: Option<&str>) -> Result<Self, Report> {
        let mut set = Self::default();
        let mut problems = Vec::new();
        for path in paths {
            let read = if path.is_dir() { folder(path, key) } else { file(path, key) };
            match read.and_then(|found| set.extend(found)) {
                Ok(()) => {}
                Err(report) => problems.extend(report.diagnostics),
            }
        }
        into_result(problems)?;
        Ok(set)
    }
}

/// Returns the name of the file at `path` in diagnostics.
pub(super) fn label(path: &Path) -> String {
    format!("`{}`", path.display())
}

/// Whether the file at `path` is read as an index of shards.
pub(super) fn is_index(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "json")
}

/// Reads one file.
pub(super) fn file(path: &Path, key: Option<&str>) -> Result<WeightSet, Report> {
    let mut set = if is_index(path) { index::read(path, key)? } else { opened(path, key)? };
    set.files.insert(path.to_owned());
    Ok(set)
}

fn opened(path: &Path, key: Option<&str>) -> Result<WeightSet, Report> {
    let file = MappedFile::open(path).map_err(|e| {
        Diagnostic::error(Code::READ_IO, format!("{} cannot be read: {e}", label(path)))
            .help("give a .safetensors file, an index of shards, a checkpoint of torch.save, or their folder")
    })?;
    file.read_ahead(false);
    let set = mapped(&file, path, key);
    file.read_ahead(true);
    set
}

fn mapped(file: &MappedFile, path: &Path, key: Option<&str>) -> Result<WeightSet, Report> {
    let bytes = file.bytes();
    if safetensors::looks_like(bytes) || path.extension().is_some_and(|e| e == "safetensors") {
        return Ok(safetensors::read(file, path)?);
    }
    if !bytes.starts_with(b"PK") {
        return Err(foreign(path, bytes).into());
    }
    let zip = ZipIndex::open(Region::whole(file.clone()), "").map_err(|e| in_file(path, e))?;
    if is_program(&zip) {
        return program(path);
    }
    if is_torch_script(&zip) {
        let message = format!("{} is a TorchScript file", label(path));
        return Err(Diagnostic::error(Code::WEIGHTS_SOURCE, message)
            .help("save its weights: `torch.save(torch.jit.load(path).state_dict(), \"weights.pt\")`")
            .into());
    }
    Ok(checkpoint::read(file.clone(), path, key)?)
}

/// Whether the archive holds an entry below its root whose name starts with `part`.
fn holds(zip: &ZipIndex, part: &str) -> bool {
    let root = zip.root();
    zip.iter().any(|(name, _)| name.strip_prefix(root).is_some_and(|name| name.starts_with(part)))
}

fn is_program(zip: &ZipIndex) -> bool {
    holds(zip, "models/") || holds(zip, "serialized_exported_program.json")
}

fn is_torch_script(zip: &ZipIndex) -> bool {
    holds(zip, "code/") || holds(zip, "constants.pkl")
}

/// Whether the archive is a file of `torch.save`.
pub(crate) fn is_checkpoint(zip: &ZipIndex) -> bool {
    holds(zip, "data.pkl") && !is_program(zip) && !is_torch_script(zip)
}

/// The tensors of another exported program, as far as it has their bytes.
fn program(path: &Path) -> Result<WeightSet, Report> {
    let archive = pt2::read(path)?;
    let mut set = WeightSet::default();
    let place = label(path);
    for (name, tensor) in archive.program.tensors {
        if tensor.unbound().is_none() {
            set.insert(name, tensor, &place)?;
        }
    }
    Ok(set)
}

fn folder(path: &Path, key: Option<&str>) -> Result<WeightSet, Report> {
    for name in INDICES {
        let index = path.join(name);
        if index.is_file() {
            return file(&index, key);
        }
    }
    let unreadable = |e: std::io::Error| {
        Diagnostic::error(Code::READ_IO, format!("the folder {} cannot be read: {e}", label(path)))
    };
    let mut files = Vec::new();
    for entry in path.read_dir().map_err(unreadable)? {
        files.push(entry.map_err(unreadable)?.path());
    }
    files.sort();
    let of_kind = |kinds: &[&str]| -> Vec<PathBuf> {
        let is_kind = |p: &&PathBuf| {
            p.is_file() && p.extension().and_then(|e| e.to_str()).is_some_and(|e| kinds.contains(&e))
        };
        files.iter().filter(is_kind).cloned().collect()
    };
    let shards = of_kind(&["safetensors"]);
    if !shards.is_empty() {
        return WeightSet::open(&shards, key);
    }
    match of_kind(&["bin", "pt", "pth", "ckpt"]).as_slice() {
        [only] => file(only, key),
        [] => {
            let message = format!("the folder {} has no weights", label(path));
            Err(Diagnostic::error(Code::WEIGHTS_SOURCE, message)
                .help("it should contain .safetensors files, an index of shards, or a checkpoint")
                .into())
        }
        several => {
            let message = format!("the folder {} has {} checkpoints", label(path), several.len());
            let mut diagnostic = Diagnostic::error(Code::WEIGHTS_SOURCE, message);
            diagnostic.notes.extend(several.iter().take(20).map(|p| p.display().to_string()));
            Err(diagnostic.help("name the files that belong to the program").into())
        }
    }
}

/// Identifies a file that holds no supported weights.
fn foreign(path: &Path, bytes: &[u8]) -> Diagnostic {
    let place = label(path);
    let again = "save them again: `torch.save(torch.load(path, map_location=\"cpu\"), path)`";
    let (what, help) = if bytes.is_empty() {
        ("is empty", "copy or download it again")
    } else if bytes.starts_with(LEGACY) {
        ("is a checkpoint in the format before PyTorch 1.6, which is not a zip archive", again)
    } else if bytes.get(257..262) == Some(b"ustar") {
        ("is a checkpoint in the first format of PyTorch, a tar archive", again)
    } else if bytes.starts_with(&[0x80]) {
        ("is a bare pickle", again)
    } else if bytes.starts_with(b"GGUF") {
        ("is a GGUF file, which is not read", "give the weights as safetensors or as a checkpoint")
    } else if bytes.starts_with(b"version https://git-lfs") {
        ("is a pointer of Git LFS, not the file", "fetch it with `git lfs pull`")
    } else {
        ("contains no supported weights", "give a .safetensors file, an index of shards or a checkpoint")
    };
    Diagnostic::error(Code::WEIGHTS_SOURCE, format!("{place} {what}")).help(help)
}

/// Adds the file to a problem of an archive.
pub(super) fn in_file(path: &Path, mut problem: Diagnostic) -> Diagnostic {
    problem.notes.insert(0, format!("in {}", label(path)));
    problem
}
