//! Converting a language model: from a checkpoint of transformers to a folder that a server loads.

mod adapters;
mod card;
mod files;
mod genai;
mod interface;
mod onnx_adapter;
mod parts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum, ValueHint};
use onnxport_core::capture::{self, Capture, Captured, Decoder, Record};
use onnxport_core::diagnose::{Code, Diagnostic, Report, Severity};
use onnxport_core::lower::LowerOptions;
use onnxport_core::tensor::DType;
use onnxport_core::trace::stage;
use onnxport_core::verify::{Against, Options, Verification};
use onnxport_core::write::{NewFolder, WriteReport};
use onnxport_core::{
    BindOptions, Conversion, ConvertOptions, ExternalData, Host, NameMap, WeightSet, WriteOptions,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::adapters::Adapter;
use crate::Request;
use crate::feeding::NamedFile;
use crate::object::wrong;
use crate::optimizing::Optimizing;
use crate::precision::{QuantizeForm, Quantizing};
use crate::progress::Progress;
use crate::runtime::{self, Running};
use crate::target::Targeting;

/// The name of the model in the folder.
const MODEL: &str = "model.onnx";
/// The opset whose `DequantizeLinear` takes blocks and 4 bits.
const BLOCKS: i64 = 21;
/// The name of the captured program while the folder is being filled.
const PROGRAM: &str = "program.pt2";

/// Converts a checkpoint of transformers to a folder for a server.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct LlmRequest {
    /// A folder of transformers: `config.json`, the tokenizer and the weights
    #[arg(value_hint = ValueHint::DirPath)]
    pub checkpoint: PathBuf,
    /// The folder to create
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// The runtime to target: genai also writes `genai_config.json`, onnx uses standard operators only
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub target: LlmTarget,
    /// The execution provider to target: all but cpu keep caches in buffers of a fixed length, which attention writes to
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    pub provider: LlmProvider,
    /// A Python file to run first: it registers the model with transformers, or describes it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub code: Option<PathBuf>,
    /// The largest number of tokens, prompt included, for `genai_config.json` [default: that of the checkpoint]
    #[arg(long, value_name = "TOKENS")]
    pub context: Option<u64>,
    /// The element type of weights and caches [default: f16 for a checkpoint in f16, otherwise f32]
    #[arg(long, value_enum, value_name = "TYPE")]
    pub dtype: Option<LlmType>,
    /// The quantization.
    #[command(flatten)]
    #[serde(flatten)]
    pub quantizing: Quantizing,
    /// The pooling of an embedding model, if the checkpoint has no modules.json of sentence-transformers
    #[arg(long, value_enum, value_name = "KIND")]
    pub pooling: Option<LlmPooling>,
    /// A low-rank adapter of peft to swap at run time, and the name of its file; can be repeated
    #[arg(
        long,
        value_name = "NAME=FOLDER",
        value_parser = OsStringValueParser::new().try_map(NamedFile::parse),
        value_hint = ValueHint::DirPath
    )]
    pub adapter: Vec<NamedFile>,
    /// A low-rank adapter of peft to add to the weights; can be repeated
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub merge_adapter: Vec<PathBuf>,
    /// Compute the logits of the last token only
    #[arg(long)]
    pub last_logits: bool,
    /// Do not run the checkpoint in PyTorch to compare values with the model
    #[arg(long)]
    pub no_compare: bool,
    /// Do not run the model
    #[arg(long)]
    pub no_verify: bool,
    /// The runtime.
    #[command(flatten)]
    #[serde(flatten)]
    pub running: Running,
}

/// The runtime that the folder is for.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum LlmTarget {
    /// onnxruntime-genai
    #[default]
    Genai,
    /// ONNX Runtime
    Onnxruntime,
    /// Any conforming runtime
    Onnx,
}

impl LlmTarget {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Genai => "genai",
            Self::Onnxruntime => "onnxruntime",
            Self::Onnx => "onnx",
        }
    }

    /// The target of the conversion.
    fn runtime(self) -> &'static str {
        if self == Self::Onnx { "onnx" } else { "onnxruntime" }
    }
}

