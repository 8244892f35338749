//! Weights for a program.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::matching::{self, Required};
use super::{NameMap, WeightSet};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::program::{InputKind, Program};
use crate::table::{grouped, type_of};
use crate::tensor::{LazyTensor, Source};
use crate::write::lacking;

/// The strictness of [`bind`] and [`bind_model`](super::bind_model).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindOptions {
    /// Tensors without bytes may stay so; for programs only.
    pub partial: bool,
    /// Floats of another type are rounded to the program's. Otherwise they are an error.
    pub cast: bool,
    /// Other programs take weights from the same files: it is not an error if this one takes none, or if a
    /// rule for names matches nothing. [`NameMap::check_used`] reports both for all programs together.
    pub several: bool,
}

/// The result of [`bind`].
#[derive(Debug)]
pub struct Bound {
    /// The number of tensors whose bytes were replaced.
    pub replaced: usize,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Gives the tensors of `program` the bytes of the tensors in `set` to which `names` maps them. A tensor
/// that the set does not hold is unchanged; tied tensors of the program are bound together.
///
/// # Errors
/// All mismatches at once: see codes `OP632` to `OP638`. The program is unchanged then.
pub fn bind(
    program: &mut Program,
    set: &WeightSet,
    names: &NameMap,
    options: BindOptions,
) -> Result<Bound, Report> {
    let used = used(program);
    let remarks = remarks(program);
    let ties = ties(program.tensors.values());
    let wanted: Vec<Required<'_>> = program
        .tensors
        .iter()
        .zip(ties)
        .map(|((name, tensor), tie)| Required {
            name,
            dtype: tensor.dtype,
            shape: &tensor.shape,
            tie,
            required: !options.partial && tensor.unbound().is_some() && used.contains(name.as_str()),
            remark: remarks.get(name.as_str()).copied().unwrap_or_default(),
        })
        .collect();
    let matched = matching::find(&wanted, set, names, options)?;
    torn(program, &matched.found)?;
    let mut replaced = 0;
    for (tensor, found) in program.tensors.values_mut().zip(matched.found) {
        if let Some(found) = found {
            *tensor = found;
            replaced += 1;
        }
    }
    Ok(Bound { replaced, diagnostics: matched.diagnostics })
}

/// Returns the tensors of `program` without bytes, as an error; `None` if there are none.
pub fn missing(program: &Program) -> Option<Diagnostic> {
    lacking("program", unbound(program, |_| true)).map(|diagnostic| {
        diagnostic.help("give their files with `--weights`, or convert without them: `--weightless`")
    })
}

/// Returns an error for the constants of `program` whose bytes are missing. A lowering may depend on the
/// elements of a constant, so there is no graph without them.
pub(crate) fn missing_constants(program: &Program) -> Option<Diagnostic> {
    let constants = unbound(program, |kind| matches!(kind, InputKind::TensorConstant(_)));
    lacking("program", constants).map(|diagnostic| {
        diagnostic
            .note("the graph may depend on the values of constants")
            .help("give them with `--weights`, or make them buffers of the module")
    })
}

/// Returns the used tensors without bytes, of inputs of some kinds.
fn unbound(program: &Program, is_wanted: impl Fn(&InputKind) -> bool) -> Vec<(String, String)> {
    let used = used(program);
    let kinds = program.signature.inputs.iter().map(|spec| &spec.kind);
    let names = kinds.filter(|kind| is_wanted(kind)).filter_map(|kind| Some((kind, kind.tensor_name()?)));
    names
        .filter(|(_, name)| used.contains(name))
        .filter_map(|(kind, name)| {
            let tensor = program.tensors.get(name)?;
            tensor.unbound().map(|_| (name.to_owned(), type_of(tensor) + remark(kind)))
        })
        .collect()
}

/// Returns the reason why a checkpoint does not contain a tensor of this kind.
fn remark(kind: &InputKind) -> &'static str {
    match kind {
        InputKind::Buffer { persistent: false, .. } => ", a buffer that checkpoints leave out",
        InputKind::TensorConstant(_) => ", a constant, which checkpoints leave out",
        _ => "",
    }
}

fn remarks(program: &Program) -> BTreeMap<&str, &'static str> {
    let kinds = program.signature.inputs.iter().map(|spec| &spec.kind);
    kinds.filter_map(|kind| Some((kind.tensor_name()?, remark(kind)))).collect()
}

