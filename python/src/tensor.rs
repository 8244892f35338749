//! Tensors described by pointers from Python.

use std::collections::HashMap;

use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::pt2::GivenTensor;
use onnxport_core::tensor::{DType, LentMemory};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A parameter, buffer or constant in memory. Nothing is copied.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Tensor {
    /// Of the whole storage.
    address: usize,
    nbytes: usize,
    dtype: DType,
    shape: Vec<u64>,
    strides: Vec<u64>,
    offset: u64,
    storage: i128,
    owner: Py<PyAny>,
}

#[pymethods]
impl Tensor {
    #[new]
    #[pyo3(signature = (*, address, nbytes, dtype, shape, strides, offset, storage, owner))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        address: usize,
        nbytes: usize,
        dtype: &str,
        shape: Vec<u64>,
        strides: Vec<u64>,
        offset: u64,
        storage: i128,
        owner: Py<PyAny>,
    ) -> PyResult<Self> {
        let unknown = || PyValueError::new_err(format!("no model has tensors of {dtype}"));
        let dtype = GivenTensor::dtype(dtype).ok_or_else(unknown)?;
        if address == 0 && nbytes > 0 || isize::try_from(nbytes).is_err() {
            return Err(PyValueError::new_err(format!("there are no {nbytes} bytes at {address:#x}")));
        }
        Ok(Self { address, nbytes, dtype, shape, strides, offset, storage, owner })
    }
}

/// The objects that keep lent memory alive.
struct Owners(Vec<Py<PyAny>>);

impl Drop for Owners {
    fn drop(&mut self) {
        let owners = std::mem::take(&mut self.0);
        // Without the lock they would wait until Python is called the next time, with all their memory. At the end of the
        // interpreter there is nothing to take it from.
        let _ = Python::try_attach(move |_| drop(owners));
    }
}

/// Tensors by name, as supplied to a program; `None` means that there are no bytes.
pub(crate) type Given = Vec<(String, Option<GivenTensor>)>;

/// Turns tensors into those of the library. Tensors of one storage share a loan.
pub(crate) fn given(py: Python<'_>, tensors: Vec<(String, Option<Py<Tensor>>)>) -> Result<Given, Diagnostic> {
    let mut storages: HashMap<i128, (usize, usize, Vec<Py<PyAny>>)> = HashMap::new();
    for (name, tensor) in &tensors {
        let Some(tensor) = tensor.as_ref().map(Py::get) else { continue };
        let place = (tensor.address, tensor.nbytes);
        let known = storages.entry(tensor.storage).or_insert((place.0, place.1, Vec::new()));
        if (known.0, known.1) != place {
            let message = format!("`{name}` has the storage of another tensor at another address");
            return Err(Diagnostic::error(Code::READ_PAYLOAD, message));
        }
        known.2.push(tensor.owner.clone_ref(py));
    }
    let loan = |(storage, (address, nbytes, owners)): (i128, (usize, usize, Vec<Py<PyAny>>))| {
        // SAFETY: the owners keep the storage, which PyTorch neither moves nor shrinks while it is referenced. The
        // package requires of its users that nobody writes to it meanwhile.
        let memory = unsafe { LentMemory::new(address as *const u8, nbytes, Owners(owners)) };
        (storage, memory)
    };
    let loans: HashMap<i128, LentMemory> = storages.into_iter().map(loan).collect();
    let given = |(name, tensor): (String, Option<Py<Tensor>>)| {
        let tensor = tensor.and_then(|tensor| {
            let tensor = tensor.get();
            let memory = loans.get(&tensor.storage)?.clone();
            let (dtype, shape, strides) = (tensor.dtype, tensor.shape.clone(), tensor.strides.clone());
            Some(GivenTensor { dtype, shape, strides, offset: tensor.offset, memory })
        });
        (name, tensor)
    };
    Ok(tensors.into_iter().map(given).collect())
}
