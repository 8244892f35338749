//! `onnxport rules`.

use std::fmt::Write;
use std::sync::Arc;

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::legalise::Target;
use onnxport_core::optimise::{self, Bound, Class, Level, Listed, OptimiseOptions};
use onnxport_core::valid::StatedTypes;
use onnxport_requests::Plugins;
use onnxport_requests::optimizing::FUSIONS;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::documents::{AppliedJson, BoundJson, RuleJson};
use crate::format::{bold, count, faint, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;

/// An example model for each linked-in rule: `=== PLUGIN RULE`, then the text of the model. A test
/// (`optimise::examples`) extracts them from the test files of the rules.
const EXAMPLES: &str = include_str!("rules/examples.txt");

/// The number of test models in which each rule is applied, and of its applications: `PLUGIN RULE MODELS PLACES`,
/// as counted by `python -m tests.python.models applied`.
const APPLIED: &str = include_str!("rules/applied.txt");

/// Arguments of `rules`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// A rule or pass to show in detail; without one, list all
    name: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    plugins: Plugins,
}

/// Everything known about a rule or pass.
struct Known<'h> {
    listed: &'h Listed,
    plugin: &'h str,
    /// The lowest level at which it runs; `None` for one that does not run unless its plugin is loaded in place of
    /// the linked-in one.
    level: Option<Level>,
    /// An example model, and the result of the rule.
    example: Option<(String, String)>,
    /// The number of models in which it was applied, and of its applications.
    applied: (u64, u64),
    /// The rules of the same priority that are tried before, and may match at the same node.
    after: Vec<&'static str>,
}

/// Lists rules and passes, or tells about one.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let host = plugins::host(&arguments.plugins)?;
    if let Some(name) = &arguments.name {
        optimise::known(&host, name)?;
    }
    let wanted = |listed: &Listed| arguments.name.as_ref().is_none_or(|name| *name == listed.name);
    let listed = host.catalog.listed();
    let known: Vec<Known<'_>> = (listed.iter().zip(optimise::overlaps(listed)))
        .filter(|(listed, _)| wanted(listed))
        .map(|(one, before)| {
            let after = before.into_iter().filter_map(|at| listed.get(at)).map(|rule| rule.name);
            Known::of(&host, one, after.collect())
        })
        .collect::<Result<_, _>>()?;
    let mut outcome = Outcome::ok().with("rules", known.iter().map(Known::json).collect::<Vec<_>>());
    if arguments.name.is_some() {
        outcome.text = known.iter().map(Known::text).collect::<Vec<_>>().join("\n");
    } else {
        outcome.summary = format!("{}\n", bold(&count(known.len(), "rule")));
        outcome.text = table(&known.iter().map(Known::row).collect::<Vec<_>>());
    }
    Ok(outcome)
}

impl<'h> Known<'h> {
    fn of(host: &'h Host, listed: &'h Listed, after: Vec<&'static str>) -> Result<Self, Diagnostic> {
        let plugin = host.plugins.get(listed.plugin);
        let id = plugin.map_or("unknown", |plugin| plugin.id);
        let is_linked = plugin.is_none_or(|plugin| plugin.library.is_none());
        let level = match &listed.class {
            Class::Exact => Some(Level::Exact),
            Class::Unstated if is_linked && id == FUSIONS => None,
            Class::Bounded { .. } | Class::Unstated => Some(Level::Bounded),
            Class::Target { .. } => Some(Level::Target),
        };
        Ok(Self {
            listed,
            plugin: id,
            level,
            example: example(host, id, listed)?,
            applied: applied(id, listed.name),
            after,
        })
    }

