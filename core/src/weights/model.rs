//! Supplies weights for a model that was written without them.

use std::collections::HashMap;
use std::path::Path;

use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::{ModelProto, TensorProto};

use super::matching::{self, Required};
use super::{BindOptions, NameMap, WeightSet};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::onnx::{self, Location, OnnxFile, UNBOUND_LOCATION, UnboundEntry};
use crate::tensor::{LazyTensor, MappedFile, Source};
use crate::write::{self, ExternalData, WriteOptions, WriteReport};

/// Writes the model at `path`, which was converted without weights, to `out` with the weights in `set`
/// whose names `names` maps to the program's. The result is, byte for byte, that of a conversion with these
/// weights under the same options.
///
/// # Errors
/// `OP101` and `OP110` for a file that is not a model, `OP639` if no weights are missing, `OP632` to
/// `OP638` for mismatches, and those of [`write::write()`]. `out` may be the path of the model, which is
/// then replaced with its data files.
pub fn bind_model(
    path: &Path,
    set: &WeightSet,
    names: &NameMap,
    binding: BindOptions,
    out: &Path,
    options: &WriteOptions,
) -> Result<WriteReport, Report> {
    let OnnxFile { proto, weights, nested, .. } = OnnxFile::open(path)?;
    let entries = waiting(path, &proto)?;
    let invalid = |why: String| onnx::invalid(path, &why);
    let stated = entries.iter().map(UnboundEntry::element).collect::<Result<Vec<_>, _>>().map_err(invalid)?;
    let numbers: HashMap<&str, usize> =
        entries.iter().enumerate().map(|(at, entry)| (entry.initializer.as_str(), at)).collect();
    onnx::check_waiting(&entries, &weights).map_err(invalid)?;
    let wanted: Vec<Required<'_>> = entries
        .iter()
        .zip(&stated)
        .enumerate()
        .map(|(at, (entry, dtype))| Required {
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
    let inside = proto.graph.iter().flat_map(onnx::nested_initializers).zip(&nested);
    let inside = inside.filter(|(tensor, _)| !onnx::is_text(tensor));
    let inside = inside.map(|(tensor, weight)| Ok((weight.name.clone(), data.tensor(tensor, weight)?)));
    let inside = inside.collect::<Result<Vec<_>, Diagnostic>>()?;
    let mut options = options.clone();
    options.sources.extend(set.files().map(Path::to_owned));
    let mut own = Vec::new();
    if !is_same_path(path, out) {
        options.sources.push(path.to_owned());
    } else if options.external_data != ExternalData::Reference {
        // A model that refers to its old data file could not keep it under this name.
        let foreign = onnx::sources(path, &proto)?;
        let files = data.files.into_iter().filter(|(name, _)| !foreign.iter().any(|f| f.location == *name));
        own.extend(files.map(|(_, file)| file));
    }
    let mut report = write::rewrite(proto, &initializers, &inside, out, &options, &own)?;
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
    onnx::waiting(proto).map_err(|why| onnx::invalid(path, &why))?.ok_or_else(|| {
        let message = format!("`{}` waits for no weights", path.display());
        Diagnostic::error(Code::WEIGHTS_BOUND, message)
            .help("bind weights to a model that was written by `onnxport convert --weightless`")
    })
}

/// The data files of a model.
struct DataFiles<'a> {
    path: &'a Path,
    files: HashMap<String, MappedFile>,
}

impl DataFiles<'_> {
    /// Returns the bytes that the model already has.
    fn tensor(&mut self, tensor: &TensorProto, weight: &onnx::Weight) -> Result<LazyTensor, Diagnostic> {
        let fail = |why: &str| onnx::invalid(self.path, &format!("the initializer `{}` {why}", weight.name));
        let dtype = weight.dtype.ok_or_else(|| fail("has an element type that is not known"))?;
        let source = match &weight.location {
            Location::Inline => {
                let raw = tensor.raw_data.clone().unwrap_or_default();
                if raw.len() as u64 != weight.bytes || tensor.data_location() == DataLocation::External {
                    return Err(fail("does not store its data as raw bytes"));
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
