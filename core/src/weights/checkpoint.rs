//! Checkpoints: files of `torch.save` with a state dictionary. Nothing in them is executed.

use std::path::Path;

use super::{WeightSet, source};
use crate::diagnose::{Code, Diagnostic};
use crate::pt2::pickle::{Heap, Item, Ref};
use crate::pt2::torch_file;
use crate::tensor::MappedFile;
use crate::tensor::zip_index::Region;

/// Adds the tensors of the dictionary at `key` of the checkpoint at `path`; skips entries that are neither
/// tensors nor containers (an epoch, a learning rate).
///
/// # Errors
/// The errors of a damaged zip, `OP107` for a pickle that names a class or a function which is not known to
/// be data, `OP631` if there is no dictionary of tensors at `key`.
pub(super) fn read(file: MappedFile, path: &Path, key: Option<&str>) -> Result<WeightSet, Diagnostic> {
    let place = source::label(path);
    let saved = torch_file::read(Region::whole(file), &path.display().to_string()).map_err(|problem| {
        if problem.code == Code::READ_PICKLE {
            return problem.help("save the tensors alone: `torch.save(module.state_dict(), \"weights.pt\")`");
        }
        problem
    })?;
    let heap = &saved.heap;
    let mut at = saved.root;
    for part in key.into_iter().flat_map(|key| key.split('.')) {
        at = entry(heap, at, part).ok_or_else(|| {
            let message = format!("{place} has no entry `{part}` with weights");
            described(Diagnostic::error(Code::WEIGHTS_SOURCE, message), heap, at)
        })?;
    }
    let Item::Dict(items) = heap.get(at) else {
        let message = format!("{place} is not a dictionary of tensors, but {}", kind(heap, at));
        return Err(Diagnostic::error(Code::WEIGHTS_SOURCE, message)
            .help("save a state dictionary: `torch.save(module.state_dict(), \"weights.pt\")`"));
    };
    let mut set = WeightSet::default();
    for (key, value) in items {
        if let (Some(name), Item::Tensor(tensor)) = (heap.text(*key), heap.get(*value)) {
            set.insert(name.to_owned(), (**tensor).clone(), &place)?;
        }
    }
    if set.is_empty() {
        let message = format!("{place} has no named tensors");
        return Err(described(Diagnostic::error(Code::WEIGHTS_SOURCE, message), heap, at));
    }
    Ok(set)
}

fn entry(heap: &Heap, at: Ref, name: &str) -> Option<Ref> {
    let Item::Dict(items) = heap.get(at) else { return None };
    // Python keeps the last of two equal keys.
    items.iter().rev().find(|(key, _)| heap.text(*key) == Some(name)).map(|(_, value)| *value)
}

/// Adds the contents of the dictionary at `at`, and which entry to choose.
fn described(mut diagnostic: Diagnostic, heap: &Heap, at: Ref) -> Diagnostic {
    let Item::Dict(items) = heap.get(at) else { return diagnostic };
    let mut choice = None;
    for (key, value) in items.iter().take(20) {
        let name = heap.text(*key).unwrap_or("(a key that is not text)");
        diagnostic.notes.push(format!("`{name}`: {}", kind(heap, *value)));
        let nested = matches!(heap.get(*value), Item::Dict(items)
            if items.iter().any(|(_, v)| matches!(heap.get(*v), Item::Tensor(_))));
        if nested {
            choice.get_or_insert(name);
        }
    }
    match choice {
        Some(name) => diagnostic.help(format!("choose the nested dictionary: `--weights-key {name}`")),
        None => diagnostic.help("save a state dictionary: `torch.save(module.state_dict(), \"weights.pt\")`"),
    }
}

/// Describes an item in words.
fn kind(heap: &Heap, at: Ref) -> String {
    match heap.get(at) {
        Item::None => "None".to_owned(),
        Item::Bool(_) => "a truth value".to_owned(),
        Item::Int(_) | Item::Float(_) | Item::Complex(..) => "a number".to_owned(),
        Item::Str(_) => "text".to_owned(),
        Item::List(items) | Item::Tuple(items) => format!("a sequence of {}", items.len()),
        Item::Dict(items) => {
            let tensors = items.iter().filter(|(_, v)| matches!(heap.get(*v), Item::Tensor(_))).count();
            format!("a dictionary of {} entries, {tensors} of them tensors", items.len())
        }
        Item::Tensor(_) => "a tensor".to_owned(),
        Item::Object { class, .. } => format!("a `{class}`"),
        Item::Global(_) | Item::Storage { .. } | Item::DType(_) | Item::Name(_) => "no tensor".to_owned(),
    }
}
