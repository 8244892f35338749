//! Captures the decoder of a checkpoint of transformers as an exported program without weights.
//!
//! Only Python can build the model, so the user's own Python does it in a separate process, under fake tensors: it
//! reads the configuration, never a weight. The program has the tensors of a decoder's interface in a stated order, for
//! prompts and for single tokens: ids, mask, positions, and the keys and values of each layer.

#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::diagnose::{Code, Diagnostic};
use crate::interpreter::{self, Python};
use crate::verify::child::Child;
use crate::weights::Composition;

/// The script that captures.
const SCRIPT: &str = concat!(
    include_str!("composed.py"),
    "\n\n",
    include_str!("caches.py"),
    "\n\n",
    include_str!("adapters.py"),
    "\n\n",
    include_str!("parts.py"),
    "\n\n",
    include_str!("encoder_decoder.py"),
    "\n\n",
    include_str!("sound.py"),
    "\n\n",
    include_str!("pixels.py"),
    "\n\n",
    include_str!("patches.py"),
    "\n\n",
    include_str!("tiles.py"),
    "\n\n",
    include_str!("images.py"),
    "\n\n",
    include_str!("images_and_text.py"),
    "\n\n",
    include_str!("pooling.py"),
    "\n\n",
    include_str!("embedding.py"),
    "\n\n",
    include_str!("rotary.py"),
    "\n\n",
    include_str!("group_query.py"),
    "\n\n",
    include_str!("described.py"),
    "\n\n",
    include_str!("checkpoint.py"),
    "\n\n",
    include_str!("streamed.py"),
    "\n\n",
    include_str!("expected.py"),
    "\n\n",
    include_str!("decoder.py")
);
/// The time limit: a capture takes a second or so for each layer.
const PATIENCE: Duration = Duration::from_hours(1);
/// The way around an adapter that is refused.
pub const ADAPTER_HELP: &str =
    "merge it in peft, with `merge_and_unload` and `save_pretrained`, and convert that folder";
/// The packages that the Python needs.
const PACKAGES: &[&str] = &["torch", "transformers"];

/// The settings of a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Capture {
    /// The path of the program to write.
    pub program: PathBuf,
    /// The element type of weights and caches, `f32` or `f16`; `None` for the checkpoint's.
    pub dtype: Option<&'static str>,
    /// Compute the logits of the last token only.
    pub last: bool,
    /// A Python file to run first, which registers or describes the model.
    pub code: Option<PathBuf>,
    /// Make the programs that onnxruntime-genai runs, if there are several.
    pub genai: bool,
    /// The pooling of an embedding model whose checkpoint states none.
    pub pooling: Option<&'static str>,
    /// Keep caches in buffers that `GroupQueryAttention` writes to.
    pub buffers: bool,
    /// The adapters.
    pub adapters: Vec<AdapterFolder>,
    /// The calls to write to the sidecar of the program.
    pub record: Option<Record>,
    /// The sizes of the checkpoint's tensors, by name.
    pub stored: BTreeMap<String, Vec<u64>>,
}

/// A folder of peft.
#[derive(Clone, Debug, Serialize)]
pub struct AdapterFolder {
    /// Its path.
    pub folder: PathBuf,
    /// The sizes of its tensors, by name.
    pub stored: BTreeMap<String, Vec<u64>>,
    /// Whether it is merged into the weights, and not swapped at run time.
    pub merged: bool,
}

/// The calls that a capture records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Record {
    /// Their inputs.
    Inputs,
    /// Also the results of the checkpoint in PyTorch, if its weights take at most half of the free memory.
    Values,
}

/// The cache of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Layer {
    /// Keys and values of all tokens.
    Attention {
        /// The number of heads of keys and values.
        heads: u64,
        /// The size of a key.
        key_size: u64,
        /// The size of a value.
        value_size: u64,
    },
    /// The state of a short convolution.
    Convolution {
        /// The number of channels.
        channels: u64,
        /// The number of tokens that it keeps.
        length: u64,
    },
}

