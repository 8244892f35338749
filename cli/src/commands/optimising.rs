//! What rules and passes do in a conversion: options, and what is said about it.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use onnxport_core::inline::SMALL;
use onnxport_core::optimise::{Level, MAX_SWEEPS, Matched, OptimiseOptions, Optimised, Outcome as Became};

use crate::format::{bold, bytes, count, faint, parse_bytes, table};
use crate::outcome::Outcome;
use crate::plugins::FUSIONS;

/// Which local functions are put in the place of their calls.
const INLINE: [&str; 3] = ["all", "small", "none"];

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
    /// Run without this rule or pass; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "no_optimise")]
    skip_rule: Vec<String>,
    /// Stop after this many patches, to find the one that makes a difference
    #[arg(long, value_name = "N", conflicts_with = "no_optimise")]
    stop_after: Option<usize>,
    /// Write both sides of each place where a rule was applied to this folder, as ONNX models
    #[arg(long, value_name = "FOLDER", conflicts_with = "no_optimise")]
    dump_matches: Option<PathBuf>,
    /// How often the rules go over the graph at most
    #[arg(long, value_name = "N", default_value_t = MAX_SWEEPS, conflicts_with = "no_optimise")]
    max_sweeps: usize,
    /// How many nodes the rules may add on balance; by default four for each node, and at least 10,000
    #[arg(long, value_name = "N", conflicts_with = "no_optimise")]
    max_growth: Option<usize>,
    /// Put what local functions compute in the place of their calls: all of them, none, or those of up to eight nodes
    #[arg(long, value_name = "WHICH", default_value = "none", value_parser = PossibleValuesParser::new(INLINE), conflicts_with = "no_optimise")]
    inline: String,
    /// Make local functions of parts of at least so many nodes that stand in the model several times in a row
    #[arg(long, value_name = "NODES", value_parser = clap::value_parser!(u32).range(2..), conflicts_with = "no_optimise")]
    outline: Option<u32>,
    /// Put nodes in an order in which fewer bytes are alive at once, for runtimes that keep to the order of the file
    #[arg(long, conflicts_with = "no_optimise")]
    reorder: bool,
    /// By how much constants may grow when what hangs on them alone is computed in advance; 0 for not at all
    #[arg(long, value_name = "SIZE", default_value = "16KiB", value_parser = budget, conflicts_with = "no_optimise")]
    fold_budget: u64,
}

impl OptimiseArguments {
    /// What is asked of the optimizer.
    pub(crate) fn options(&self) -> OptimiseOptions {
        OptimiseOptions {
            explain: self.explain_rule.clone(),
            skip: self.skip_rule.clone(),
            keep_matches: self.dump_matches.is_some(),
            stop_after: self.stop_after,
            max_sweeps: self.max_sweeps,
            max_growth: self.max_growth,
            inline: match self.inline.as_str() {
                "all" => Some(usize::MAX),
                "small" => Some(SMALL),
                _ => None,
            },
            outline: self.outline.map(|nodes| nodes as usize),
            reorder: self.reorder,
            fold: self.fold_budget,
            ..at(if self.no_optimise { Level::Nothing } else { self.optimise })
        }
    }

    /// Adds to `outcome` what was done; nothing where there was nothing to do.
    /// Matches go to the folder that the user names, below `part` of it.
    pub(crate) fn describe(&self, done: &Optimised, part: &str, outcome: &mut Outcome) {
        if done.is_none() {
            return;
        }
        self.dump(done, part, outcome);
        outcome.put("optimised", done);
        let counts: Vec<String> =
            done.counts.iter().map(|c| format!("{} {} ({})", c.name, c.applied, c.plugin)).collect();
        let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
        let stopped = if done.stopped { ", stopped" } else { "" };
        let cleaned = [
            (done.inlined, "call", "inlined"),
            (done.turned, "node", "turned"),
            (done.folded, "node", "folded"),
            (done.merged, "node", "merged"),
            (done.decided, "node", "decided"),
            (done.outlined, "part", "made calls"),
        ];
        let cleaned: Vec<String> = (cleaned.into_iter().filter(|(n, ..)| *n > 0))
            .map(|(n, of, what)| format!(", {} {what}", count(n, of)))
            .collect();
        let cleaned = cleaned.concat();
        let nodes = if done.before == done.after {
            String::new()
        } else {
            format!(", {} nodes instead of {}", done.after, done.before)
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            outcome.summary,
            "{}  {} in {}{stopped}{cleaned}{nodes}{counts}",
            bold("optimised"),
            if done.applied == 1 { "1 patch".to_owned() } else { format!("{} patches", done.applied) },
            count(done.sweeps, "sweep")
        );
        if let Some(memory) = done.memory {
            let _ = writeln!(
                outcome.summary,
                "{}  {} of values at once instead of {}: {} in another place",
                bold("ordered"),
                bytes(memory.after),
                bytes(memory.before),
                count(memory.moved, "node")
            );
        }
        let Some(name) = &self.explain_rule else { return };
        let rows: Vec<Vec<String>> = done
            .places
            .iter()
            .map(|place| vec![became(place.outcome).to_owned(), place.node.clone(), faint(&place.reason)])
            .collect();
        let _ = writeln!(outcome.summary, "{}", bold(&format!("places of {name}")));
        outcome.summary.push_str(&if rows.is_empty() { "  none\n".to_owned() } else { table(&rows) });
    }

    /// Writes what rules matched, where the user asks for it.
    fn dump(&self, done: &Optimised, part: &str, outcome: &mut Outcome) {
        let Some(folder) = &self.dump_matches else { return };
        let folder = folder.join(part);
        match Matched::write_all(&done.matches, &folder) {
            Ok(paths) => {
                outcome
                    .put("matches", paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>());
                let matches = if paths.len() == 2 {
                    "1 match".to_owned()
                } else {
                    format!("{} matches", paths.len() / 2)
                };
                // Writing to a String cannot fail.
                let _ = writeln!(outcome.summary, "{}  {matches} to {}", bold("wrote"), folder.display());
            }
            Err(report) => outcome.add(Outcome::failed(report)),
        }
    }
}

/// What runs where nobody says otherwise.
pub(crate) fn at(level: Level) -> OptimiseOptions {
    OptimiseOptions { level, stated_only: vec![FUSIONS.to_owned()], ..OptimiseOptions::default() }
}

/// The levels by their names.
pub(crate) fn level() -> impl TypedValueParser<Value = Level> {
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
