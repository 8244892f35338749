//! What gives values by their names.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::Recorded;
use crate::diagnose::{Code, Diagnostic};
use crate::run::Computed;
use crate::tensor::data::count;
use crate::verify::{Feed, Runtime};

/// What gives values by their names.
pub enum Side<'r> {
    /// A runtime that runs a model.
    Model(ModelSide<'r>),
    /// What was recorded.
    Recorded(Recorded),
}

/// A model in a file, with what runs it and what it is run on.
pub struct ModelSide<'r> {
    /// What runs it.
    pub runtime: &'r Runtime,
    /// The file.
    pub path: PathBuf,
    /// Every input that has a value.
    pub inputs: Vec<Computed>,
    /// The names of its outputs, which need not be asked for.
    pub outputs: Vec<String>,
}

impl Side<'_> {
    /// What this is, for people.
    ///
    /// # Errors
    /// Those of the runtime.
    pub fn describe(&self) -> Result<String, Diagnostic> {
        match self {
            Side::Model(model) => model.runtime.describe(),
            Side::Recorded(recorded) => Ok(format!("the recording {}", recorded.path().display())),
        }
    }

    /// Hands over the values called `names`, one after the other and in any order. Those that are not there are left out.
    ///
    /// # Errors
    /// Those of the runtime.
    pub fn each(&self, names: &[&str], take: &mut dyn FnMut(Computed)) -> Result<(), Diagnostic> {
        match self {
            Side::Model(model) => model.each(names, take),
            Side::Recorded(recorded) => {
                for name in names {
                    if let Some(value) = recorded.value(name)? {
                        take(value);
                    }
                }
                Ok(())
            }
        }
    }
}

impl<'r> ModelSide<'r> {
    /// The model at `path`, whose outputs are called `outputs`.
    pub fn new(runtime: &'r Runtime, path: &Path, inputs: Vec<Computed>, outputs: Vec<String>) -> Self {
        Self { runtime, path: path.to_owned(), inputs, outputs }
    }

    /// [`Side::each`] of a model that is run for this.
    ///
    /// # Errors
    /// Those of the runtime.
    pub fn each(&self, names: &[&str], take: &mut dyn FnMut(Computed)) -> Result<(), Diagnostic> {
        let inside: Vec<&str> =
            names.iter().copied().filter(|name| !self.outputs.iter().any(|o| o == name)).collect();
        let mut session = if inside.is_empty() {
            self.runtime.load(&self.path)?
        } else {
            self.runtime.load_with(&self.path, &inside)?
        };
        let feeds: Vec<Feed<'_>> = self.inputs.iter().map(Computed::feed).collect::<Result<_, _>>()?;
        let wanted: rustc_hash::FxHashSet<&str> = names.iter().copied().collect();
        let mut problem = None;
        session.run(&feeds, &mut |output| {
            if !wanted.contains(output.name) {
                return;
            }
            let shape: Option<Vec<u64>> = output.dims.iter().map(|d| u64::try_from(*d).ok()).collect();
            let elements = shape.as_deref().and_then(count);
            let length = output.dtype.zip(elements).and_then(|(dtype, count)| dtype.byte_len(count));
            match output.dtype.zip(shape).filter(|_| length == Some(output.bytes.len() as u64)) {
                Some((dtype, shape)) => take(Computed {
                    name: output.name.to_owned(),
                    dtype,
                    shape,
                    bytes: Bytes::copy_from_slice(output.bytes),
                }),
                None => {
                    problem.get_or_insert_with(|| output.name.to_owned());
                }
            }
        })?;
        match problem {
            None => Ok(()),
            Some(name) => {
                let runtime = self.runtime.name();
                let message = format!(
                    "{runtime} gives the value `{name}` in a form that is not that of its type and shape"
                );
                Err(Diagnostic::error(Code::VERIFY_ANSWER, message))
            }
        }
    }
}
