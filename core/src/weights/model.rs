//! Weights for a model that was written without them.

use std::collections::HashMap;
use std::path::Path;

use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::{ModelProto, TensorProto};

use super::matching::{self, Wanted};
use super::{BindOptions, NameMap, WeightSet};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::onnx::{self, Location, OnnxFile, UNBOUND_KEY, UNBOUND_LOCATION, UnboundEntry};
use crate::tensor::{DType, LazyTensor, MappedFile, Source};
use crate::write::{self, ExternalData, WriteOptions, WriteReport};

/// Writes the model at `path`, which was converted without weights, to `out` with those in `set` that
/// `names` calls as the program does. The result is, byte for byte, what a conversion with these
/// weights writes under the same options.
///
/// # Errors
/// `OP101` and `OP110` for a file that is no model, `OP639` when no weights are missing, `OP632` to
/// `OP638` for everything that does not fit, and those of [`write::write()`]. `out` may be the path of the
/// model, which is replaced then with its data files.
pub fn bind_model(
    path: &Path,
    set: &WeightSet,
    names: &NameMap,
    binding: BindOptions,
    out: &Path,
    options: &WriteOptions,
) -> Result<WriteReport, Report> {
    let OnnxFile { proto, weights, .. } = OnnxFile::open(path)?;
    let entries = waiting(path, &proto)?;
    let stated = entries.iter().map(|entry| dtype(path, entry)).collect::<Result<Vec<_>, _>>()?;
    let numbers: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(at, entry)| (entry.initializer.as_str(), at)).collect();
    if let Some(why) = contradiction(&entries, &stated, &numbers, &weights) {
        return Err(onnx::invalid(path, &why).into());
    }
    let wanted: Vec<Wanted<'_>> = entries
        .iter()
        .zip(&stated)
        .enumerate()
        .map(|(at, (entry, dtype))| Wanted {
            name: &entry.name,
            dtype: *dtype,
            shape: &entry.shape,
            tie: entry.tied.as_deref().and_then(|first| numbers.get(first).copied()).unwrap_or(at),
            required: true,
            remark: "",
        })
        .collect();
    let matched = matching::find(&wanted, set, names, binding)?;
    let mut data = DataFiles { path, files: HashMap::new() };
    let mut initializers = Vec::with_capacity(weights.len());
    for (tensor, weight) in proto.graph.iter().flat_map(|g| &g.initializer).zip(&weights) {
        let bound = if weight.location.file() == Some(UNBOUND_LOCATION) {
            let found = numbers.get(weight.name.as_str()).and_then(|at| matched.found.get(*at)?.clone());
            let found = found.map(|found| if found.dtype.is_complex() { found.pairs() } else { found });
            found.filter(|found| Some(found.dtype) == weight.dtype && found.shape == weight.dims)
        } else {
            Some(data.tensor(tensor, weight)?)
        };
        let Some(bound) = bound else {
            let message = format!("its metadata does not describe the initializer `{}`", weight.name);
            return Err(onnx::invalid(path, &message).into());
        };
        initializers.push((weight.name.clone(), bound));
    }
    let mut options = options.clone();
    options.sources.extend(set.files().map(Path::to_owned));
    let mut own = Vec::new();
    if !is_same_path(path, out) {
        options.sources.push(path.to_owned());
    } else if options.external_data != ExternalData::Reference {
        // A model that points into its old data file could not keep it under this name.
        let foreign = onnx::sources(path, &proto)?;
        let files = data.files.into_iter().filter(|(name, _)| !foreign.iter().any(|f| f.location == *name));
        own.extend(files.map(|(_, file)| file));
    }
    let mut report = write::rewrite(proto, &initializers, out, &options, &own)?;
    report.diagnostics.splice(0..0, matched.diagnostics);
    Ok(report)
}

/// Whether both are one name in one folder. Another name of a file is another output.
fn is_same_path(a: &Path, b: &Path) -> bool {
    let folder = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()
    };
    a.file_name() == b.file_name() && folder(a) == folder(b)
}

/// The weights for which the model waits.
fn waiting(path: &Path, proto: &ModelProto) -> Result<Vec<UnboundEntry>, Diagnostic> {
    let mut listed = proto.metadata_props.iter().filter(|entry| entry.key() == UNBOUND_KEY);
    let Some(entry) = listed.next() else {
        let message = format!("`{}` waits for no weights", path.display());
        return Err(Diagnostic::error(Code::WEIGHTS_BOUND, message)
            .help("bind weights to a model that was written by `onnxport convert --weightless`"));
    };
    let damaged =
        |why: String| onnx::invalid(path, &format!("its metadata `{UNBOUND_KEY}` is damaged: {why}"));
    if listed.next().is_some() {
        return Err(damaged("it is there twice".to_owned()));
    }
    serde_json::from_str(entry.value()).map_err(|e| damaged(e.to_string()))
}

