//! The files of an archive, and the recognition of files that are not exported programs.

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::zip_index::ZipIndex;

/// The locations of the parts of one program in its archive.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The JSON of the program.
    pub(crate) program: String,
    /// The tensors, each in one or the other form.
    pub(crate) tensors: Vec<TensorFile>,
    /// The sample inputs; the entry may be missing.
    pub(crate) samples: String,
}

/// An entry with a table of tensors, or with tensors.
#[derive(Clone, Debug)]
pub(crate) enum TensorFile {
    /// A table of payloads, which lie in `folder`.
    Table { config: String, folder: String },
    /// A `torch.save` file.
    Torch(String),
}

impl Layout {
    /// Finds the program called `model`, or the only one.
    ///
    /// # Errors
    /// `OP103` if the archive has none, or several and none was requested.
    pub(crate) fn find(zip: &ZipIndex, model: Option<&str>) -> Result<Self, Diagnostic> {
        let root = zip.root();
        let in_models = |name: &'_ str| -> Option<String> {
            let name = name.strip_prefix(root)?.strip_prefix("models/")?.strip_suffix(".json")?;
            Some(name.to_owned())
        };
        let models: Vec<String> = zip.iter().filter_map(|(name, _)| in_models(name)).collect();
        let name = match (model, models.as_slice()) {
            (Some(model), _) => models.iter().find(|name| *name == model),
            (None, [only]) => Some(only),
            (None, _) => models.iter().find(|name| *name == "model"),
        };
        if let Some(name) = name {
            return Ok(Self::of_model(zip, root, name));
        }
        if models.is_empty() {
            return Self::before_2_8(zip).ok_or_else(|| foreign(zip));
        }
        let held = models.join("`, `");
        let message = match model {
            Some(model) => format!("the archive has no program `{model}`, only `{held}`"),
            None => format!("the archive has several programs, `{held}`"),
        };
        Err(Diagnostic::error(Code::READ_NOT_A_PROGRAM, message).help("choose a program by its name"))
    }

    fn of_model(zip: &ZipIndex, root: &str, model: &str) -> Self {
        let tensors = ["weights", "constants"].map(|kind| {
            let folder = format!("{root}data/{kind}/");
            let torch = format!("{folder}{model}.pt");
            if zip.get(&torch).is_some() {
                TensorFile::Torch(torch)
            } else {
                TensorFile::Table { config: format!("{folder}{model}_{kind}_config.json"), folder }
            }
        });
        Self {
            program: format!("{root}models/{model}.json"),
            tensors: tensors.into(),
            samples: format!("{root}data/sample_inputs/{model}.pt"),
        }
    }

    /// The layout of PyTorch before 2.8, which has no folders.
    fn before_2_8(zip: &ZipIndex) -> Option<Self> {
        let program = "serialized_exported_program.json";
        zip.get(program)?;
        let torch = |name: &str| TensorFile::Torch(name.to_owned());
        Some(Self {
            program: program.to_owned(),
            tensors: vec![torch("serialized_state_dict.pt"), torch("serialized_constants.pt")],
            samples: "serialized_example_inputs.pt".to_owned(),
        })
    }
}

/// Identifies a zip archive that is not an exported program.
fn foreign(zip: &ZipIndex) -> Diagnostic {
    let root = zip.root();
    let holds =
        |part: &str| zip.iter().any(|(name, _)| name.strip_prefix(root).is_some_and(|n| n.starts_with(part)));
    let (what, help) = if holds("data/aotinductor/") {
        (
            "an AOTInductor package: compiled code without the program",
            "save the exported program with torch.export.save",
        )
    } else if holds("constants.pkl") || holds("code/") {
        ("a TorchScript file", "export the module with torch.export.export and torch.export.save")
    } else if holds("data.pkl") {
        ("a checkpoint or pickled module of torch.save", "load it into its module, then export that")
    } else if holds("word/") || holds("[Content_Types].xml") {
        ("an office document", "give the file that torch.export.save wrote")
    } else {
        ("a zip archive without an exported program", "give the file that torch.export.save wrote")
    };
    Diagnostic::error(Code::READ_NOT_A_PROGRAM, format!("the file is {what}")).help(help)
}

/// Identifies a file that is not a zip archive.
pub(crate) fn not_a_zip(bytes: &[u8]) -> Option<Diagnostic> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let what = if bytes.is_empty() {
        return Some(Diagnostic::error(Code::READ_ARCHIVE, "the file is empty"));
    } else if starts(b"PK") {
        return None;
    } else if starts(b"\x80\x02") || starts(b"\x80\x03") || starts(b"\x80\x04") || starts(b"\x80\x05") {
        "a pickle, perhaps a checkpoint of an old torch.save"
    } else if starts(b"\x7fELF") || starts(b"MZ") {
        "a program or a shared library"
    } else if starts(b"GGUF") {
        "a GGUF file"
    } else if starts(b"\x1f\x8b") {
        "a gzip file"
    } else if bytes.get(8) == Some(&b'{') && bytes.get(3..8).is_some_and(|length| length == [0; 5]) {
        "a safetensors file, which has weights but no program"
    } else if is_onnx(bytes) {
        let message = "the file is an ONNX model already, not an exported program";
        return Some(
            Diagnostic::error(Code::READ_NOT_A_PROGRAM, message)
                .help("`onnxport inspect` shows its contents, `onnxport optimize` optimizes it"),
        );
    } else {
        return None;
    };
    let message = format!("the file is {what}, not an exported program");
    Some(
        Diagnostic::error(Code::READ_NOT_A_PROGRAM, message)
            .help("give the file that torch.export.save wrote"),
    )
}

/// Whether a file begins as ONNX models are written: the version of the format, then another field of the model.
fn is_onnx(bytes: &[u8]) -> bool {
    const VERSION: u8 = 1 << 3;
    const OTHERS: [u8; 6] = [2 << 3 | 2, 3 << 3 | 2, 4 << 3 | 2, 5 << 3, 7 << 3 | 2, 8 << 3 | 2];
    matches!(bytes, [VERSION, 1..=127, field, ..] if OTHERS.contains(field))
}