/// A captured decoder.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
pub struct Decoder {
    /// The architecture as config.json names it.
    pub model_type: String,
    /// The class of the model.
    pub architecture: String,
    /// The element type of weights and caches: `f32` or `f16`.
    pub dtype: String,
    /// The layers with a cache; none for a model that makes a vector or scores of a text.
    pub layers: Vec<Layer>,
    /// The kinds of pooling of an embedding model.
    #[serde(default)]
    pub pooling: Vec<String>,
    /// The number of dense layers behind the pooling.
    #[serde(default)]
    pub dense: u64,
    /// Whether its vectors are normalized.
    #[serde(default)]
    pub normalized: bool,
    /// Whether positions of tokens are an input.
    pub positions: bool,
    /// The reason why the checkpoint did not run in PyTorch, although its values were wanted.
    #[serde(default)]
    pub uncompared: Option<String>,
    /// The number of heads of queries.
    pub attention_heads: Option<u64>,
    /// The size of a token between layers.
    pub hidden_size: Option<u64>,
    /// The number of logits of a token.
    pub vocabulary: u64,
    /// The largest number of tokens, if config.json states one.
    pub limit: Option<u64>,
    /// The tokens that end a text.
    pub eos: Vec<i64>,
    /// The token that begins a text.
    pub bos: Option<i64>,
    /// The token that fills a batch.
    pub pad: Option<i64>,
    /// Settings of generation, such as `top_k`.
    pub search: Map<String, Value>,
    /// Names of parameters that are one tensor.
    pub ties: Vec<Vec<String>>,
    /// The prefix of names that a checkpoint of the model without its head lacks.
    pub prefix: String,
    /// The versions of PyTorch and transformers.
    pub python: String,
}

/// The modules that adapters change.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Adapted {
    /// The modules with low-rank weights as inputs of the program, in their order: two inputs for each.
    pub modules: Vec<AdaptedModule>,
    /// The changes of each adapter.
    pub changes: Vec<Changes>,
}

/// The changes of an adapter, by the name of the module.
pub type Changes = BTreeMap<String, Change>;

/// The change of a module by an adapter.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Change {
    /// The factor of the product.
    pub scale: f64,
    /// Whether the weight of the module is `[in, out]`, and not `[out, in]`.
    pub transposed: bool,
    /// The tensor of the adapter with the lengths that the weights of each output get at last.
    #[serde(default)]
    pub magnitude: Option<String>,
}

/// A linear module with low-rank weights as inputs.
#[derive(Clone, Debug, Deserialize)]
pub struct AdaptedModule {
    /// Its name.
    pub module: String,
    /// The number of values that it takes.
    pub taken: u64,
    /// The number of values that it makes.
    pub made: u64,
}

/// A captured decoder, and its parameters in the checkpoint.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The decoder.
    pub decoder: Decoder,
    /// The parameters that the checkpoint stores in another form, by name.
    pub composed: BTreeMap<String, Composition>,
    /// The modules that adapters change.
    pub adapted: Adapted,
    /// The programs of a model that has several, or that of a model without caches; none for a decoder of text.
    pub parts: Vec<Part>,
    /// The settings of the programs for onnxruntime-genai, as `genai_config.json` has them.
    pub settings: Map<String, Value>,
    /// Further files of the folder, in JSON.
    pub files: BTreeMap<String, Value>,
}

/// A program with the names of its interface.
#[derive(Clone, Debug, Deserialize)]
pub struct Part {
    /// The name of the model.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// The names of the inputs, in order.
    pub inputs: Vec<String>,
    /// The names of the outputs, in order.
    pub outputs: Vec<String>,
    /// The dynamic axes.
    pub dims: Vec<PartDim>,
}

/// The name of a dynamic axis.
#[derive(Clone, Debug, Deserialize)]
pub struct PartDim {
    /// The input.
    pub input: String,
    /// The axis.
    pub axis: usize,
    /// The name.
    pub name: String,
}

/// The kind of a refusal.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// A package is missing or too old.
    Packages,
    /// The configuration cannot be read.
    Checkpoint,
    /// The architecture is unknown, or not a decoder with caches.
    Architecture,
    /// onnxruntime-genai cannot run the model.
    Server,
    /// PyTorch cannot capture the model.
    Capture,
    /// transformers changes stored tensors in a way that is not known.
    Conversion,
    /// The user's Python file fails, or its description is not one.
    Code,
    /// An adapter cannot be used.
    Adapter,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Error {
        error: String,
        kind: Kind,
    },
    Step {
        step: String,
    },
    Decoder {
        decoder: Box<Decoder>,
        #[serde(default)]
        composed: BTreeMap<String, Composition>,
        #[serde(default)]
        adapted: Adapted,
        #[serde(default)]
        parts: Vec<Part>,
        #[serde(default)]
        settings: Map<String, Value>,
        #[serde(default)]
        files: BTreeMap<String, Value>,
    },
}

