//! `models`: the programs of `tests/python/models`, converted by onnxport and by `torch.onnx.export`.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::ours::{self, Onnxport, root};
use crate::statistics::{mebibytes, median, table};
use crate::torch::{self, Exporter};

/// The options of `models`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The models; all that have an archive if none is named
    names: Vec<String>,
    /// The folder of the archives, which `python -m tests.python.models make --all` fills
    #[arg(long, value_name = "DIR", default_value_os_t = root().join("target/models"))]
    models: PathBuf,
    /// How often onnxport converts each model
    #[arg(long, default_value_t = 5, value_name = "N")]
    repeat: usize,
    /// How often torch.onnx.export converts each model; 0 leaves it out
    #[arg(long, default_value_t = 3, value_name = "N")]
    torch_repeat: usize,
    /// The Python that has the packages of python/requirements.txt
    #[arg(long, value_name = "PATH", default_value_os_t = root().join(".venv/bin/python"))]
    python: PathBuf,
    /// Also write the measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

type Outcome<T> = Result<T, String>;

#[derive(Debug, Serialize)]
struct Row {
    model: String,
    ours: Outcome<ours::Cost>,
    /// `torch.onnx.export` with `optimize=False`.
    raw: Outcome<torch::Cost>,
    /// The same with `optimize=True`.
    optimized: Outcome<torch::Cost>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let archives = archives(&arguments.models, &arguments.names)?;
    let onnxport = Onnxport::build()?;
    let mut exporter = match arguments.torch_repeat {
        0 => None,
        _ => Some(Exporter::start(&arguments.python, &std::env::temp_dir())?),
    };
    let mut rows = Vec::new();
    for (model, archive) in archives {
        eprintln!("{model}");
        let ours = onnxport.cost(&archive, arguments.repeat)?;
        let (raw, optimized) = match &mut exporter {
            Some(exporter) => theirs(exporter, &archive, arguments.torch_repeat)?,
            None => (Err("left out".to_owned()), Err("left out".to_owned())),
        };
        rows.push(Row { model, ours, raw, optimized });
    }
    println!("{}", report(&rows));
    if let Some(exporter) = &exporter {
        let costs = rows.iter().flat_map(|row| [&row.raw, &row.optimized]).flatten();
        let peak = mebibytes(costs.map(|cost| cost.peak).max().unwrap_or(0));
        println!("Pairs are optimize=False / optimize=True. PyTorch {}; its process", exporter.version);
        println!("held up to {peak} MiB of anonymous memory, of which the table shows the growth.");
    }
    crate::save_json(arguments.json.as_deref(), &rows)
}

/// The models in a folder, or those that are named, with their archives.
pub(crate) fn archives(folder: &Path, names: &[String]) -> io::Result<Vec<(String, PathBuf)>> {
    let folder = folder.canonicalize().map_err(|error| {
        let help = "`python -m tests.python.models make --all` makes the archives";
        io::Error::other(format!("{}: {error}; {help}", folder.display()))
    })?;
    let mut names = names.to_vec();
    if names.is_empty() {
        for entry in folder.read_dir()? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "pt2") {
                names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        names.sort();
    }
    let archive = |name: String| {
        let path = folder.join(format!("{name}.pt2"));
        if path.exists() {
            return Ok((name, path));
        }
        let help = format!("`python -m tests.python.models make {name}` makes it");
        Err(io::Error::other(format!("{} is missing; {help}", path.display())))
    };
    names.into_iter().map(archive).collect()
}

fn theirs(
    exporter: &mut Exporter,
    archive: &Path,
    repeat: usize,
) -> io::Result<(Outcome<torch::Cost>, Outcome<torch::Cost>)> {
    if let Err(error) = exporter.load(archive)? {
        return Ok((Err(error.clone()), Err(error)));
    }
    Ok((exporter.export(false, repeat)?, exporter.export(true, repeat)?))
}

