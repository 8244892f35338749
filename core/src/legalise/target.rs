//! The capabilities of a target, as data.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock, OnceLock};

use rustc_hash::FxHashMap;

use super::condition::Condition;
use crate::diagnose::{Code, Diagnostic};
use crate::files;
use crate::tensor::DType;

/// The names of the targets that come with the host.
pub const BUILT_IN: &[&str] = &["onnx", "onnxruntime", "onnxruntime-cpu"];

/// The table of ONNX Runtime.
const OWN: &str = include_str!("targets/onnxruntime-cpu.txt");

/// The bytes that the file of a target may have.
const LONGEST: u64 = 16 << 20;

/// The types that one kernel takes: for each type variable that it restricts, or input or output, the element types.
pub(super) type Types = Vec<(String, Vec<DType>)>;

/// A range of versions, both ends included, and the types that are taken in it.
#[derive(Clone, Debug)]
struct Entry {
    versions: (i64, i64),
    /// `None` when every type is taken.
    types: Option<Types>,
}

/// A restriction of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    versions: (i64, i64),
    /// Of these types; of all when there are none.
    pub(super) types: Types,
    /// Where these hold.
    pub(super) conditions: Vec<Condition>,
}

/// The kernels of an operator.
#[derive(Clone, Debug, Default)]
struct OpKernels {
    /// By the version of the operator.
    kernels: Vec<Entry>,
    /// By the opset of the model: the target takes the operator apart.
    expansions: Vec<Entry>,
    gaps: Vec<Gap>,
}

/// The lines about an operator, which are read when it is first looked up.
#[derive(Clone, Debug, Default)]
struct Operator {
    lines: String,
    known: OnceLock<Option<OpKernels>>,
}

impl Operator {
    /// `None` where a line says nothing, which [`Target::parse`] does not let pass.
    fn known(&self) -> Option<&OpKernels> {
        let read = || {
            let mut known = OpKernels::default();
            self.lines.lines().try_for_each(|line| known.line(line))?;
            Some(known)
        };
        self.known.get_or_init(read).as_ref()
    }
}

impl OpKernels {
    fn line(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ')?;
        let (_, versions, words) = entry(rest)?;
        match word {
            "kernel" | "expand" => {
                let types = if words == ["any"] { None } else { Some(types(&words)?) };
                let entries = if word == "kernel" { &mut self.kernels } else { &mut self.expansions };
                entries.push(Entry { versions, types });
            }
            _ => {
                let mut gap = Gap { versions, types: Types::new(), conditions: Vec::new() };
                for word in words {
                    match Condition::parse(word)? {
                        Condition::Types(name, types) => gap.types.push((name, types)),
                        other => gap.conditions.push(other),
                    }
                }
                self.gaps.push(gap);
            }
        }
        Some(())
    }
}

/// A runtime with its capabilities, read from a text of lines.
///
/// ```text
/// target NAME                       its name
/// version TEXT, provider TEXT       the source of the table
/// kernel OP VERSIONS VAR=TYPES …    it takes this version of the operator, or these: 13 or 7-12
/// expand OP OPSETS VAR=TYPES | any  it takes the operator apart in models of these opsets
/// lacks OP VERSIONS VAR=TYPES WHERE the kernel does not take these types, or none, where this holds: reduction=add,mul
/// itself TYPE in TYPE               where the second type is taken, the first one is as well
/// leave TYPE                        nodes of this type are left alone
/// compute TYPE in TYPE              computes in the second type if there is no kernel for the first
/// ```
///
/// Types are separated by commas; those of no tensor are not listed. `#` starts a comment.
#[derive(Clone, Debug, Default)]
pub struct Target {
    name: String,
    version: String,
    provider: String,
    operators: FxHashMap<String, Operator>,
    itself: Vec<(DType, DType)>,
    leave: Vec<DType>,
    compute: Vec<(DType, DType)>,
}

impl Target {
    /// The target that comes with the host under this name.
    pub fn named(name: &str) -> Option<Arc<Self>> {
        match name {
            "onnx" => Some(Arc::new(Self::unrestricted(name))),
            "onnxruntime" => Some(Self::onnxruntime()),
            "onnxruntime-cpu" => {
                // No other provider helps out: bfloat16, which the CPU has few kernels for, is computed in float32.
                let mut target = (*Self::onnxruntime()).clone();
                name.clone_into(&mut target.name);
                target.leave.clear();
                target.compute.push((DType::BF16, DType::F32));
                Some(Arc::new(target))
            }
            _ => None,
        }
    }

    /// A target of this name that takes everything.
    pub fn unrestricted(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// ONNX Runtime. Types that its CPU provider lacks are computed in another type; bfloat16 is left to other providers.
    pub fn onnxruntime() -> Arc<Self> {
        static TABLE: LazyLock<Arc<Target>> = LazyLock::new(|| {
            // The table is made by a script and a test reads every line.
            Arc::new(Target::indexed(OWN).unwrap_or_default())
        });
        TABLE.clone()
    }

    /// Reads the file of a target.
    ///
    /// # Errors
    /// [`Code::TARGET_FILE`] when it cannot be read, or as [`Target::parse`].
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let text = files::text(path, LONGEST);
        let text =
            text.map_err(|e| Diagnostic::error(Code::TARGET_FILE, format!("{}: {e}", path.display())))?;
        Self::parse(&text).map_err(|found| Diagnostic {
            message: format!("{}: {}", path.display(), found.message),
            ..found
        })
    }

