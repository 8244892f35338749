//! Tables of tensors: in a file, or in the plan of a conversion.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;

use onnxport_core::inspect::{
    DestinationSummary, PartSummary, SharedStorage, SourceSummary, TensorKind, TensorSummary, ViewSummary,
    WeightTable,
};

use crate::format::{bad, bold, bytes, count, limited, plain};

/// The table as text, the first `shown` rows of it.
pub(crate) fn text(table: &WeightTable, shown: usize) -> String {
    let unbound = |tensor: &&TensorSummary| matches!(tensor.source, SourceSummary::Unbound { .. });
    let waiting = match table.tensors.iter().filter(unbound).count() {
        0 => String::new(),
        n => format!(", {n} of them unbound"),
    };
    let saved = match table.saved_bytes {
        0 => String::new(),
        saved => format!(", {} distinct; sharing saves {}", bytes(table.distinct_bytes), bytes(saved)),
    };
    let mut out = format!(
        "{}  {}{waiting}, {}{saved}\n",
        bold("weights"),
        count(table.tensors.len(), "tensor"),
        bytes(table.bytes)
    );
    let context = Context::of(table);
    limited(&mut out, "tensors", table.tensors.iter().map(|tensor| context.row(tensor)), shown);
    limited(&mut out, "shared storages", table.shared.iter().map(|shared| storage(shared, shown)), shown);
    out
}

/// The context of a row: its contents depend on the other rows.
struct Context<'a> {
    table: &'a WeightTable,
    /// The names of the view behind each name.
    views: HashMap<&'a str, &'a [String]>,
    /// The number of tensors of every shared storage.
    totals: Vec<usize>,
    /// Whether the tensors lie in more than one file.
    files: bool,
    kinds: bool,
    places: bool,
}

impl<'a> Context<'a> {
    fn of(table: &'a WeightTable) -> Self {
        let views = table.shared.iter().flat_map(|storage| &storage.views);
        let files: BTreeSet<&Path> = table
            .tensors
            .iter()
            .filter_map(|tensor| match &tensor.source {
                SourceSummary::File { file, .. } => Some(file.as_path()),
                _ => None,
            })
            .collect();
        let total = |storage: &SharedStorage| storage.views.iter().map(Vec::len).sum();
        Self {
            table,
            totals: table.shared.iter().map(total).collect(),
            views: views.flat_map(|view| view.iter().map(|name| (name.as_str(), view.as_slice()))).collect(),
            files: files.len() > 1,
            kinds: table.tensors.iter().any(|tensor| tensor.kind != TensorKind::Tensor),
            places: table.tensors.iter().any(|tensor| tensor.place.is_some()),
        }
    }

    fn row(&self, tensor: &TensorSummary) -> Vec<String> {
        let shape = tensor.shape.as_ref().map_or_else(|| "[?]".to_owned(), |shape| format!("{shape:?}"));
        let mut row = vec![plain(&tensor.name), format!("{}{shape}", tensor.dtype), bytes(tensor.bytes)];
        if self.kinds {
            row.push(tensor.kind.as_str().to_owned());
        }
        row.push(self.source(&tensor.source, &tensor.name));
        if self.places {
            row.push(tensor.place.as_ref().map(place).unwrap_or_default());
        }
        row.push(self.details(tensor).join("; "));
        row
    }

    /// Describes the location of the bytes of the tensor called `name`.
    fn source(&self, source: &SourceSummary, name: &str) -> String {
        match source {
            SourceSummary::File { file, entry, offset, .. } => {
                let place = match entry {
                    Some(entry) if self.files => format!("{} {}", file_name(file), plain(entry)),
                    Some(entry) => plain(entry),
                    None => file_name(file),
                };
                format!("{place} at {offset}")
            }
            SourceSummary::Model { .. } => "in the model".to_owned(),
            SourceSummary::Memory { .. } => "in memory".to_owned(),
            SourceSummary::Made { by, .. } => plain(by),
            SourceSummary::Joined { by, inputs } => {
                let inputs: Vec<String> = inputs.iter().map(|input| self.input(input)).collect();
                format!("{} ({})", plain(by), inputs.join(", "))
            }
            SourceSummary::Unbound { tensor } if tensor == name => "to be given".to_owned(),
            SourceSummary::Unbound { tensor } => format!("unbound, named {}", plain(tensor)),
            SourceSummary::Nowhere => bad("nowhere"),
        }
    }

    /// Describes a tensor that is part of another one, including its own parts.
    fn input(&self, input: &PartSummary) -> String {
        let PartSummary { dtype, shape, source, view, transforms } = input;
        let mut said = vec![format!("{dtype}{shape:?} {}", self.source(source, ""))];
        said.extend(shows(view, source));
        said.extend(transforms.iter().map(|transform| plain(transform)));
        said.join("; ")
    }

    fn details(&self, tensor: &TensorSummary) -> Vec<String> {
        let mut details: Vec<String> = shows(&tensor.view, &tensor.source).into_iter().collect();
        if let SourceSummary::File { aligned: false, .. } = tensor.source {
            details.push("not aligned to its elements".to_owned());
        }
        details.extend(self.sharing(tensor));
        details.extend(tensor.transforms.iter().map(|transform| plain(transform)));
        details.extend(tensor.problem.as_ref().map(|problem| bad(&plain(&problem.message))));
        details
    }

