//! Verdicts on the nodes of a program or a model, before it is deployed.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::inspect::FileKind;
use onnxport_core::ir::opset::{DEFAULT_OPSET, MIN_OPSET};
use onnxport_core::legalise::legal::{Answer, Asking, Legality, legal, legal_asking};
use onnxport_core::legalise::{LegaliseOptions, Target};
use onnxport_core::lower::LowerOptions;
use onnxport_core::verify::Runtime;
use onnxport_core::write::{self, ExternalData, WriteOptions};
use onnxport_core::{ConvertOptions, ConvertPipeline, Host, Model, pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decomposing::Decomposing;
use crate::levels::{Levels, has_error};
use crate::object::needs;
use crate::optimizing::Optimizing;
use crate::progress::Progress;
use crate::runtime::{ORT, RuntimeOptions};
use crate::target::Targeting;
use crate::value::NameValue;
use crate::{Request, optimizing};

/// The characters of a runtime's reason that a verdict has.
const REASON: usize = 200;

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
    /// Ask the runtime, which must be installed, about each node that the table of the target does not decide. It is
    /// for targets that a plugin runs: openvino, onnxruntime-cpu, and tables with a line `executor PLUGIN`
    #[arg(long)]
    pub probe: bool,
    /// The runtime that is asked.
    #[command(flatten)]
    #[serde(flatten)]
    pub runtime: RuntimeOptions,
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
            probe: false,
            runtime: RuntimeOptions::default(),
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

    /// Whether the answer depends on the plugins of the host: they convert programs, and run nodes.
    pub fn uses_plugins(&self) -> bool {
        self.probe || self.is_program()
    }

    /// Whether the file is a program, which is converted first.
    pub fn is_program(&self) -> bool {
        FileKind::of(&self.model) == FileKind::Program
    }

    /// The plugin that runs models in the target.
    pub fn executor(&self) -> Option<String> {
        self.targeting.options().target.executor().map(str::to_owned)
    }

    /// Opens the runtime of the target, and returns it with its name and version.
    fn open(
        &self,
        host: &Host,
        target: &Target,
        progress: &dyn Progress,
    ) -> Result<(Runtime, String), Diagnostic> {
        let Some(id) = target.executor() else {
            let message = format!(
                "`probe` cannot ask about the target `{}`: no plugin runs models in it",
                target.name()
            );
            return Err(Diagnostic::error(Code::USAGE, message).help(
                "name openvino, onnxruntime-cpu, or a table with a line `executor PLUGIN`, or leave out `--probe`",
            ));
        };
        // ONNX Runtime must not be asked about another type in place of one that it has no kernel for.
        let exact = (id == ORT).then(|| NameValue { name: "upcast".to_owned(), value: "false".to_owned() });
        let runtime = self.runtime.with(exact).open(host, Some(id), progress.restart())?;
        let text = runtime.describe()?;
        // The path of its library follows.
        let name = text.split_once(", ").map_or(&*text, |(name, _)| name).to_owned();
        Ok((runtime, name))
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
        let RuntimeOptions { ort_library, executor_option, isolate, timeout } = &self.runtime;
        let given = [
            ("ort_library", ort_library.is_some()),
            ("executor_option", !executor_option.is_empty()),
            ("isolate", *isolate),
            ("timeout", timeout.is_some()),
        ];
        needs("probe", self.probe, &given)?;
        self.levels.check()
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Judged, Report> {
        self.check()?;
        let target = self.targeting.options().target;
        let asked = if self.probe { Some(self.open(host, &target, progress)?) } else { None };
        let mut model = if self.is_program() {
            progress.stage("converting the program");
            self.converted(host)?
        } else {
            progress.stage("reading the model");
            Model::read(&self.model)?
        };
        progress.stage("judging the nodes");
        let (legality, mut diagnostics) = match &asked {
            Some((runtime, name)) => {
                let doing = "asking about nodes";
                let _deadline = progress.deadline(self.runtime.deadline(), runtime.name(), doing)?;
                let ask = &mut |part: &Model| answer(runtime, part);
                legal_asking(&mut model, &target, Asking { runtime: name, ask })
            }
            None => legal(&mut model, &target),
        };
        self.levels.judge(&mut diagnostics);
        Ok(Judged { legality, report: Report { diagnostics, origins: model.origins } })
    }
}

/// The answer of `runtime` about a model of one node.
fn answer(runtime: &Runtime, part: &Model) -> Answer {
    let Ok(folder) = tempfile::Builder::new().prefix("onnxport-legal-").tempdir() else {
        return Answer::Silent;
    };
    let path = folder.path().join("node.onnx");
    let options = WriteOptions { external_data: ExternalData::Auto, ..WriteOptions::default() };
    if write::write(part, &path, &options).is_err() {
        return Answer::Silent;
    }
    match runtime.load(&path) {
        Ok(_) => Answer::Runs,
        Err(why) if why.code == Code::VERIFY_TIMEOUT => Answer::Silent,
        // So the plugin of ONNX Runtime reports a missing kernel, and others a model that they cannot hand over.
        Err(why) if why.code == Code::VERIFY_NO_EXECUTOR && runtime.id() != ORT => Answer::Silent,
        Err(why) => Answer::Refuses(reason(&why.message, &path)),
    }
}

/// The reason of a runtime, short and without the name of the file, which is gone.
fn reason(message: &str, path: &Path) -> String {
    let text = message.replace(&*path.to_string_lossy(), "the node");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words,
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
        // Only nodes with constant sizes were measured for `qnn`.
        for target in onnxport_core::legalise::BUILT_IN.iter().filter(|name| **name != "qnn") {
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
    fn only_the_runtime_of_a_target_is_asked() {
        let request = LegalRequest { probe: true, ..for_target(PROGRAM, "tensorrt") };
        let problem = request.run(&Host::new(&[&onnxport_aten::ROOT]).unwrap(), &mut ()).unwrap_err();
        let [found] = problem.diagnostics.as_slice() else { panic!("{problem:?}") };
        assert!(found.code == Code::USAGE && found.message.contains("`tensorrt`"), "{found:?}");
        let runtime = RuntimeOptions { isolate: true, ..RuntimeOptions::default() };
        let unused = LegalRequest { runtime, ..for_target(PROGRAM, "openvino") };
        assert!(unused.check().unwrap_err().message.contains("`isolate` needs `probe`"));
    }

    #[test]
    fn a_runtime_decides_what_a_table_leaves_open() {
        let folder = tempfile::tempdir().unwrap();
        let (table, model) = (folder.path().join("mine.txt"), folder.path().join("m.onnx"));
        // A kernel is not asked about.
        std::fs::write(&table, "target mine\npartial\nexecutor reference\nkernel Abs 13 T=f32\n").unwrap();
        let text = "opset 20\ngraph {\n input %x: f32[n, 3]\n %a: f32[n, 3] = Abs(%x)\n %b: f32[n, 3] = Neg(%a)\n \
                    output %b as y\n}\n";
        write::write(&Model::parse(text).unwrap(), &model, &WriteOptions::default()).unwrap();
        let request = for_target(&model, &table.display().to_string());
        let host = Host::new(&[&onnxport_reference::ROOT]).unwrap();
        let judged = |request: &LegalRequest| request.run(&host, &mut ()).unwrap().legality;
        let before = judged(&request);
        assert_eq!((before.counts.native, before.counts.unknown, before.asked), (1, 1, None));
        let after = judged(&LegalRequest { probe: true, ..request });
        let [kernel, runs] = after.nodes.as_slice() else { panic!("{after:?}") };
        assert_eq!((after.counts.native, &*kernel.reason, &runs.change), (2, "a kernel", &None));
        let asked = after.asked.unwrap();
        assert!(!asked.is_empty() && runs.reason == format!("asked {asked}"), "{}", runs.reason);
    }

    #[test]
    fn a_reason_is_short_and_without_the_file() {
        let path = Path::new("/tmp/a/node.onnx");
        assert_eq!(
            reason("cannot load /tmp/a/node.onnx:\n  no kernel", path),
            "cannot load the node: no kernel"
        );
        assert_eq!(reason(&"é".repeat(300), path), format!("{}…", "é".repeat(REASON)));
    }

    #[test]
    fn an_old_opset_is_refused() {
        let request = LegalRequest { opset: 17, ..LegalRequest::new(PROGRAM) };
        assert!(request.check().unwrap_err().message.starts_with("`opset` is 17"));
    }
}
