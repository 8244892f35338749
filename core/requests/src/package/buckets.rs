//! Variants of a model, each for other sizes of its dimensions, and the manifest that lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use onnxport_core::ConvertOptions;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::dispatch;
use onnxport_core::lower::{self, DimName};
use onnxport_core::program::Program;
use onnxport_core::sizes::{self, AxisSize};
use onnxport_core::verify::{Port, Signature, State};
use onnxport_core::write::UnpublishedPackage;
use serde::Serialize;
use serde_json::{Value, json};

use super::PackagedModel;
use crate::value::as_text;
use crate::verifying::{Checked, is_judged};

/// The name of the manifest.
pub(super) const MANIFEST: &str = "variants.json";

/// The version of the manifest's format.
const FORMAT: u32 = 1;

/// The most variants of a model: each is converted and verified.
const LIMIT: usize = 64;

/// The sizes of a dimension: `batch=1,8,32`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    name: String,
    sizes: Vec<u64>,
}

/// A variant of a model: dimensions and their sizes; none for a model that keeps its dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Variant(BTreeMap<String, u64>);

impl FromStr for Bucket {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected DIM=SIZE,SIZE…, such as batch=1,8,32";
        let (name, list) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or(expected)?;
        let size = |text: &str| match text.trim().parse() {
            Ok(0) | Err(_) => Err(format!("{text:?} is not a size; {expected}")),
            Ok(size) => Ok(size),
        };
        let sizes: Vec<u64> = list.split(',').map(size).collect::<Result<_, _>>()?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = sizes.iter().find(|size| !seen.insert(**size)) {
            return Err(format!("the size {twice} is listed twice"));
        }
        Ok(Self { name: name.to_owned(), sizes })
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.sizes.iter().map(u64::to_string).collect();
        write!(f, "{}={}", self.name, sizes.join(","))
    }
}

as_text! { Bucket: { "type": "string" } }

/// Fails if a dimension is listed twice, or if the sizes have too many combinations.
pub(super) fn check(buckets: &[Bucket]) -> Result<(), Diagnostic> {
    let mut names = BTreeSet::new();
    if let Some(twice) = buckets.iter().find(|bucket| !names.insert(&bucket.name)) {
        let message = format!("`--buckets` lists the sizes of `{}` twice", twice.name);
        return Err(Diagnostic::error(Code::USAGE, message)
            .help(format!("list all sizes at once: `--buckets {}=1,8`", twice.name)));
    }
    let count = buckets.iter().try_fold(1_usize, |count, bucket| count.checked_mul(bucket.sizes.len()));
    if count.is_some_and(|count| count <= LIMIT) {
        return Ok(());
    }
    let count = count.map_or_else(|| "too many".to_owned(), |count| count.to_string());
    let message = format!(
        "`--buckets` lists {count} combinations of sizes; a package has at most {LIMIT} variants of a model"
    );
    Err(Diagnostic::error(Code::USAGE, message).help("list fewer sizes, or make several packages"))
}

/// Returns the variants of a program, whose dimensions have the names `dims` besides those of the program: all combinations
/// of the sizes of dimensions that its inputs have. The names of these dimensions are added to `used`.
pub(super) fn variants(
    buckets: &[Bucket],
    program: &Program,
    dims: &[DimName],
    used: &mut BTreeSet<String>,
) -> Vec<Variant> {
    let mut all = vec![Variant::default()];
    for Bucket { name, sizes } in buckets {
        let is_here =
            dims.iter().any(|dim| dim.name == *name) || sizes::of_symbol(program, name, 1).is_some();
        if !is_here {
            continue;
        }
        used.insert(name.clone());
        let with = |variant: &Variant, size: u64| {
            let mut variant = variant.clone();
            variant.0.insert(name.clone(), size);
            variant
        };
        all = all.iter().flat_map(|variant| sizes.iter().map(move |size| with(variant, *size))).collect();
    }
    all
}

/// Fails if no program has one of the dimensions; `programs` are all of them.
pub(super) fn check_used<'p>(
    buckets: &[Bucket],
    used: &BTreeSet<String>,
    programs: impl Iterator<Item = &'p Program>,
) -> Result<(), Diagnostic> {
    let Some(unknown) = buckets.iter().find(|bucket| !used.contains(&bucket.name)) else { return Ok(()) };
    let dims: BTreeSet<String> = programs.flat_map(sizes::symbols_of_inputs).collect();
    let dims: Vec<String> = dims.into_iter().map(|dim| format!("`{dim}`")).collect();
    let name = &unknown.name;
    let message = format!("`--buckets`: no program has a dynamic dimension `{name}`");
    let help = if dims.is_empty() {
        "no input has a dynamic dimension: export the programs again with `dynamic_shapes`".to_owned()
    } else {
        format!(
            "the dynamic dimensions are {}; name one with `--dim NAME/INPUT:AXIS={name}`",
            dims.join(", ")
        )
    };
    Err(Diagnostic::error(Code::LOWER_NAME, message).help(help))
}

