//! Several models in one folder that share one data file: an encoder and a decoder, prefill and decode.
//!
//! The data file is written first; each model then points into it. The folder has no name until all of
//! it is complete.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::interrupt::{self, Watch};
use super::plan::{Place, Plan, Weight};
use super::{ExternalData, SMALL_TENSOR_BYTES, WriteOptions, publish, stream};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::Model;
use crate::tensor::{DType, LazyTensor, MappedFile, Source};

/// The name of the data file.
pub const PACKAGE_DATA: &str = "weights.data";

/// The memory in bytes through which tensors are hashed.
const HASHING: usize = 4 << 20;

/// What was written.
#[derive(Clone, Debug)]
pub struct PackageReport {
    /// The models, in the order in which they were given, and their sizes in bytes.
    pub models: Vec<(PathBuf, u64)>,
    /// The data file, if any weight is large enough for it.
    pub data: Option<PathBuf>,
    /// Its size in bytes.
    pub data_bytes: u64,
    /// The bytes that data files of their own would take, tied tensors of one model stored once.
    pub separate_bytes: u64,
}

/// Writes `models` by name into the new folder `folder`. Tensors of equal type and content are stored
/// once, whichever model and archive they come from; small ones stay in each model.
///
/// # Errors
/// `OP601` when the folder exists or cannot be made, `OP630` for weights whose bytes are not there, and
/// those of [`write()`](super::write()). Nothing remains then.
pub fn package(
    models: Vec<(String, Model)>,
    folder: &Path,
    options: &WriteOptions,
) -> Result<PackageReport, Report> {
    if folder.symlink_metadata().is_ok() {
        let error = io::Error::new(io::ErrorKind::AlreadyExists, "it exists already");
        return Err(publish::failed(folder, &error));
    }
    let staging = Staging::new(folder).map_err(|e| publish::failed(folder, &e))?;
    let mut models = models;
    let separate_bytes = share(&mut models)?;
    let data = staging.path.join(PACKAGE_DATA);
    let data_bytes = move_into(&mut models, &data, options)?;
    let options = WriteOptions {
        external_data: if data_bytes > 0 { ExternalData::Reference } else { ExternalData::Inline },
        shard_bytes: None,
        ..options.clone()
    };
    let mut written = Vec::new();
    for (name, model) in &models {
        let file = format!("{name}.onnx");
        let report = super::write(model, &staging.path.join(&file), &options)?;
        written.push((folder.join(file), report.model_bytes));
    }
    drop(models);
    staging.publish(folder).map_err(|e| publish::failed(folder, &e))?;
    let data = (data_bytes > 0).then(|| folder.join(PACKAGE_DATA));
    Ok(PackageReport { models: written, data, data_bytes, separate_bytes })
}

/// Every tensor of a model that may go to the data file: initializers, then first values of states.
fn tensors(model: &mut Model) -> impl Iterator<Item = &mut LazyTensor> {
    let initializers = model.graph.initializers.iter_mut().map(|initializer| &mut initializer.data);
    initializers.chain(model.states.iter_mut().filter_map(|state| state.initial.as_mut()))
}

/// Makes equal tensors one; returns the bytes of all as they would lie in files of their own.
///
/// Only tensors of one type and shape are compared, by hash, and only those that are not known to be one.
fn share(models: &mut [(String, Model)]) -> Result<u64, Report> {
    let mut alike: BTreeMap<(DType, Vec<u64>), Vec<LazyTensor>> = BTreeMap::new();
    let mut separate = 0u64;
    for (_, model) in models.iter_mut() {
        let mut own: Vec<LazyTensor> = Vec::new();
        for tensor in tensors(model).filter(|t| is_large(t)) {
            if !own.iter().any(|other| other.same_bytes(tensor)) {
                separate = separate.saturating_add(tensor.byte_len().unwrap_or(0));
                own.push(tensor.clone());
            }
        }
        for tensor in own {
            let group = alike.entry((tensor.dtype, tensor.shape.clone())).or_default();
            if !group.iter().any(|other| other.same_bytes(&tensor)) {
                group.push(tensor);
            }
        }
    }
    // By type and shape: the first tensor of each content, and the others that equal it.
    let mut twins: Vec<(LazyTensor, LazyTensor)> = Vec::new();
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let mut first: BTreeMap<[u8; 32], LazyTensor> = BTreeMap::new();
        for tensor in group {
            match first.entry(hash(&tensor)?) {
                std::collections::btree_map::Entry::Vacant(slot) => {
                    slot.insert(tensor);
                }
                std::collections::btree_map::Entry::Occupied(kept) => {
                    twins.push((tensor, kept.get().clone()));
                }
            }
        }
    }
    for (_, model) in models.iter_mut() {
        for tensor in tensors(model).filter(|t| is_large(t)) {
            if let Some((_, kept)) = twins.iter().find(|(twin, _)| twin.same_bytes(tensor)) {
                *tensor = kept.clone();
            }
        }
    }
    Ok(separate)
}

