//! The names in a pattern.

use super::text::parse;

/// The names in a pattern, and the kind of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Nodes, in alphabetical order.
    pub nodes: Vec<String>,
    /// Values, in the order of their first appearance, as the following.
    pub values: Vec<String>,
    /// Extents.
    pub dims: Vec<String>,
    /// Attributes.
    pub attributes: Vec<String>,
}

/// Reads a pattern of `rules/1` for its names.
///
/// # Errors
/// The defect of the pattern, in words.
pub fn names(pattern: &str) -> Result<Names, String> {
    let (pattern, names) = parse(pattern)?;
    let mut nodes: Vec<String> = names.into_keys().collect();
    nodes.sort_unstable();
    Ok(Names { nodes, values: pattern.values, dims: pattern.dims, attributes: pattern.captures })
}
