//! Matches given tensors to wanted ones, and reports mismatches.

use std::collections::{BTreeMap, BTreeSet};

use super::{BindOptions, NameMap, WeightSet};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::table::{grouped, type_of, type_text};
use crate::tensor::{DType, LazyTensor, Transform};

/// The number of missing names to find suggestions for.
const SUGGESTIONS: usize = 10;

/// The similarity below which names are not suggested.
const ALIKE: f64 = 0.9;

/// A tensor that a program or a model requires.
#[derive(Clone, Debug)]
pub(super) struct Required<'a> {
    /// The fully qualified name.
    pub(super) name: &'a str,
    /// The element type.
    pub(super) dtype: DType,
    /// The extents.
    pub(super) shape: &'a [u64],
    /// Tensors of one tie show the same elements of the same memory.
    pub(super) tie: usize,
    /// Whether the model cannot exist without it.
    pub(super) required: bool,
    /// A remark for the report if it is missing.
    pub(super) remark: &'static str,
}

/// The result.
#[derive(Debug)]
pub(super) struct Matched {
    /// By wanted tensor.
    pub(super) found: Vec<Option<LazyTensor>>,
    /// Warnings.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Finds `wanted` in `set`, as strictly as `options` say.
///
/// # Errors
/// Everything at once: `OP632` for missing tensors, `OP634` and `OP635` for other shapes or element types,
/// `OP637` for rules that match nothing, `OP638` for tied tensors that differ.
pub(super) fn find(
    wanted: &[Required<'_>],
    set: &WeightSet,
    names: &NameMap,
    options: BindOptions,
) -> Result<Matched, Report> {
    let keys: Vec<String> = wanted.iter().map(|w| names.key(w.name)).collect();
    let (mut misshapen, mut mistyped) = (Vec::new(), Vec::new());
    let mut found: Vec<Option<LazyTensor>> = vec![None; wanted.len()];
    let mut refused = BTreeSet::new();
    for ((want, key), slot) in wanted.iter().zip(&keys).zip(&mut found) {
        let Some(given) = set.given.get(key) else { continue };
        let about = || {
            let stated = type_text(want.dtype, want.shape);
            (
                want.name.to_owned(),
                format!("{} in {}, {stated} in the program", type_of(&given.tensor), given.place),
            )
        };
        if given.tensor.shape != want.shape {
            misshapen.push(about());
            refused.insert(want.tie);
        } else if given.tensor.dtype == want.dtype {
            *slot = Some(given.tensor.clone());
        } else if let Some(tensor) = rounded(&given.tensor, want.dtype).filter(|_| options.cast) {
            *slot = Some(tensor);
        } else {
            mistyped.push(about());
            refused.insert(want.tie);
        }
    }
    let matched = found.iter().filter(|f| f.is_some()).count();
    let differing = tie(wanted, &mut found);
    let mut diagnostics = Vec::new();
    let missing: Vec<&Required<'_>> = wanted
        .iter()
        .zip(&found)
        .filter(|(want, found)| found.is_none() && want.required && !refused.contains(&want.tie))
        .map(|(want, _)| want)
        .collect();
    let used: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
    let extra: Vec<&str> = set.names().filter(|name| !used.contains(name)).collect();
    let nothing = matched == 0 && refused.is_empty() && missing.is_empty() && !wanted.is_empty();
    if nothing && !options.several {
        let all: Vec<&Required<'_>> = wanted.iter().collect();
        let message = "the weight files contain none of the program's tensors".to_owned();
        diagnostics.push(absent(message, &all, &extra, set));
    }
    if !missing.is_empty() {
        let message = format!("the files lack {} of the tensors that the program takes", missing.len());
        diagnostics.push(absent(message, &missing, &extra, set));
    }
    let listed = |code: Code, what: &str, help: &str, names: Vec<(String, String)>| {
        let mut diagnostic = Diagnostic::error(code, format!("{} {what}", names.len())).help(help);
        diagnostic.notes = grouped(names);
        diagnostic
    };
    if !misshapen.is_empty() {
        let help = "the files belong to another configuration of the model, or a name maps to another tensor";
        diagnostics.push(listed(
            Code::WEIGHTS_SHAPE,
            "tensors have another shape in the files",
            help,
            misshapen,
        ));
    }
    if !mistyped.is_empty() {
        let help = "export the program in the element type of the files, or round floats: `--weights-cast`";
        let what = "tensors have another element type in the files";
        diagnostics.push(listed(Code::WEIGHTS_DTYPE, what, help, mistyped));
    }
    if !differing.is_empty() {
        let help = "the program uses one tensor under these names, so the files must have equal values, or only one of them";
        diagnostics.push(listed(Code::WEIGHTS_TIED, "tied tensors differ in the files", help, differing));
    }
    if !options.several {
        diagnostics.extend(names.unused());
    }
    let failed = !diagnostics.is_empty();
    if !extra.is_empty() {
        let message = format!("tensors of the files that are not in the program: {}", extra.len());
        let mut diagnostic = Diagnostic::warning(Code::WEIGHTS_EXTRA, message);
        let names = extra.iter().filter_map(|name| Some(((*name).to_owned(), type_of(set.get(name)?))));
        diagnostic.notes = grouped(names.collect());
        diagnostics.push(diagnostic);
    }
    if failed {
        return Err(Report { diagnostics, ..Report::default() });
    }
    Ok(Matched { found, diagnostics })
}

/// Converts floats to another float type; a mismatch of other types most likely means another tensor.
fn rounded(tensor: &LazyTensor, dtype: DType) -> Option<LazyTensor> {
    let floats = tensor.dtype.is_float() && dtype.is_float();
    floats.then(|| tensor.then(Transform::Cast(dtype)))?
}

/// Assigns the same tensor to every member of a tie; returns those for which the files have a different one.
fn tie(wanted: &[Required<'_>], found: &mut [Option<LazyTensor>]) -> Vec<(String, String)> {
    let mut first: BTreeMap<usize, (&str, LazyTensor)> = BTreeMap::new();
    for (want, found) in wanted.iter().zip(found.iter()) {
        if let Some(tensor) = found {
            first.entry(want.tie).or_insert((want.name, tensor.clone()));
        }
    }
    let mut differing = Vec::new();
    for (want, slot) in wanted.iter().zip(found.iter_mut()) {
        let Some((name, tensor)) = first.get(&want.tie) else { continue };
        if let Some(own) = slot
            && !same(own, tensor)
        {
            differing.push((want.name.to_owned(), format!("unlike `{name}`")));
        }
        *slot = Some(tensor.clone());
    }
    differing
}

/// Whether both tensors have the same elements.
fn same(a: &LazyTensor, b: &LazyTensor) -> bool {
    a.same_bytes(b) || matches!((a.read(), b.read()), (Some(a), Some(b)) if a == b)
}

/// Reports tensors that the files do not hold, with suggestions.
fn absent(message: String, missing: &[&Required<'_>], extra: &[&str], set: &WeightSet) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(Code::WEIGHTS_KEYS, message);
    let lines =
        missing.iter().map(|w| (w.name.to_owned(), format!("{}{}", type_text(w.dtype, w.shape), w.remark)));
    diagnostic.notes = grouped(lines.collect());
    if let Some(help) = prefix(missing, extra) {
        return diagnostic.help(help);
    }
    for want in missing.iter().take(SUGGESTIONS) {
        let near = extra.iter().map(|name| (strsim::jaro_winkler(want.name, name), *name));
        let near = near.filter(|(alike, _)| *alike >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0));
        let twin = || {
            let same =
                |name: &&str| set.get(name).is_some_and(|t| t.dtype == want.dtype && t.shape == want.shape);
            // A vector is like many others; a matrix rarely is.
            let mut twins = set.names().filter(same).filter(|_| want.shape.len() > 1);
            twins.next().filter(|_| twins.next().is_none())
        };
        if let Some((_, name)) = near {
            diagnostic.notes.push(format!("the files contain `{name}`, which resembles `{}`", want.name));
        } else if let Some(name) = twin() {
            diagnostic.notes.push(format!(
                "`{name}` has the same type; if it is the same tensor, map it in a `--weights-map` file: `rename = {{ \"{}\" = \"{name}\" }}`",
                want.name
            ));
        }
    }
    diagnostic.help("map names with `--weights-map`, add files with `--weights`")
}

/// Returns the advice if names differ by a prefix.
fn prefix(missing: &[&Required<'_>], extra: &[&str]) -> Option<String> {
    let all = missing.len();
    let mut added: BTreeMap<&str, usize> = BTreeMap::new();
    let mut cut: BTreeMap<&str, usize> = BTreeMap::new();
    let left: BTreeSet<&str> = extra.iter().copied().collect();
    for want in missing {
        // A prefix ends at a module boundary.
        for (at, _) in want.name.match_indices('.') {
            if left.contains(&want.name[at + 1..]) {
                *cut.entry(&want.name[..=at]).or_default() += 1;
            }
        }
    }
    let names: BTreeSet<&str> = missing.iter().map(|w| w.name).collect();
    for key in extra {
        for (at, _) in key.match_indices('.') {
            if names.contains(&key[at + 1..]) {
                *added.entry(&key[..=at]).or_default() += 1;
            }
        }
    }
    let most = |found: BTreeMap<&str, usize>| {
        found.into_iter().max_by_key(|(_, n)| *n).filter(|(_, n)| n * 2 >= all).map(|(p, _)| p.to_owned())
    };
    if let Some(prefix) = most(added) {
        return Some(format!("the names in the files start with `{prefix}`: `--weights-prefix {prefix}`"));
    }
    let prefix = most(cut)?;
    Some(format!(
        "the names in the files lack `{prefix}`: give a `--weights-map` file with \
         `prefix = {{ \"{prefix}\" = \"\" }}`"
    ))
}