    /// With whom a tensor shares its bytes.
    fn sharing(&self, tensor: &TensorSummary) -> Option<String> {
        let number = tensor.shared?;
        let (storage, total) = (self.table.shared.get(number)?, self.totals.get(number)?);
        let view = self.views.get(tensor.name.as_str()).copied().unwrap_or_default();
        let more =
            |others: usize| if others > 1 { format!(" and {} more", others - 1) } else { String::new() };
        if let Some(other) = view.iter().find(|name| **name != tensor.name) {
            return Some(format!("= {}{}", plain(other), more(view.len() - 1)));
        }
        let mut others = storage.views.iter().flatten().filter(|name| **name != tensor.name);
        let other = plain(others.next()?);
        let verb = if storage.overlapping { "overlaps" } else { "in one storage with" };
        Some(format!("{verb} {other}{}", more(total - 1)))
    }
}

/// Which elements of its source a tensor shows, if not all in order.
fn shows(view: &ViewSummary, source: &SourceSummary) -> Option<String> {
    let of = match source {
        SourceSummary::File { length, .. } | SourceSummary::Memory { length } => {
            format!(" of {}", bytes(*length))
        }
        _ => String::new(),
    };
    Some(match view {
        ViewSummary::Dense => return None,
        ViewSummary::Slice { offset } => format!("from element {offset}{of}"),
        ViewSummary::Strided { offset: 0, strides } => format!("strides {strides:?}{of}"),
        ViewSummary::Strided { offset, strides } => format!("strides {strides:?} from element {offset}{of}"),
    })
}

fn file_name(path: &Path) -> String {
    plain(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

fn place(place: &DestinationSummary) -> String {
    let mut out = String::from("-> ");
    // Writing to a String cannot fail.
    let _ = match place {
        DestinationSummary::Data { file, offset, tied: None, .. } => {
            write!(out, "{} at {offset}", file_name(file))
        }
        DestinationSummary::Data { tied: Some(first), .. } => write!(out, "tied to {}", plain(first)),
        DestinationSummary::Pointed { .. } => write!(out, "read in place"),
        DestinationSummary::Model => write!(out, "the model"),
        DestinationSummary::Unbound => write!(out, "to be given"),
        DestinationSummary::LeftOut => write!(out, "left out"),
    };
    out
}

/// The first `shown` names of a shared storage, those of one view between equals signs.
fn storage(shared: &SharedStorage, shown: usize) -> Vec<String> {
    let total: usize = shared.views.iter().map(Vec::len).sum();
    let mut left = shown;
    let mut views = Vec::new();
    for view in shared.views.iter().take(shown) {
        let names: Vec<String> = view.iter().take(left).map(|name| plain(name)).collect();
        left -= names.len();
        if !names.is_empty() {
            views.push(names.join(" = "));
        }
    }
    let more = if total > shown { format!(" and {} more", total - shown) } else { String::new() };
    let mut about = Vec::new();
    if shared.views.len() > 1 {
        about.push(format!("{} views", shared.views.len()));
    }
    if shared.overlapping {
        about.push("overlapping".to_owned());
    }
    if shared.saved_bytes > 0 {
        about.push(format!("saves {}", bytes(shared.saved_bytes)));
    }
    vec![format!("{}{more}", views.join(", ")), about.join(", ")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_several_tensors_says_of_which() {
        let file = |entry: &str| SourceSummary::File {
            file: "model.pt2".into(),
            entry: Some(entry.to_owned()),
            offset: 64,
            length: 48,
            aligned: true,
        };
        let input = |source, transforms: &[&str]| PartSummary {
            dtype: "f16".to_owned(),
            shape: vec![2, 3],
            source,
            view: ViewSummary::Strided { offset: 0, strides: vec![1, 2] },
            transforms: transforms.iter().map(|transform| (*transform).to_owned()).collect(),
        };
        let by = |by: &str, inputs| SourceSummary::Joined { by: by.to_owned(), inputs };
        let inner = by("mul", vec![input(file("k"), &[]), input(SourceSummary::Memory { length: 4 }, &[])]);
        let source = by("concat along axis 0", vec![input(file("q"), &["cast f16"]), input(inner, &[])]);
        let table = WeightTable::default();
        let said = Context::of(&table).source(&source, "qkv");
        assert_eq!(
            said,
            "concat along axis 0 (f16[2, 3] q at 64; strides [1, 2] of 48 bytes; cast f16, \
             f16[2, 3] mul (f16[2, 3] k at 64; strides [1, 2] of 48 bytes, \
             f16[2, 3] in memory; strides [1, 2] of 4 bytes); strides [1, 2])"
        );
    }

    #[test]
    fn long_lists_of_names_end_with_what_is_left_out() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let shared = SharedStorage {
            views: vec![names(&["a", "b"]), names(&["c"]), names(&["d", "e"])],
            overlapping: true,
            saved_bytes: 8,
        };
        let about = "3 views, overlapping, saves 8 bytes";
        assert_eq!(storage(&shared, 1), ["a and 4 more", about]);
        assert_eq!(storage(&shared, 4), ["a = b, c, d and 1 more", about]);
        assert_eq!(storage(&shared, usize::MAX), ["a = b, c, d = e", about]);
    }
}
