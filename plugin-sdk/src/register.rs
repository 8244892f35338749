//! The list of lowerings that `#[lowering]` and `simple!` submit to.

use onnxport_abi::{RSlice, RStr};

use crate::{Lower, Res};

/// A registered lowering.
pub struct Lowering {
    /// The module that registered it.
    pub module: &'static str,
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

/// The module that `module` lies in.
#[doc(hidden)]
pub const fn parent(module: &'static str) -> &'static str {
    let mut end = module.len();
    while end > 0 {
        end -= 1;
        if module.as_bytes()[end] == b':' {
            return module.split_at(end - 1).0;
        }
    }
    module
}

/// Whether `module` is `other` or lies in it.
pub(crate) fn is_below(module: &str, other: &str) -> bool {
    module.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The lowerings of the plugin of `module`, each with one of its operators, sorted by operator.
pub(crate) fn of_module(module: &str) -> Vec<(&'static str, &'static Lowering)> {
    let mut found: Vec<_> = inventory::iter::<Lowering>
        .into_iter()
        .filter(|l| is_below(l.module, module))
        .flat_map(|l| l.targets.iter().map(move |t| (*t, l)))
        .collect();
    // The order of submission depends on the linker; the order of the table must not.
    found.sort_by_key(|(target, l)| (*target, l.min_opset, l.max_opset, l.priority, l.complex));
    found
}

/// A text in its form for the host, for registrations by macros.
#[doc(hidden)]
pub const fn text(text: &'static str) -> RStr<'static> {
    RStr::from_str(text)
}

/// A list in its form for the host, for registrations by macros.
#[doc(hidden)]
pub const fn list<T>(items: &'static [T]) -> RSlice<'static, T> {
    RSlice::from_slice(items)
}
