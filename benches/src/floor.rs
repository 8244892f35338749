//! `floor`: conversions of the programs of `tests/python/models`, compared with the work that no conversion can
//! avoid.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::diagnose::Diagnostic;
use onnxport_core::tensor::MappedFile;
use onnxport_core::tensor::zip_index::{Region, ZipIndex};
use serde::Serialize;
use serde::de::IgnoredAny;

use crate::measure;
use crate::models::archives;
use crate::ours::{Cost, Onnxport, root};
use crate::statistics::{median, table};

/// The options of `floor`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The models; all that have an archive if none is named
    names: Vec<String>,
    /// The folder of the archives, which `python -m tests.python.models make --all` fills
    #[arg(long, value_name = "DIR", default_value_os_t = root().join("target/models"))]
    models: PathBuf,
    /// How often everything is measured
    #[arg(long, default_value_t = 9, value_name = "N")]
    repeat: usize,
    /// Also write the measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// CPU seconds of one model.
#[derive(Debug, Serialize)]
struct Row {
    model: String,
    /// A process that prints its version.
    start: f64,
    /// Finding the end of each value of the program's JSON, keeping none.
    json: f64,
    /// Copying the files of the model, to the disk.
    copy: f64,
    /// The conversion, with the wall seconds of its stages.
    #[serde(flatten)]
    cost: Cost,
}

impl Row {
    fn floor(&self) -> f64 {
        self.start + self.json + self.copy
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let archives = archives(&arguments.models, &arguments.names)?;
    let onnxport = Onnxport::build()?;
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("model.onnx");
    let mut rows = Vec::new();
    for (model, archive) in archives {
        let cost = match onnxport.cost_of(&archive, arguments.repeat, 0, &output)? {
            Ok(cost) => cost,
            Err(error) => {
                println!("{model} is not converted: {error}");
                continue;
            }
        };
        let program = program(&archive)?;
        let times = |once: &dyn Fn() -> io::Result<f64>| -> io::Result<f64> {
            let times = (0..arguments.repeat).map(|_| once()).collect::<io::Result<Vec<f64>>>()?;
            Ok(median(times).unwrap_or_default())
        };
        let start = times(&|| Ok(measure::run(onnxport.command().arg("--version"), false)?.cpu))?;
        let json = times(&|| {
            let before = cpu();
            serde_json::from_slice::<IgnoredAny>(&program)?;
            Ok(cpu() - before)
        })?;
        let copy = times(&|| {
            let before = cpu();
            for entry in folder.path().read_dir()? {
                let path = entry?.path();
                copy_to_disk(&path, &folder.path().with_extension("copy"))?;
            }
            Ok(cpu() - before)
        });
        let _ = fs::remove_file(folder.path().with_extension("copy"));
        for entry in folder.path().read_dir()? {
            fs::remove_file(entry?.path())?;
        }
        rows.push(Row { model, start, json, copy: copy?, cost });
    }
    println!("{}", report(&rows));
    crate::save_json(arguments.json.as_deref(), &rows)
}

fn copy_to_disk(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.sync_all()
}

/// The JSON of the program in an archive.
fn program(archive: &Path) -> io::Result<Vec<u8>> {
    let refused =
        |problem: Diagnostic| io::Error::other(format!("{}: {}", archive.display(), problem.message));
    let file = Region::whole(MappedFile::open(archive)?);
    let zip = ZipIndex::open(file, "").map_err(refused)?;
    let found = zip.iter().find(|(name, _)| name.ends_with("models/model.json"));
    let (name, entry) =
        found.ok_or_else(|| io::Error::other(format!("{} has no program", archive.display())))?;
    Ok(zip.read(name, entry).map_err(refused)?.into_owned())
}

/// CPU seconds of this thread, those in the kernel included.
fn cpu() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local of the type that is written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the milliseconds of every model, and the median above the floor.
fn report(rows: &[Row]) -> String {
    let head = [
        "model", "CPU ms", "floor", "above it", "start", "JSON", "copy", "read", "convert", "write", "nodes",
    ];
    let ms = |seconds: f64| format!("{:.2}", seconds * 1e3);
    let line = |row: &Row| {
        let stage = |name: &str| row.cost.stages.iter().find(|stage| stage.0 == name).map_or(0.0, |s| s.1);
        let (read, write) = (stage("read"), stage("write"));
        let between = row.cost.stages.iter().map(|stage| stage.1).sum::<f64>() - read - write;
        let mut line = vec![row.model.clone()];
        let above = row.cost.cpu - row.floor();
        let all = [row.cost.cpu, row.floor(), above, row.start, row.json, row.copy, read, between, write];
        line.extend(all.map(ms));
        line.push(row.cost.nodes.to_string());
        line
    };
    let mut lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    let of = |value: &dyn Fn(&Row) -> f64| ms(median(rows.iter().map(value)).unwrap_or_default());
    let all = [of(&|row| row.cost.cpu), of(&Row::floor), of(&|row| row.cost.cpu - row.floor())];
    lines.push([format!("median of {}", rows.len())].into_iter().chain(all).collect());
    table(&head, &lines)
}