/// Returns the table, its medians, and the failures.
fn report(rows: &[Row]) -> String {
    const HEAD: [&str; 12] = [
        "model",
        "CPU s",
        "wall s",
        "RssAnon MiB",
        "nodes",
        "torch CPU s",
        "torch wall s",
        "torch RssAnon MiB",
        "torch nodes",
        "CPU ratio",
        "RssAnon ratio",
        "nodes ratio",
    ];
    let mut lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    let mut medians = vec![String::new(); HEAD.len()];
    medians[0] = format!("median of {}", rows.len());
    for (cell, ratio) in medians[HEAD.len() - RATIOS.len()..].iter_mut().zip(RATIOS) {
        let of = |theirs: fn(&Row) -> &Outcome<torch::Cost>| {
            median(rows.iter().filter_map(|row| ratio_of(row, theirs(row), ratio)))
        };
        *cell = pair(of(|row| &row.raw), of(|row| &row.optimized), |n| format!("{n:.2}"));
    }
    lines.push(medians);
    let mut text = table(&HEAD, &lines);
    for row in rows {
        let (raw, optimized) = (row.raw.as_ref().err(), row.optimized.as_ref().err());
        let who = [
            ("onnxport", row.ours.as_ref().err()),
            ("torch.onnx.export", raw.filter(|raw| Some(*raw) == optimized)),
            ("torch.onnx.export(optimize=False)", raw.filter(|raw| Some(*raw) != optimized)),
            ("torch.onnx.export(optimize=True)", optimized.filter(|optimized| Some(*optimized) != raw)),
        ];
        for (who, error) in who {
            if let Some(error) = error.filter(|error| *error != "left out") {
                let _ = write!(text, "\n{}: {who} fails: {error}", row.model);
            }
        }
    }
    text
}

type Ratio = fn(&ours::Cost, &torch::Cost) -> f64;

/// Theirs to ours for time and memory, ours to theirs for nodes.
const RATIOS: [Ratio; 3] = [
    |ours, theirs| theirs.cpu / ours.cpu,
    |ours, theirs| theirs.memory as f64 / ours.memory as f64,
    |ours, theirs| ours.nodes as f64 / theirs.nodes as f64,
];

fn ratio_of(row: &Row, theirs: &Outcome<torch::Cost>, ratio: Ratio) -> Option<f64> {
    match (&row.ours, theirs) {
        (Ok(ours), Ok(theirs)) => Some(ratio(ours, theirs)).filter(|ratio| ratio.is_finite()),
        _ => None,
    }
}

fn line(row: &Row) -> Vec<String> {
    let mut cells = vec![row.model.clone()];
    match &row.ours {
        Ok(ours) => cells.extend([
            format!("{:.4}", ours.cpu),
            format!("{:.4}", ours.wall),
            mebibytes(ours.memory),
            ours.nodes.to_string(),
        ]),
        Err(_) => cells.extend(["fails".to_owned(), String::new(), String::new(), String::new()]),
    }
    let both = |of: &dyn Fn(&torch::Cost) -> String| {
        let cell = |outcome: &Outcome<torch::Cost>| outcome.as_ref().ok().map(of);
        pair(cell(&row.raw), cell(&row.optimized), |text| text)
    };
    cells.push(both(&|cost| format!("{:.2}", cost.cpu)));
    cells.push(both(&|cost| format!("{:.2}", cost.wall)));
    cells.push(both(&|cost| mebibytes(cost.memory)));
    cells.push(both(&|cost| cost.nodes.to_string()));
    for ratio in RATIOS {
        let of = |theirs| ratio_of(row, theirs, ratio);
        cells.push(pair(of(&row.raw), of(&row.optimized), |n| format!("{n:.2}")));
    }
    cells
}

/// Formats `raw / optimised`; a dash for a failure, nothing if both failed.
fn pair<T>(raw: Option<T>, optimized: Option<T>, show: impl Fn(T) -> String) -> String {
    if raw.is_none() && optimized.is_none() {
        return "–".to_owned();
    }
    let cell = |value: Option<T>| value.map_or_else(|| "–".to_owned(), &show);
    format!("{} / {}", cell(raw), cell(optimized))
}
