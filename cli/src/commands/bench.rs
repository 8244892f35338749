//! `onnxport bench`.

use std::fmt::Write;

use onnxport_requests::bench::{BenchRequest, Benched};
use onnxport_requests::{Hosted, Request};

use crate::format::{bold, bytes};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Measures the decoders in folders.
pub(crate) fn run(arguments: &Hosted<BenchRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let host = plugins::host(plugins)?;
    plugins::prepare(&host, &request.running);
    let benched = request.run(&host, &mut progress.clone())?;
    Ok(Outcome::text(table(&benched)).with("bench", &benched))
}

/// Shows a row for each length, with the speeds of both folders side by side.
fn table(benched: &Benched) -> String {
    let Benched { executor, threads, runs, folders } = benched;
    let threads = match threads {
        Some(1) => "1 thread".to_owned(),
        Some(threads) => format!("{threads} threads"),
        None => "its own number of threads".to_owned(),
    };
    let mut text = format!("{executor} with {threads}, median of {runs} runs\n");
    for (folder, name) in folders.iter().zip(["first", "second"]) {
        let memory =
            folder.peak_memory.map_or_else(String::new, |peak| format!(", {} of memory", bytes(peak)));
        let name = if folders.len() > 1 { bold(name) } else { bold("folder") };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}  {} ({} on disk{memory})", folder.folder, bytes(folder.bytes));
    }
    let _ = write!(text, "\n{:>8}", "tokens");
    let columns: &[&str] = if folders.len() > 1 { &["first", "second", "ratio"] } else { &["tokens/s"] };
    for kind in ["prompt", "decode"] {
        for column in columns {
            let _ = write!(text, "  {:>16}", format!("{kind} {column}"));
        }
    }
    text.push('\n');
    let lengths = folders.first().map(|folder| folder.lengths.as_slice()).unwrap_or_default();
    for (row, first) in lengths.iter().enumerate() {
        let second = folders.get(1).and_then(|folder| folder.lengths.get(row));
        let _ = write!(text, "{:>8}", first.length);
        let pairs =
            [(first.prompt, second.map(|one| one.prompt)), (first.decode, second.map(|one| one.decode))];
        for (own, other) in pairs {
            let _ = write!(text, "  {own:>16.1}");
            if let Some(other) = other {
                let _ = write!(text, "  {other:>16.1}  {:>16.3}", other / own);
            }
        }
        text.push('\n');
    }
    text
}
