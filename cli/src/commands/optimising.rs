//! What rules and passes do in a conversion: options, and what is said about it.

use std::fmt::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use onnxport_core::optimise::{Level, MAX_SWEEPS, OptimiseOptions, Optimised, Outcome as Became};

use crate::format::{bold, count, faint, parse_bytes, table};
use crate::outcome::Outcome;
use crate::plugins::FUSIONS;

/// Arguments about rules and passes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Optimizing")]
pub(crate) struct OptimiseArguments {
    /// How much rules and passes may change: 0 for nothing, 1 where results stay the same bit for bit, 2 within the
    /// bounds that they state, target for operators that only the target has
    #[arg(long, value_name = "LEVEL", default_value = "2", value_parser = level())]
    optimise: Level,
    /// Run no rules and no passes: the same as --optimise 0
    #[arg(long, conflicts_with = "optimise")]
    no_optimise: bool,
    /// Say of a rule or pass, at every place where it was tried, whether it was applied and why not
    #[arg(long, value_name = "NAME", conflicts_with = "no_optimise")]
    explain_rule: Option<String>,
    /// Stop after this many patches, to find the one that makes a difference
    #[arg(long, value_name = "N", conflicts_with = "no_optimise")]
    stop_after: Option<usize>,
    /// How often the rules go over the graph at most
    #[arg(long, value_name = "N", default_value_t = MAX_SWEEPS, conflicts_with = "no_optimise")]
    max_sweeps: usize,
    /// How many nodes the rules may add on balance; by default four for each node, and at least 10,000
    #[arg(long, value_name = "N", conflicts_with = "no_optimise")]
    max_growth: Option<usize>,
    /// By how much constants may grow when what hangs on them alone is computed in advance; 0 for not at all
    #[arg(long, value_name = "SIZE", default_value = "16KiB", value_parser = budget, conflicts_with = "no_optimise")]
    fold_budget: u64,
}

impl OptimiseArguments {
    /// What is asked of the optimizer.
    pub(crate) fn options(&self) -> OptimiseOptions {
        OptimiseOptions {
            level: if self.no_optimise { Level::Nothing } else { self.optimise },
            stated_only: vec![FUSIONS.to_owned()],
            explain: self.explain_rule.clone(),
            stop_after: self.stop_after,
            max_sweeps: self.max_sweeps,
            max_growth: self.max_growth,
            fold: self.fold_budget,
            ..OptimiseOptions::default()
        }
    }

    /// Adds to `outcome` what was done; nothing where there was nothing to do.
    pub(crate) fn describe(&self, done: &Optimised, outcome: &mut Outcome) {
        if *done == Optimised::default() {
            return;
        }
        outcome.put("optimised", done);
        let counts: Vec<String> =
            done.counts.iter().map(|c| format!("{} {} ({})", c.name, c.applied, c.plugin)).collect();
        let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
        let stopped = if done.stopped { ", stopped" } else { "" };
        let folded = match done.folded {
            0 => String::new(),
            n => format!(", {} folded", count(n, "node")),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            outcome.summary,
            "{}  {} in {}{stopped}{folded}{counts}",
            bold("optimised"),
            if done.applied == 1 { "1 patch".to_owned() } else { format!("{} patches", done.applied) },
            count(done.sweeps, "sweep")
        );
        let Some(name) = &self.explain_rule else { return };
        let rows: Vec<Vec<String>> = done
            .places
            .iter()
            .map(|place| vec![became(place.outcome).to_owned(), place.node.clone(), faint(&place.reason)])
            .collect();
        let _ = writeln!(outcome.summary, "{}", bold(&format!("places of {name}")));
        outcome.summary.push_str(&if rows.is_empty() { "  none\n".to_owned() } else { table(&rows) });
    }
}

/// The levels by their names.
fn level() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(Level::NAMES).try_map(|name| name.parse::<Level>())
}

/// Reads a number of bytes, which may be 0.
fn budget(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { parse_bytes(text) }
}

fn became(outcome: Became) -> &'static str {
    match outcome {
        Became::Applied => "applied",
        Became::NoMatch => "no match",
        Became::Refused => "refused",
        Became::Rejected => "not sound",
        Became::Note => "note",
    }
}