/// Captures the decoder in the folder `checkpoint`. `tell` receives the name of each step, and returns whether to go on.
///
/// # Errors
/// `OP650` for a configuration that cannot be read, `OP651` for an architecture that is not supported, `OP652` if
/// PyTorch cannot capture the model, `OP653` without a suitable Python, `OP654` for tensors that are stored in a form
/// that is not known.
pub fn decoder(
    checkpoint: &Path,
    capture: &Capture,
    tell: &mut dyn FnMut(&str) -> bool,
) -> Result<Captured, Diagnostic> {
    let python = interpreter::with(PACKAGES).map_err(lacking)?;
    // The packages of a launcher's Python are unknown.
    let absent = PACKAGES.iter().find(|name| !python.packages.is_empty() && python.package(name).is_none());
    if let Some(name) = absent {
        return Err(lacking(format!("`{}` has no package `{name}`", python.interpreter.display())));
    }
    ask(&python, checkpoint, capture, tell)
}

fn lacking(why: String) -> Diagnostic {
    let message = format!("a checkpoint cannot be captured without Python: {why}");
    Diagnostic::error(Code::CAPTURE_PYTHON, message)
        .help("`pip install torch transformers safetensors`, and activate the environment")
}

fn failed(why: &str) -> Diagnostic {
    Diagnostic::error(Code::CAPTURE_FAILED, format!("the model cannot be captured: {why}"))
        .help("capture it with `onnxport.export` of the Python package, which tries further strategies")
}

fn refused(checkpoint: &Path, kind: Kind, why: String) -> Diagnostic {
    let at = checkpoint.display();
    match kind {
        Kind::Packages => lacking(why),
        Kind::Checkpoint => Diagnostic::error(Code::CAPTURE_CHECKPOINT, format!("`{at}`: {why}"))
            .help("save the checkpoint again with `save_pretrained`"),
        Kind::Architecture => Diagnostic::error(Code::CAPTURE_ARCHITECTURE, format!("`{at}`: {why}"))
            .help("export the model with `onnxport.export` of the Python package, or update transformers"),
        Kind::Server => Diagnostic::error(Code::CAPTURE_ARCHITECTURE, format!("`{at}`: {why}"))
            .help("use `--target onnxruntime`, and run the models with ONNX Runtime"),
        Kind::Capture => failed(&why),
        Kind::Conversion => Diagnostic::error(Code::CAPTURE_CONVERSION, format!("`{at}`: {why}"))
            .help("save the checkpoint with `save_pretrained(folder, save_original_format=False)`"),
        Kind::Code => Diagnostic::error(Code::CAPTURE_CODE, why)
            .help("`docs/llm.md` has an example of a model that a Python file describes"),
        Kind::Adapter => Diagnostic::error(Code::CAPTURE_ADAPTER, why).help(ADAPTER_HELP),
    }
}

fn ask(
    python: &Python,
    checkpoint: &Path,
    capture: &Capture,
    tell: &mut dyn FnMut(&str) -> bool,
) -> Result<Captured, Diagnostic> {
    let told = |why: String| failed(&format!("`{}`: {why}", python.interpreter.display()));
    let request = serde_json::to_vec(capture).map_err(|error| told(error.to_string()))?;
    let child = Child::start(&python.interpreter, SCRIPT, checkpoint, false, request, PATIENCE);
    let mut child = child.map_err(told)?;
    loop {
        let message = child.answer().map_err(told)?;
        let wrong = |error: serde_json::Error| told(format!("its answer cannot be understood: {error}"));
        match serde_json::from_slice(&message).map_err(wrong)? {
            Answer::Step { step } if tell(&step) => {}
            Answer::Step { .. } => return Err(told("it was interrupted".to_owned())),
            Answer::Error { error, kind } => return Err(refused(checkpoint, kind, error)),
            Answer::Decoder { decoder, parts, .. } if decoder.layers.is_empty() && parts.is_empty() => {
                return Err(told("its decoder has no layers".to_owned()));
            }
            Answer::Decoder { decoder, composed, adapted, parts, settings, files } => {
                return Ok(Captured { decoder: *decoder, composed, adapted, parts, settings, files });
            }
        }
    }
}
