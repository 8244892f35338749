//! `memory`: the memory that conversions of large programs need.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use onnxport_benches::llama::Llama;
use serde::Serialize;

use crate::limit::Limit;
use crate::measure;
use crate::ours::Onnxport;
use crate::statistics::{mebibytes, table};

/// Behind this many bytes of an output its blocks are given back to the disk.
const KEPT: u64 = 64 << 20;

/// The options of `memory`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// About how many bytes of weights the programs have
    #[arg(default_values_t = [500_000_000, 2_000_000_000, 8_000_000_000, 32_000_000_000])]
    bytes: Vec<u64>,
    /// The limit in MiB under which the conversions run, page cache included
    #[arg(long, default_value_t = 256, value_name = "MIB")]
    limit: u64,
    /// Where the files are made; the system's folder for temporary files otherwise
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Give the blocks of an output back to the disk while it is still being written
    #[arg(long)]
    punch: bool,
    /// More arguments for the conversion
    #[arg(last = true)]
    more: Vec<String>,
    /// Also write the measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Row {
    weight_bytes: u64,
    output_bytes: u64,
    cpu: f64,
    wall: f64,
    rss_anon: u64,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let onnxport = Onnxport::build()?;
    let folder = match &arguments.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let limit = Limit::of(arguments.limit << 20);
    let mut rows = Vec::new();
    for &bytes in &arguments.bytes {
        let llama = Llama::of_bytes(bytes);
        let row = measure_one(&onnxport, &limit, folder.path(), llama, arguments)?;
        eprintln!("{} MB: {} MiB", row.weight_bytes / 1_000_000, mebibytes(row.rss_anon));
        rows.push(row);
    }
    println!("Under {} of {} MiB:\n", limit.name(), arguments.limit);
    println!("{}", report(&rows));
    crate::save_json(arguments.json.as_deref(), &rows)
}

fn measure_one(
    onnxport: &Onnxport,
    limit: &Limit,
    folder: &Path,
    llama: Llama,
    arguments: &Arguments,
) -> io::Result<Row> {
    let archive = folder.join("llama.pt2");
    llama.write(&archive)?;
    let output = folder.join("out");
    fs::create_dir(&output)?;
    let mut command = limit.command(onnxport.binary());
    command.args(["convert", "--no-verify", "--json"]).arg(&archive).arg("-o");
    command.arg(output.join("llama.onnx")).args(&arguments.more);
    let done = Arc::new(AtomicBool::new(false));
    let puncher = arguments.punch.then(|| {
        let (done, output) = (Arc::clone(&done), output.clone());
        thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                punch(&output);
                thread::sleep(Duration::from_millis(100));
            }
        })
    });
    let run = measure::run(&mut command, true);
    done.store(true, Ordering::Relaxed);
    if let Some(thread) = puncher {
        let _ = thread.join();
    }
    let run = run?;
    if !run.success {
        return Err(io::Error::other(format!("the conversion fails: {}", run.stdout)));
    }
    let mut output_bytes = 0;
    for file in fs::read_dir(&output)? {
        output_bytes += file?.metadata()?.len();
    }
    fs::remove_dir_all(&output)?;
    fs::remove_file(&archive)?;
    let rss_anon = run.peak.unwrap_or(0);
    Ok(Row { weight_bytes: llama.weight_bytes(), output_bytes, cpu: run.cpu, wall: run.wall, rss_anon })
}

/// Makes a hole of everything but the end in every file in `folder` that some process has open.
fn punch(folder: &Path) {
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        for open in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let ours = fs::read_link(open.path()).is_ok_and(|to| to.starts_with(folder));
            let position = fs::read_to_string(process.path().join("fdinfo").join(open.file_name()));
            let position = position.ok().and_then(|text| {
                text.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse::<u64>().ok()
            });
            let Some(end) = position.filter(|_| ours).and_then(|at| at.checked_sub(KEPT)) else { continue };
            let Ok(file) = File::options().write(true).open(open.path()) else { continue };
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: the descriptor is open, and no memory is involved.
            unsafe { libc::fallocate(file.as_raw_fd(), mode, 0, end as libc::off_t) };
        }
    }
}

fn report(rows: &[Row]) -> String {
    let gigabytes = |bytes: u64| format!("{:.2}", bytes as f64 / 1e9);
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                gigabytes(row.weight_bytes),
                gigabytes(row.output_bytes),
                format!("{:.4}", row.output_bytes as f64 / row.weight_bytes as f64),
                mebibytes(row.rss_anon),
                format!("{:.1}", row.cpu),
                format!("{:.1}", row.wall),
            ]
        })
        .collect();
    table(&["weights GB", "output GB", "output / weights", "RssAnon MiB", "CPU s", "wall s"], &lines)
}
