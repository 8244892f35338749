//! Writes a model: an ONNX file, with its weights inside or in data files beside it.
//!
//! Everything is planned before the first byte: the position of each tensor, the length of each file, and the disk
//! space and memory needed. Weights are streamed from their sources, in chunks or by the kernel; none is held in
//! memory. The files have no names until they are complete and on disk.

mod artefacts;
mod checking;
mod constants;
mod encode;
mod flush;
mod in_place;
pub mod interrupt;
pub mod manifest;
mod message;
mod metadata;
mod names;
mod package;
mod plan;
mod publish;
mod reference;
mod resources;
mod share;
mod single;
mod stream;
mod summary;
mod sync;
mod table;
mod unbound;
mod unpublished;
mod value_info;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use onnxport_proto::{ModelProto, StringStringEntryProto, TensorProto};

use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::{Artefact, Model, ValueId};
use crate::onnx::{self, SOURCES_KEY, SourceFile, UNBOUND_KEY};
use crate::table::WeightTable;
use crate::tensor::{LazyTensor, MappedFile};
use crate::trace;

use checking::Checking;

pub use encode::about::{LEAST_IR_VERSION, MOST_IR_VERSION, least_ir_version};
pub use message::{left_out, message, message_len, preview};
pub use package::{
    NewFolder, PACKAGE_DATA, PackageReport, UnpublishedPackage, failed_package, package, plan_package,
    refuse_existing, stage_package,
};
pub use single::file;
pub use summary::{PlannedFile, TensorCounts, WritePlan};
pub use unbound::lacking;
pub use unpublished::{Readable, Unpublished, failed_name};

/// Under [`ExternalData::Auto`], a model whose weights take at most this many bytes is one file.
///
/// A protobuf message ends at 2 GiB and is read into memory as a whole, so that larger weights are
/// better off in a file that runtimes map.
pub const AUTO_INLINE_BYTES: u64 = 64 << 20;

/// Tensors under this many bytes stay in the model even when the weights go to a data file.
pub const SMALL_TENSOR_BYTES: u64 = 1 << 10;

/// Where weights go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExternalData {
    /// Into the model up to [`AUTO_INLINE_BYTES`] in all, else into a data file.
    #[default]
    Auto,
    /// Into the model.
    Inline,
    /// Into a data file, tensors under [`SMALL_TENSOR_BYTES`] excepted.
    External,
    /// Nowhere: the model points into existing files, which must lie in its folder. Other weights go where
    /// [`ExternalData::External`] puts them.
    Reference,
}

impl FromStr for ExternalData {
    type Err = ();
    fn from_str(s: &str) -> Result<Self, ()> {
        match s {
            "auto" => Ok(Self::Auto),
            "inline" => Ok(Self::Inline),
            "external" => Ok(Self::External),
            "reference" => Ok(Self::Reference),
            _ => Err(()),
        }
    }
}

/// Called with the bytes written so far and the bytes in all, from any thread. With `Break` writing ends with an error, and
/// nothing is left of it.
pub type Progress = Arc<dyn Fn(u64, u64) -> ControlFlow<()> + Send + Sync>;

/// How much a converted model records about the origin of its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metadata {
    /// Nothing.
    None,
    /// On every node its module, as `namespace`, and the exported node, as `onnxport.node`.
    #[default]
    Names,
    /// All metadata of PyTorch's exporter, under its keys: see [`torch`](crate::onnx::torch).
    Full,
}

/// How a model is written.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone)]
pub struct WriteOptions {
    /// Where weights go.
    pub external_data: ExternalData,
    /// The most bytes of a data file; a larger tensor has a file of its own. `None` for one file.
    pub shard_bytes: Option<u64>,
    /// Write the data of parameters, buffers and constants of the program. Without it somebody else
    /// gives them to the model. Constants that the conversion made are written in any case.
    pub initializers: bool,
    /// Declare parameters, buffers and constants of the program as inputs, behind the others, in the
    /// order of the program. With their data they are defaults that a call can replace.
    pub initializers_as_inputs: bool,
    /// Write a model that waits for weights whose bytes are not there. Without it they are an error.
    pub weightless: bool,
    /// Also write a list of hashes, to the model's path with `.sha256` appended.
    pub manifest: bool,
    /// The anonymous memory in bytes that the process may take while it writes.
    pub max_memory: Option<u64>,
    /// How much to record about the origin of the model's parts.
    pub metadata: Metadata,
    /// The folder that paths in recorded stacks are relative to, where they lie below it.
    pub source_root: Option<String>,
    /// Record the types of intermediate values.
    pub value_info: bool,
    /// Hold the weights that are written against the checksums of the archives that they come from.
    pub check_weights: bool,
    /// The file of the program, which is never overwritten.
    pub program: Option<MappedFile>,
    /// Other files that were read and are never overwritten, whether or not the model takes something
    /// from them. Those that weights are read from need not be named.
    pub sources: Vec<PathBuf>,
    /// Told how far writing has come, and asked whether to go on.
    pub progress: Option<Progress>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            external_data: ExternalData::Auto,
            shard_bytes: None,
            initializers: true,
            initializers_as_inputs: false,
            weightless: false,
            manifest: false,
            max_memory: None,
            metadata: Metadata::Names,
            source_root: None,
            value_info: true,
            check_weights: true,
            program: None,
            sources: Vec::new(),
            progress: None,
        }
    }
}

