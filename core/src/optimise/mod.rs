//! Optimising: rules and passes of plugins rewrite the graph.
//!
//! A rule's pattern is data: the host compiles it ([`rules`](crate::rules)), finds where it fits ([`matcher`]), asks
//! the plugin for a condition and a patch ([`callbacks`]), checks the patch and applies it ([`patch`]). Rules go over
//! the graph until nothing changes, serially and in node order ([`engine`]). A pass edits the graph as a whole, in a
//! transaction ([`pass`]). An unsound edit is undone and reported; the model is then as good as without it. Between
//! sweeps, constant folding and common subexpression elimination run ([`clean`](crate::clean)). As the last step, and
//! on request, nodes are reordered ([`order`]), and repeated stretches become functions ([`outline()`]).

mod callbacks;
mod cleaning;
mod edit;
mod engine;
mod equal;
mod explain;
mod imported;
mod level;
mod matched;
mod matcher;
mod memory;
mod mismatch;
mod numbers;
mod origin;
mod outline;
mod pass;
mod patch;
mod report;
mod supported;
mod trial;
mod unused;
mod view;

pub use crate::rules::{Bound, Catalog, Class, Listed, Names, names, overlaps};
pub use cleaning::clean_forms;
pub use imported::{OptimizePipeline, Rewriting, Rewritten, imported, optimize};
pub use level::Level;
pub use matched::Matched;
pub use memory::{Memory, order};
pub use outline::outline;
pub use report::{Count, Optimised, Outcome, RuleDecision};
pub use trial::{Trial, Verdict};
pub use unused::{Unused, With};

pub(crate) use callbacks::rules_table;
pub(crate) use pass::host_table as pass_table;

use std::sync::Arc;

use crate::clean::{Growth, apart, constants};
use crate::diagnose::{Code, Diagnostic};
use crate::host::Host;
use crate::inline;
use crate::ir::Model;
use crate::layout;
use crate::legalise::Target;
use crate::tidy;
use crate::trace;
use crate::valid::StatedTypes;

/// The default limit on sweeps of the rules over a graph.
pub const MAX_SWEEPS: usize = 64;

/// The default limit in bytes for the growth of a model's constants through constant folding.
pub const FOLD_BYTES: u64 = 16 << 10;

/// Returns the default limit for the net number of nodes that rules may add to a graph of `nodes`: a rule
/// that applies to its own result adds nodes without end.
pub fn growth(nodes: usize) -> usize {
    nodes.saturating_mul(4).max(10_000)
}

/// The user's options for the optimizer.
#[derive(Clone, Debug)]
pub struct OptimiseOptions {
    /// How much rules and passes may change.
    pub level: Level,
    /// The target of the model: [`Level::Target`] allows its own operators, and no patch adds a node that it has no
    /// kernel for. A conversion uses its own target.
    pub target: Arc<Target>,
    /// Ids of linked-in plugins whose rules run only if they state how exact they are.
    pub stated_only: Vec<String>,
    /// The rule or pass to explain: why it was applied or not, at every node.
    pub explain: Option<String>,
    /// The only rule or pass to run.
    pub only: Option<String>,
    /// Rules and passes to skip.
    pub skip: Vec<String>,
    /// Whether both sides of each match are kept in [`Optimised::matches`].
    pub keep_matches: bool,
    /// Apply this many patches and no more.
    pub stop_after: Option<usize>,
    /// The limit on sweeps of the rules.
    pub max_sweeps: usize,
    /// The limit on the net number of nodes that rules add; [`growth`] of the model by default.
    pub max_growth: Option<usize>,
    /// Inline calls of local functions with at most this many nodes.
    pub inline: Option<usize>,
    /// The least number of nodes for local functions that [`outline`] creates; `None` creates none.
    pub outline: Option<usize>,
    /// Whether [`order`] looks for an order of nodes with a lower memory peak.
    pub reorder: bool,
    /// The limit in bytes on the growth of constants through constant folding; 0 disables it.
    pub fold: u64,
    /// Parameters and buffers are supplied separately, by name: nothing is derived from them.
    pub separate: bool,
}

impl Default for OptimiseOptions {
    fn default() -> Self {
        Self {
            level: Level::default(),
            target: Target::onnxruntime(),
            stated_only: Vec::new(),
            explain: None,
            only: None,
            skip: Vec::new(),
            keep_matches: false,
            stop_after: None,
            max_sweeps: MAX_SWEEPS,
            max_growth: None,
            inline: None,
            outline: None,
            reorder: false,
            fold: FOLD_BYTES,
            separate: false,
        }
    }
}