fn is_large(tensor: &LazyTensor) -> bool {
    tensor.byte_len().is_some_and(|len| len >= SMALL_TENSOR_BYTES)
}

fn hash(tensor: &LazyTensor) -> Result<[u8; 32], Report> {
    let mut hasher = Sha256::new();
    let len = tensor.byte_len().unwrap_or(0);
    tensor
        .stream(0..len, HASHING, &mut |bytes: &[u8]| {
            hasher.update(bytes);
            Ok(())
        })
        .map_err(|e| {
            let error = io::Error::from(e);
            Diagnostic::error(Code::WRITE_IO, format!("a weight cannot be read: {error}"))
        })?;
    Ok(hasher.finalize().into())
}

/// Writes the large tensors of all models to `path` and makes the models use them there; returns the
/// size of the file, 0 when there is none.
fn move_into(models: &mut [(String, Model)], path: &Path, options: &WriteOptions) -> Result<u64, Report> {
    let owned: Vec<LazyTensor> =
        models.iter_mut().flat_map(|(_, model)| tensors(model).map(|t| t.clone())).collect();
    let weights: Vec<Weight<'_>> = owned.iter().map(|data| Weight::named("", data)).collect();
    super::unbound::check(&weights, &WriteOptions { weightless: false, ..options.clone() })?;
    let placing =
        WriteOptions { external_data: ExternalData::External, shard_bytes: None, ..options.clone() };
    let plan = Plan::of(&weights, path, &placing)?;
    let Some(data) = plan.files.first() else { return Ok(0) };
    let meter = stream::Meter::new(data.bytes, options.progress.clone(), stream::needs(&weights).wanted);
    let written = File::create_new(path).and_then(|mut file| {
        super::fill(&mut file, data, &weights, &meter, false)?;
        MappedFile::open(path)
    });
    let file = written.map_err(|e| publish::failed(path, &e))?;
    let all = models.iter_mut().flat_map(|(_, model)| tensors(model));
    for (tensor, place) in all.zip(&plan.places) {
        if let Place::Data(extent) = place {
            let source = Source::Mapped { file: file.clone(), offset: extent.offset, len: extent.len };
            *tensor = LazyTensor {
                dtype: tensor.dtype,
                shape: tensor.shape.clone(),
                source,
                offset: 0,
                strides: None,
            };
        }
    }
    Ok(data.bytes)
}

/// A hidden folder beside the final one, which vanishes unless it is published.
struct Staging {
    path: PathBuf,
    _watch: Watch,
    published: bool,
}

impl Staging {
    fn new(folder: &Path) -> io::Result<Self> {
        let parent = folder.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".onnxport-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What a folder that is simply made has; the default is for secrets.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let path = builder.tempdir_in(parent)?.keep();
        let watch = Watch::new(&path);
        Ok(Self { path, _watch: watch, published: false })
    }

    fn publish(mut self, folder: &Path) -> io::Result<()> {
        File::open(&self.path)?.sync_all()?;
        let _guard = interrupt::publishing();
        if folder.symlink_metadata().is_ok() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists already"));
        }
        fs::rename(&self.path, folder)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            // The error that led here says more than one about what is left of it.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
