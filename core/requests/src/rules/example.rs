//! Examples of the rules that are linked in.

use std::sync::Arc;

use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::legalise::Target;
use onnxport_core::optimise::{self, Class, Level, Listed, OptimiseOptions};
use onnxport_core::valid::StatedTypes;
use onnxport_core::{Host, Model};

/// An example model for each linked-in rule: `=== PLUGIN RULE`, then the text of the model. A test
/// (`optimise::examples`) extracts them from the test files of the rules.
const EXAMPLES: &str = include_str!("examples.txt");

/// A model to which a rule applies, and the result.
#[derive(Clone, Debug)]
pub struct Example {
    /// The model as text.
    pub text: &'static str,
    /// The model.
    pub before: Model,
    /// The result of the rule.
    pub after: Model,
}

impl Example {
    /// Returns the example of a rule of `plugin`; `None` if there is none.
    pub(super) fn find(host: &Host, plugin: &str, listed: &Listed) -> Result<Option<Self>, Diagnostic> {
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
        Ok((done.applied > 0).then_some(Self { text, before, after }))
    }

    /// Returns the example of the rule `name`.
    ///
    /// # Errors
    /// `OP407` if there is no such rule, or no example of it.
    pub fn named(host: &Host, name: &str) -> Result<Self, Diagnostic> {
        optimise::known(host, name)?;
        for rule in host.catalog.listed().iter().filter(|listed| listed.name == name) {
            let plugin = host.plugins.get(rule.plugin).map_or("unknown", |plugin| plugin.id);
            if let Some(example) = Self::find(host, plugin, rule)? {
                return Ok(example);
            }
        }
        let message = format!("no example of the rule `{name}`");
        let help =
            "convert a model to which it applies with `--dump-matches DIR`, and draw the files written there";
        Err(Diagnostic::error(Code::OPTIMISE_NAME, message).help(help))
    }
}
