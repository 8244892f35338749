//! Encodes a model as one message in memory.

use std::io::{self, Write};
use std::path::Path;

use super::encode::{Encoder, Message};
use super::names::Names;
use super::plan::{self, Plan, Weight};
use super::publish::Target;
use super::stream::{self, Meter, Out};
use super::{ExternalData, WriteOptions, summary, unbound};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::Model;
use crate::onnx::OnnxFile;
use crate::tensor::{Error, LazyTensor};

/// Returns the length in bytes of the message that [`message()`] writes.
///
/// # Errors
/// As [`message()`], except for errors of reading weights.
pub fn message_len(model: &Model, options: &WriteOptions) -> Result<u64, Report> {
    with(model, options, |message, _| message.len())
}

/// Writes `model` to `out` as one message that holds its weights, whatever `options` say of where they go. Weights are
/// streamed.
///
/// # Errors
/// `OP602` when the message is longer than one may be, `OP601` when `out` takes no more, those of reading weights.
/// `OP001` when a backend put files beside the model.
pub fn message(model: &Model, options: &WriteOptions, out: &mut (dyn Write + Send)) -> Result<(), Report> {
    with(model, options, |message, weights| {
        let memory = summary::stream_memory(stream::needs(weights), options);
        let meter = Meter::new(message.len()?, options.progress.clone(), memory);
        message.write(&mut Out::Stream(out), &meter).map_err(|error| unwritten(&error).into())
    })
}

/// Returns the model file that [`write()`](super::write) writes to `path`, with zeros for the bytes of weights. Nothing
/// is written, and `path` need not be writable.
///
/// # Errors
/// `OP602` if the model does not fit a protobuf message, `OP616` if it cannot state the name of a data file, and errors
/// of reading weights to compare them.
pub fn preview(model: &Model, path: &Path, options: &WriteOptions) -> Result<OnnxFile, Report> {
    let names = Names::for_model(model);
    let weights = plan::weights(model, &names, options);
    unbound::check(&weights, options)?;
    let places = Plan::for_weights(&weights, path, options)?;
    let data_names = Target::new(path, places.files.len()).data_names()?;
    let message = Encoder::new(model, options).model(&names, &weights, &places, &data_names);
    Ok(OnnxFile::from_message(path, message.outline()?)?)
}

/// The tensors that [`message()`] leaves out without initializers, by their names and in order.
pub fn left_out(model: &Model) -> Vec<(String, LazyTensor)> {
    let options = WriteOptions { initializers: false, ..WriteOptions::default() };
    let names = Names::for_model(model);
    let weights = plan::weights(model, &names, &options).into_iter();
    weights.filter(|weight| !weight.is_written).map(|w| (w.name.to_owned(), w.data.clone())).collect()
}

fn with<T>(
    model: &Model,
    options: &WriteOptions,
    then: impl FnOnce(&Message<'_>, &[Weight<'_>]) -> Result<T, Report>,
) -> Result<T, Report> {
    if let Some(artefact) = model.artefacts.first() {
        let message =
            format!("the model needs the file `{}`, which is not part of the message", artefact.file);
        let help = "save the model to a file, or let blobs be embedded";
        return Err(Diagnostic::error(Code::USAGE, message).help(help).into());
    }
    let options = WriteOptions { external_data: ExternalData::Inline, ..options.clone() };
    let names = Names::for_model(model);
    let weights = plan::weights(model, &names, &options);
    unbound::check(&weights, &options)?;
    let places = Plan::for_weights(&weights, Path::new(""), &options)?;
    then(&Encoder::new(model, &options).model(&names, &weights, &places, &[]), &weights)
}

fn unwritten(error: &io::Error) -> Diagnostic {
    let code = Error::inside(error).map_or(Code::WRITE_IO, Error::code);
    Diagnostic::error(code, format!("the model cannot be written: {error}"))
}
