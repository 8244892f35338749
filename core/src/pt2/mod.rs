//! Reads exported programs: `.pt2` archives, as `torch.export.save` writes them.
//!
//! The archive is mapped and indexed, its JSON is decoded, and its tensors stay in place; a program in memory has the
//! same parts ([`from_parts`]). Nothing in an archive is trusted: sizes are checked against the file, pickles are read
//! by an allow-list, and every problem is a diagnostic that names the entry.

mod cache;
mod decode;
mod dim_names;
mod guard_lines;
mod json;
mod layout;
mod parts;
mod payload;
pub(crate) mod pickle;
mod sample_inputs;
mod schema;
pub(crate) mod torch_file;
mod treespec;
mod view;

pub use parts::{GivenTensor, Parts, from_parts};
pub use sample_inputs::{SampleInputs, SampleValue};
pub use treespec::TreeSpec;

use std::path::Path;

use serde_json::value::RawValue;

use crate::tensor::zip_index::{Region, ZipIndex};
use layout::{Layout, TensorFile};
use payload::Payloads;

use crate::diagnose::{Code, Diagnostic, Report};
use crate::program::Program;
use crate::tensor::MappedFile;

/// An exported program and its source.
#[derive(Clone, Debug)]
pub struct Archive {
    /// The program. Its tensors are ranges of the archive, or lent.
    pub program: Program,
    /// The mapped file; `None` for a program from memory.
    pub file: Option<MappedFile>,
    /// The bytes of all parameters, buffers and constants; shared ones are counted once.
    pub weight_bytes: u64,
    /// The archive, and the entry of the inputs with which the program was traced.
    samples: Option<(ZipIndex, String)>,
}

impl Archive {
    /// Reads the inputs with which the program was traced; `None` if it records none.
    ///
    /// # Errors
    /// `OP107` if they contain anything but plain tensors, containers and scalars.
    pub fn sample_inputs(&self) -> Result<Option<SampleInputs>, Report> {
        let Some((zip, name)) = &self.samples else { return Ok(None) };
        let Some(entry) = zip.get(name).filter(|entry| entry.size > 0) else { return Ok(None) };
        let inputs = SampleInputs::read(zip.region(name, entry)?, name)?;
        Ok(Some(inputs))
    }
}

/// Reads the exported program at `path`.
///
/// # Errors
/// Codes `OP101` to `OP109`; every problem of the program and of its payloads at once.
pub fn read(path: &Path) -> Result<Archive, Report> {
    read_named(path, None)
}

/// Reads the exported program called `model` from an archive of several.
///
/// # Errors
/// As [`read`].
pub fn read_named(path: &Path, model: Option<&str>) -> Result<Archive, Report> {
    let file = MappedFile::open(path)
        .map_err(|e| Diagnostic::error(Code::READ_IO, format!("`{}` cannot be read: {e}", path.display())))?;
    if let Some(foreign) = layout::not_a_zip(file.bytes()) {
        return Err(foreign.into());
    }
    let zip = ZipIndex::open(Region::whole(file.clone()), "")?;
    let layout = Layout::find(&zip, model)?;
    check_archive_version(&zip)?;
    torch_file::check_byte_order(&zip, zip.root())?;
    let mut program = program(&zip, &layout.program)?;
    dim_names::apply(&zip, &mut program)?;
    guard_lines::apply(&zip, &mut program)?;
    let mut payloads = Payloads::default();
    for tensors in &layout.tensors {
        let result = match tensors {
            TensorFile::Table { config, folder } => payloads.add(&zip, config, folder),
            TensorFile::Torch(name) => payloads.add_torch_file(&zip, name),
        };
        payloads.problems.extend(result.err());
    }
    finish(program, payloads, Some(file), Some((zip, layout.samples)))
}

/// Gives the program its tensors, after checking them against its statements.
fn finish(
    mut program: Program,
    mut payloads: Payloads,
    file: Option<MappedFile>,
    samples: Option<(ZipIndex, String)>,
) -> Result<Archive, Report> {
    check_tensors(&program, &mut payloads);
    if !payloads.problems.is_empty() {
        return Err(Report { diagnostics: payloads.problems, origins: program.origins });
    }
    program.tensors = payloads.tensors;
    Ok(Archive { program, file, weight_bytes: payloads.bytes, samples })
}

