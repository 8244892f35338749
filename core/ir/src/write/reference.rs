//! Models that point at weights in existing files, instead of holding copies.
//!
//! A runtime reads external data only from the model's folder and its subfolders: ONNX requires relative paths, and
//! ONNX Runtime refuses absolute paths and any `..` or symbolic link that leads out. It reads from any offset; a
//! tensor here also starts at a multiple of its element size, so that it can be mapped and used in place.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::plan::{Destination, Extent, Plan, Weight};
use super::{ExternalData, SMALL_TENSOR_BYTES, WriteOptions, publish};
use crate::diagnose::{Code, Diagnostic, Report, Severity};
use crate::onnx::SourceFile;
use crate::tensor::{LazyTensor, MappedFile, Source};

/// So many tensors are named that had to be copied.
const NAMED: usize = 20;

/// The files that a model may point into.
pub(super) struct Pointers {
    files: Vec<(MappedFile, SourceFile)>,
    /// By file: its number among those that are pointed into, once it is.
    numbers: Vec<Option<usize>>,
    used: usize,
}

impl Pointers {
    /// Returns the files that hold `weights`, relative to the model at `path`.
    ///
    /// # Errors
    /// `OP640` with every file outside of the model's folder, `OP601` if there is no folder.
    pub(super) fn from_weights(path: &Path, weights: &[Weight<'_>]) -> Result<Self, Report> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).map_err(|e| publish::failed(path, &e))?;
        let mut files: Vec<(MappedFile, SourceFile)> = Vec::new();
        let mut outside: Vec<&MappedFile> = Vec::new();
        for weight in weights {
            let Some((file, ..)) = range(weight.data).filter(|_| is_large(weight.data)) else { continue };
            if files.iter().rev().any(|(f, _)| f.same(file)) || outside.iter().any(|f| f.same(file)) {
                continue;
            }
            match location(&folder, file.path()) {
                Some(location) => {
                    let bytes = file.bytes().len() as u64;
                    files.push((file.clone(), SourceFile { location, bytes }));
                }
                None => outside.push(file),
            }
        }
        if outside.is_empty() {
            let numbers = vec![None; files.len()];
            return Ok(Self { files, numbers, used: 0 });
        }
        let message = format!("the model cannot point at weights outside of its folder, `{}`", shown(path));
        let mut diagnostic = Diagnostic::error(Code::REFERENCE_PLACE, message);
        diagnostic.notes = outside.iter().map(|f| format!("`{}`", f.path().display())).collect();
        let first = outside.first().map_or_else(String::new, |f| shown(f.path()));
        Err(diagnostic
            .note("runtimes refuse absolute paths, `..` and symbolic links that lead out of the folder")
            .help(format!(
                "write the model beside the weights, such as into `{first}`, or hard-link them here"
            ))
            .into())
    }

    /// Where `data` lies, if the model can point at it.
    pub(super) fn point(&mut self, data: &LazyTensor) -> Option<Extent> {
        let (file, offset, len) = range(data)?;
        let at = self.files.iter().position(|(f, _)| f.same(file))?;
        let number = self.numbers.get_mut(at)?;
        if number.is_none() {
            *number = Some(self.used);
            self.used += 1;
        }
        Some(Extent { file: (*number)?, offset, len })
    }

    /// The files that are pointed into, by number.
    pub(super) fn into_files(self) -> Vec<SourceFile> {
        let numbered = self.numbers.into_iter().zip(self.files);
        let mut files: Vec<_> = numbered.filter_map(|(n, (_, file))| Some((n?, file))).collect();
        files.sort_by_key(|(number, _)| *number);
        files.into_iter().map(|(_, file)| file).collect()
    }
}

/// Returns remarks about a model that points at its weights.
pub(super) fn remarks(weights: &[Weight<'_>], plan: &Plan, options: &WriteOptions) -> Vec<Diagnostic> {
    if options.external_data != ExternalData::Reference {
        return Vec::new();
    }
    let note = |code: Code, message: String| Diagnostic {
        severity: Severity::Note,
        ..Diagnostic::error(code, message)
    };
    let mut remarks = Vec::new();
    if !plan.pointed.is_empty() {
        let message = format!("the model references {} bytes of weights in place", plan.pointed_bytes());
        let mut diagnostic = note(Code::REFERENCE_KEPT, message);
        diagnostic.notes = plan.pointed.iter().map(|f| format!("`{}`", f.location)).collect();
        remarks.push(diagnostic.help("keep these files in the model's folder, unchanged"));
    }
    let copied: Vec<&Weight<'_>> =
        plan.files.iter().flat_map(|f| &f.stored).filter_map(|(index, _)| weights.get(*index)).collect();
    if !copied.is_empty() {
        let message =
            format!("tensors that had to be copied: {}, {} bytes in all", copied.len(), plan.stored_bytes());
        let mut diagnostic = note(Code::REFERENCE_COPIED, message);
        diagnostic.notes =
            copied.iter().take(NAMED).map(|w| format!("`{}`: {}", w.name, reason(w.data))).collect();
        if copied.len() > NAMED {
            diagnostic.notes.push(format!("and {} more", copied.len() - NAMED));
        }
        remarks.push(diagnostic);
    }
    let inline = weights.iter().zip(&plan.places).filter(|(weight, place)| {
        **place == Destination::Inline && matches!(weight.data.source, Source::Mapped { .. })
    });
    let sizes: Vec<u64> = inline.filter_map(|(weight, _)| weight.data.byte_len()).collect();
    if !sizes.is_empty() {
        let message = format!(
            "small tensors (under {SMALL_TENSOR_BYTES} bytes) were copied into the model: {}, {} bytes in all",
            sizes.len(),
            sizes.iter().sum::<u64>()
        );
        remarks.push(note(Code::REFERENCE_COPIED, message));
    }
    remarks
}

/// Why the model cannot point at a tensor.
fn reason(data: &LazyTensor) -> &'static str {
    match &data.source {
        Source::Inline(_) => "in no file: compressed in its archive, or computed by the conversion",
        Source::Lent(_) => "in the memory of the program that exports it",
        Source::Mapped { .. } if data.strides.is_some() => "a strided view",
        Source::Mapped { .. } if range(data).is_none() => "not aligned to its elements",
        Source::Joined(_) => "made of several tensors",
        Source::Mapped { .. } | Source::Unbound(_) | Source::Produced(_) | Source::Derived(_) => {
            "changed on the way"
        }
    }
}

/// The file and the range in it that hold exactly the bytes of `data`.
fn range(data: &LazyTensor) -> Option<(&MappedFile, u64, u64)> {
    let Source::Mapped { file, offset, len } = &data.source else { return None };
    let range = data.dense_range().filter(|range| range.end <= *len)?;
    let start = offset.checked_add(range.start)?;
    let element = u64::from(data.dtype.bits() / 8).max(1);
    start.is_multiple_of(element).then_some((file, start, range.end - range.start))
}

fn is_large(data: &LazyTensor) -> bool {
    data.byte_len().is_some_and(|len| len >= SMALL_TENSOR_BYTES)
}

/// The path of `file` as a model in `folder` states it; `None` when it lies elsewhere or has a name
/// that cannot be stated.
fn location(folder: &Path, file: &Path) -> Option<String> {
    let file = fs::canonicalize(file).ok()?;
    let parts = file.strip_prefix(folder).ok()?.components().map(|part| match part {
        Component::Normal(part) => part.to_str().filter(|part| !part.contains('\\')),
        _ => None,
    });
    Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
}

/// The folder of a file, for people.
fn shown(path: &Path) -> String {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    parent.map_or_else(|| PathBuf::from("."), Path::to_owned).display().to_string()
}
