//! The regions that backends would compile, before anything is compiled or written.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use onnxport_core::backend::{self, BackendOptions, Partitioned as Regions, Placement};
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::inline::inline;
use onnxport_core::inspect::FileKind;
use onnxport_core::ir::opset::{DEFAULT_OPSET, MIN_OPSET};
use onnxport_core::lower::LowerOptions;
use onnxport_core::ops::infer::{OLDEST_INFERRED, infer_all};
use onnxport_core::optimise::{self, Level};
use onnxport_core::{ConvertOptions, Host, Model, pipeline, write};
use onnxport_report::draw::{self, Folding, Scene};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::decomposing::Decomposing;
use crate::draw::Format;
use crate::levels::{Levels, has_error};
use crate::object::wrong;
use crate::optimizing::{self, Optimizing, levels};
use crate::progress::Progress;
use crate::target::Targeting;
use crate::value::{self, Share};

/// Shows which parts of a program or a model backends would compile.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct PartitionRequest {
    /// A .pt2 or .onnx file
    pub model: PathBuf,
    /// A backend that is offered the nodes which earlier ones leave, or a plugin for all of its backends; can be
    /// repeated, in order of preference
    #[arg(long = "backend", id = "backend", value_name = "ID", required = true, help_heading = "Backends")]
    #[serde(rename = "backend")]
    pub backends: Vec<String>,
    /// Fail if backends take a smaller share of the nodes: a percentage such as 90%, or a number from 0 to 1
    #[arg(long, value_name = "SHARE", help_heading = "Backends")]
    pub require_share: Option<Share>,
    /// Fail if there are more regions than this
    #[arg(long, value_name = "N", help_heading = "Backends")]
    pub max_regions: Option<usize>,
    /// Draw the model with its regions in colours, as .svg or .html; can be repeated
    #[arg(long = "picture", value_name = "FILE", help_heading = "Backends")]
    #[serde(rename = "picture")]
    pub pictures: Vec<PathBuf>,
    /// The opset to convert a program to
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    pub opset: i64,
    /// How far the optimizer may go before, as for convert and optimize; 0 leaves a model as it is
    #[arg(long, alias = "optimise", value_name = "LEVEL", value_parser = levels())]
    #[serde(alias = "optimise", with = "value::level")]
    #[schemars(schema_with = "value::level::schema")]
    pub optimize: Option<Level>,
    /// The runtime that the model is for.
    #[command(flatten)]
    #[serde(flatten)]
    pub targeting: Targeting,
    /// Decompositions.
    #[command(flatten)]
    #[serde(flatten)]
    pub decomposing: Decomposing,
    /// The levels of diagnostics.
    #[command(flatten)]
    #[serde(flatten)]
    pub levels: Levels,
}

impl Default for PartitionRequest {
    fn default() -> Self {
        Self {
            model: PathBuf::new(),
            backends: Vec::new(),
            require_share: None,
            max_regions: None,
            pictures: Vec::new(),
            opset: DEFAULT_OPSET,
            optimize: None,
            targeting: Targeting::default(),
            decomposing: Decomposing::default(),
            levels: Levels::default(),
        }
    }
}

/// The partition of a model.
#[derive(Debug)]
pub struct Partitioned {
    /// The regions of each backend, and the reasons why other nodes are in none.
    pub regions: Regions,
    /// The place of each node.
    pub placement: Placement,
    /// The pictures that were written.
    pub pictures: Vec<PathBuf>,
    /// Problems of the backends, and an error for each limit that the partition exceeds, at the levels that the user
    /// chose.
    pub report: Report,
}

impl Partitioned {
    /// Whether the partition is within the limits, and no warning is treated as an error.
    pub fn passed(&self) -> bool {
        !has_error(&self.report.diagnostics)
    }
}

impl PartitionRequest {
    /// Creates a request about the file `model` and these backends, with defaults for everything else.
    pub fn new<B: Into<String>>(model: impl Into<PathBuf>, backends: impl IntoIterator<Item = B>) -> Self {
        let backends = backends.into_iter().map(Into::into).collect();
        Self { model: model.into(), backends, ..Self::default() }
    }

    /// Whether the file is a program, which is converted first.
    pub fn is_program(&self) -> bool {
        FileKind::of(&self.model) == FileKind::Program
    }

    /// The model that backends are offered, and the diagnostics of making it.
    fn offered(&self, host: &Host, progress: &mut dyn Progress) -> Result<(Model, Vec<Diagnostic>), Report> {
        let legalise = self.targeting.options();
        let choice = Optimizing { optimize: self.optimize, ..Optimizing::default() };
        let optimise = optimizing::at(choice.level(self.targeting.names_runtime()));
        if self.is_program() {
            progress.stage("converting the program");
            let options = ConvertOptions {
                decompose: self.decomposing.options()?,
                lower: LowerOptions { opset: self.opset, ..LowerOptions::default() },
                optimise,
                legalise,
                weightless: true,
                ..ConvertOptions::default()
            };
            let converted = pipeline::convert(host, pipeline::read(&self.model)?.program, &options)?;
            return Ok((converted.model, converted.diagnostics));
        }
        progress.stage("reading the model");
        let (mut model, mut diagnostics) = Model::read_with_warnings(&self.model)?;
        inline(&mut model, usize::MAX);
        progress.stage("optimising");
        let rewritten = optimise::imported(host, model, &optimise, &legalise)?;
        diagnostics.extend(rewritten.diagnostics);
        let mut model = rewritten.model;
        let opset = model.opset();
        if opset >= OLDEST_INFERRED {
            infer_all(&mut model.graph, &mut model.symbols, opset);
        }
        Ok((model, diagnostics))
    }