/// What the descriptions of the weights for which a model waits, each with its element type, say against
/// each other or against its initializers; `numbers` are theirs by initializer.
fn contradiction(
    entries: &[UnboundEntry],
    stated: &[DType],
    numbers: &HashMap<&str, usize>,
    weights: &[onnx::Weight],
) -> Option<String> {
    let mut initializers: HashMap<&str, &onnx::Weight> = HashMap::new();
    for weight in weights {
        if initializers.insert(&weight.name, weight).is_some() {
            return Some(format!("it has two initializers `{}`", weight.name));
        }
    }
    for (at, (entry, dtype)) in entries.iter().zip(stated).enumerate() {
        let UnboundEntry { initializer, shape, tied, .. } = entry;
        if numbers.get(initializer.as_str()) != Some(&at) {
            return Some(format!("its metadata describes the initializer `{initializer}` twice"));
        }
        let waits = |weight: &&&onnx::Weight| weight.location.file() == Some(UNBOUND_LOCATION);
        let Some(weight) = initializers.get(initializer.as_str()).filter(waits) else {
            return Some(format!("its metadata describes `{initializer}`, which waits for no data"));
        };
        let (real, dims) = match dtype {
            DType::C64 => (DType::F32, [shape.as_slice(), &[2]].concat()),
            DType::C128 => (DType::F64, [shape.as_slice(), &[2]].concat()),
            dtype => (*dtype, shape.clone()),
        };
        if weight.dtype != Some(real) || weight.dims != dims {
            return Some(format!("its metadata describes `{initializer}` as what it is not"));
        }
        let Some(first) = tied else { continue };
        let first = numbers.get(first.as_str()).filter(|first| **first < at);
        let same = first.and_then(|first| Some((entries.get(*first)?, stated.get(*first)?)));
        if !same.is_some_and(|(e, d)| e.tied.is_none() && d == dtype && e.shape == *shape) {
            return Some(format!("its metadata ties `{initializer}` to what it cannot be"));
        }
    }
    None
}

fn dtype(path: &Path, entry: &UnboundEntry) -> Result<DType, Diagnostic> {
    let known = DType::ALL.iter().find(|dtype| dtype.as_str() == entry.dtype);
    known.copied().ok_or_else(|| {
        onnx::invalid(path, &format!("`{}` has the element type `{}`", entry.name, entry.dtype))
    })
}

/// The data files of a model.
struct DataFiles<'a> {
    path: &'a Path,
    files: HashMap<String, MappedFile>,
}

impl DataFiles<'_> {
    /// The bytes that the model has already.
    fn tensor(&mut self, tensor: &TensorProto, weight: &onnx::Weight) -> Result<LazyTensor, Diagnostic> {
        let fail = |why: &str| onnx::invalid(self.path, &format!("the initializer `{}` {why}", weight.name));
        let dtype = weight.dtype.ok_or_else(|| fail("has an element type that is not known"))?;
        let source = match &weight.location {
            Location::Inline => {
                let raw = tensor.raw_data.clone().unwrap_or_default();
                if raw.len() as u64 != weight.bytes || tensor.data_location() == DataLocation::External {
                    return Err(fail("does not hold its data as raw bytes"));
                }
                Source::Inline(raw)
            }
            Location::External { file, offset, .. } => {
                let mapped = match self.files.get(file) {
                    Some(mapped) => mapped.clone(),
                    None => {
                        let path = self.path.parent().unwrap_or(Path::new("")).join(file);
                        let mapped = MappedFile::open(&path)
                            .map_err(|e| fail(&format!("is in `{file}`, which cannot be read: {e}")))?;
                        self.files.insert(file.clone(), mapped.clone());
                        mapped
                    }
                };
                let end = offset.checked_add(weight.bytes);
                if end.is_none_or(|end| end > mapped.bytes().len() as u64) {
                    return Err(fail(&format!("reaches beyond the end of `{file}`")));
                }
                Source::Mapped { file: mapped, offset: *offset, len: weight.bytes }
            }
        };
        Ok(LazyTensor { dtype, shape: weight.dims.clone(), source, offset: 0, strides: None })
    }
}