impl Variant {
    /// The name of the variant of `model`: `model_batch8`.
    pub fn name(&self, model: &str) -> String {
        self.0.iter().fold(model.to_owned(), |name, (dim, size)| format!("{name}_{dim}{size}"))
    }

    /// Adds the sizes to the options for the program: to all axes with the name of the dimension.
    pub(super) fn apply(&self, program: &Program, mut options: ConvertOptions) -> ConvertOptions {
        let renamed = lower::input_names(program, &options.lower.input_names);
        let model_name = |own: String| {
            renamed.iter().find(|(name, _)| *name == own).map_or(own.clone(), |(_, chosen)| chosen.clone())
        };
        for (name, size) in &self.0 {
            let is_named = |dim: &DimName| dim.name == *name;
            let (named, others): (Vec<DimName>, _) = options.lower.dims.into_iter().partition(is_named);
            options.lower.dims = others;
            let sized = |dim: DimName| AxisSize { input: dim.input, axis: dim.axis, size: *size };
            options.fixed.extend(named.into_iter().map(sized));
            if let Some(axis) = sizes::of_symbol(program, name, *size) {
                options.fixed.push(AxisSize { input: model_name(axis.input), ..axis });
            }
        }
        options
    }
}

/// A written variant.
#[derive(Serialize)]
pub(super) struct Listed {
    /// The name of the model, without the sizes.
    model: String,
    /// The name of the file, in the folder of the manifest.
    file: String,
    sizes: Variant,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    states: Vec<Value>,
    /// Whether its results were compared with expected values.
    verified: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_verified: Option<String>,
}

impl Listed {
    /// Describes the variant at `path`; `checked` is the result of its verification.
    ///
    /// # Errors
    /// Those of [`Signature::read`].
    pub(super) fn new(
        model: &str,
        variant: &Variant,
        path: &Path,
        checked: &Checked,
    ) -> Result<Self, Diagnostic> {
        let signature = Signature::read(path)?;
        let is_state = |name: &str| signature.states.iter().any(|state| state.output == name);
        let verified = checked.verification.as_ref().map(|(found, _)| found.passed() && is_judged(found));
        let why = match (verified, checked.skipped.last()) {
            (Some(true), _) => None,
            (_, Some(why)) => Some(why.message.as_str()),
            _ if !checked.passed() => Some("the results differ from the expected values"),
            (Some(false), None) => {
                Some("it ran, but there are no expected values for these sizes and weights to compare with")
            }
            (None, None) => Some("`--no-verify`"),
        };
        let outputs = signature.outputs.iter().filter(|port| !is_state(&port.name));
        Ok(Self {
            model: model.to_owned(),
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            sizes: variant.clone(),
            inputs: signature.user_inputs().map(port).collect(),
            outputs: outputs.map(port).collect(),
            states: signature.states.iter().map(state).collect(),
            verified: verified == Some(true),
            not_verified: why.map(str::to_owned),
        })
    }
}

fn port(port: &Port) -> Value {
    json!({ "name": port.name, "type": port.type_text() })
}

fn state(State { name, kind, input, output }: &State) -> Value {
    json!({ "name": name, "kind": kind, "input": input, "output": output })
}

/// The manifest: all dimensions with their sizes, the shared data files, and the variants.
pub(super) fn manifest(buckets: &[Bucket], data: &[String], variants: &[Listed]) -> String {
    let sizes: BTreeMap<&str, &[u64]> =
        buckets.iter().map(|bucket| (bucket.name.as_str(), bucket.sizes.as_slice())).collect();
    let document = json!({ "format": FORMAT, "buckets": sizes, "data": data, "variants": variants });
    format!("{document:#}\n")
}

/// The variants of each model as one: the name of its file, and its bytes.
///
/// # Errors
/// Those of [`dispatch::join`].
pub(super) fn dispatchers(
    records: &[PackagedModel],
    staged: &UnpublishedPackage,
) -> Result<Vec<(String, Vec<u8>)>, Diagnostic> {
    let mut variants: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    for (record, path) in records.iter().zip(staged.models()) {
        variants.entry(&record.base).or_default().push(path);
    }
    let join = |(base, paths): (&str, Vec<PathBuf>)| {
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        Ok((format!("{base}.onnx"), dispatch::join(&paths)?))
    };
    variants.into_iter().filter(|(_, paths)| paths.len() > 1).map(join).collect()
}