    /// Draws the model.
    fn draw(&self, model: &mut Model, placement: &Placement, formats: &[Format]) -> Result<(), Report> {
        let name = self.model.file_name().unwrap_or_default().to_string_lossy();
        let scene = Scene::partition(&name, model, placement);
        let folding = Folding::depth(&scene, None);
        for (path, format) in self.pictures.iter().zip(formats) {
            let text = match format {
                Format::Svg => draw::svg(&scene, &folding),
                Format::Html => draw::html(&scene, &folding),
            };
            let sources = std::slice::from_ref(&self.model);
            write::file(path, sources, |file| file.write_all(text.as_bytes()))?;
        }
        Ok(())
    }

    /// An error for each limit that the partition exceeds.
    fn exceeded(&self, regions: &Regions, placement: &Placement) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        if let Some(required) = self.require_share.filter(|required| placement.share < required.0) {
            let taken = regions.nodes.saturating_sub(regions.left);
            let message = format!(
                "backends take {taken} of {} nodes ({}), less than the required {required}",
                regions.nodes,
                Share(placement.share),
            );
            found.push(Diagnostic::error(Code::BACKEND_LIMIT, message).help(most_frequent(regions)));
        }
        let count: usize = regions.backends.iter().map(|backend| backend.regions.len()).sum();
        if let Some(most) = self.max_regions.filter(|most| count > *most) {
            let message = format!("backends take the model in {count} regions, more than the allowed {most}");
            found.push(Diagnostic::error(Code::BACKEND_LIMIT, message).help(most_frequent(regions)));
        }
        found
    }
}

/// The most frequent reason why nodes are in no region.
fn most_frequent(regions: &Regions) -> String {
    let refusals = regions.backends.iter().flat_map(|backend| &backend.refusals);
    match refusals.max_by_key(|refusal| refusal.count) {
        Some(refusal) => {
            format!("the most frequent reason, for {} `{}`: {}", refusal.count, refusal.op, refusal.reason)
        }
        None => "no node was refused".to_owned(),
    }
}

impl Request for PartitionRequest {
    type Outcome = Partitioned;

    fn check(&self) -> Result<(), Diagnostic> {
        if self.backends.is_empty() {
            return Err(wrong("no `backend` is given".to_owned()).help("name one with `backend`"));
        }
        if self.opset < MIN_OPSET {
            let message =
                format!("`opset` is {}, and backends take models of opset {MIN_OPSET} and later", self.opset);
            return Err(Diagnostic::error(Code::USAGE, message));
        }
        self.levels.check()
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Partitioned, Report> {
        self.check()?;
        let formats: Vec<Format> =
            self.pictures.iter().map(|path| Format::from_path(path)).collect::<Result<_, _>>()?;
        let (mut model, mut diagnostics) = self.offered(host, progress)?;
        progress.stage("forming regions");
        let options =
            BackendOptions { backends: self.backends.clone(), dry_run: true, ..BackendOptions::default() };
        let backed = backend::run(host, &mut model, &options)?;
        diagnostics.extend(backed.diagnostics);
        diagnostics.extend(self.exceeded(&backed.partitioned, &backed.placement));
        self.levels.judge(&mut diagnostics);
        if !formats.is_empty() {
            progress.stage("drawing");
            self.draw(&mut model, &backed.placement, &formats)?;
        }
        Ok(Partitioned {
            regions: backed.partitioned,
            placement: backed.placement,
            pictures: self.pictures.clone(),
            report: Report { diagnostics, origins: model.origins },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_number() {
        assert_eq!(("90%".parse(), "0.25".parse()), (Ok(Share(0.9)), Ok(Share(0.25))));
        assert!(["", "9", "-1", "101%", "nan", "a%"].iter().all(|text| text.parse::<Share>().is_err()));
        assert_eq!(
            (Share(0.9).to_string(), Share(0.89999).to_string()),
            ("90%".to_owned(), "89.9%".to_owned())
        );
    }

    #[test]
    fn a_request_needs_a_backend_and_a_new_opset() {
        let message = |request: PartitionRequest| request.check().unwrap_err().message;
        assert_eq!(message(PartitionRequest::default()), "no `backend` is given");
        let old = PartitionRequest { opset: 17, ..PartitionRequest::new("a.onnx", ["npu"]) };
        assert!(message(old).starts_with("`opset` is 17"));
        let request = PartitionRequest::new("a.onnx", ["npu"]);
        let report = request.run(&Host::new(&[]).unwrap(), &mut ()).unwrap_err();
        assert!(!report.diagnostics.is_empty());
    }
}
