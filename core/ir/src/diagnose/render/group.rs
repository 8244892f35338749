//! Groups diagnostics that report the same problem for several origins.

use rustc_hash::FxHashMap;

use crate::diagnose::{Diagnostic, Origin, Report};

/// Diagnostics that differ only in where they are.
pub(super) struct Group<'a> {
    /// The first of them.
    pub first: &'a Diagnostic,
    /// How many there are.
    pub count: usize,
    /// Their origins, without duplicates of a source line or module.
    pub places: Vec<&'a Origin>,
}

/// Groups the diagnostics of a report, in the order of the first of each group.
pub(super) fn groups(report: &Report) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut index = FxHashMap::default();
    for diagnostic in &report.diagnostics {
        let key = (&diagnostic.code, diagnostic.severity, &diagnostic.message, &diagnostic.notes);
        let at = *index.entry(key).or_insert_with(|| {
            groups.push(Group { first: diagnostic, count: 0, places: Vec::new() });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(at) else { continue };
        group.count += 1;
        if let Some(origin) = diagnostic.origin.map(|id| report.origins.get(id))
            && !group.places.iter().any(|known| same_place(known, origin))
        {
            group.places.push(origin);
        }
    }
    groups
}

fn same_place(a: &Origin, b: &Origin) -> bool {
    a.module == b.module
        && a.user_frame().map(|f| (&f.file, f.line)) == b.user_frame().map(|f| (&f.file, f.line))
}
