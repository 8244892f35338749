//! Bisecting a model: finding the first node, optimizer step or module whose results diverge.

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::Host;
use onnxport_core::bisect::modules::{self, Pieces};
use onnxport_core::bisect::passes::{self, Source, Steps};
use onnxport_core::bisect::{self, Found, Options, Reference};
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::ir::Model;
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::lower::LowerOptions;
use onnxport_core::optimise::{Level, OptimiseOptions};
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::taps::{Recorded, Recording};
use onnxport_core::verify::{Executor, Runtime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::feeding::Feeding;
use crate::object::{excludes, needs, wrong};
use crate::optimizing::{self, Optimizing};
use crate::plugins::Plugins;
use crate::progress::Progress;
use crate::runtime::Running;
use crate::target::Targeting;
use crate::value;

/// Finds the first node, optimizer step or module whose results diverge.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct BisectRequest {
    /// The ONNX model, or with --passes also an exported program; with --modules, an exported program
    pub model: PathBuf,
    /// The reference: a program with recorded intermediate values beside it, the recording itself, another ONNX model,
    /// or the plugin of another runtime
    #[arg(long, value_name = "PT2|SAFETENSORS|ONNX|PLUGIN", required_unless_present = "converts")]
    pub against: Option<PathBuf>,
    /// Run the program with PyTorch in the active Python and compare with its values instead of recorded ones. PyTorch
    /// may execute code from the file: use it only for files that you would load yourself
    #[arg(long, requires = "against", conflicts_with = "converts")]
    pub record: bool,
    /// Find the first rule, pass or legalization that changes the results
    #[arg(long, group = "converts", conflicts_with = "against")]
    pub passes: bool,
    /// The plugin that compares values; it must also run the model. Values stay on its device, such as the GPU with
    /// cuda-parity, and only the findings are copied back
    #[arg(long, value_name = "PLUGIN", requires = "against", conflicts_with = "converts")]
    pub comparer: Option<String>,
    /// A search among the modules of a program.
    #[command(flatten)]
    #[serde(flatten)]
    pub separating: Separating,
    /// Compare every value, including those after the first wrong node, and list them with --json; with --modules,
    /// compare all modules
    #[arg(long)]
    pub all: bool,
    /// The ONNX opset for --passes and --modules
    #[arg(long, default_value_t = DEFAULT_OPSET, requires = "converts")]
    pub opset: i64,
    /// The optimizer level for --passes: 0, 1, 2 or target; the default is that of convert
    #[arg(long, alias = "optimise", value_name = "LEVEL", value_parser = optimizing::levels(), requires = "passes")]
    #[serde(alias = "optimise", with = "value::level")]
    #[schemars(schema_with = "value::level::schema")]
    pub optimize: Option<Level>,
    /// The runtime that the model is for.
    #[command(flatten)]
    #[serde(flatten)]
    pub targeting: Targeting,
    /// The values that the model is run on.
    #[command(flatten)]
    #[serde(flatten)]
    pub feeding: Feeding,
    /// The runtime.
    #[command(flatten)]
    #[serde(flatten)]
    pub running: Running,
}

/// A search among the modules of a program, which are converted separately.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Separating {
    /// Find the modules that do not convert or whose results diverge: the Python package `onnxport` converts each
    /// module separately and runs it on its inputs from the recorded call. PyTorch may execute code from the file: use
    /// it only for files that you would load yourself
    #[arg(long, group = "converts", conflicts_with_all = [
        "against", "input", "inputs", "seed", "dim", "round_memory", "executor", "executor_option",
        "ort_library", "isolate",
    ])]
    pub modules: bool,
    /// Test only one of several modules that differ in nothing but their weights
    #[arg(long, requires = "modules")]
    pub once: bool,
}

impl Default for BisectRequest {
    fn default() -> Self {
        Self {
            model: PathBuf::new(),
            against: None,
            record: false,
            passes: false,
            comparer: None,
            separating: Separating::default(),
            all: false,
            opset: DEFAULT_OPSET,
            optimize: None,
            targeting: Targeting::default(),
            feeding: Feeding::default(),
            running: Running::default(),
        }
    }
}

/// The result of a search.
#[derive(Debug)]
pub enum Bisected {
    /// The first node that diverges.
    Node(Box<Found>),
    /// The first step of the optimizer that changes the results.
    Step(Box<Steps>),
    /// The modules that do not convert or diverge.
    Modules(Box<Pieces>),
}