impl fmt::Debug for WriteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteOptions").field("external_data", &self.external_data).finish_non_exhaustive()
    }
}

/// The result of writing.
#[derive(Clone, Debug)]
pub struct WriteReport {
    /// The model.
    pub model: PathBuf,
    /// Its size in bytes.
    pub model_bytes: u64,
    /// The data files.
    pub data: Vec<PathBuf>,
    /// Their size in bytes, all together.
    pub data_bytes: u64,
    /// The list of hashes, if one was asked for.
    pub manifest: Option<PathBuf>,
    /// The files of backends beside it.
    pub artefacts: Vec<PathBuf>,
    /// The number of initializers.
    pub tensors: usize,
    /// Of them, those that share the stored bytes of another one.
    pub tied: usize,
    /// The bytes of all weights; those that several share in a file count once.
    pub weight_bytes: u64,
    /// Of the initializers, those whose bytes are still to be given.
    pub unbound: usize,
    /// The files that the model points into.
    pub sources: Vec<SourceFile>,
    /// The bytes of weights in them.
    pub source_bytes: u64,
    /// Remarks for the user.
    pub diagnostics: Vec<Diagnostic>,
}

/// A model that is ready to be written.
struct Prepared<'a> {
    target: publish::Target,
    sources: publish::Sources,
    weights: Vec<plan::Weight<'a>>,
    places: plan::Plan,
    message: encode::Message<'a>,
    summary: WritePlan,
}

impl<'a> Prepared<'a> {
    fn for_model(
        model: &'a Model,
        names: &'a names::Names,
        path: &Path,
        options: &'a WriteOptions,
    ) -> Result<Self, Report> {
        let weights = plan::weights(model, names, options);
        let mut prepared = Self::with(weights, path, options, &[], |weights, places, data_names| {
            encode::Encoder::new(model, options).model(names, weights, places, data_names)
        })?;
        prepared.summary.add_beside(&model.artefacts, prepared.target.folder());
        Ok(prepared)
    }

