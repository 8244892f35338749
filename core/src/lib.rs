//! Converts PyTorch exported programs (`.pt2`, written by `torch.export.save`) to ONNX.
//!
//! A [`Host`] holds the plugins that know operators and runtimes. A [`Conversion`] is a program to convert;
//! each step takes the result of the previous one. The library prints nothing and handles no signals.
//!
//! ```
//! use onnxport_core::{Conversion, Host, Report, WriteOptions};
//!
//! # fn main() -> Result<(), Report> {
//! # let folder = std::env::temp_dir().join(format!("onnxport-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let output = folder.join("mlp.onnx");
//! let host = Host::new(&[&onnxport_aten::ROOT])?;
//! let model = Conversion::open("../examples/mlp/mlp.pt2")?.dim("x", 0, "batch").run(&host)?;
//! let written = model.write(&output, &WriteOptions::default())?;
//! assert_eq!(written.tensors, 8);
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! To verify a model before it is visible, add the plugin of a runtime to the host, [find](Runtime::find) it,
//! [stage](ConvertedProgram::stage) the model, [verify](Staged::verify) it, and [publish](Staged::publish) it when it
//! holds:
//!
//! ```
//! use onnxport_core::{Conversion, Host, Report, Runtime, VerifyOptions, WriteOptions};
//!
//! # fn main() -> Result<(), Report> {
//! # let folder = std::env::temp_dir().join(format!("onnxport-doc-verified-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! # let output = folder.join("mlp.onnx");
//! let host = Host::new(&[&onnxport_aten::ROOT, &onnxport_reference::ROOT])?;
//! let model = Conversion::open("../examples/mlp/mlp.pt2")?.run(&host)?;
//! let mut staged = model.stage(&output, &WriteOptions::default())?;
//! let verified = staged.verify(&Runtime::find(&host)?, &VerifyOptions::default())?;
//! assert!(verified.passed() && verified.values_compared);
//! staged.publish()?;
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok(())
//! # }
//! ```
//!
//! [`Model::read`] reads an ONNX model, and [`optimize`] applies rules and passes to it. A [`Pipeline`] has the stages of a
//! conversion or of an optimizer run by name; callers can put stages of their own between them.
//!
//! [`run_model`] runs any ONNX model on values that are given or drawn.
//!
//! A [`Trace`] records the time of each step, on the threads that run inside it only:
//!
//! ```
//! use onnxport_core::{Conversion, Host, Report, Trace};
//!
//! # fn main() -> Result<(), Report> {
//! let trace = Trace::new();
//! let host = Host::new(&[&onnxport_aten::ROOT])?;
//! trace.record(|| Conversion::open("../examples/mlp/mlp.pt2")?.run(&host))?;
//! let mut text = Vec::new();
//! trace.write_chrome(&mut text).unwrap();
//! assert!(String::from_utf8(text).unwrap().contains("aten.linear.default"));
//! # Ok(())
//! # }
//! ```
//!
//! Errors are [`Report`]s: every problem at once, each a [`Diagnostic`] with a stable [`Code`], the line of the
//! user's own program and a next step. Their `Display` is the text that the command prints.
//!
//! # Stability
//!
//! The items at the root of this crate: some forty types, and the types of their fields. The modules are internals of
//! the host, public only because the command, `plugin check`, the Python package and the tests are separate crates;
//! they are hidden here, and may change.

// Input never causes a panic; tests may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

#[doc(hidden)]
pub mod backend;
#[doc(hidden)]
pub mod bisect;
#[doc(hidden)]
pub mod calibrate;
#[doc(hidden)]
pub mod capture;
#[doc(hidden)]
pub mod compare;
mod conversion;
#[doc(hidden)]
pub mod decompose;
#[doc(hidden)]
pub mod diff;
#[doc(hidden)]
pub mod dispatch;
#[doc(hidden)]
pub mod functions;
pub(crate) mod graph_access;
#[doc(hidden)]
pub mod host;
pub(crate) mod incoming;
#[doc(hidden)]
pub mod inspect;
pub(crate) mod isolated;
#[doc(hidden)]
pub mod legalise;
#[doc(hidden)]
pub mod lower;
#[doc(hidden)]
pub mod meta;
#[doc(hidden)]
pub mod normalise;
#[doc(hidden)]
pub mod optimise;
#[doc(hidden)]
pub mod pipeline;
#[doc(hidden)]
pub mod precision;
#[doc(hidden)]
pub mod profile;
#[doc(hidden)]
pub mod program;
#[doc(hidden)]
pub mod provenance;
#[doc(hidden)]
pub mod pt2;
#[doc(hidden)]
pub mod registry;
pub(crate) mod rules;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod session;
#[doc(hidden)]
pub mod sizes;
#[doc(hidden)]
pub mod stages;
#[doc(hidden)]
pub mod states;
#[doc(hidden)]
pub mod taps;
#[doc(hidden)]
pub mod verify;
#[doc(hidden)]
pub mod weights;

pub use backend::BackendOptions;
pub use conversion::{Calls, Conversion, ConvertedProgram, IN_MEMORY, Staged};
pub use diagnose::{Code, Diagnostic, Report, Severity};
pub use host::discover::Search;
pub use host::{Host, PluginRoot};
pub use ir::Model;
pub use lower::{DimName, LowerOptions};
pub use optimise::{OptimiseOptions, Optimised, OptimizePipeline, Rewritten, optimize};
pub use pipeline::{ConvertOptions, ConvertPipeline, Converted};
pub use precision::PrecisionOptions;
pub use run::{Computed, Draw, Given, Run, Sizes, Summary, run as run_model};
pub use stages::Pipeline;
pub use tensor::{DType, LazyTensor};
pub use trace::Trace;
pub use verify::{
    Against, CaseReport, Executor, Options as VerifyOptions, OutputReport, Runtime, Verification,
};
pub use weights::{BindOptions, NameMap, WeightSet};
pub use write::{ExternalData, Metadata, WriteOptions, WritePlan, WriteReport};

pub(crate) use onnxport_ir::{Name, arena, equate, python, random, schedule, table, text};
#[doc(hidden)]
pub use onnxport_ir::{
    clean, diagnose, files, inline, interpreter, ir, layout, onnx, op, ops, sym, tensor, tidy, trace, valid,
    write,
};
