//! `onnxport rules`.

use std::fmt::Write;

use onnxport_core::optimise::{self, Listed};
use onnxport_requests::rules::{Applied, Example, KnownRule, RulesRequest};
use onnxport_requests::{Hosted, Request};

use crate::documents::RuleJson;
use crate::format::{bold, count, faint, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Lists rules and passes, or describes one.
pub(crate) fn run(arguments: &Hosted<RulesRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let known = request.run(&plugins::host(plugins)?, &mut progress.clone())?;
    let mut outcome = Outcome::ok().with("rules", known.iter().map(RuleJson::from).collect::<Vec<_>>());
    if request.name.is_some() {
        outcome.text = known.iter().map(text).collect::<Vec<_>>().join("\n");
    } else {
        outcome.summary = format!("{}\n", bold(&count(known.len(), "rule")));
        outcome.text = table(&known.iter().map(row).collect::<Vec<_>>());
    }
    Ok(outcome)
}

/// Describes the exactness of a rule.
fn exactness(listed: &Listed) -> String {
    match listed.class.bound() {
        Some(bound) if !bound.is_none() => format!("{}, {bound}", listed.class),
        _ => listed.class.to_string(),
    }
}

fn row(known: &KnownRule) -> Vec<String> {
    let KnownRule { listed, plugin, level, .. } = known;
    let name = if listed.is_pass { format!("{} (pass)", listed.name) } else { listed.name.to_owned() };
    vec![
        bold(&name),
        plugin.clone(),
        level.map_or_else(|| "-".to_owned(), |level| level.to_string()),
        exactness(listed),
        listed.documentation.to_owned(),
    ]
}

fn text(known: &KnownRule) -> String {
    let Listed { name, documentation, opsets, pattern, is_pass, .. } = &known.listed;
    let runs = known.level.map_or_else(
        || "only if the plugin is loaded in place of the built-in one".to_owned(),
        |level| format!("--optimize {level} and above"),
    );
    let mut rows = vec![
        vec!["plugin".to_owned(), known.plugin.clone()],
        vec!["class".to_owned(), exactness(&known.listed)],
        vec!["runs at".to_owned(), runs],
        vec!["opsets".to_owned(), optimise::versions(opsets)],
    ];
    let Applied { models, places } = known.applied;
    if models > 0 {
        rows.push(vec!["applied".to_owned(), format!("{places} times in {models} test models")]);
    }
    if !pattern.is_empty() {
        rows.push(vec!["pattern".to_owned(), (*pattern).to_owned()]);
    }
    if !known.tried_after.is_empty() {
        rows.push(vec!["tried after".to_owned(), known.tried_after.join(", ")]);
    }
    let kind = if *is_pass { "pass" } else { "rule" };
    let mut text = format!("{kind} {}\n  {documentation}\n\n{}", bold(name), table(&rows));
    // Writing to a String cannot fail.
    let _ = match &known.example {
        Some(Example { text: before, after, .. }) => {
            write!(text, "\n{}\n{before}\n{}\n{}", bold("before"), bold("after"), after.to_text())
        }
        None => writeln!(text, "\n{}", faint("no example")),
    };
    text
}
