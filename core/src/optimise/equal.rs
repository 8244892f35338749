//! Dimensions that are equal in every run, and the note about them.

use std::fmt::Write;
use std::sync::Arc;

use crate::diagnose::{Code, Diagnostic, Severity};
use crate::equate::{self, Equal, Equated};
use crate::ir::Model;
use crate::valid::StatedTypes;

/// The number of replaced names that are listed.
const MAX_NAMES: usize = 4;

/// Gives dimensions that must be equal in every run one name, in the model and in the program's statements; a note
/// lists them.
pub(super) fn equate(model: &mut Model, stated: &mut StatedTypes) -> (Equated, Vec<Diagnostic>) {
    let mut equated = equate::equate(model);
    if !equated.equal.is_empty() {
        for ty in stated.iter_mut() {
            let mut new = (**ty).clone();
            equated.apply_to(&mut model.symbols, &mut new.1);
            *ty = Arc::new(new);
        }
    }
    let notes = equated.equal.iter().map(note).collect();
    (equated, notes)
}

fn note(equal: &Equal) -> Diagnostic {
    let Equal { kept, replaced, op, origin } = equal;
    let mut names = String::new();
    for name in replaced.iter().take(MAX_NAMES) {
        // Writing to a String cannot fail.
        let _ = write!(names, "{}`{name}`", if names.is_empty() { "" } else { ", " });
    }
    if let Some(more @ 1..) = replaced.len().checked_sub(MAX_NAMES) {
        let _ = write!(names, " and {more} more");
    }
    let message = format!("the dimension `{kept}` also stands for {names}: `{op}` needs them to be equal");
    let note =
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::OPTIMISE_EQUAL_SIZES, message) };
    let note = note.help("every call must give these axes one size; others may fail elsewhere");
    match origin {
        Some(origin) => note.at(*origin),
        None => note,
    }
}