/// Applies the rules and passes of `host` to `model`, and folds constants; `stated` holds the program's statements
/// about its values, and moves with them. Returns the record of the optimizer, and the defects found in rules and
/// passes.
///
/// # Errors
/// [`Code::OPTIMISE_NAME`] if the user asks about a rule that no plugin has.
pub fn optimise(
    host: &Host,
    model: &mut Model,
    stated: &mut StatedTypes,
    options: &OptimiseOptions,
) -> Result<(Optimised, Vec<Diagnostic>), Diagnostic> {
    for name in options.explain.iter().chain(&options.only).chain(&options.skip) {
        known(host, name)?;
    }
    if options.level == Level::Nothing {
        return Ok((Optimised::default(), Vec::new()));
    }
    let before = model.graph.node_count();
    let (_, notes) = equal::equate(model, stated);
    let inlined = options.inline.map_or(0, |most| inline::inline(model, most));
    if inlined > 0 {
        tidy::model(model);
    }
    // Functions have no initializers.
    let held = constants(&mut model.graph);
    let mut room = Growth::from_model(model);
    let converted = layouts(model, options);
    let (mut done, mut diagnostics) = if host.catalog.is_empty() {
        (Optimised::default(), Vec::new())
    } else {
        rewrite(host, model, stated, options, &mut room)
    };
    (done.inlined, done.layouts) = (inlined, converted);
    done.add(cleaning::run(model, options, &mut room));
    if done.applied + done.folded + done.merged + done.decided + done.layouts + held > 0 {
        tidy::model(model);
        tidy::names(&mut model.graph);
        apart(&mut model.graph);
    }
    (done.before, done.after) = (before, model.graph.node_count());
    diagnostics.splice(0..0, notes);
    Ok((done, diagnostics))
}

/// Applies the rules to a model whose nodes were replaced by forms for the target. Skipped if the run is limited to some
/// patches. Patches add no node that the target has no kernel for.
fn rewrite_forms(
    host: &Host,
    model: &mut Model,
    stated: &mut StatedTypes,
    options: &OptimiseOptions,
    done: &mut Optimised,
) -> Vec<Diagnostic> {
    if options.level == Level::Nothing || options.stop_after.is_some() || host.catalog.is_empty() {
        return Vec::new();
    }
    let mut room = Growth::from_model(model);
    let mut engine = engine::Engine::new(host, model, stated, options, &mut room);
    engine.rules();
    let (again, diagnostics) = engine.finish();
    if again.applied + again.folded + again.merged + again.decided > 0 {
        tidy::model(model);
        tidy::names(&mut model.graph);
        apart(&mut model.graph);
    }
    done.absorb(again);
    done.after = model.graph.node_count();
    diagnostics
}

/// Converts regions of the model to another layout, before the rules look at the nodes between transposes. Skipped if
/// the run is limited to some patches or to one rule.
fn layouts(model: &mut Model, options: &OptimiseOptions) -> usize {
    if options.stop_after.is_some() || options.only.is_some() || options.fold == 0 {
        return 0;
    }
    let _span = trace::span("rules", "layouts");
    let converted = layout::layouts(model, options.level >= Level::Bounded);
    if converted > 0 {
        tidy::model(model);
    }
    converted
}

/// Runs the passes and rules.
fn rewrite(
    host: &Host,
    model: &mut Model,
    stated: &mut StatedTypes,
    options: &OptimiseOptions,
    room: &mut Growth,
) -> (Optimised, Vec<Diagnostic>) {
    let mut engine = engine::Engine::new(host, model, stated, options, room);
    for pass in host.catalog.passes(false) {
        engine.pass(pass);
    }
    engine.rules();
    for pass in host.catalog.passes(true) {
        engine.pass(pass);
    }
    engine.finish()
}

/// Checks that a plugin of `host` has a rule or pass of this name.
///
/// # Errors
/// [`Code::OPTIMISE_NAME`] if none has.
pub fn known(host: &Host, name: &str) -> Result<(), Diagnostic> {
    let listed = host.catalog.listed();
    if listed.iter().any(|rule| rule.name == name) {
        return Ok(());
    }
    let near = listed.iter().map(|rule| (strsim::jaro_winkler(rule.name, name), rule.name));
    let help = match near.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        None => "no plugin has rules or passes".to_owned(),
        Some((likeness, nearest)) if likeness > 0.8 => {
            format!("there is `{nearest}`; `onnxport rules` lists all")
        }
        Some(_) => "`onnxport rules` lists them".to_owned(),
    };
    let message = format!("unknown rule or pass `{name}`");
    Err(Diagnostic::error(Code::OPTIMISE_NAME, message).help(help))
}

/// A range of versions in words: `18 to 20`, `up to 18`, `from 21 on`, `all`.
pub fn versions(range: &std::ops::RangeInclusive<i64>) -> String {
    match (*range.start(), *range.end()) {
        (0, last) if last == i64::from(u32::MAX) => "all".to_owned(),
        (0, last) => format!("up to {last}"),
        (first, last) if last == i64::from(u32::MAX) => format!("from {first} on"),
        (first, last) => format!("{first} to {last}"),
    }
}
