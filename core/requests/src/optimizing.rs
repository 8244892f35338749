//! The options about rules and passes.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use onnxport_core::diagnose::Diagnostic;
use onnxport_core::inline::SMALL;
use onnxport_core::optimise::{FOLD_BYTES, Level, MAX_SWEEPS, OptimiseOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::wrong;
use crate::value::{self, Budget};

/// The plugin of fusions. By default only its rules with a stated exactness run: the others are not proved.
pub const FUSIONS: &str = "fusions";

/// The least number of nodes for [`Optimizing::outline`] to create a function.
const SHORTEST: u32 = 2;

/// The options of the optimizer.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Optimizing")]
#[serde(default)]
pub struct Optimizing {
    /// How far the optimizer may go: 0 changes nothing, 1 keeps results bit-identical, 2 stays within the error bounds
    /// that rules state, target also uses operators that only the target has; 2 by default, and target where --target
    /// names one
    #[arg(long, alias = "optimise", value_name = "LEVEL", value_parser = levels())]
    #[serde(alias = "optimise", with = "value::level")]
    #[schemars(schema_with = "value::level::schema")]
    pub optimize: Option<Level>,
    /// Run no rules and no passes, like --optimize 0
    #[arg(long, alias = "no-optimise", conflicts_with = "optimize")]
    #[serde(alias = "no_optimise")]
    pub no_optimize: bool,
    /// Explain for each node where a rule or pass was tried whether it was applied, and why not
    #[arg(long, value_name = "NAME", conflicts_with = "no_optimize")]
    pub explain_rule: Option<String>,
    /// Skip this rule or pass; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "no_optimize")]
    pub skip_rule: Vec<String>,
    /// Stop after this many patches, to find the one at fault
    #[arg(long, value_name = "N", conflicts_with = "no_optimize")]
    pub stop_after: Option<usize>,
    /// Write an ONNX model before and after each applied patch to this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "no_optimize")]
    pub dump_matches: Option<PathBuf>,
    /// The most sweeps that the rules make over the graph
    #[arg(long, value_name = "N", default_value_t = Self::default().max_sweeps, conflicts_with = "no_optimize")]
    pub max_sweeps: usize,
    /// The most nodes that the rules may add on balance; by default four for each node, and at least 10,000
    #[arg(long, value_name = "N", conflicts_with = "no_optimize")]
    pub max_growth: Option<usize>,
    /// Inline local functions: all, none, or small ones of up to eight nodes
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Self::default().inline, conflicts_with = "no_optimize")]
    pub inline: Inline,
    /// Outline repeated parts of at least this many nodes into local functions
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(i64::from(SHORTEST)..), conflicts_with = "no_optimize")]
    #[schemars(range(min = SHORTEST))]
    pub outline: Option<u32>,
    /// Reorder nodes to lower peak memory, for runtimes that execute them in file order
    #[arg(long, conflicts_with = "no_optimize")]
    pub reorder: bool,
    /// How many bytes constant folding may add per constant; 0 disables it
    #[arg(long, value_name = "SIZE", default_value_t = Self::default().fold_budget, conflicts_with = "no_optimize")]
    pub fold_budget: Budget,
}

impl Default for Optimizing {
    fn default() -> Self {
        Self {
            optimize: None,
            no_optimize: false,
            explain_rule: None,
            skip_rule: Vec::new(),
            stop_after: None,
            dump_matches: None,
            max_sweeps: MAX_SWEEPS,
            max_growth: None,
            inline: Inline::None,
            outline: None,
            reorder: false,
            fold_budget: Budget(FOLD_BYTES),
        }
    }
}

/// The local functions to inline.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Inline {
    /// All
    All,
    /// Those of up to eight nodes
    Small,
    /// None
    None,
}

impl Optimizing {
    /// Fails for values out of range.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self) -> Result<(), Diagnostic> {
        match self.outline {
            Some(nodes) if nodes < SHORTEST => {
                Err(wrong(format!("`outline` is {nodes}, and a function has {SHORTEST} nodes at least")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the effective level with or without a named target.
    pub fn level(&self, names_runtime: bool) -> Level {
        match self.optimize {
            _ if self.no_optimize => Level::Nothing,
            Some(level) => level,
            None if names_runtime => Level::Target,
            None => Level::default(),
        }
    }

    /// The options of the optimizer; `names_runtime` as in [`level`](Self::level).
    pub fn options(&self, names_runtime: bool) -> OptimiseOptions {
        OptimiseOptions {
            explain: self.explain_rule.clone(),
            skip: self.skip_rule.clone(),
            keep_matches: self.dump_matches.is_some(),
            stop_after: self.stop_after,
            max_sweeps: self.max_sweeps,
            max_growth: self.max_growth,
            inline: match self.inline {
                Inline::All => Some(usize::MAX),
                Inline::Small => Some(SMALL),
                Inline::None => None,
            },
            outline: self.outline.map(|nodes| nodes as usize),
            reorder: self.reorder,
            fold: self.fold_budget.0,
            ..at(self.level(names_runtime))
        }
    }
}

/// Returns the options of the optimizer at a level, with the default plugins.
pub fn at(level: Level) -> OptimiseOptions {
    OptimiseOptions { level, stated_only: vec![FUSIONS.to_owned()], ..OptimiseOptions::default() }
}

/// The parser of levels by their names.
pub fn levels() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(Level::NAMES).try_map(|name| name.parse::<Level>())
}