impl Bisected {
    /// Whether nothing diverges.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Node(found) => found.fault.is_none() && found.only_untapped.is_empty(),
            Self::Step(steps) => steps.broken.is_none(),
            Self::Modules(pieces) => pieces.found().is_empty(),
        }
    }
}

impl BisectRequest {
    /// Creates a request that compares the values of the model at `model` with those of `against`.
    pub fn new(model: impl Into<PathBuf>, against: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), against: Some(against.into()), ..Self::default() }
    }

    /// Creates a request that looks for a faulty step in the optimization of the model or program at `model`.
    pub fn passes(model: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), passes: true, ..Self::default() }
    }

    /// Creates a request that converts the modules of the program at `program` separately.
    pub fn modules(program: impl Into<PathBuf>) -> Self {
        let separating = Separating { modules: true, once: false };
        Self { model: program.into(), separating, ..Self::default() }
    }

    /// Does the work of [`run`](Request::run). With `modules`, the Python package converts with `plugins`, and `host`
    /// is not used.
    ///
    /// # Errors
    /// A problem that prevents the command from running.
    pub fn run_with(
        &self,
        host: &Host,
        plugins: &Plugins,
        progress: &mut dyn Progress,
    ) -> Result<Bisected, Report> {
        self.check()?;
        if self.separating.modules {
            return Ok(Bisected::Modules(Box::new(self.find_modules(plugins, progress)?)));
        }
        let runtime = self.running.open(host, progress.restart())?;
        let in_place = self.compares_in_place(&runtime)?;
        let options = Options { whole: self.all, in_place, ..self.feeding.options()? };
        progress.stage("comparing the values");
        let limit = self.running.options.limit();
        let _deadline = progress.deadline(limit, runtime.name(), "comparing the values")?;
        Ok(match &self.against {
            Some(against) => Bisected::Node(Box::new(self.find_node(host, against, &runtime, &options)?)),
            None => Bisected::Step(Box::new(self.find_step(host, &runtime, &options)?)),
        })
    }

    /// Fails for options about running a model if modules are converted: the Python package runs them.
    fn check_modules(&self) -> Result<(), Diagnostic> {
        let Feeding { given, seed, dim, round_memory } = &self.feeding;
        let Running { executor, options } = &self.running;
        let default = Feeding::default();
        let unused = [
            ("input", !given.input.is_empty()),
            ("inputs", !given.inputs.is_empty()),
            ("seed", *seed != default.seed),
            ("dim", !dim.is_empty()),
            ("round_memory", *round_memory != default.round_memory),
            ("executor", executor.is_some()),
            ("executor_option", !options.executor_option.is_empty()),
            ("ort_library", options.ort_library.is_some()),
            ("isolate", options.isolate),
        ];
        unused.into_iter().try_for_each(|used| excludes(&[("modules", self.separating.modules), used]))
    }

    /// Whether values are compared on their device.
    fn compares_in_place(&self, runtime: &Runtime) -> Result<bool, Diagnostic> {
        match self.comparer.as_deref() {
            Some(id) if id != runtime.id() => {
                let message = format!("`{id}` cannot compare values while `{}` runs the model", runtime.id());
                let help =
                    format!("add `--executor {id}`, or leave out `--comparer` to let onnxport compare");
                Err(Diagnostic::error(Code::USAGE, message).help(help))
            }
            comparer => Ok(comparer.is_some()),
        }
    }

    fn find_node(
        &self,
        host: &Host,
        against: &Path,
        runtime: &Runtime,
        options: &Options,
    ) -> Result<Found, Report> {
        let search = |reference: &Reference<'_>| bisect::bisect(&self.model, runtime, reference, options);
        if has_extension(against, "onnx") {
            search(&Reference::Model(against, runtime))
        } else if has_extension(against, "safetensors") {
            search(&Reference::Recording { values: against, program: None })
        } else if has_extension(against, "pt2") {
            let recording = self.recording(against)?;
            search(&Reference::Recording { values: recording.path(), program: Some(against) })
        } else {
            let id = against.to_str().unwrap_or_default();
            search(&Reference::Runtime(&Executor::find(host, Some(id))?.open(&[])?))
        }
    }

    /// Returns PyTorch's values of a program: the recording beside it, or one made on request.
    fn recording(&self, program: &Path) -> Result<Recording, Report> {
        if self.record {
            return Ok(Recording::make(program, self.feeding.seed, self.running.options.limit())?);
        }
        Recording::beside(program).ok_or_else(|| {
            let message = format!("no recorded intermediate values beside {}", program.display());
            let help =
                "record them with `--record`, or with `onnxport.save(program, path, intermediates=True)` in Python";
            Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help).into()
        })
    }

    fn find_step(&self, host: &Host, runtime: &Runtime, options: &Options) -> Result<Steps, Report> {
        let recording = Some(Recorded::beside(&self.model)).filter(|path| path.is_file());
        let recorded = recording.as_deref().map(Recorded::open).transpose()?;
        let search = |source: &Source<'_>| passes::passes(host, source, runtime, recorded.as_ref(), options);
        let named = Optimizing { optimize: self.optimize, ..Optimizing::default() };
        let level = named.level(self.targeting.names_runtime());
        let legalise = self.targeting.options();
        let optimise = OptimiseOptions { target: legalise.target.clone(), ..optimizing::at(level) };
        if has_extension(&self.model, "onnx") {
            return search(&Source::Model(&Model::read(&self.model)?, &optimise));
        }
        let archive = pipeline::read(&self.model)?;
        let convert = ConvertOptions {
            lower: LowerOptions { opset: self.opset, ..LowerOptions::default() },
            legalise,
            optimise,
            ..ConvertOptions::default()
        };
        search(&Source::Program(&archive.program, &convert))
    }

    fn find_modules(&self, plugins: &Plugins, progress: &mut dyn Progress) -> Result<Pieces, Diagnostic> {
        progress.stage("converting modules by themselves");
        let mut further = plugins.further();
        further.extend(self.targeting.name().map(|target| ("target".to_owned(), target.into())));
        let options = modules::Options {
            opset: self.opset,
            all: self.all,
            once: self.separating.once,
            plugins: plugins.plugin.clone(),
            options: further,
        };
        let (limit, python) = (self.running.options.limit(), progress.python());
        if python.is_some() && limit.is_some() {
            let message = "a time limit is not supported here: a call within this process cannot be stopped";
            return Err(Diagnostic::error(Code::USAGE, message).help("leave out the time limit"));
        }
        modules::modules(&self.model, &options, limit, python, progress.steps())
    }
}