/// The execution provider of ONNX Runtime that runs the model.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum LlmProvider {
    /// The CPU
    #[default]
    Cpu,
    /// NVIDIA GPUs
    Cuda,
    /// WebGPU
    Webgpu,
    /// GPUs with DirectX 12
    Dml,
}

impl LlmProvider {
    /// The name on the command line and in `genai_config.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Webgpu => "webgpu",
            Self::Dml => "dml",
        }
    }

    /// Whether caches are buffers: `GroupQueryAttention` is slower on the CPU than the operators of the program.
    pub fn buffers(self) -> bool {
        self != Self::Cpu
    }
}

/// The element type of a model.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum LlmType {
    /// 32 bits
    F32,
    /// 16 bits
    F16,
}

impl LlmType {
    fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
        }
    }
}

/// The way from the states of tokens to one vector.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum LlmPooling {
    /// The mean of all tokens
    Mean,
    /// The first token
    Cls,
    /// The last token
    Lasttoken,
    /// The largest values of all tokens
    Max,
}

impl LlmPooling {
    fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::Lasttoken => "lasttoken",
            Self::Max => "max",
        }
    }
}

/// A folder that was written.
#[derive(Debug)]
pub struct Exported {
    /// The decoder.
    pub decoder: Decoder,
    /// The largest number of tokens.
    pub context: Option<u64>,
    /// The files, by their final paths.
    pub files: Vec<PathBuf>,
    /// The bytes of the model.
    pub model_bytes: u64,
    /// The bytes of its external data.
    pub data_bytes: u64,
    /// The number of initializers.
    pub initializers: usize,
    /// The number of nodes.
    pub nodes: usize,
    /// The result of running the model once; `None` if it was not run.
    pub verification: Option<Verification>,
    /// Warnings and notes, with the origins that they refer to.
    pub report: Report,
}

impl Request for LlmRequest {
    type Outcome = Exported;

