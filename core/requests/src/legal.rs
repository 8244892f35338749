//! Verdicts on the nodes of a program or a model, before it is deployed.

use std::cell::RefCell;
use std::path::PathBuf;

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::inspect::FileKind;
use onnxport_core::ir::opset::{DEFAULT_OPSET, MIN_OPSET};
use onnxport_core::legalise::LegaliseOptions;
use onnxport_core::legalise::legal::{Legality, legal};
use onnxport_core::lower::LowerOptions;
use onnxport_core::{ConvertOptions, ConvertPipeline, Host, Model, pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decomposing::Decomposing;
use crate::levels::{Levels, has_error};
use crate::optimizing::Optimizing;
use crate::progress::Progress;
use crate::target::Targeting;
use crate::{Request, optimizing};

/// Tells how a target takes each node of a program or a model.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct LegalRequest {
    /// A .pt2 or .onnx file
    pub model: PathBuf,
    /// The opset to convert a program to
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    pub opset: i64,
    /// The runtime.
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

impl Default for LegalRequest {
    fn default() -> Self {
        Self {
            model: PathBuf::new(),
            opset: DEFAULT_OPSET,
            targeting: Targeting::default(),
            decomposing: Decomposing::default(),
            levels: Levels::default(),
        }
    }
}

/// The verdicts on a model.
#[derive(Debug)]
pub struct Judged {
    /// The verdicts.
    pub legality: Legality,
    /// An error for each kind of node that the target refuses and a warning for each that is unknown, at the levels that the
    /// user chose.
    pub report: Report,
}

impl Judged {
    /// Whether the target refuses no node, and no warning is treated as an error.
    pub fn passed(&self) -> bool {
        !has_error(&self.report.diagnostics)
    }
}

impl LegalRequest {
    /// Creates a request about the file `model`, for ONNX Runtime.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    /// Whether the answer depends on the plugins of the host: they convert programs.
    pub fn uses_plugins(&self) -> bool {
        FileKind::of(&self.model) == FileKind::Program
    }

    /// Converts the program, up to the model that would be legalized.
    fn converted(&self, host: &Host) -> Result<Model, Report> {
        let target = self.targeting.options().target;
        let level = Optimizing::default().level(self.targeting.names_runtime());
        let options = ConvertOptions {
            decompose: self.decomposing.options()?,
            lower: LowerOptions { opset: self.opset, ..LowerOptions::default() },
            optimise: optimizing::at(level),
            legalise: LegaliseOptions { target, ..LegaliseOptions::default() },
            weightless: true,
            ..ConvertOptions::default()
        };
        let (archive, kept) = (pipeline::read(&self.model)?, RefCell::new(None));
        let mut stages = ConvertPipeline::new();
        stages.insert_before("legalise", "keep", |model| {
            kept.replace(Some(model.clone()));
            Ok(())
        })?;
        let converted = stages.run(host, archive.program, &options)?;
        drop(stages);
        Ok(kept.into_inner().unwrap_or(converted.model))
    }
}

impl Request for LegalRequest {
    type Outcome = Judged;

    fn check(&self) -> Result<(), Diagnostic> {
        if self.opset < MIN_OPSET {
            let message =
                format!("`opset` is {}, and verdicts are about opset {MIN_OPSET} and later", self.opset);
            return Err(
                Diagnostic::error(Code::USAGE, message).help("convert the program, and judge the model")
            );
        }
        self.levels.check()
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Judged, Report> {
        self.check()?;
        let mut model = if FileKind::of(&self.model) == FileKind::Program {
            progress.stage("converting the program");
            self.converted(host)?
        } else {
            progress.stage("reading the model");
            Model::read(&self.model)?
        };
        progress.stage("judging the nodes");
        let (legality, mut diagnostics) = legal(&mut model, &self.targeting.options().target);
        self.levels.judge(&mut diagnostics);
        Ok(Judged { legality, report: Report { diagnostics, origins: model.origins } })
    }
}

#[cfg(test)]
mod tests {
    use onnxport_core::legalise::legal::Verdict;

    use super::*;

    const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mlp/mlp.pt2");

    fn run(request: &LegalRequest) -> Judged {
        request.run(&Host::new(&[&onnxport_aten::ROOT]).unwrap(), &mut ()).unwrap()
    }

    fn for_target(file: impl Into<PathBuf>, target: &str) -> LegalRequest {
        let targeting = Targeting { target: Some(target.parse().unwrap()) };
        LegalRequest { targeting, ..LegalRequest::new(file) }
    }

    #[test]
    fn every_node_of_a_program_has_a_verdict_and_a_line() {
        for target in ["onnx", "onnxruntime", "openvino", "tensorrt"] {
            let judged = run(&for_target(PROGRAM, target));
            let Legality { nodes, counts, modules, .. } = &judged.legality;
            assert!(
                judged.passed() && counts.native == nodes.len() && !nodes.is_empty(),
                "{:?}",
                judged.report
            );
            assert!(nodes.iter().all(|node| node.line.is_some() && !node.reason.is_empty()), "{nodes:?}");
            assert!(modules.iter().any(|module| module.module == "fc0"), "{modules:?}");
        }
    }

    #[test]
    fn what_a_table_of_ones_own_lacks_is_refused_with_the_line_and_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("chip.txt");
        std::fs::write(&table, "base tensorrt\ntarget chip\nlacks Gemm 1-99 : no matrix unit\n").unwrap();
        let judged = run(&for_target(PROGRAM, &table.display().to_string()));
        assert!(!judged.passed());
        let refused: Vec<_> =
            judged.legality.nodes.iter().filter(|node| node.verdict == Verdict::Refused).collect();
        assert!(!refused.is_empty() && refused.iter().all(|node| node.operator == "Gemm"));
        assert!(refused.iter().all(|node| node.reason == "no matrix unit" && node.change.is_some()));
        let [found] = judged.report.diagnostics.as_slice() else { panic!("{:?}", judged.report) };
        assert!(found.code == Code::TARGET_LACKS && found.origin.is_some() && found.help.is_some());
        std::fs::write(
            &table,
            "base tensorrt\ntarget chip\nfallback onnxruntime-cpu\nlacks Gemm 1-99 : no matrix unit\n",
        )
        .unwrap();
        let judged = run(&for_target(PROGRAM, &table.display().to_string()));
        assert!(judged.passed() && judged.legality.counts.fallback == refused.len(), "{:?}", judged.report);
    }

    #[test]
    fn an_old_opset_is_refused() {
        let request = LegalRequest { opset: 17, ..LegalRequest::new(PROGRAM) };
        assert!(request.check().unwrap_err().message.starts_with("`opset` is 17"));
    }
}
