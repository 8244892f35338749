//! The list of lowerings that `#[lowering]` and `simple!` submit to.

use crate::{Lower, Res};

/// A registered lowering.
pub struct Lowering {
    /// The package that registered it.
    pub package: &'static str,
    /// The operators.
    pub targets: &'static [&'static str],
    /// The names of the parameters, as they are looked up in the schema.
    pub parameters: &'static [&'static str],
    /// The lowest opset.
    pub min_opset: u32,
    /// The highest opset.
    pub max_opset: u32,
    /// The priority.
    pub priority: i32,
    /// Whether it takes complex tensors.
    pub complex: bool,
    /// The function.
    pub lower: fn(&mut Lower<'_>) -> Res<()>,
}

inventory::collect!(Lowering);

/// The lowerings of `package`, each with one of its operators, sorted by operator.
pub(crate) fn of_package(package: &str) -> Vec<(&'static str, &'static Lowering)> {
    let mut found: Vec<_> = inventory::iter::<Lowering>
        .into_iter()
        .filter(|l| l.package == package)
        .flat_map(|l| l.targets.iter().map(move |t| (*t, l)))
        .collect();
    // The order of submission depends on the linker; the order of the table must not.
    found.sort_by_key(|(target, l)| (*target, l.min_opset, l.max_opset, l.priority, l.complex));
    found
}
