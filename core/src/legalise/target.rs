//! The capabilities of a target, as data.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use super::condition::Condition;
use super::rules::Rules;
use crate::diagnose::{Code, Diagnostic};
use crate::files;
use crate::tensor::DType;

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
    /// The conditions as written.
    pub(super) condition: String,
    /// The reason in the words of the source; may be empty.
    pub(super) reason: String,
    /// Whether the source leaves open that the kernel takes such a node.
    pub(super) open: bool,
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
        let (rest, reason) = rest.split_once(" : ").unwrap_or((rest, ""));
        let (_, versions, words) = entry(rest)?;
        match word {
            "kernel" | "expand" => {
                let types = if words == ["any"] { None } else { Some(types(&words)?) };
                let entries = if word == "kernel" { &mut self.kernels } else { &mut self.expansions };
                entries.push(Entry { versions, types });
            }
            _ => {
                let mut gap = Gap {
                    versions,
                    types: Types::new(),
                    conditions: Vec::new(),
                    condition: words.join(" "),
                    reason: reason.trim().to_owned(),
                    open: word == "unsure",
                };
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
/// version TEXT, provider TEXT       the version of the runtime, and its part that runs the model
/// source TEXT, date YYYY-MM-DD      where the table is from, and when it was made or published
/// opset N or N-M                    the opsets of models that the table is about
/// base NAME                         begins with a built-in table; own lines about an operator replace all of that table
/// executor PLUGIN                   the plugin that runs models in this target, which `legal --probe` asks
/// fallback NAME                     the built-in target that runs the nodes which this one does not
/// partial                           versions of operators without a line are unknown instead of unsupported
/// kernel OP VERSIONS VAR=TYPES …    it takes this version of the operator, or these: 13 or 7-12
/// expand OP OPSETS VAR=TYPES | any  it takes the operator apart in models of these opsets
/// lacks OP VERSIONS VAR=TYPES WHERE the kernel does not take these types, or none, where this holds: reduction=add,mul
/// … : TEXT                          after `lacks`: the reason in words
/// unsure OP VERSIONS WHERE : TEXT   the source leaves open whether the kernel takes such a node
/// itself TYPE in TYPE               where the second type is taken, the first one is as well
/// narrows TYPE in TYPE              kernels of the first type compute in the second one, without a cast in the model
/// leave TYPE                        nodes of this type are left alone
/// compute TYPE in TYPE              computes in the second type if there is no kernel for the first
/// quantize …                        quantizes by these rules: see [`Rules`]
/// ```
///
/// Types are separated by commas; those of no tensor are not listed. `#` starts a comment.
#[derive(Clone, Debug, Default)]
pub struct Target {
    pub(super) name: String,
    version: String,
    provider: String,
    source: String,
    date: String,
    opsets: Option<(i64, i64)>,
    partial: bool,
    pub(super) executor: Option<String>,
    fallback: Option<Arc<Target>>,
    operators: FxHashMap<String, Operator>,
    itself: Vec<(DType, DType)>,
    narrows: Vec<(DType, DType)>,
    pub(super) leave: Vec<DType>,
    pub(super) compute: Vec<(DType, DType)>,
    quantization: Rules,
}

impl Target {
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
    pub(super) fn indexed(text: &str) -> Result<Self, Diagnostic> {
        let (mut target, mut own) = (Self::default(), FxHashSet::default());
        for (index, line) in text.lines().enumerate() {
            let Some(line) = line_of(line) else { continue };
            // The first line about an operator replaces those of the base.
            if let Some(name) = operator(line).filter(|name| own.insert(*name)) {
                target.operators.remove(name);
            }
            if target.line(line).is_none() {
                return Err(silent(index, text));
            }
        }
        if target.name.is_empty() {
            return Err(Diagnostic::error(Code::TARGET_FILE, "the target has no name"));
        }
        Ok(target)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        if line == "partial" {
            self.partial = true;
            return Some(());
        }
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
            "itself" | "compute" | "narrows" => {
                let (from, to) = rest.split_once(" in ")?;
                let pair = (from.trim().parse().ok()?, to.trim().parse().ok()?);
                match word {
                    "itself" => self.itself.push(pair),
                    "narrows" => self.narrows.push(pair),
                    _ => self.compute.push(pair),
                }
            }
            "quantize" => self.quantization.line(rest)?,
            "quantize-source" => rest.clone_into(&mut self.quantization.source),
            "quantize-date" => rest.clone_into(&mut self.quantization.date),
            "source" => rest.clone_into(&mut self.source),
            "date" => rest.clone_into(&mut self.date),
            "opset" => {
                let (first, last) = rest.trim().split_once('-').unwrap_or(("1", rest.trim()));
                self.opsets = Some((first.parse().ok()?, last.parse().ok()?));
            }
            "executor" => self.executor = Some(rest.trim().to_owned()),
            "fallback" => self.fallback = Some(Self::named(rest.trim())?),
            "base" if self.operators.is_empty() => {
                let name = std::mem::take(&mut self.name);
                // The runtime of the base is not that of this target.
                let executor = self.executor.take();
                *self = Self { executor, ..(*Self::named(rest.trim())?).clone() };
                if !name.is_empty() {
                    self.name = name;
                }
            }
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

    /// The place that the table is from; empty if it is not stated.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The date of the table, `2026-11-28`; empty if it is not stated.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// The opsets of models that the table is about; `None` if it does not state them.
    pub fn opsets(&self) -> Option<(i64, i64)> {
        self.opsets
    }

    /// The rules by which it quantizes; none for a target without integer kernels.
    pub fn quantization(&self) -> &Rules {
        &self.quantization
    }

    /// The same table with further lines, which come with the host.
    pub(super) fn with(mut self, lines: &str) -> Self {
        for line in lines.lines().filter_map(line_of) {
            // A test reads every line.
            let _ = self.line(line);
        }
        self
    }

    /// The plugin that runs models in this target.
    pub fn executor(&self) -> Option<&str> {
        self.executor.as_deref()
    }

    /// The target that runs the nodes which this one does not.
    pub fn fallback(&self) -> Option<&Self> {
        self.fallback.as_deref()
    }

    /// Whether the table says anything about version `since` of `op`: all that a table says about an operator that it
    /// does not list is that the target lacks it, unless the table is partial.
    pub(super) fn describes(&self, op: &str, since: i64) -> bool {
        let covers = |versions: &(i64, i64)| (versions.0..=versions.1).contains(&since);
        let known = self.known(op);
        !self.partial
            || known.is_some_and(|known| {
                known.kernels.iter().any(|entry| covers(&entry.versions))
                    || known.gaps.iter().any(|gap| covers(&gap.versions))
            })
    }

    /// The versions of `op` that kernels take; none for an operator that is not listed.
    pub(super) fn versions(&self, op: &str) -> Vec<(i64, i64)> {
        let kernels = self.known(op).map_or(&[][..], |known| &known.kernels);
        let mut versions: Vec<(i64, i64)> = kernels.iter().map(|entry| entry.versions).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// Whether the table lists operators of `domain`, which is not ONNX's own.
    pub(super) fn lists_domain(&self, domain: &str) -> bool {
        self.operators.keys().any(|name| name.rsplit_once("::").is_some_and(|(own, _)| own == domain))
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

    /// The type in which kernels of `dtype` compute, if it is another one.
    pub(super) fn narrowed(&self, dtype: DType) -> Option<DType> {
        self.narrows.iter().find(|(from, _)| *from == dtype).map(|(_, to)| *to)
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
    if matches!(word, "kernel" | "expand" | "lacks" | "unsure") {
        rest.split_whitespace().next()
    } else {
        None
    }
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
