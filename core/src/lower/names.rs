//! The user's names for inputs and outputs.

use std::collections::BTreeSet;

use crate::diagnose::{Code, Diagnostic};

/// The similarity above which a name may be a typo for another.
const ALIKE: f64 = 0.8;

/// Names of inputs or of outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// The program's own.
    #[default]
    Own,
    /// One for each, in order.
    InOrder(Vec<String>),
    /// Some are renamed: pairs of the program's name and the new one.
    Renamed(Vec<(String, String)>),
}

impl Names {
    /// Adds another name for `old`. Names in order are given up.
    pub fn rename(&mut self, old: String, new: String) {
        match self {
            Self::Renamed(pairs) => pairs.push((old, new)),
            Self::Own | Self::InOrder(_) => *self = Self::Renamed(vec![(old, new)]),
        }
    }

    /// Whether `own` of the program keeps its name.
    pub(super) fn keeps(&self, own: &str) -> bool {
        match self {
            Self::Own => true,
            Self::InOrder(_) => false,
            Self::Renamed(pairs) => pairs.iter().all(|(old, _)| old != own),
        }
    }

    /// Returns the names of the program's `own`, and whether the user chose each; `what` is `input` or `output`.
    /// Defects of the names go to `problems`.
    pub(super) fn of(
        &self,
        own: &[String],
        what: &str,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<(String, bool)> {
        match self {
            Self::Own => own.iter().map(|name| (name.clone(), false)).collect(),
            Self::InOrder(names) => {
                if names.len() != own.len() {
                    let message = format!("{} {what} names given for {} {what}s", names.len(), own.len());
                    let tensor = if what == "input" { "tensor " } else { "" };
                    problems.push(error(message, format!("give one name for each {tensor}{what}, in order")));
                }
                let mut given = names.iter();
                own.iter()
                    .map(|name| given.next().map_or_else(|| (name.clone(), false), |n| (n.clone(), true)))
                    .collect()
            }
            Self::Renamed(pairs) => {
                let mut renamed = BTreeSet::new();
                for (old, _) in pairs {
                    if !own.contains(old) {
                        problems.push(unknown(old, own, what));
                    } else if !renamed.insert(old) {
                        let message = format!("two names given for the {what} `{old}`");
                        problems.push(error(message, "choose one"));
                    }
                }
                let new = |name: &String| pairs.iter().find(|(old, _)| old == name).map(|(_, new)| new);
                let names: Vec<(String, bool)> = own
                    .iter()
                    .map(|name| new(name).map_or_else(|| (name.clone(), false), |n| (n.clone(), true)))
                    .collect();
                for (name, _) in names.iter().filter(|(_, chosen)| *chosen) {
                    if names.iter().any(|(other, chosen)| !chosen && other == name) {
                        let message = format!("the name `{name}` belongs to another {what}");
                        problems.push(error(message, "choose names that differ"));
                    }
                }
                names
            }
        }
    }
}

fn unknown(old: &str, own: &[String], what: &str) -> Diagnostic {
    let mut near: Vec<(f64, &String)> =
        own.iter().map(|name| (strsim::jaro_winkler(old, name), name)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let alike = near.iter().any(|(alike, _)| *alike >= ALIKE);
    near.retain(|(degree, _)| !alike || *degree >= ALIKE);
    let names: Vec<String> = near.iter().take(5).map(|(_, name)| format!("`{name}`")).collect();
    let help = if alike { "did you mean" } else { "there are" };
    error(format!("unknown {what} `{old}`"), format!("{help} {}", names.join(", ")))
}

/// An error about a name.
pub(super) fn error(message: String, help: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::LOWER_NAME, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &Names, own: &[&str]) -> (String, Vec<String>) {
        let own: Vec<String> = own.iter().map(|n| (*n).to_owned()).collect();
        let mut problems = Vec::new();
        let names: Vec<String> = names.of(&own, "output", &mut problems).into_iter().map(|n| n.0).collect();
        let said = problems.into_iter().map(|p| format!("{} ({})", p.message, p.help.unwrap_or_default()));
        (names.join(" "), said.collect())
    }

    fn renamed(pairs: &[(&str, &str)]) -> Names {
        Names::Renamed(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
    }

    #[test]
    fn some_names_change_and_the_others_stay() {
        assert_eq!(of(&renamed(&[("b", "y")]), &["a", "b", "c"]), ("a y c".to_owned(), vec![]));
        assert_eq!(of(&renamed(&[("a", "b"), ("b", "a")]), &["a", "b"]), ("b a".to_owned(), vec![]));
        let (_, said) = of(&renamed(&[("a", "b")]), &["a", "b"]);
        assert_eq!(said, ["the name `b` belongs to another output (choose names that differ)"]);
        let (_, said) = of(&renamed(&[("a", "x"), ("a", "y")]), &["a", "b"]);
        assert_eq!(said, ["two names given for the output `a` (choose one)"]);
    }

    #[test]
    fn a_name_that_is_not_there_has_others_like_it() {
        let (_, said) = of(&renamed(&[("logit", "y")]), &["mask", "logits", "logits_1"]);
        assert_eq!(said, ["unknown output `logit` (did you mean `logits`, `logits_1`)"]);
        let (_, said) = of(&renamed(&[("q", "y")]), &["mask", "logits"]);
        assert_eq!(said, ["unknown output `q` (there are `logits`, `mask`)"]);
    }
}