    fn check(&self) -> Result<(), Diagnostic> {
        self.quantizing.check()?;
        adapters::check(self)?;
        if self.context == Some(0) {
            return Err(wrong("`context` is 0".to_owned()).help("give a number of tokens"));
        }
        if self.target == LlmTarget::Onnx && self.provider.buffers() {
            let message =
                format!("`provider` is {}, and the target onnx is any runtime", self.provider.name());
            return Err(wrong(message).help("use the target genai or onnxruntime"));
        }
        Ok(())
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Exported, Report> {
        self.check()?;
        files::check(&self.checkpoint, self.code.as_deref())?;
        progress.stage("reading the weights");
        let stored = WeightSet::open(std::slice::from_ref(&self.checkpoint), None)?;
        refuse_encoded(&stored)?;
        let adapters = adapters::open(self)?;
        let folder = NewFolder::new(&self.output).map_err(|mut report| {
            for problem in &mut report.diagnostics {
                problem.help.get_or_insert_with(|| "choose another folder with `--output`".to_owned());
            }
            report
        })?;
        let capturing = stage("capture");
        let captured = self.capture(&folder, &stored, &adapters, progress)?;
        drop(capturing);
        let mut weights = stored.compose(&captured.composed)?;
        adapters::merge(&adapters, &captured.adapted, &captured.decoder, &mut weights)?;
        if !captured.parts.is_empty() {
            return self.convert_parts(host, captured, &weights, progress);
        }
        let Captured { decoder, adapted, .. } = captured;
        let context = self.context(&decoder)?;
        if self.target == LlmTarget::Genai {
            genai::check(&decoder, context)?;
        }
        progress.stage("converting");
        let mut conversion = Conversion::open(folder.temporary(PROGRAM))?;
        bind(&mut conversion, &weights, &decoder, false)?;
        let lower = interface::options(&decoder, &adapted, self.provider.buffers());
        let mut program = conversion.options(self.options(lower)?).unverified().run(host)?;
        adapters::set_defaults(&mut program.converted.model, &adapted);
        let mut diagnostics = std::mem::take(&mut program.converted.diagnostics);
        progress.go_on()?;
        let writing = stage("write");
        let options = WriteOptions {
            external_data: ExternalData::External,
            progress: progress.bytes("writing"),
            ..WriteOptions::default()
        };
        let written = program.write(folder.file(MODEL), &options)?;
        drop(writing);
        diagnostics.extend(written.diagnostics.iter().cloned());
        if let Some(reason) = &decoder.uncompared {
            let message = format!("values were not compared with PyTorch: {reason}");
            let problem = Diagnostic::warning(Code::VERIFY_REFERENCE, message);
            diagnostics.push(Diagnostic { severity: Severity::Note, ..problem });
        }
        let verification = if self.no_verify {
            None
        } else {
            let program = folder.temporary(PROGRAM);
            self.execute(host, &folder.file(MODEL), &program, &decoder, progress, &mut diagnostics)?
        };
        let adapters = adapters::write(&adapters, &adapted, &decoder, &folder)?;
        let copied = files::copy(&self.checkpoint, &folder)?;
        if let (LlmTarget::Genai, Some(context)) = (self.target, context) {
            folder.write(genai::FILE, genai::config(&decoder, context, self.provider).as_bytes())?;
        }
        let card = card::Card {
            request: self,
            decoder: &decoder,
            context,
            written: &written,
            copied: &copied,
            adapters: &adapters,
            verification: verification.as_ref(),
        };
        folder.write(card::FILE, card.text().as_bytes())?;
        progress.go_on()?;
        folder.publish()?;
        let model = program.converted.model;
        let nodes = model.graph.node_count();
        let own = [(true, card::FILE), (self.target == LlmTarget::Genai, genai::FILE)];
        let own = own.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name.to_owned());
        let of_model = std::iter::once(&written.model).chain(&written.data);
        let of_model = of_model.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let files =
            of_model.chain(own).chain(adapters).chain(copied).map(|name| self.output.join(name)).collect();
        let WriteReport { model_bytes, data_bytes, tensors: initializers, .. } = written;
        Ok(Exported {
            decoder,
            context,
            files,
            model_bytes,
            data_bytes,
            initializers,
            nodes,
            verification,
            report: Report { diagnostics, origins: model.origins },
        })
    }
}

