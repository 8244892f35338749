//! Verdicts as diagnostics, one for each kind of node.

use std::collections::BTreeMap;

use super::{JudgedNode, Legality, Verdict};
use crate::diagnose::{Code, Diagnostic, Severity};
use crate::legalise::Target;

/// The kinds of nodes that the target refuses, then those that are unknown, each at its first node.
pub(super) fn diagnostics(target: &Target, found: &Legality) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for verdict in [Verdict::Refused, Verdict::Unknown] {
        let mut kinds: Vec<(&JudgedNode, usize)> = Vec::new();
        for node in found.nodes.iter().filter(|node| node.verdict == verdict) {
            match kinds.iter_mut().find(|(kind, _)| is_alike(kind, node)) {
                Some((_, count)) => *count += 1,
                None => kinds.push((node, 1)),
            }
        }
        out.extend(kinds.into_iter().map(|(node, count)| diagnostic(target, node, count)));
    }
    out.extend(narrowed(target, found));
    out
}

/// The types that kernels compute in a narrower one.
fn narrowed(target: &Target, found: &Legality) -> impl Iterator<Item = Diagnostic> {
    let mut kinds: BTreeMap<&str, (&JudgedNode, usize)> = BTreeMap::new();
    for node in &found.nodes {
        if let Some(within) = &node.within {
            kinds.entry(within).or_insert((node, 0)).1 += 1;
        }
    }
    kinds.into_iter().map(move |(within, (node, count))| {
        let message = format!("{target} computes {within} in {}", nodes(count));
        let found =
            Diagnostic { severity: Severity::Note, ..Diagnostic::warning(Code::TARGET_NARROWS, message) };
        let found = found.help("make sure that the values fit, or run the model elsewhere");
        node.origin.iter().fold(found, |found, origin| found.at(*origin))
    })
}

fn nodes(count: usize) -> String {
    if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") }
}

fn is_alike(a: &JudgedNode, b: &JudgedNode) -> bool {
    (&a.operator, a.version, &a.reason) == (&b.operator, b.version, &b.reason)
}

fn diagnostic(target: &Target, node: &JudgedNode, count: usize) -> Diagnostic {
    let nodes = nodes(count);
    let JudgedNode { operator, version, reason, .. } = node;
    let made = if node.verdict == Verdict::Refused {
        let message = format!("{target} does not run `{operator}` {version}, in {nodes}: {reason}");
        Diagnostic::error(Code::TARGET_LACKS, message)
    } else {
        let message =
            format!("it is unknown whether {target} runs `{operator}` {version}, in {nodes}: {reason}");
        Diagnostic::warning(Code::TARGET_UNKNOWN, message)
    };
    let made = node.change.iter().fold(made, |made, change| made.help(change.clone()));
    node.origin.iter().fold(made, |made, origin| made.at(*origin))
}
