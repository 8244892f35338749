//! `chain`: how time and memory grow with the length of a program.

use std::io;
use std::path::PathBuf;

use clap::Args;
use onnxport_benches::chain::Chain;
use serde::Serialize;

use crate::ours::{Cost, Onnxport};
use crate::statistics::{mebibytes, table};

/// The options of `chain`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The numbers of calls
    #[arg(default_values_t = [10_000, 20_000, 40_000, 80_000])]
    nodes: Vec<usize>,
    /// How often each chain is converted
    #[arg(long, default_value_t = 3, value_name = "N")]
    repeat: usize,
    /// Leave out in-place operators and writes to the buffer
    #[arg(long)]
    functional: bool,
    /// Also write the measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Row {
    calls: usize,
    archive_bytes: u64,
    #[serde(flatten)]
    cost: Cost,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let onnxport = Onnxport::build()?;
    let folder = tempfile::tempdir()?;
    let mut rows: Vec<Row> = Vec::new();
    for &nodes in &arguments.nodes {
        let archive = folder.path().join(format!("chain_{nodes}.pt2"));
        let chain = Chain { nodes, writes: !arguments.functional };
        chain.write(&archive)?;
        let archive_bytes = archive.metadata()?.len();
        let cost = onnxport
            .cost(&archive, arguments.repeat)?
            .map_err(|error| io::Error::other(format!("the chain of {nodes} calls fails: {error}")))?;
        eprintln!("{nodes} calls: {:.3} s", cost.cpu);
        rows.push(Row { calls: nodes, archive_bytes, cost });
    }
    println!("{}", report(&rows));
    crate::save_json(arguments.json.as_deref(), &rows)
}

/// Every quantity with its ratio to the one of the row above.
fn report(rows: &[Row]) -> String {
    let stages = rows.first().map_or(&[][..], |row| &row.cost.stages);
    let mut head = vec!["calls", "archive MiB", "nodes", "CPU s", "wall s", "RssAnon MiB"];
    head.extend(stages.iter().map(|(name, _)| name.as_str()));
    let mut lines = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let above = at.checked_sub(1).and_then(|above| rows.get(above));
        let growing = |text: String, of: &dyn Fn(&Row) -> Option<f64>| match (above.and_then(of), of(row)) {
            (Some(before), Some(now)) if before > 0.0 => format!("{text} (×{:.2})", now / before),
            _ => text,
        };
        let mut line = vec![row.calls.to_string(), mebibytes(row.archive_bytes)];
        line.push(growing(row.cost.nodes.to_string(), &|row| Some(row.cost.nodes as f64)));
        line.push(growing(format!("{:.3}", row.cost.cpu), &|row| Some(row.cost.cpu)));
        line.push(growing(format!("{:.3}", row.cost.wall), &|row| Some(row.cost.wall)));
        line.push(growing(mebibytes(row.cost.memory), &|row| Some(row.cost.memory as f64)));
        for (at, (_, seconds)) in row.cost.stages.iter().enumerate() {
            line.push(growing(format!("{seconds:.3}"), &|row| row.cost.stages.get(at).map(|stage| stage.1)));
        }
        lines.push(line);
    }
    table(&head, &lines)
}
