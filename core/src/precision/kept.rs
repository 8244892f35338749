//! Weights that are not quantised, with the reasons.

use rustc_hash::FxHashSet;

use crate::diagnose::{Code, Diagnostic, Severity};

/// The number of weights up to which each has its own note for one reason.
const FEW: usize = 8;

/// Weights by the reason for which they stay, in the order in which it was found.
#[derive(Default)]
pub(super) struct KeptWeights {
    reasons: Vec<(&'static str, Vec<String>)>,
    seen: FxHashSet<String>,
}

impl KeptWeights {
    /// Records that the weight `name` stays, with the reason; the first reason is kept.
    pub(super) fn add(&mut self, name: &str, why: &'static str) {
        if !self.seen.insert(name.to_owned()) {
            return;
        }
        match self.reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name.to_owned()),
            None => self.reasons.push((why, vec![name.to_owned()])),
        }
    }

    /// A note for each weight, or for the first of many with the same reason.
    pub(super) fn into_notes(self) -> Vec<Diagnostic> {
        let mut notes = Vec::new();
        for (why, names) in &self.reasons {
            match &names[..] {
                [first, others @ ..] if others.len() >= FEW => {
                    notes.push(note(first, &format!("{why}; {} more for the same reason", others.len())));
                }
                names => notes.extend(names.iter().map(|name| note(name, why))),
            }
        }
        notes
    }
}

fn note(name: &str, why: &str) -> Diagnostic {
    let message = format!("`{name}` is not quantised: {why}");
    Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::WEIGHT_KEPT, message) }
}

#[cfg(test)]
mod tests {
    use super::KeptWeights;

    #[test]
    fn many_with_one_reason_share_a_note() {
        let said = |count: usize| -> Vec<String> {
            let mut kept = KeptWeights::default();
            kept.add("odd", "it is odd");
            kept.add("odd", "it is even");
            (0..count).for_each(|at| kept.add(&format!("w{at}"), "it is even"));
            kept.into_notes().into_iter().map(|note| note.message).collect()
        };
        assert_eq!(said(8).len(), 9);
        assert_eq!(
            said(9),
            [
                "`odd` is not quantised: it is odd",
                "`w0` is not quantised: it is even; 8 more for the same reason"
            ]
        );
    }
}
