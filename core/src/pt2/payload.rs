//! Parameters, buffers and constants: the locations of their bytes, which are not read.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::decode::dtype;
use super::json;
use super::pickle::Item;
use super::schema::{PayloadConfig, PayloadMeta, SymInt, TensorMeta};
use super::torch_file;
use super::view::{Claim, unbound, view};
use crate::diagnose::{Code, Diagnostic};
use crate::program::TensorType;
use crate::tensor::zip_index::{Region, ZipIndex};
use crate::tensor::{LazyTensor, Unbound};

/// The number of the strided layout in the schema.
const STRIDED: i64 = 7;

/// The tensors of an archive, and the defects of the others.
#[derive(Default)]
pub(crate) struct Payloads {
    pub(crate) tensors: IndexMap<String, LazyTensor>,
    pub(crate) problems: Vec<Diagnostic>,
    /// The bytes of all storages, shared ones counted once.
    pub(crate) bytes: u64,
    /// Whether a table of tensors was removed from the archive, so that only the graph names them.
    pub(crate) stripped: bool,
    /// Tensors that are declared to have no bytes.
    pub(crate) weightless: BTreeSet<String>,
}

impl Payloads {
    /// Adds the tensors that the table `config` lists, with payloads in `folder`.
    pub(crate) fn add(&mut self, zip: &ZipIndex, config: &str, folder: &str) -> Result<(), Diagnostic> {
        let Some(entry) = zip.get(config) else {
            self.stripped = true;
            return Ok(());
        };
        let table: PayloadConfig = json::parse(&zip.read(config, entry)?, config)?;
        let mut regions: IndexMap<String, Region> = IndexMap::new();
        for (name, meta) in table.config {
            match payload(zip, folder, &name, &meta, &mut regions) {
                Ok(_) if self.tensors.contains_key(&name) => {
                    let message = format!("`{config}` lists `{name}`, which another table lists as well");
                    self.problems.push(Diagnostic::error(Code::READ_PAYLOAD, message));
                }
                Ok(tensor) => {
                    self.tensors.insert(name, tensor);
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        self.bytes = regions.values().fold(self.bytes, |sum, region| sum.saturating_add(region.len()));
        Ok(())
    }

    /// Adds the tensors of a `torch.save` file, as releases before 2.9 wrote all of them together.
    pub(crate) fn add_torch_file(&mut self, zip: &ZipIndex, name: &str) -> Result<(), Diagnostic> {
        let Some(entry) = zip.get(name) else {
            let message = format!("`{}` is missing from the archive", zip.describe(name));
            return Err(Diagnostic::error(Code::READ_PAYLOAD, message));
        };
        if entry.size == 0 {
            return Ok(());
        }
        let file = torch_file::read(zip.region(name, entry)?, name)?;
        let Item::Dict(items) = file.heap.get(file.root) else {
            let message = format!("`{name}` is not a dictionary of tensors");
            return Err(Diagnostic::error(Code::READ_PAYLOAD, message));
        };
        for (key, value) in items {
            let key = file.heap.text(*key).unwrap_or_default();
            if let Item::Tensor(tensor) = file.heap.get(*value) {
                self.tensors.insert(key.to_owned(), (**tensor).clone());
            } else {
                let message = format!("`{name}` contains `{key}`, which is not a tensor");
                self.problems.push(Diagnostic::error(Code::READ_PAYLOAD, message));
            }
        }
        self.bytes = self.bytes.saturating_add(file.bytes);
        Ok(())
    }
}

/// Returns the tensor called `name`. A payload that was removed, or that is empty because the program was
/// exported with fake tensors or on the meta device, yields a tensor without bytes.
fn payload(
    zip: &ZipIndex,
    folder: &str,
    name: &str,
    meta: &PayloadMeta,
    regions: &mut IndexMap<String, Region>,
) -> Result<LazyTensor, Diagnostic> {
    let path = format!("{folder}{}", meta.path_name);
    if meta.use_pickle {
        let what = if meta.tensor_meta.is_some() { "a tensor subclass" } else { "a custom object" };
        let message = format!("`{path}` stores `{name}` as a pickle of {what}, which is not supported");
        return Err(Diagnostic::error(Code::READ_PAYLOAD, message)
            .help("unwrap subclasses into plain tensors before export"));
    }
    let Some(claim) = meta.tensor_meta.as_ref() else {
        let message = format!("`{path}` has no record of the shape of `{name}`");
        return Err(Diagnostic::error(Code::READ_PAYLOAD, message));
    };
    let what = format!("`{name}` in `{path}`");
    let claim = claimed(claim, &what)?;
    if let Some(region) = regions.get(&path) {
        return view(claim, region.clone(), &what);
    }
    match zip.get(&path) {
        None if meta.path_name.contains(['/', '\\']) => {
            let message = format!("`{path}`, which contains `{name}`, is missing from the archive");
            Err(Diagnostic::error(Code::READ_PAYLOAD, message))
        }
        None => unbound(claim, name, path, &what),
        // All fake tensors share one empty payload, whichever memory they represent.
        Some(entry) if entry.size == 0 && claim.reach(&what)? > 0 => {
            unbound(claim, name, name.to_owned(), &what)
        }
        Some(entry) => {
            let region = zip.region(&path, entry)?;
            regions.insert(path, region.clone());
            view(claim, region, &what)
        }
    }
}

/// Returns a tensor of which only the type in the graph remains; `None` if its shape is symbolic.
pub(crate) fn stated(name: &str, ty: &TensorType) -> Option<LazyTensor> {
    let shape = ty.shape.iter().map(|d| u64::try_from(d.as_const()?).ok()).collect::<Option<Vec<_>>>()?;
    let (name, storage) = (name.to_owned(), name.to_owned());
    let unbound = Unbound { name, storage, dtype: ty.dtype, shape, offset: 0, strides: None };
    let tensor = unbound.into_tensor();
    tensor.byte_len().is_some().then_some(tensor)
}

fn claimed(meta: &TensorMeta, what: &str) -> Result<Claim, Diagnostic> {
    if meta.layout != STRIDED {
        let message = format!("{what} is not strided (layout {})", meta.layout);
        return Err(Diagnostic::error(Code::READ_PAYLOAD, message)
            .help("make sparse and mkldnn tensors dense before export"));
    }
    let dtype =
        dtype(meta.dtype).map_err(|(code, problem)| Diagnostic::error(code, format!("{what}: {problem}")))?;
    let sizes = |all: &[SymInt]| all.iter().map(|size| constant(size, what)).collect::<Result<_, _>>();
    Ok(Claim {
        dtype,
        shape: sizes(&meta.sizes)?,
        strides: sizes(&meta.strides)?,
        offset: constant(&meta.storage_offset, what)?,
    })
}

fn constant(size: &SymInt, what: &str) -> Result<u64, Diagnostic> {
    match size {
        SymInt::Int(n) => i64::try_from(*n).ok().and_then(|n| u64::try_from(n).ok()).ok_or_else(|| {
            Diagnostic::error(Code::READ_SIZE, format!("{what} has a size, stride or offset of {n}"))
        }),
        SymInt::Expr(expr) => {
            let message = format!("{what} has a symbolic size, `{}`", expr.expr_str);
            Err(Diagnostic::error(Code::READ_PAYLOAD, message))
        }
    }
}
