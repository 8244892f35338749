//! `onnxport._native`: the library for Python. `python/onnxport/_native.pyi` describes its contents.
//!
//! Nothing here converts anything. A call takes Python's values, does the work of a command without the interpreter's
//! lock, and converts the results to Python's values and exceptions.

mod conversion;
mod error;
mod model;
mod optimized;
mod plugin;
mod signature;
mod tensor;
mod weights;
mod work;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use onnxport_core::bisect::modules::Tell;
use onnxport_core::compare::{self as measure, Tolerance};
use onnxport_core::diagnose::render;
use onnxport_core::pt2::GivenTensor;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

/// The extension module.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use super::conversion::Conversion;
    #[pymodule_export]
    use super::error::Error;
    #[pymodule_export]
    use super::model::{Model, save_package};
    #[pymodule_export]
    use super::optimized::{Optimized, optimize};
    #[pymodule_export]
    use super::plugin::{
        Block, Dim, Emitter, Functions, Graph, Kept, Nested, Node, Operator, Reference, Value, try_rule,
    };
    #[pymodule_export]
    use super::signature::{signature, with_outputs};
    #[pymodule_export]
    use super::tensor::Tensor;
    #[pymodule_export]
    use super::{command, compare, describe, main, names, page, sarif};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        #[cfg(feature = "cuda")]
        onnxport::link(&[&onnxport_cuda_parity::ROOT]);
        super::say_how_to_start(module.py())?;
        module.add("Refused", module.py().get_type::<super::plugin::Refused>())?;
        module.add("REFERENCE", onnxport_core::verify::SCRIPT)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// A script that starts the command in another Python, with the package in the folder of its first argument. It ignores
/// packages in the current folder.
const START: &str = "import sys; folder = sys.argv.pop(1); sys.path[:] = [p for p in sys.path if p]; \
                     folder in sys.path or sys.path.insert(0, folder); from onnxport._cli import main; sys.exit(main())";

/// Records which Python this is, and how to restart the command: with this Python and this package.
fn say_how_to_start(py: Python<'_>) -> PyResult<()> {
    let sys = py.import("sys")?;
    // Empty or `None` inside a program that embeds Python.
    let Ok(python) = sys.getattr("executable")?.extract::<OsString>() else { return Ok(()) };
    if !python.is_empty() {
        onnxport_core::interpreter::running(PathBuf::from(&python));
    }
    let package = sys
        .getattr("modules")?
        .get_item("onnxport")
        .and_then(|package| package.getattr("__path__")?.get_item(0)?.extract::<PathBuf>());
    let folder = package.ok().and_then(|package| Some(package.parent()?.as_os_str().to_owned()));
    let Some(folder) = folder.filter(|_| !python.is_empty()) else { return Ok(()) };
    onnxport::started_by(vec![python, "-c".into(), START.into(), folder]);
    Ok(())
}

/// Runs the command as a program does, and returns the exit code. The process is to end after it.
#[pyfunction]
fn main(py: Python<'_>, argv: Vec<OsString>) -> u8 {
    py.detach(|| onnxport::main(argv))
}

/// Runs a command, such as `optimize` or `weights bind`, within this process. `options` are its arguments and options
/// as a JSON object; returns the output with `--json`, with the output without it under `printed`.
///
/// `functions` are lowerings, rules and passes of Python.
#[pyfunction]
#[pyo3(signature = (name, options, *, progress=None, functions=None))]
fn command(
    py: Python<'_>,
    name: &str,
    options: String,
    progress: Option<&Bound<'_, PyAny>>,
    functions: Option<Py<plugin::Functions>>,
) -> PyResult<String> {
    let command = name.to_owned();
    let outcome = work::run(py, progress, move |watch| {
        onnxport::with_caller(pieces, || {
            plugin::run(functions, || onnxport::command(&command, &options, watch))
        })
    })?;
    Ok(error::said(&outcome, name))
}

/// Returns the page about a failed export of `name`: about the report `said`, an object of `convert --json`.
#[pyfunction]
fn page(py: Python<'_>, name: String, said: &str) -> PyResult<String> {
    let said = serde_json::from_str(said).map_err(|error| PyValueError::new_err(error.to_string()))?;
    work::run(py, None, move |_| onnxport::page(&name, &said))
}

/// Returns the result of `onnxport.pieces(path, **options)` as JSON; `options` are JSON. `tell` receives each step as
/// it begins.
fn pieces(path: &Path, options: &str, tell: Tell) -> Result<String, String> {
    let call = |py: Python<'_>| {
        let options = py.import("json")?.call_method1("loads", (options,))?;
        let options = options.cast::<PyDict>()?;
        let step = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<()> {
            let (step,): (String,) = args.extract()?;
            if tell(&step) { Ok(()) } else { Err(PyKeyboardInterrupt::new_err("")) }
        };
        options.set_item("progress", PyCFunction::new_closure(py, None, None, step)?)?;
        let found = py.import("onnxport")?.call_method("pieces", (path,), Some(options))?;
        found.call_method0("to_json")?.extract()
    };
    Python::attach(|py| call(py).map_err(|error: PyErr| error.to_string()))
}

/// Describes a command and its arguments, as JSON: `about`, and `arguments`, each with `name`, `place`, `kind`,
/// `required`, `values` and `help`.
#[pyfunction]
fn describe(py: Python<'_>, name: &str) -> PyResult<String> {
    onnxport::describe(name).map(|known| known.to_string()).map_err(|outcome| error::raised(py, &outcome))
}

/// Diagnostics, a JSON list of records, as a SARIF log; files below the folder `root` are named relative to it.
#[pyfunction]
fn sarif(diagnostics: &str, root: &str) -> PyResult<String> {
    let report = render::report(diagnostics).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(format!("{:#}\n", render::sarif(&report, root)))
}

/// Returns the names in the pattern of a rule: those of nodes, values, sizes, attributes.
#[pyfunction]
fn names(pattern: &str) -> PyResult<[Vec<String>; 4]> {
    let names = onnxport_core::optimise::names(pattern).map_err(PyValueError::new_err)?;
    Ok([names.nodes, names.values, names.dims, names.attributes])
}

/// Returns the difference of a tensor from the expected one, by the measure of `onnxport verify`, as JSON; `None` if
/// the two cannot be compared. Both are given by their bytes, row-major and little-endian. `rtol` and `atol` replace
/// the tolerances of the element type, if it has any.
#[pyfunction]
#[pyo3(signature = (dtype, shape, found, wanted, rtol=None, atol=None))]
fn compare(
    py: Python<'_>,
    dtype: &str,
    shape: Vec<u64>,
    found: PyBackedBytes,
    wanted: PyBackedBytes,
    rtol: Option<f64>,
    atol: Option<f64>,
) -> Option<String> {
    let dtype = GivenTensor::dtype(dtype)?;
    let elements = shape.iter().try_fold(1_u64, |count, extent| count.checked_mul(*extent))?;
    let bytes = dtype.byte_len(elements).and_then(|len| usize::try_from(len).ok())?;
    if found.len() != bytes || wanted.len() != bytes {
        return None;
    }
    let default = Tolerance::of(dtype);
    let tolerance = match default {
        Tolerance::EXACT => default,
        _ => Tolerance { rtol: rtol.unwrap_or(default.rtol), atol: atol.unwrap_or(default.atol) },
    };
    let found = py.detach(|| measure::compare(dtype, &shape, &found, &wanted, tolerance));
    serde_json::to_string(&found).ok()
}