    fn with(
        weights: Vec<plan::Weight<'a>>,
        path: &Path,
        options: &WriteOptions,
        own: &[MappedFile],
        encode: impl FnOnce(&[plan::Weight<'a>], &plan::Plan, &[String]) -> encode::Message<'a>,
    ) -> Result<Self, Report> {
        unbound::check(&weights, options)?;
        let places = plan::Plan::for_weights(&weights, path, options)?;
        let target = publish::Target::new(path, places.files.len());
        target.refuse_others()?;
        let sources = publish::Sources::from_weights(options, &weights, own);
        target.refuse_sources(&sources)?;
        let message = encode(&weights, &places, &target.data_names()?);
        let summary = WritePlan::of_model(&target, &places, message.len()?, stream::needs(&weights), options);
        Ok(Self { target, sources, weights, places, message, summary })
    }
}

/// Plans a call of [`write()`] with the same arguments, without writing anything.
///
/// # Errors
/// `OP601` if an output exists and is not a file, `OP602` if the model does not fit a protobuf message, `OP603` if
/// an output is the program's file or a source of weights, `OP616` if the model cannot state the name of a data
/// file.
pub fn plan(model: &Model, path: &Path, options: &WriteOptions) -> Result<WritePlan, Report> {
    let names = names::Names::for_model(model);
    Ok(Prepared::for_model(model, &names, path, options)?.summary)
}

/// Gives `values` the names that the writer would give them as their own, which it keeps later: for somebody who has to
/// know the names before the model is complete.
pub fn settle_names(model: &mut Model, values: &[ValueId]) {
    let names = names::Names::for_model(model);
    for value in values {
        model.graph.values[*value].name = Some(names.graph.value(*value).into());
    }
}

/// As [`plan()`], with the source, transforms and destination of every tensor.
///
/// # Errors
/// Those of [`plan()`].
pub fn plan_tensors(
    model: &Model,
    path: &Path,
    options: &WriteOptions,
) -> Result<(WritePlan, WeightTable), Report> {
    let names = names::Names::for_model(model);
    let prepared = Prepared::for_model(model, &names, path, options)?;
    let Prepared { target, weights, places, .. } = &prepared;
    let rows =
        weights.iter().zip(&places.places).map(|(weight, place)| (weight.name.to_owned(), weight, place));
    let table = table::of(rows, places, &target.data, path.parent().unwrap_or(Path::new("")));
    Ok((prepared.summary, table))
}

/// Writes `model` to `path`, and its data file, if it has one, to `path` with `.data` appended; several
/// are called `m-00001-of-00003.onnx.data` where the model is `m.onnx`.
///
/// # Errors
/// Those of [`plan()`], and `OP601` when a file cannot be written, `OP610` when the disk is too small,
/// `OP611` when the memory is, `OP612` when another run does not let go of the folder, `OP613` when a
/// source changed meanwhile. After an error the files are as they were.
pub fn write(model: &Model, path: &Path, options: &WriteOptions) -> Result<WriteReport, Report> {
    stage(model, path, options)?.publish()
}

/// As [`write()`], up to the moment at which the files get their names.
///
/// # Errors
/// Those of [`write()`].
pub fn stage(model: &Model, path: &Path, options: &WriteOptions) -> Result<Unpublished, Report> {
    let planning = trace::span("write", "planning");
    let names = names::Names::for_model(model);
    let prepared = Prepared::for_model(model, &names, path, options)?;
    drop(planning);
    complete(prepared, &model.artefacts, options)
}

/// Writes a model that was decoded from a file, with other weights: `initializers` by name, in order,
/// instead of those of the message, and `nested` instead of the numbers among
/// [`onnx::nested_initializers`]. `own` are data files of the model that is replaced; everything is read from them before
/// they go.
///
/// # Errors
/// Those of [`write()`].
pub fn rewrite(
    mut proto: ModelProto,
    initializers: &[(String, LazyTensor)],
    nested: &[(String, LazyTensor)],
    path: &Path,
    options: &WriteOptions,
    own: &[MappedFile],
) -> Result<WriteReport, Report> {
    let mut graph = proto.graph.take().unwrap_or_default();
    graph.initializer.clear();
    let kept = |entry: &StringStringEntryProto| ![UNBOUND_KEY, SOURCES_KEY].contains(&entry.key());
    proto.metadata_props.retain(kept);
    let main = initializers.iter().map(|(name, data)| plan::Weight::named(name, data));
    let inside = nested.iter().map(|(name, data)| plan::Weight::inside(name, data));
    let weights = main.chain(inside).collect();
    let prepared = Prepared::with(weights, path, options, own, |weights, places, data_names| {
        metadata::extend(&mut proto.metadata_props, metadata::of_weights(weights, places));
        let placed = weights.iter().zip(&places.places).filter(|(weight, _)| weight.is_nested);
        let numbers =
            onnx::nested_initializers_mut(&mut graph).into_iter().filter(|tensor| !onnx::is_text(tensor));
        for (tensor, (weight, place)) in numbers.zip(placed) {
            let made = encode::outside(weight, place, places, data_names);
            let made = made.unwrap_or_else(|| constants::called(weight.name, weight.data));
            let TensorProto { doc_string, metadata_props, .. } = std::mem::take(tensor);
            *tensor = TensorProto { doc_string, metadata_props, ..made };
        }
        encode::Message::from_model(&proto, encode::Chunks::from_graph(&graph), weights, places, data_names)
    })?;
    complete(prepared, &[], options)?.publish()
}

/// Writes everything to files that nobody sees yet.
fn complete(
    prepared: Prepared<'_>,
    artefacts: &[Artefact],
    options: &WriteOptions,
) -> Result<Unpublished, Report> {
    let Prepared { target, sources, weights, places, message, summary } = prepared;
    // Leftovers of a killed run also take space.
    target.recover()?;
    summary.check(options)?;
    let model_bytes = message.len()?;
    let data_bytes = places.data_bytes();
    let meter = stream::Meter::new(model_bytes + data_bytes, options.progress.clone(), summary.stream_memory);
    let checking = Checking::start(&weights, &places, options);
    let mut manifest = options.manifest.then(Vec::new);
    let mut data = Vec::new();
    for (path, file) in target.data.iter().zip(&places.files) {
        let mut staged = target.stage(path)?;
        let span = trace::span("write", "data file");
        let hash = fill(staged.file(), file, &weights, &meter, options.manifest);
        drop(span);
        let hash = hash.map_err(|e| publish::failed(path, &e))?;
        note(&mut manifest, path, hash);
        data.push(staged);
    }
    let beside = artefacts::write(artefacts, &target)?;
    for (artefact, path) in artefacts.iter().zip(&beside.paths) {
        note(&mut manifest, path, Some(artefact.sha256.clone()));
    }
    let path = &target.model;
    let mut staged = target.stage(path)?;
    let span = trace::span("write", "model file");
    let hash = fill_model(staged.file(), &message, &meter, options.manifest);
    drop(span);
    note(&mut manifest, path, hash.map_err(|e| publish::failed(path, &e))?);
    refuse_changed(options.program.as_ref(), &weights)?;
    checking.finish()?;
    let manifest = match manifest {
        Some(text) => Some(list(&target, &text)?),
        None => None,
    };
    let report = WriteReport {
        artefacts: Vec::new(),
        model: target.model.clone(),
        model_bytes,
        data: target.data.clone(),
        data_bytes,
        manifest: manifest.is_some().then(|| target.manifest.clone()),
        tensors: weights.len() - summary.tensors.left_out,
        tied: places.tied,
        weight_bytes: places.inline_bytes + places.stored_bytes() + places.pointed_bytes(),
        unbound: places.places.iter().filter(|p| matches!(p, plan::Destination::Unbound(_))).count(),
        sources: places.pointed.clone(),
        source_bytes: places.pointed_bytes(),
        diagnostics: reference::remarks(&weights, &places, options),
    };
    let ready = publish::Ready { data, model: staged, manifest };
    Ok(Unpublished { target, ready, beside, sources, report })
}

/// Writes a data file; its hash, if one is asked for.
fn fill(
    out: &mut File,
    file: &plan::DataFile,
    weights: &[plan::Weight<'_>],
    meter: &stream::Meter,
    hash: bool,
) -> io::Result<Option<String>> {
    let mut hasher = hash.then(manifest::Hasher::new);
    // A full disk is known before the copying starts, where the file system can tell.
    out.set_len(file.bytes)?;
    meter.begin(out, file.bytes);
    for (index, place) in &file.stored {
        let weight = weights.get(*index).ok_or(io::ErrorKind::InvalidInput)?;
        out.seek(SeekFrom::Start(place.offset))?;
        stream::weight(weight, &mut stream::Out::File(out), meter)?;
        if let Some(hasher) = &mut hasher {
            hasher.advance(out, place.offset + place.len)?;
        }
    }
    meter.end(out)?;
    Ok(hasher.map(manifest::Hasher::finish))
}

/// Writes the model; its hash, if one is asked for.
fn fill_model(
    out: &mut File,
    message: &encode::Message<'_>,
    meter: &stream::Meter,
    hash: bool,
) -> io::Result<Option<String>> {
    message.write(&mut stream::Out::File(out), meter)?;
    let mut hasher = hash.then(manifest::Hasher::new);
    if let Some(hasher) = &mut hasher {
        hasher.advance(out, out.metadata()?.len())?;
    }
    sync::file(out)?;
    Ok(hasher.map(manifest::Hasher::finish))
}

/// Adds a file to the list of hashes.
fn note(manifest: &mut Option<Vec<u8>>, path: &Path, hash: Option<String>) {
    if let (Some(text), Some(hash)) = (manifest, hash) {
        text.extend(manifest::line(path.file_name().unwrap_or_default(), &hash));
    }
}

/// Writes the list of hashes.
fn list(target: &publish::Target, text: &[u8]) -> Result<publish::Staged, Report> {
    let mut staged = target.stage(&target.manifest)?;
    let file = staged.file();
    file.write_all(text)
        .and_then(|()| sync::file(file))
        .map_err(|e| publish::failed(&target.manifest, &e))?;
    Ok(staged)
}

/// Fails when a file that was read has been written to since it was opened.
fn refuse_changed(program: Option<&MappedFile>, weights: &[plan::Weight<'_>]) -> Result<(), Report> {
    let mapped = weights.iter().flat_map(|weight| weight.data.files());
    let mut last: Option<&MappedFile> = None;
    for file in program.into_iter().chain(mapped) {
        if last.is_some_and(|last| last.same(file)) {
            continue;
        }
        last = Some(file);
        if file.changed() {
            let message = format!("`{}` was changed while it was converted", file.path().display());
            let help = "convert it again when it is complete";
            return Err(Diagnostic::error(Code::WRITE_SOURCE_CHANGED, message).help(help).into());
        }
    }
    Ok(())
}