impl LlmRequest {
    fn capture(
        &self,
        folder: &NewFolder,
        stored: &WeightSet,
        adapters: &[Adapter<'_>],
        progress: &mut dyn Progress,
    ) -> Result<Captured, Report> {
        let shapes =
            stored.names().filter_map(|name| Some((name.to_owned(), stored.get(name)?.shape.clone())));
        let capture = Capture {
            program: folder.temporary(PROGRAM),
            dtype: self.dtype.map(LlmType::name),
            last: self.last_logits,
            code: self.code.clone(),
            genai: self.target == LlmTarget::Genai,
            pooling: self.pooling.map(LlmPooling::name),
            buffers: self.provider.buffers(),
            adapters: adapters.iter().map(Adapter::described).collect(),
            record: match (self.no_verify, self.no_compare) {
                (true, _) => None,
                (false, true) => Some(Record::Inputs),
                (false, false) => Some(Record::Values),
            },
            stored: shapes.collect(),
        };
        let mut cancelled = None;
        let captured = capture::decoder(&self.checkpoint, &capture, &mut |step| {
            progress.stage(step);
            cancelled = progress.go_on().err();
            cancelled.is_none()
        });
        match cancelled {
            Some(problem) => Err(problem.into()),
            None => Ok(captured?),
        }
    }

    /// Returns the largest number of tokens.
    fn context(&self, decoder: &Decoder) -> Result<Option<u64>, Diagnostic> {
        match (self.context, decoder.limit) {
            (Some(wanted), Some(limit)) if wanted > limit => {
                let message = format!("--context {wanted}: the checkpoint takes at most {limit} tokens");
                Err(wrong(message).help("give a smaller number, or leave out `--context`"))
            }
            (wanted, limit) => Ok(wanted.or(limit)),
        }
    }

    /// Returns the options of a conversion with the names `lower`.
    fn options(&self, mut lower: LowerOptions) -> Result<ConvertOptions, Diagnostic> {
        let target = self.target.runtime().parse().map_err(wrong)?;
        let targeting = Targeting { target: Some(target) };
        let form = match self.target {
            LlmTarget::Onnx => QuantizeForm::Dequantize,
            LlmTarget::Genai | LlmTarget::Onnxruntime => QuantizeForm::Matmulnbits,
        };
        if self.quantizing.dequantizes(form) {
            lower.opset = lower.opset.max(BLOCKS);
        }
        Ok(ConvertOptions {
            precision: self.quantizing.options(form),
            lower,
            legalise: targeting.options(),
            optimise: Optimizing::default().options(targeting.names_runtime()),
            ..ConvertOptions::default()
        })
    }

    /// Runs the model at `path` on the recorded calls of `program`. A missing runtime is a note unless one is named.
    fn execute(
        &self,
        host: &Host,
        path: &Path,
        program: &Path,
        decoder: &Decoder,
        progress: &mut dyn Progress,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<Verification>, Report> {
        let Running { executor, options } = &self.running;
        let asked = executor.is_some() || options.ort_library.is_some();
        let runtime = match self.running.open(host, progress.restart()) {
            Ok(runtime) => runtime,
            Err(problem) if !asked && problem.code == Code::VERIFY_NO_EXECUTOR => {
                diagnostics.push(Diagnostic { severity: Severity::Note, ..problem });
                return Ok(None);
            }
            Err(problem) => return Err(problem.into()),
        };
        let against = Against::read(&Against::sidecar_path(program))?;
        // Quantization changes values, and those of f16 depend on the order of sums.
        let measure = self.quantizing.text().is_some() || decoder.dtype != LlmType::F32.name();
        let judging = Options { measure, ..Options::default() };
        let limit = options.deadline();
        let found = runtime::execute(&runtime, path, &against, &judging, limit, progress)?;
        if found.passed() {
            return Ok(Some(found));
        }
        let mut problems = found.diagnostics();
        for problem in &mut problems {
            problem.help = Some("use --no-verify to write the folder anyway".to_owned());
        }
        Err(Report { diagnostics: problems, ..Report::default() })
    }
}

/// Binds the weights of a checkpoint to a program, which may be one of several.
fn bind(
    conversion: &mut Conversion,
    weights: &WeightSet,
    decoder: &Decoder,
    several: bool,
) -> Result<(), Report> {
    let present: BTreeSet<&str> = weights.names().collect();
    let names = NameMap::of_checkpoint(&present, &decoder.ties, &decoder.prefix);
    // The model computes in one type, whichever one the checkpoint has.
    conversion.bind(weights, &names, BindOptions { cast: true, several, ..BindOptions::default() })?;
    Ok(())
}

/// Refuses weights in types that need scales.
fn refuse_encoded(weights: &WeightSet) -> Result<(), Diagnostic> {
    let plain = [DType::F32, DType::F16, DType::BF16, DType::F64];
    let encoded = |name: &&str| {
        weights.get(name).is_some_and(|tensor| tensor.dtype.is_float() && !plain.contains(&tensor.dtype))
    };
    let Some(name) = weights.names().find(encoded) else { return Ok(()) };
    let dtype = weights.get(name).map(|tensor| tensor.dtype.to_string()).unwrap_or_default();
    let message = format!("the weights of this checkpoint are quantized: `{name}` has the type {dtype}");
    Err(Diagnostic::error(Code::CAPTURE_ARCHITECTURE, message)
        .help("save the checkpoint with weights in f32, f16 or bf16"))
}