    /// Reads a target from its lines.
    ///
    /// # Errors
    /// [`Code::TARGET_FILE`] with the number of the line that says nothing, or when no name is stated.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let says_nothing = |line: &str| match operator(line) {
            Some(_) => OpKernels::default().line(line).is_none(),
            None => Self::default().line(line).is_none(),
        };
        match text.lines().position(|line| line_of(line).is_some_and(says_nothing)) {
            Some(index) => Err(silent(index, text)),
            None => Self::indexed(text),
        }
    }

    /// Reads everything except the lines about operators, which are read on demand.
    fn indexed(text: &str) -> Result<Self, Diagnostic> {
        let mut target = Self::default();
        for (index, line) in text.lines().enumerate() {
            if line_of(line).is_some_and(|line| target.line(line).is_none()) {
                return Err(silent(index, text));
            }
        }
        if target.name.is_empty() {
            return Err(Diagnostic::error(Code::TARGET_FILE, "the target has no name"));
        }
        Ok(target)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        if let Some(name) = operator(line) {
            if !self.operators.contains_key(name) {
                self.operators.insert(name.to_owned(), Operator::default());
            }
            let lines = &mut self.operators.get_mut(name)?.lines;
            lines.push_str(line);
            lines.push('\n');
            return Some(());
        }
        let (word, rest) = line.split_once(' ')?;
        match word {
            "target" => rest.clone_into(&mut self.name),
            "version" => rest.clone_into(&mut self.version),
            "provider" => rest.clone_into(&mut self.provider),
            "leave" => self.leave.push(rest.trim().parse().ok()?),
            "itself" | "compute" => {
                let (from, to) = rest.split_once(" in ")?;
                let pair = (from.trim().parse().ok()?, to.trim().parse().ok()?);
                if word == "itself" { self.itself.push(pair) } else { self.compute.push(pair) }
            }
            // Of which opset the table is: for those who read it.
            "opset" => {}
            _ => return None,
        }
        Some(())
    }

    fn known(&self, op: &str) -> Option<&OpKernels> {
        self.operators.get(op)?.known()
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version that the table was made from.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether it has no table of kernels.
    pub fn takes_everything(&self) -> bool {
        self.operators.is_empty()
    }

    /// The types of the kernels for version `since` of ONNX's operator `op`; `None` when one takes every type.
    pub(super) fn kernels(&self, op: &str, since: i64) -> Option<Vec<&Types>> {
        entries(self.known(op).map(|known| &known.kernels), since)
    }

    /// The types of which it takes the operator apart in a model of this opset; `None` when of every type.
    pub(super) fn expansions(&self, op: &str, opset: i64) -> Option<Vec<&Types>> {
        entries(self.known(op).map(|known| &known.expansions), opset)
    }

    /// The restrictions of its kernels for this version.
    pub(super) fn gaps(&self, op: &str, since: i64) -> impl Iterator<Item = &Gap> {
        let gaps = self.known(op).map_or(&[][..], |known| &known.gaps);
        gaps.iter().filter(move |gap| (gap.versions.0..=gap.versions.1).contains(&since))
    }

    /// Whether it casts `dtype` itself for a kernel that takes `allowed`, or needs no cast.
    pub(super) fn has(&self, dtype: DType, allowed: &[DType]) -> bool {
        let casts = |(from, to): &(DType, DType)| *from == dtype && allowed.contains(to);
        allowed.contains(&dtype) || self.itself.iter().any(casts)
    }

    /// Whether a kernel for `allowed` takes `dtype`, by itself or because the target casts, or whether it is left alone.
    pub(super) fn accepts(&self, dtype: DType, allowed: &[DType]) -> bool {
        self.leave.contains(&dtype) || self.has(dtype, allowed)
    }

    /// The types in which `dtype` may be computed, the best one first.
    pub(super) fn substitutes(&self, dtype: DType) -> impl Iterator<Item = DType> {
        self.compute.iter().filter(move |(from, _)| *from == dtype).map(|(_, to)| *to)
    }
}

impl fmt::Display for Target {
    /// `onnxruntime 1.31.1 (CPUExecutionProvider)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.version.is_empty() {
            write!(f, " {}", self.version)?;
        }
        if self.provider.is_empty() { Ok(()) } else { write!(f, " ({})", self.provider) }
    }
}

/// A line without its comment, unless it is empty.
fn line_of(line: &str) -> Option<&str> {
    let line = line.split_once('#').map_or(line, |(line, _)| line).trim();
    (!line.is_empty()).then_some(line)
}

/// The operator that a line is about.
fn operator(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once(' ')?;
    if matches!(word, "kernel" | "expand" | "lacks") { rest.split_whitespace().next() } else { None }
}

fn silent(index: usize, text: &str) -> Diagnostic {
    let line = text.lines().nth(index).and_then(line_of).unwrap_or_default();
    let message = format!("line {} of the target is invalid: {line:?}", index + 1);
    Diagnostic::error(Code::TARGET_FILE, message)
}

/// The operator, its versions and the rest of a line.
fn entry(rest: &str) -> Option<(&str, (i64, i64), Vec<&str>)> {
    let mut words = rest.split_whitespace();
    let (operator, versions) = (words.next()?, words.next()?);
    let (first, last) = versions.split_once('-').unwrap_or((versions, versions));
    Some((operator, (first.parse().ok()?, last.parse().ok()?), words.collect()))
}

fn entries(entries: Option<&Vec<Entry>>, version: i64) -> Option<Vec<&Types>> {
    let inside = entries.into_iter().flatten().filter(|e| (e.versions.0..=e.versions.1).contains(&version));
    inside.map(|entry| entry.types.as_ref()).collect()
}

/// `T=f32,f64 T1=bool`.
fn types(words: &[&str]) -> Option<Types> {
    words
        .iter()
        .map(|word| match Condition::parse(word)? {
            Condition::Types(variable, types) => Some((variable, types)),
            _ => None,
        })
        .collect()
}