impl Request for BisectRequest {
    type Outcome = Bisected;

    fn check(&self) -> Result<(), Diagnostic> {
        let given = [
            ("against", self.against.is_some()),
            ("passes", self.passes),
            ("modules", self.separating.modules),
        ];
        excludes(&given)?;
        if given.iter().all(|(_, given)| !given) {
            return Err(wrong("none of `against`, `passes` and `modules` is given".to_owned())
                .help("name the reference with `against`"));
        }
        let reference = [("record", self.record), ("comparer", self.comparer.is_some())];
        needs("against", self.against.is_some(), &reference)?;
        needs("passes", self.passes, &[("optimize", self.optimize.is_some())])?;
        let opset = [("opset", self.opset != DEFAULT_OPSET)];
        needs("passes", self.passes || self.separating.modules, &opset)?;
        needs("modules", self.separating.modules, &[("once", self.separating.once)])?;
        self.check_modules()
    }

    /// With `modules`, the Python package converts with its own plugins only; [`run_with`](Self::run_with) adds others.
    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Bisected, Report> {
        self.run_with(host, &Plugins::default(), progress)
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

#[cfg(test)]
mod tests {
    use onnxport_core::bisect::modules::Caller;

    use super::*;
    use crate::plugins::PluginOption;

    /// A process that is a Python, whose package fails with the options that it receives.
    struct InPython;

    impl Progress for InPython {
        fn python(&self) -> Option<Caller> {
            Some(|_, options, _| Err(options.to_owned()))
        }
    }

    fn model(folder: &Path, name: &str, body: &str) -> PathBuf {
        let text = format!("opset 20\ngraph {{\n input %x: f32[3]\n{body} output %y as y\n}}\n");
        let path = folder.join(name);
        let model = onnxport_core::Model::parse(&text).unwrap();
        onnxport_core::write::write(&model, &path, &onnxport_core::WriteOptions::default()).unwrap();
        path
    }

    fn run(request: &BisectRequest) -> Bisected {
        let host = Host::new(&[&onnxport_optimise::ROOT, &onnxport_reference::ROOT]).unwrap();
        request.run(&host, &mut ()).unwrap()
    }

    #[test]
    fn the_first_node_that_diverges_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let ours = model(folder.path(), "a.onnx", " %y: f32[3] = Abs(%x)\n");
        let theirs = model(folder.path(), "b.onnx", " %y: f32[3] = Neg(%x)\n");
        let found = run(&BisectRequest::new(&ours, &theirs));
        assert!(!found.is_empty());
        let Bisected::Node(found) = found else { panic!("{found:?}") };
        assert_eq!(found.innermost().unwrap().1.row.place.operator, "Abs");
        assert!(run(&BisectRequest::new(&ours, "reference")).is_empty());
    }

    #[test]
    fn each_step_of_the_optimizer_is_tried() {
        let folder = tempfile::tempdir().unwrap();
        let path = model(folder.path(), "a.onnx", " %a: f32[3] = Neg(%x)\n %y: f32[3] = Neg(%a)\n");
        let found = run(&BisectRequest::passes(&path));
        assert!(found.is_empty());
        let Bisected::Step(steps) = found else { panic!("{found:?}") };
        assert_eq!(steps.patches, 1);
        let request = BisectRequest { optimize: Some(Level::Nothing), ..BisectRequest::passes(&path) };
        let Bisected::Step(steps) = run(&request) else { panic!("steps") };
        assert_eq!(steps.patches, 0);
    }

    #[test]
    fn the_package_receives_plugins_and_their_options() {
        let option = PluginOption { plugin: "a".to_owned(), name: "b".to_owned(), value: "c".to_owned() };
        let plugins =
            Plugins { plugin: vec!["p.so".into()], plugin_option: vec![option], ..Plugins::default() };
        let request = BisectRequest {
            separating: Separating { modules: true, once: true },
            targeting: Targeting { target: Some("onnx".parse().unwrap()) },
            ..BisectRequest::modules("a.pt2")
        };
        let host = Host::new(&[]).unwrap();
        let problem = |request: &BisectRequest| {
            let report = request.run_with(&host, &plugins, &mut InPython).unwrap_err();
            report.diagnostics.into_iter().next().unwrap().message
        };
        let said = problem(&request);
        let (said, options) = said.split_once(": ").unwrap();
        assert_eq!(said, "the modules of a.pt2 cannot be run");
        let expected = serde_json::json!({
            "opset_version": DEFAULT_OPSET, "all": false, "once": true, "plugins": ["p.so"],
            "options": { "plugin_option": ["a.b=c"], "target": "onnx" },
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(options).unwrap(), expected);
        let mut limited = request.clone();
        limited.running.options.timeout = Some("1".parse().unwrap());
        assert!(problem(&limited).starts_with("a time limit is not supported here"));
    }

    #[test]
    fn options_of_other_searches_are_refused() {
        let refused = |request: BisectRequest| request.check().unwrap_err().message;
        let (values, passes) = (BisectRequest::new("a.onnx", "ort"), BisectRequest::passes("a.onnx"));
        let modules = BisectRequest::modules("a.pt2");
        assert!([&values, &passes, &modules].iter().all(|request| request.check().is_ok()));
        let none = BisectRequest { against: None, ..values.clone() };
        assert_eq!(refused(none), "none of `against`, `passes` and `modules` is given");
        let both = BisectRequest { passes: true, ..modules.clone() };
        assert_eq!(refused(both), "`passes` cannot be used with `modules`");
        let record = BisectRequest { record: true, ..passes };
        assert_eq!(refused(record), "`record` needs `against`");
        let optimize = BisectRequest { optimize: Some(Level::Exact), ..modules.clone() };
        assert_eq!(refused(optimize), "`optimize` needs `passes`");
        let opset = BisectRequest { opset: 18, ..values.clone() };
        assert_eq!(refused(opset), "`opset` needs `passes`");
        let separating = Separating { modules: false, once: true };
        let once = BisectRequest { separating, ..values };
        assert_eq!(refused(once), "`once` needs `modules`");
        let seed = BisectRequest { feeding: Feeding { seed: 1, ..Feeding::default() }, ..modules };
        assert_eq!(refused(seed), "`modules` cannot be used with `seed`");
    }

    #[test]
    fn only_the_plugin_that_runs_the_model_compares_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = model(folder.path(), "a.onnx", " %y: f32[3] = Abs(%x)\n");
        let request = BisectRequest { comparer: Some("gpu".to_owned()), ..BisectRequest::new(&path, &path) };
        let host = Host::new(&[&onnxport_reference::ROOT]).unwrap();
        let report = request.run(&host, &mut ()).unwrap_err();
        let message = "`gpu` cannot compare values while `reference` runs the model";
        assert_eq!(report.diagnostics[0].message, message);
    }
}
