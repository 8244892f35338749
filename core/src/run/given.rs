//! Values that the user gives.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::wrong;
use crate::diagnose::Report;
use crate::tensor::LazyTensor;
use crate::verify::inputs::npy;
use crate::weights::WeightSet;

/// Values for the inputs of a model, by name.
#[derive(Clone, Debug, Default)]
pub struct Given {
    tensors: IndexMap<String, LazyTensor>,
    files: Vec<PathBuf>,
}

/// Sizes of dynamic dimensions: by the name of the dimension, or by an axis such as `x:0`.
pub type Sizes = IndexMap<String, i64>;

impl Given {
    /// The value of the input `name`.
    pub fn get(&self, name: &str) -> Option<&LazyTensor> {
        self.tensors.get(name)
    }

    /// Whether no input has a value.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The names, in the order in which they were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The files that were read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Sets the value of the input `name`, replacing an earlier one.
    pub fn insert(&mut self, name: impl Into<String>, tensor: LazyTensor) {
        self.tensors.insert(name.into(), tensor);
    }

    /// Sets every input to the tensor of its name in the file at `path`: `.npz`, or any kind of weight file.
    ///
    /// # Errors
    /// Those of [`WeightSet::open`]; `OP710` for an array of NumPy that is not numeric.
    pub fn add_all(&mut self, path: &Path) -> Result<(), Report> {
        if path.extension().is_some_and(|e| e == "npz") {
            self.tensors.extend(npy::read_all(path)?);
            self.files.push(path.to_owned());
            return Ok(());
        }
        let set = WeightSet::open(&[path.to_owned()], None)?;
        let tensors = set.names().filter_map(|name| Some((name.to_owned(), set.get(name)?.clone())));
        self.tensors.extend(tensors);
        self.files.push(path.to_owned());
        Ok(())
    }

    /// Sets the input `name` to the array of a `.npy` file, or of another file the tensor of this name or the only
    /// one.
    ///
    /// # Errors
    /// `OP710` if the file has no such value, else those of reading it.
    pub fn add(&mut self, name: &str, path: &Path) -> Result<(), Report> {
        let tensor =
            if path.extension().is_some_and(|e| e == "npy") { npy::read(path)? } else { one(name, path)? };
        self.insert(name, tensor);
        self.files.push(path.to_owned());
        Ok(())
    }
}

fn one(name: &str, path: &Path) -> Result<LazyTensor, Report> {
    let set = WeightSet::open(&[path.to_owned()], None)?;
    let mut names = set.names();
    let only = match (names.next(), names.next()) {
        (Some(only), None) => set.get(only),
        _ => None,
    };
    set.get(name).or(only).cloned().ok_or_else(|| {
        let message = format!("`{}` has {} tensors, none of them named `{name}`", path.display(), set.len());
        wrong(message).help("give all inputs of a file with --inputs").into()
    })
}
