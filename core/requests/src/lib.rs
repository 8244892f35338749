//! The commands of onnxport as data, and the functions that run them.
//!
//! A request is a struct: its fields are the options of a command, with their names, defaults, documentation and checks. The
//! command line, `onnxport.toml` and Python's keywords are read into it, and a Rust program fills it in:
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{CheckRequest, ConvertRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let model = folder.path().join("mlp.onnx");
//! # let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");
//! let host = Host::new(&[&onnxport_aten::ROOT, &onnxport_optimise::ROOT, &onnxport_reference::ROOT])?;
//! let obstacles = CheckRequest::new(program).run(&host, &mut ())?;
//! assert!(obstacles.is_empty(), "{:?}", obstacles.report);
//! let converted = ConvertRequest::new(program, &model).run(&host, &mut ())?;
//! let saved = converted.saved().expect("the model is written");
//! println!("{} cases agree", saved.checked.verification.as_ref().map_or(0, |(v, _)| v.cases.len()));
//! assert!(converted.passed() && saved.checked.is_verified() && model.is_file());
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{OptimizeRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (model, output) = (folder.path().join("a.onnx"), folder.path().join("b.onnx"));
//! # let text = "opset 20\ngraph {\n input %x: f32[3]\n %a: f32[3] = Neg(%x)\n %b: f32[3] = Neg(%a)\n output %b as y\n}\n";
//! # onnxport_core::write::write(&onnxport_core::Model::parse(text).unwrap(), &model, &Default::default())?;
//! let host = Host::new(&[&onnxport_optimise::ROOT, &onnxport_fusions::ROOT])?;
//! let request = OptimizeRequest::new(&model, &output);
//! let optimized = request.run(&host, &mut ())?;
//! println!("{} patches", optimized.optimised.applied);
//! assert!(optimized.passed() && output.is_file());
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{DiffRequest, Request, RunRequest};
//!
//! # fn main() -> Result<(), Report> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let model = folder.path().join("a.onnx");
//! # let text = "opset 20\ngraph {\n input %x: f32[3]\n %a: f32[3] = Abs(%x)\n output %a as y\n}\n";
//! # onnxport_core::write::write(&onnxport_core::Model::parse(text).unwrap(), &model, &Default::default())?;
//! let host = Host::new(&[&onnxport_reference::ROOT])?;
//! let ran = RunRequest::random(&model).run(&host, &mut ())?;
//! assert_eq!(ran.run.outputs[0].name, "y");
//! let request = DiffRequest { values: true, ..DiffRequest::new(&model, &model) };
//! assert!(request.run(&host, &mut ())?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! ```no_run
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{Request, VerifyRequest};
//!
//! # fn main() -> Result<(), Report> {
//! let host = Host::new(&[&onnxport_reference::ROOT])?;
//! let verified = VerifyRequest::new("model.onnx", "model.pt2").run(&host, &mut ())?;
//! for verification in &verified.verifications {
//!     println!("{} cases in {}", verification.cases.len(), verification.executor);
//! }
//! assert!(verified.passed());
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{InspectRequest, Inspected, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");
//! let host = Host::new(&[&onnxport_aten::ROOT])?;
//! let Inspected::Program(summary) = InspectRequest::new(program).run(&host, &mut ())? else { return Ok(()) };
//! for input in &summary.inputs {
//!     println!("{}: {}", input.name, input.ty);
//! }
//! assert!(summary.ops.iter().all(|op| op.provider.is_some()));
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{LegalRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");
//! let judged = LegalRequest::new(program).run(&Host::new(&[&onnxport_aten::ROOT])?, &mut ())?;
//! for node in &judged.legality.nodes {
//!     println!("{} at {:?}: {:?}, {}", node.operator, node.line, node.verdict, node.reason);
//! }
//! assert!(judged.passed());
//! # Ok(())
//! # }
//! ```
//!
//! ```no_run
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{PartitionRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let host = Host::new(&[])?;
//! let found = PartitionRequest::new("model.onnx", ["openvino"]).run(&host, &mut ())?;
//! for node in found.placement.nodes.iter().filter(|node| node.region.is_none()) {
//!     println!("{} in {}: {:?}", node.operator, node.module, node.refusals);
//! }
//! assert!(found.placement.share > 0.9);
//! # Ok(())
//! # }
//! ```
//!
//! ```no_run
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{ProfileRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! let host = Host::new(&[&onnxport_ort::ROOT])?;
//! let request = ProfileRequest { against: Some("after.onnx".into()), ..ProfileRequest::new("before.onnx") };
//! let profiled = request.run(&host, &mut ())?;
//! for row in &profiled.profile.operators {
//!     println!("{:?}: {} µs per run", row.key, row.times.median);
//! }
//! if let Some(against) = &profiled.against {
//!     println!("{} µs more or less", against.changes.total.difference);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{BisectRequest, Bisected, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let model = folder.path().join("a.onnx");
//! # let text = "opset 20\ngraph {\n input %x: f32[3]\n %a: f32[3] = Abs(%x)\n output %a as y\n}\n";
//! # onnxport_core::write::write(&onnxport_core::Model::parse(text).unwrap(), &model, &Default::default())?;
//! let host = Host::new(&[&onnxport_optimise::ROOT, &onnxport_reference::ROOT])?;
//! let found = BisectRequest::passes(&model).run(&host, &mut ())?;
//! if let Bisected::Step(steps) = &found {
//!     println!("{} patches, error {:.2e}", steps.patches, steps.error);
//! }
//! assert!(found.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{ExplainRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! let explained = ExplainRequest::new("OP301").run(&Host::new(&[])?, &mut ())?;
//! for code in &explained.codes {
//!     println!("{}: {}\n{}", code.code, code.means, code.ways_out.join("\n"));
//! }
//! assert_eq!(explained.codes.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{OpsRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! let host = Host::new(&[&onnxport_aten::ROOT])?;
//! for op in OpsRequest::matching("aten.conv*").run(&host, &mut ())?.ops {
//!     println!("{} by {} at opsets {}-{}", op.target, op.provider, op.min_opset, op.max_opset);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{Request, RulesRequest};
//!
//! # fn main() -> Result<(), Report> {
//! let host = Host::new(&[&onnxport_optimise::ROOT, &onnxport_fusions::ROOT])?;
//! for rule in RulesRequest::default().run(&host, &mut ())? {
//!     println!("{} ({}): {}", rule.listed.name, rule.listed.class, rule.listed.documentation);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{DrawRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");
//! let request = DrawRequest { depth: Some(2), ..DrawRequest::new(program) };
//! let drawing = request.run(&Host::new(&[])?, &mut ())?;
//! println!("{} nodes in {} modules", drawing.nodes(), drawing.modules());
//! assert!(drawing.svg().contains("<svg"));
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{ReportRequest, Reported, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (model, page) = (folder.path().join("a.onnx"), folder.path().join("a.html"));
//! # let text = "opset 20\ngraph {\n input %x: f32[3]\n %a: f32[3] = Abs(%x)\n output %a as y\n}\n";
//! # onnxport_core::write::write(&onnxport_core::Model::parse(text).unwrap(), &model, &Default::default())?;
//! let request = ReportRequest { outputs: vec![page.clone()], ..ReportRequest::new(&model) };
//! let Reported::Written { data, .. } = request.run(&Host::new(&[])?, &mut ())? else { return Ok(()) };
//! println!("{} nodes", data["model"]["nodes"]);
//! assert!(page.is_file());
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{PluginListRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! let host = Host::new(&[&onnxport_aten::ROOT, &onnxport_reference::ROOT])?;
//! for plugin in PluginListRequest::default().run(&host, &mut ())?.plugins {
//!     println!("{} {}: {}", plugin.id, plugin.version, plugin.provides.join(", "));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ```no_run
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{PluginInfoRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! let found = PluginInfoRequest::new("libmine.so").run(&Host::new(&[])?, &mut ())?;
//! println!("{} {} for {}", found.plugin.id, found.plugin.version, found.target);
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use onnxport_core::{Host, Report};
//! use onnxport_requests::{PluginNewRequest, Request};
//!
//! # fn main() -> Result<(), Report> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = Some(folder.path().join("mylib"));
//! let request = PluginNewRequest { path, ..PluginNewRequest::new("mylib") };
//! let project = request.run(&Host::new(&[])?, &mut ())?;
//! println!("{} builds {}", project.folder.display(), project.library.display());
//! assert!(project.folder.join("Cargo.toml").is_file());
//! # Ok(())
//! # }
//! ```
//!
//! A [pipeline](onnxport_core::Pipeline) takes stages of the caller:
//!
//! ```
//! use onnxport_core::{Conversion, ConvertPipeline, Host, Report};
//!
//! # fn main() -> Result<(), Report> {
//! # let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");
//! let mut pipeline = ConvertPipeline::new();
//! println!("{}", pipeline.names().join(", "));
//! pipeline.insert_before("legalise", "budget", |model| match model.graph.node_count() {
//!     0..1000 => Ok(()),
//!     nodes => Err(format!("{nodes} nodes are too many").into()),
//! })?;
//! let host = Host::new(&[&onnxport_aten::ROOT, &onnxport_optimise::ROOT])?;
//! let model = Conversion::open(program)?.run_with(&host, &pipeline)?;
//! assert!(model.converted.model.graph.node_count() > 0);
//! # Ok(())
//! # }
//! ```
//!
//! The last argument lets the caller watch the [progress](Progress) and cancel the work; `()` does neither. A problem
//! that prevents a command from running is a [`Report`](onnxport_core::Report). Findings about the model are in the
//! outcome. Nothing is printed.
//!
//! Requests are [read](object::read) from JSON objects as well:
//!
//! ```
//! use onnxport_requests::{OptimizeRequest, object};
//!
//! let options = serde_json::json!({ "model": "a.onnx", "output": "b.onnx", "optimize": 1 });
//! let request: OptimizeRequest = object::read("optimize", options.as_object().unwrap()).unwrap();
//! assert_eq!(request.output, Some("b.onnx".into()));
//! let unknown = serde_json::json!({ "model": "a.onnx", "ouput": "b.onnx" });
//! let problem = object::read::<OptimizeRequest>("optimize", unknown.as_object().unwrap()).unwrap_err();
//! assert_eq!(problem.help.unwrap(), "did you mean `output`?");
//! ```

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod axes;
pub mod backends;
pub mod bench;
pub mod bind;
pub mod bisect;
pub mod calibrating;
pub mod check;
pub mod convert;
pub mod converting;
pub mod decomposing;
pub mod diff;
pub mod draw;
pub mod explain;
pub mod export;
pub mod feeding;
pub mod functions;
pub mod holding;
pub mod inspect;
pub mod legal;
pub mod levels;
pub mod llm;
pub mod metadata;
pub mod object;
pub mod ops;
pub mod optimize;
pub mod optimizing;
pub mod package;
pub mod partition;
pub mod plugin;
pub mod plugins;
pub mod precision;
pub mod profile;
pub mod profiling;
pub mod progress;
pub mod reference;
pub mod report;
pub mod rules;
pub mod run;
pub mod runtime;
pub mod target;
pub mod value;
pub mod verify;
pub mod verifying;
pub mod weights;
pub mod writing;

use clap::Args;
use onnxport_core::Host;
use onnxport_core::diagnose::{Diagnostic, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use bench::{BenchRequest, Benched};
pub use bind::BindRequest;
pub use bisect::{BisectRequest, Bisected};
pub use check::{CheckRequest, Obstacles};
pub use convert::{ConvertRequest, Converted};
pub use diff::{DiffRequest, Differences};
pub use draw::{DrawRequest, Drawing};
pub use explain::{ExplainRequest, Explained};
pub use inspect::{InspectRequest, Inspected};
pub use legal::{Judged, LegalRequest};
pub use llm::{Exported, LlmRequest};
pub use ops::OpsRequest;
pub use optimize::{OptimizeRequest, Optimized};
pub use package::{PackageRequest, Packaged};
pub use partition::{PartitionRequest, Partitioned};
pub use plugin::{PluginCheckRequest, PluginInfoRequest, PluginListRequest, PluginNewRequest};
pub use plugins::Plugins;
pub use profile::{ProfileRequest, Profiled};
pub use progress::{Deadline, Progress};
pub use report::{ReportRequest, Reported};
pub use rules::RulesRequest;
pub use run::{Ran, RunRequest};
pub use verify::{Verified, VerifyRequest};

/// A command, with its options.
pub trait Request {
    /// The result of a command that ran.
    type Outcome;

    /// Fails for options that contradict each other.
    ///
    /// # Errors
    /// `OP001`.
    fn check(&self) -> Result<(), Diagnostic>;

    /// Checks the request and does the work with the plugins of `host`.
    ///
    /// # Errors
    /// A problem that prevents the command from running.
    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Self::Outcome, Report>;
}

/// A request, and the plugins of the host that runs it.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Hosted<R: Args> {
    /// The request.
    #[command(flatten)]
    #[serde(flatten)]
    pub request: R,
    /// The plugins.
    #[command(flatten)]
    #[serde(flatten)]
    pub plugins: Plugins,
}