/// The program of the entry `name`, without its tensors.
fn program(zip: &ZipIndex, name: &str) -> Result<Program, Report> {
    let Some(entry) = zip.get(name) else {
        let message = format!("`{}` is missing from the archive", zip.describe(name));
        return Err(Diagnostic::error(Code::READ_ARCHIVE, message).into());
    };
    program_of(&zip.read(name, entry)?, name)
}

/// As [`program`], of the JSON `bytes`.
fn program_of(bytes: &[u8], name: &str) -> Result<Program, Report> {
    let mut quoted = None;
    let parsed = json::parse_borrowed::<schema::ExportedProgram<&RawValue>>(bytes, &mut quoted, name);
    // A program of another version need not decode; its version must.
    let version = match &parsed {
        Ok(program) => program.schema_version,
        Err(error) => match json::parse::<schema::Versioned>(bytes, name) {
            Ok(versioned) => versioned.schema_version,
            Err(_) => return Err(error.clone().into()),
        },
    };
    if version.major != schema::MAJOR {
        let message = format!(
            "`{name}` has schema version {}.{}; onnxport reads version {}",
            version.major,
            version.minor,
            schema::MAJOR
        );
        return Err(Diagnostic::error(Code::READ_VERSION, message)
            .help("load and save the program with a PyTorch release from 2.8 on")
            .into());
    }
    let versioned =
        |e: Diagnostic| e.note(format!("it has schema version {}.{}", version.major, version.minor));
    if let Some(program) = decode::program(parsed.map_err(versioned)?, name)? {
        return Ok(program);
    }
    // Parsing the whole document yields the position of the error.
    let error = json::parse::<schema::ExportedProgram<Vec<schema::Node>>>(bytes, name).err();
    let otherwise = || Diagnostic::error(Code::READ_SCHEMA, format!("`{name}` does not follow the schema"));
    Err(versioned(error.unwrap_or_else(otherwise)).into())
}

fn check_archive_version(zip: &ZipIndex) -> Result<(), Diagnostic> {
    let name = format!("{}archive_version", zip.root());
    let Some(entry) = zip.get(&name).filter(|entry| entry.size <= 16) else { return Ok(()) };
    let version = zip.read(&name, entry)?;
    if version.trim_ascii() == b"0" {
        return Ok(());
    }
    let version = String::from_utf8_lossy(&version).into_owned();
    let message = format!("the archive has version {version}; onnxport reads version 0");
    Err(Diagnostic::error(Code::READ_VERSION, message))
}

/// Checks that every tensor of the signature exists, with the type that the graph states.
fn check_tensors(program: &Program, payloads: &mut Payloads) {
    let complete = payloads.problems.is_empty();
    for (spec, arg) in program.signature.inputs.iter().zip(&program.body.inputs) {
        let Some(name) = spec.kind.tensor_name() else { continue };
        let value = arg.as_value().and_then(|val| program.body.values.find(val));
        let stated = value.and_then(|value| value.ty.as_tensor());
        if (payloads.stripped || payloads.weightless.contains(name))
            && !payloads.tensors.contains_key(name)
            && let Some(tensor) = stated.and_then(|ty| payload::stated(name, ty))
        {
            payloads.tensors.insert(name.to_owned(), tensor);
        }
        let Some(tensor) = payloads.tensors.get(name) else {
            // After another problem, this would often be its echo.
            if complete {
                let message = format!("the tensor `{name}` of the program is missing");
                payloads.problems.push(Diagnostic::error(Code::READ_PAYLOAD, message));
            }
            continue;
        };
        let Some(ty) = stated else { continue };
        let same_shape = ty.shape.len() == tensor.shape.len()
            && ty.shape.iter().zip(&tensor.shape).all(|(stated, stored)| {
                stated.as_const().is_none_or(|stated| u64::try_from(stated) == Ok(*stored))
            });
        if ty.dtype != tensor.dtype || !same_shape {
            let message = format!(
                "the tensor `{name}` is {}{:?}, which contradicts the program",
                tensor.dtype, tensor.shape
            );
            payloads.problems.push(Diagnostic::error(Code::READ_PAYLOAD, message));
        }
    }
}