/// Numbers tensors so that equal numbers mean the same elements of the same memory.
fn ties<'a>(tensors: impl Iterator<Item = &'a LazyTensor>) -> Vec<usize> {
    let mut kinds: Vec<&LazyTensor> = Vec::new();
    let mut alike: HashMap<_, Vec<usize>> = HashMap::new();
    tensors
        .map(|tensor| {
            let place = match &tensor.source {
                Source::Inline(bytes) => bytes.as_ptr() as u64,
                // Of everything else, bytes are not looked at.
                _ => tensor.fingerprint(),
            };
            let view = (place, tensor.dtype, tensor.shape.clone(), tensor.offset);
            let alike = alike.entry(view).or_default();
            let known = alike.iter().find(|at| kinds.get(**at).is_some_and(|k| is_one(k, tensor)));
            if let Some(at) = known {
                return *at;
            }
            alike.push(kinds.len());
            kinds.push(tensor);
            kinds.len() - 1
        })
        .collect()
}

/// Whether both tensors show the same elements of the same memory. Equal bytes are not enough: many
/// tensors are all zeros before they are trained.
fn is_one(a: &LazyTensor, b: &LazyTensor) -> bool {
    let shared = match (&a.source, &b.source) {
        (Source::Inline(a), Source::Inline(b)) => !a.is_empty() && a.as_ptr() == b.as_ptr(),
        _ => true,
    };
    shared && a.same_bytes(b)
}

/// Refuses to replace the bytes of a tensor if another one is a view of a part of its memory and keeps the old ones.
fn torn(program: &Program, found: &[Option<LazyTensor>]) -> Result<(), Report> {
    let (given, left): (Vec<_>, Vec<_>) =
        program.tensors.iter().zip(found).partition(|(_, found)| found.is_some());
    let mut shown: HashMap<_, Vec<(Range<u64>, &str)>> = HashMap::new();
    for ((name, tensor), _) in given {
        for (memory, range) in tensor.memories() {
            shown.entry(memory).or_default().push((range, name));
        }
    }
    // In the order of their first bytes, each with the furthest-reaching one before it.
    for ranges in shown.values_mut() {
        ranges.sort_by_key(|(range, _)| range.start);
        let mut furthest = (0, "");
        for (range, name) in ranges {
            furthest = if range.end > furthest.0 { (range.end, *name) } else { furthest };
            (range.end, *name) = furthest;
        }
    }
    let mut lines = Vec::new();
    for ((name, tensor), _) in left {
        let met = tensor.memories().into_iter().filter(|(_, range)| !range.is_empty()).find_map(
            |(memory, range)| {
                let ranges = shown.get(&memory).map(Vec::as_slice).unwrap_or_default();
                let before = ranges.partition_point(|(other, _)| other.start < range.end).checked_sub(1);
                before.and_then(|at| ranges.get(at)).filter(|(other, _)| other.end > range.start)
            },
        );
        if let Some((_, other)) = met {
            lines.push((name.clone(), format!("shows memory of `{other}`")));
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let message =
        format!("tensors that share memory with given ones are missing from the files: {}", lines.len());
    let mut diagnostic = Diagnostic::error(Code::WEIGHTS_KEYS, message);
    diagnostic.notes = grouped(lines);
    Err(diagnostic.help("give all of the tensors that share memory, or none").into())
}

/// Returns the names of the tensors that a call or an output of the program uses.
fn used(program: &Program) -> BTreeSet<&str> {
    let mut used = vec![false; program.body.values.len()];
    let mut mark = |arg: &crate::program::Arg| {
        arg.each_value(&mut |val| {
            if let Some(flag) = used.get_mut(val.index()) {
                *flag = true;
            }
        });
    };
    program.body.calls.iter().flat_map(|c| &c.args).for_each(|a| mark(&a.arg));
    program.body.outputs.iter().for_each(&mut mark);
    let inputs = program.signature.inputs.iter().zip(&program.body.inputs);
    inputs
        .filter(|(_, arg)| arg.as_value().is_some_and(|val| used.get(val.index()).is_some_and(|u| *u)))
        .filter_map(|(spec, _)| spec.kind.tensor_name())
        .collect()
}
