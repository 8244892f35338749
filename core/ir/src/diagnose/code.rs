//! The stable codes. A code is never reused for another meaning.

use std::borrow::Cow;
use std::fmt;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal;)*) => {
        impl Code {
            $($(#[doc = $doc])+ pub const $name: Code = Code(Cow::Borrowed($text));)*

            /// Every code of the host with its explanation, in order.
            pub const ALL: &'static [(Code, &'static str)] = &[
                $((Code::$name, concat!($($doc),+))),*
            ];
        }
    };
}

/// The stable code of a kind of problem, such as `OP301`; plugins use a prefix of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(Cow<'static, str>);

impl Code {
    /// Returns a code of a plugin: the plugin's own name for it, prefixed with the plugin's id so that it cannot be
    /// confused with a code of another plugin or of onnxport.
    pub fn of_plugin(plugin: &str, code: &str) -> Self {
        Self(Cow::Owned(format!("{plugin}:{code}")))
    }

    /// The text of the code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

codes! {
    /// The command line cannot be understood.
    USAGE = "OP001";
    /// A file of options, onnxport.toml, cannot be read, or is not TOML.
    CONFIG_FILE = "OP002";
    /// A file of options has a table that is not a command, or a key that is not an option.
    CONFIG_KEY = "OP003";
    /// An option in a file has a value that it does not take.
    CONFIG_VALUE = "OP004";
    /// A file of options that was found, and not named, says what can run code or writes outside of its folder.
    CONFIG_TRUST = "OP005";
    /// There is no preset of this name.
    CONFIG_PRESET = "OP006";
    /// The process cannot be confined as `--sandbox` requests.
    SANDBOX = "OP007";
    /// The file cannot be opened or read.
    READ_IO = "OP101";
    /// The file is not a zip archive, or the archive is damaged.
    READ_ARCHIVE = "OP102";
    /// The archive is not an exported program: an AOTInductor package, a TorchScript file, a checkpoint.
    READ_NOT_A_PROGRAM = "OP103";
    /// The archive's schema version is one that this release does not know.
    READ_VERSION = "OP104";
    /// A JSON document of the archive is malformed or does not follow the schema.
    READ_SCHEMA = "OP105";
    /// A weight or constant is missing, too short, or stored as a pickle.
    READ_PAYLOAD = "OP106";
    /// A pickle holds something other than plain tensors and containers.
    READ_PICKLE = "OP107";
    /// A size in the archive is absurd: larger than the file, or beyond 64 bits.
    READ_SIZE = "OP108";
    /// The program is inconsistent: an undefined value, a value defined twice, a cycle.
    READ_PROGRAM = "OP109";
    /// An ONNX model cannot be decoded.
    READ_ONNX = "OP110";
    /// The arguments of a call and the types that the program states for its results contradict each other:
    /// the file was changed, or written wrongly.
    READ_CONTRADICTION = "OP111";
    /// A write to a tensor cannot be expressed without aliasing.
    NORMALISE_MUTATION = "OP201";
    /// A region or higher-order operator cannot be inlined.
    NORMALISE_REGION = "OP202";
    /// A table of decompositions cannot be read, or one that fits a call cannot be used.
    DECOMPOSE = "OP203";
    /// PyTorch cannot export the module.
    CAPTURE = "OP210";
    /// Draft export assumed something that may not hold for other inputs.
    CAPTURE_DRAFT = "OP211";
    /// The memory of a tensor of the module cannot be read.
    CAPTURE_TENSOR = "OP212";
    /// An argument of the module is of a class that PyTorch does not look into.
    CAPTURE_CLASS = "OP213";
    /// PyTorch cannot export the module, since a value decides in Python what is computed.
    CAPTURE_DATA = "OP214";
    /// An operator has no fake kernel, or one that says something else than the operator does.
    CAPTURE_KERNEL = "OP215";
    /// A dimension that was to be dynamic is not, or not for every size.
    CAPTURE_SIZE = "OP216";
    /// The module is captured with replacements that were not compared with the original functions.
    CAPTURE_REPLACED = "OP217";
    /// An operator has no lowering for the requested opset.
    LOWER_UNSUPPORTED = "OP301";
    /// A lowering refused a call: an argument or a dtype that it cannot express.
    LOWER_REFUSED = "OP302";
    /// Two plugins provide the same operator at the same priority.
    LOWER_CONFLICT = "OP303";
    /// A call does not match its operator's schema.
    LOWER_ARGUMENT = "OP304";
    /// A dtype of the program does not exist in ONNX.
    LOWER_DTYPE = "OP305";
    /// The requested opset is outside of the supported range.
    LOWER_OPSET = "OP306";
    /// A name that the user asked for matches nothing, or is taken.
    LOWER_NAME = "OP307";
    /// A plugin defined a local function again, with another body.
    LOWER_FUNCTION = "OP308";
    /// The program does not take a size that the user asked for: it is outside of the range of its symbol, or
    /// against a guard, an assertion or a requirement of its calls.
    LOWER_SIZE = "OP309";
    /// The program takes only some of the sizes that were declared.
    LOWER_RANGE = "OP310";
    /// An axis that the user requires to be dynamic has a fixed size, or fewer sizes than were declared.
    LOWER_DYNAMIC = "OP311";
    /// The program records no size of an axis that is to be frozen to its size in the example inputs.
    LOWER_UNSIZED = "OP312";
    /// The program writes to a buffer, a parameter or an input, which the user refuses.
    STATE_REFUSED = "OP313";
    /// The program writes to a buffer, a parameter or an input, and the model does not return the new value.
    STATE_DROPPED = "OP314";
    /// The graph breaks a rule of ONNX or contradicts the program.
    VALIDATE = "OP401";
    /// A rule's patch was not sound: a type, a shape, a use or an operator. The graph was left as it was.
    OPTIMISE_PATCH = "OP402";
    /// The rules still changed the graph when the largest number of sweeps was reached.
    OPTIMISE_CAP = "OP403";
    /// A pass broke the graph; its edits were taken back.
    OPTIMISE_PASS = "OP404";
    /// A rule or pass of a plugin is malformed.
    OPTIMISE_MALFORMED = "OP405";
    /// A pass cannot do its work on this graph; its edits were taken back.
    OPTIMISE_REFUSED = "OP406";
    /// The user asks about a rule or pass that no plugin has.
    OPTIMISE_NAME = "OP407";
    /// The target has no kernel for an operator of this type, which is computed in a narrower one.
    TARGET_NARROWS = "OP408";
    /// The target that was asked for does not run the model.
    TARGET_LACKS = "OP409";
    /// A target does not exist, or its file cannot be read.
    TARGET_FILE = "OP410";
    /// The target has no kernel for an operator, for which others stand that mean the same.
    TARGET_FORM = "OP411";
    /// The model is of an opset whose types are not inferred, so that no rule or pass is applied.
    OPTIMISE_OPSET = "OP412";
    /// Dimensions with names of their own are equal in every run, and got one name.
    OPTIMISE_EQUAL_SIZES = "OP413";
    /// The program calls no module of a class that is to become a function.
    FUNCTIONS_CLASS = "OP414";
    /// A module did not become a function.
    FUNCTIONS_CUT = "OP415";
    /// A stage that the caller put into the pipeline failed, or left an invalid model.
    STAGE = "OP416";
    /// An operator of the model has no form in the requested opset, which is an older one.
    OPSET_LACKS = "OP417";
    /// Neither the table of a target nor the model decides whether the target runs a node.
    TARGET_UNKNOWN = "OP418";
    /// The backend that was asked for does not exist, or two plugins have it.
    BACKEND_UNKNOWN = "OP501";
    /// The stated capabilities of a backend are malformed.
    BACKEND_CAPABILITIES = "OP502";
    /// A backend claims nodes that it was not offered, or one of them twice.
    BACKEND_CLAIM = "OP503";
    /// A backend refused to compile a region, whose nodes stay as they are.
    BACKEND_REFUSED = "OP504";
    /// The compiled form of a region does not fit: it has other outputs, or uses other values.
    BACKEND_REPLACEMENT = "OP505";
    /// A backend took nothing of the model.
    BACKEND_NOTHING = "OP506";
    /// Backends take less of the model than the user requires, or in more regions than allowed.
    BACKEND_LIMIT = "OP507";
    /// A compiled region cannot be kept in the cache, or one that was kept is damaged.
    BACKEND_CACHE = "OP508";
    /// Compiled regions of a model do not fit: a file is missing or differs, or they were compiled for another environment.
    BACKEND_STALE = "OP509";
    /// The output cannot be written.
    WRITE_IO = "OP601";
    /// The model does not fit the format: over 2 GiB without external data.
    WRITE_SIZE = "OP602";
    /// The output would overwrite one of its sources.
    WRITE_SOURCE = "OP603";
    /// There is not enough space for the output. Old files count until the new ones have replaced them.
    WRITE_SPACE = "OP610";
    /// The output cannot be written within the memory that `--max-memory` allows.
    WRITE_MEMORY = "OP611";
    /// Another run is giving files in the same folder their names, and does not end.
    WRITE_BUSY = "OP612";
    /// A source was truncated or changed while it was read.
    WRITE_SOURCE_CHANGED = "OP613";
    /// The run was ended by a signal. The old files are as they were, or the new ones are complete.
    INTERRUPTED = "OP614";
    /// A manifest is malformed, or a file is not the one that it describes.
    WRITE_MANIFEST = "OP615";
    /// The output has a name that a model cannot state for its data files: ONNX keeps names as UTF-8, with
    /// backslashes meaning folders on some systems. Choose another name, or keep the weights in the model.
    WRITE_NAME = "OP616";
    /// The system starts no thread: a limit on processes or memory is reached.
    THREAD = "OP617";
    /// A report does not fit the model: one of them was changed.
    WRITE_REPORT = "OP618";
    /// A program or a model has no bytes for some of its weights: it was exported with fake tensors or on
    /// the meta device, or they were taken out. Give them with `--weights` or `onnxport weights bind`.
    WEIGHTS_MISSING = "OP630";
    /// A source of weights cannot be read as one: a damaged header, another format, a missing shard.
    WEIGHTS_SOURCE = "OP631";
    /// The files that were given lack tensors that the program takes.
    WEIGHTS_KEYS = "OP632";
    /// The files that were given hold tensors that the program does not take.
    WEIGHTS_EXTRA = "OP633";
    /// A given tensor has another shape than the program states.
    WEIGHTS_SHAPE = "OP634";
    /// A given tensor has another element type than the program states.
    WEIGHTS_DTYPE = "OP635";
    /// Two sources hold a tensor of the same name.
    WEIGHTS_TWICE = "OP636";
    /// A file of rules for names is malformed, or a rule meets nothing in the program.
    WEIGHTS_MAP = "OP637";
    /// The program uses one tensor under several names, for which the files hold different ones.
    WEIGHTS_TIED = "OP638";
    /// The model was not written without weights, so that there is nothing to bind.
    WEIGHTS_BOUND = "OP639";
    /// A model cannot point at its weights where they are: runtimes read data only from the model's
    /// folder and the folders in it.
    REFERENCE_PLACE = "OP640";
    /// Weights that a model cannot point at were copied: compressed, strided, changed or small ones.
    REFERENCE_COPIED = "OP641";
    /// A model points at weights in files that it does not own: they must stay in its folder, unchanged.
    REFERENCE_KEPT = "OP642";
    /// The folder is not a checkpoint of a language model: config.json is missing or cannot be read.
    CAPTURE_CHECKPOINT = "OP650";
    /// The architecture of a checkpoint is not known, or not a decoder whose past is keys and values.
    CAPTURE_ARCHITECTURE = "OP651";
    /// PyTorch cannot capture the model of a checkpoint.
    CAPTURE_FAILED = "OP652";
    /// No Python is active that has PyTorch and transformers.
    CAPTURE_PYTHON = "OP653";
    /// transformers changes the tensors of a checkpoint, while it loads them, in a way that is not known.
    CAPTURE_CONVERSION = "OP654";
    /// The Python file of `--code` fails, or its description of a model is not one.
    CAPTURE_CODE = "OP655";
    /// An adapter cannot be read, is not supported, or does not fit the model.
    CAPTURE_ADAPTER = "OP656";
    /// A value of a weight has no place in the type that it is to be stored in.
    WEIGHT_VALUE = "OP660";
    /// The smallest piece in which a weight can be transformed takes more memory than is allowed.
    WEIGHT_BUDGET = "OP661";
    /// A requested change of weights is not possible: an unknown scheme, a form that the opset lacks.
    WEIGHT_SCHEME = "OP662";
    /// A pattern that selects weights matches none.
    WEIGHT_PATTERN = "OP663";
    /// A weight stays as it is: the form that was asked for has no place for it.
    WEIGHT_KEPT = "OP664";
    /// A plugin cannot make or change a weight.
    WEIGHT_PLUGIN = "OP665";
    /// Products round the operand of quantized weights.
    WEIGHT_OPERAND = "OP666";
    /// Samples for a quantization are lacking, or do not fit the inputs of the model.
    CALIBRATE_SAMPLES = "OP670";
    /// An activation is NaN or infinite on the samples.
    CALIBRATE_VALUE = "OP671";
    /// The target has no rules for quantization.
    CALIBRATE_TARGET = "OP672";
    /// No node of the model can be quantized for the target.
    CALIBRATE_NOTHING = "OP673";
    /// The results of the quantized model differ too much from those of the float model.
    CALIBRATE_ERROR = "OP674";
    /// A node stays a float although the target has a rule for its operator.
    CALIBRATE_KEPT = "OP675";
    /// The outputs differ from the expected values.
    VERIFY_MISMATCH = "OP701";
    /// No executor is available, or it lacks something that the model uses.
    VERIFY_NO_EXECUTOR = "OP702";
    /// The executor refused or failed to run the model.
    VERIFY_EXECUTOR = "OP703";
    /// There is nothing to compare with, or it does not belong to the model.
    VERIFY_EXPECTED = "OP704";
    /// The executor did not come back in the time that it has.
    VERIFY_TIMEOUT = "OP705";
    /// PyTorch, which runs the program, cannot compute expected values.
    VERIFY_REFERENCE = "OP706";
    /// A node of a model diverges from the reference, although its inputs agree.
    VERIFY_DEPARTS = "OP707";
    /// The process that an executor has for itself ended in the middle of its work.
    VERIFY_CRASH = "OP708";
    /// An executor answered with outputs that are not those of the model.
    VERIFY_ANSWER = "OP709";
    /// A value for an input of a model is missing, or is not one that the model takes.
    RUN_INPUT = "OP710";
    /// A step of the optimizer changed the results of a model.
    VERIFY_STEP = "OP711";
    /// A module of a program does not convert, or computes something else.
    VERIFY_MODULE = "OP712";
    /// A profile cannot be read, or lacks the requested data.
    RUN_PROFILE = "OP713";
    /// The captured program computes something else than its module.
    VERIFY_CAPTURE = "OP714";
    /// No plugin compares tensors under that name, or it cannot compare these.
    VERIFY_COMPARER = "OP720";
    /// A plugin broke the contract.
    PLUGIN_CONTRACT = "OP801";
    /// A plugin panicked.
    PLUGIN_PANIC = "OP802";
    /// A plugin's library is missing, is not one, or is built for another machine.
    PLUGIN_FILE = "OP803";
    /// A plugin is built for another version of the plugin contract.
    PLUGIN_VERSION = "OP804";
    /// A plugin's manifest is malformed, or does not describe the library.
    PLUGIN_MANIFEST = "OP805";
    /// Two plugins have the same id.
    PLUGIN_TWICE = "OP806";
    /// The plugin that was chosen for an operator does not exist or does not lower it.
    PLUGIN_CHOICE = "OP807";
    /// The project file, onnxport.toml, cannot be read.
    PLUGIN_PROJECT = "OP808";
    /// A call of a plugin did not come back in the time that it has.
    PLUGIN_TIMEOUT = "OP811";
    /// A plugin ended the process: it aborted, called `exit`, or accessed memory that is not there.
    PLUGIN_CRASH = "OP812";
    /// A library is not on the list of allowed ones, or is another file than the one listed.
    PLUGIN_ALLOW = "OP813";
    /// An option of a plugin does not exist, has a value that it cannot have, or is missing.
    PLUGIN_OPTION = "OP820";
    /// A plugin has something to say to the user.
    PLUGIN_MESSAGE = "OP821";
    /// A plugin's library fails a check of `onnxport plugin check`.
    PLUGIN_CHECK = "OP830";
    /// A plugin project cannot be made: its name, its folder or the place of the plugin SDK.
    PLUGIN_NEW = "OP831";
    /// The host broke one of its own invariants: a defect in onnxport.
    INTERNAL = "OP900";
    /// A worker of `onnxport.map` ended without an answer.
    WORKER_LOST = "OP901";
}