    fn kind(&self) -> &'static str {
        if self.listed.is_pass { "pass" } else { "rule" }
    }

    /// Describes its exactness.
    fn exactness(&self) -> String {
        match self.listed.class.bound() {
            Some(bound) if !bound.is_none() => format!("{}, {bound}", self.listed.class),
            _ => self.listed.class.to_string(),
        }
    }

    fn row(&self) -> Vec<String> {
        let name = if self.listed.is_pass {
            format!("{} (pass)", self.listed.name)
        } else {
            self.listed.name.to_owned()
        };
        vec![
            bold(&name),
            self.plugin.to_owned(),
            self.level_name(),
            self.exactness(),
            self.listed.documentation.to_owned(),
        ]
    }

    fn level_name(&self) -> String {
        self.level.map_or_else(|| "-".to_owned(), |level| level.to_string())
    }

    fn text(&self) -> String {
        let Listed { name, documentation, opsets, pattern, .. } = self.listed;
        let runs = self.level.map_or_else(
            || "only if the plugin is loaded in place of the built-in one".to_owned(),
            |level| format!("--optimize {level} and above"),
        );
        let mut rows = vec![
            vec!["plugin".to_owned(), self.plugin.to_owned()],
            vec!["class".to_owned(), self.exactness()],
            vec!["runs at".to_owned(), runs],
            vec!["opsets".to_owned(), optimise::versions(opsets)],
        ];
        if self.applied.0 > 0 {
            let (models, places) = self.applied;
            rows.push(vec!["applied".to_owned(), format!("{places} times in {models} test models")]);
        }
        if !pattern.is_empty() {
            rows.push(vec!["pattern".to_owned(), (*pattern).to_owned()]);
        }
        if !self.after.is_empty() {
            rows.push(vec!["tried after".to_owned(), self.after.join(", ")]);
        }
        let mut text = format!("{} {}\n  {documentation}\n\n{}", self.kind(), bold(name), table(&rows));
        // Writing to a String cannot fail.
        let _ = match &self.example {
            Some((before, after)) => {
                write!(text, "\n{}\n{before}\n{}\n{after}", bold("before"), bold("after"))
            }
            None => writeln!(text, "\n{}", faint("no example")),
        };
        text
    }

    fn json(&self) -> RuleJson {
        let Listed { name, documentation, class, opsets, pattern, .. } = self.listed;
        let target = match class {
            Class::Target { target, .. } => Some(target),
            _ => None,
        };
        let class_name = match class {
            Class::Unstated => None,
            Class::Exact => Some("exact"),
            Class::Bounded { .. } => Some("bounded"),
            Class::Target { .. } => Some("target"),
        };
        let bound = class.bound().filter(|bound| !bound.is_none());
        RuleJson {
            name: (*name).to_owned(),
            kind: self.kind().to_owned(),
            plugin: self.plugin.to_owned(),
            documentation: (*documentation).to_owned(),
            class: class_name.map(str::to_owned),
            target: target.map(ToOwned::to_owned),
            bound: bound.map(|Bound { relative, ulps, finite }| BoundJson { relative, ulps, finite }),
            level: self.level.map(|level| level.to_string()),
            min_opset: *opsets.start(),
            max_opset: (*opsets.end() != i64::from(u32::MAX)).then_some(*opsets.end()),
            pattern: (!pattern.is_empty()).then(|| (*pattern).to_owned()),
            before: self.example.as_ref().map(|(before, _)| before.clone()),
            after: self.example.as_ref().map(|(_, after)| after.clone()),
            tried_after: self.after.iter().map(|name| (*name).to_owned()).collect(),
            applied: AppliedJson { models: self.applied.0, places: self.applied.1 },
        }
    }
}

/// Returns the example of a rule, and the result, as models.
///
/// # Errors
/// `OP407` if there is no such rule, or no example of it.
pub(crate) fn models(host: &Host, name: &str) -> Result<(Model, Model), Diagnostic> {
    optimise::known(host, name)?;
    let listed = host.catalog.listed();
    for rule in listed.iter().filter(|listed| listed.name == name) {
        let plugin = host.plugins.get(rule.plugin).map_or("unknown", |plugin| plugin.id);
        if let Some(((_, before), after)) = sides(host, plugin, rule)? {
            return Ok((before, after));
        }
    }
    let message = format!("no example of the rule `{name}`");
    let help =
        "convert a model to which it applies with `--dump-matches DIR`, and draw the files written there";
    Err(Diagnostic::error(Code::OPTIMISE_NAME, message).help(help))
}

/// Returns the number of test models in which a rule was applied, and of its applications.
fn applied(plugin: &str, rule: &str) -> (u64, u64) {
    let counts = APPLIED.lines().filter_map(|line| {
        let mut cells = line.split(' ');
        let own = (cells.next()?, cells.next()?) == (plugin, rule);
        let mut number = || cells.next()?.parse().ok();
        own.then(|| Some((number()?, number()?)))?
    });
    counts.into_iter().next().unwrap_or_default()
}

/// Returns the example of a rule, and the result; `None` if there is none.
fn example(host: &Host, plugin: &str, listed: &Listed) -> Result<Option<(String, String)>, Diagnostic> {
    Ok(sides(host, plugin, listed)?.map(|((before, _), after)| (before.to_owned(), after.to_text())))
}

/// An example as text and as a model, and the result.
type Sides = ((&'static str, Model), Model);

fn sides(host: &Host, plugin: &str, listed: &Listed) -> Result<Option<Sides>, Diagnostic> {
    let head = format!("{plugin} {}", listed.name);
    let mut sections = EXAMPLES.split("=== ").filter_map(|section| section.split_once('\n'));
    let Some((_, text)) = sections.find(|(name, _)| *name == head) else { return Ok(None) };
    let Ok(before) = Model::parse(text) else { return Ok(None) };
    let mut after = before.clone();
    let mut options = OptimiseOptions {
        level: Level::Target,
        only: Some(listed.name.to_owned()),
        fold: 0,
        ..OptimiseOptions::default()
    };
    if let Class::Target { target, .. } = &listed.class {
        options.target = Target::named(target).unwrap_or_else(|| Arc::new(Target::unrestricted(target)));
    }
    let (done, _) = optimise::optimise(host, &mut after, &mut StatedTypes::default(), &options)?;
    Ok((done.applied > 0).then_some(((text, before), after)))
}
