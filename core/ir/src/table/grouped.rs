//! Abbreviates lists of names.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::tensor::{DType, LazyTensor};

/// Fewer names of one form are listed one by one.
const GROUP: usize = 4;

/// `f32[3, 4]`.
pub fn type_of(tensor: &LazyTensor) -> String {
    type_text(tensor.dtype, &tensor.shape)
}

/// `f32[3, 4]`.
pub fn type_text(dtype: DType, shape: &[u64]) -> String {
    format!("{dtype}{shape:?}")
}

/// Returns every name with its description; names that differ in a single number and have the same description
/// share a line: `layers.{0..79}.weight (80): f32[4, 4]`.
pub fn grouped(names: Vec<(String, String)>) -> Vec<String> {
    /// Names, each with its number.
    type Members = Vec<(String, Option<u64>)>;
    let mut groups: IndexMap<(String, String), Members> = IndexMap::new();
    for (name, about) in names {
        let (form, number) = form(&name);
        groups.entry((form, about)).or_default().push((name, number));
    }
    let mut lines = Vec::new();
    for ((form, about), names) in groups {
        let about = if about.is_empty() { about } else { format!(": {about}") };
        let numbers: BTreeSet<u64> = names.iter().filter_map(|(_, number)| *number).collect();
        if names.len() < GROUP || numbers.len() != names.len() {
            lines.extend(names.into_iter().map(|(name, _)| format!("`{name}`{about}")));
            continue;
        }
        lines.push(format!("`{}` ({}){about}", form.replace('*', &ranges(&numbers)), names.len()));
    }
    lines
}

/// The name with its first number as `*`, and that number.
fn form(name: &str) -> (String, Option<u64>) {
    let parts: Vec<&str> = name.split('.').collect();
    let number = parts.iter().position(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    let Some(at) = number.filter(|_| !name.contains('*')) else { return (name.to_owned(), None) };
    let value = parts.get(at).and_then(|p| p.parse().ok());
    let form: Vec<&str> = parts.iter().enumerate().map(|(i, p)| if i == at { "*" } else { *p }).collect();
    (form.join("."), value)
}

/// `{0..3,7}`.
fn ranges(numbers: &BTreeSet<u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*n) => *last = *n,
            _ => runs.push((*n, *n)),
        }
    }
    let text = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}..{last}") }
    };
    format!("{{{}}}", runs.iter().map(text).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_form_share_a_line() {
        let names =
            |all: &[&str]| grouped(all.iter().map(|n| ((*n).to_owned(), "f32[2]".to_owned())).collect());
        assert_eq!(names(&["a.0.w", "b", "a.1.w"]), ["`a.0.w`: f32[2]", "`a.1.w`: f32[2]", "`b`: f32[2]"]);
        assert_eq!(
            names(&["a.0.w", "a.1.w", "b", "a.2.w", "a.7.w"]),
            ["`a.{0..2,7}.w` (4): f32[2]", "`b`: f32[2]"]
        );
        // Equal numbers do not form a range.
        assert_eq!(names(&["a.1.w", "a.01.w", "a.2.w", "a.3.w"]).len(), 4);
    }
}
