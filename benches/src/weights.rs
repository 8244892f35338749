//! `weights`: how fast weights go into a file, beside copying the program's own file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use onnxport_benches::llama::Llama;
use serde::Serialize;

use crate::measure;
use crate::ours::{Onnxport, root};
use crate::statistics::{mebibytes, median, table};
use crate::torch::Exporter;

/// Ways to convert, with the arguments that they take.
const WAYS: [(&str, &[&str]); 7] = [
    ("as they are", &[]),
    ("`--dtype f16`", &["--dtype", "f16"]),
    ("`--dtype bf16`", &["--dtype", "bf16"]),
    ("`--dtype f8e4m3fn --dtype-overflow allow`", &["--dtype", "f8e4m3fn", "--dtype-overflow", "allow"]),
    ("`--quantize int8 --opset 21`", &["--quantize", "int8", "--opset", "21"]),
    ("`--quantize int4 --opset 21`", &["--quantize", "int4", "--opset", "21"]),
    (
        "`--quantize int4 --quantize-form matmulnbits`",
        &["--quantize", "int4", "--quantize-form", "matmulnbits"],
    ),
];

/// The options of `weights`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// About how many bytes of weights the program has
    #[arg(default_value_t = 1_000_000_000)]
    bytes: u64,
    /// How often everything is timed; medians count
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// How often the exporters of Python are timed; 0 leaves them out
    #[arg(long, default_value_t = 3)]
    torch_repeat: usize,
    /// The Python that has the packages of python/requirements.txt
    #[arg(long, value_name = "PATH", default_value_os_t = root().join(".venv/bin/python"))]
    python: PathBuf,
    /// Where the files are made; the system's folder for temporary files otherwise
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Also write the measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Something that is timed.
struct Contestant {
    what: String,
    command: Box<dyn Fn() -> Command>,
    cpu: Vec<f64>,
    wall: Vec<f64>,
    memory: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Row {
    what: String,
    cpu: f64,
    wall: f64,
    /// The time of `cp` by this time.
    ratio: f64,
    /// The time of `cp` and `sync` by this time.
    synced_ratio: f64,
    /// The most anonymous memory that the process held, in bytes.
    memory: Option<u64>,
    /// By how much it grew, where the process lived before.
    growth: Option<u64>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<()> {
    let onnxport = Onnxport::build()?;
    let folder = match &arguments.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let llama = Llama::of_bytes(arguments.bytes).filled();
    let archives = [("", llama), ("stored by columns, ", llama.transposed())].map(|(kind, llama)| {
        let path = folder.path().join(if kind.is_empty() { "rows.pt2" } else { "columns.pt2" });
        (kind, llama, path)
    });
    for (_, llama, path) in &archives {
        llama.write(path)?;
    }
    let (_, _, plain) = &archives[0];
    let out = folder.path().join("out");
    let copy = |script: &str| {
        let (script, from, to) = (script.to_owned(), plain.clone(), out.join("copy"));
        Box::new(move || {
            let mut command = Command::new("sh");
            command.args(["-c", &script, "sh"]).args([&from, &to]);
            command
        }) as Box<dyn Fn() -> Command>
    };
    let mut contestants = vec![
        Contestant::new("`cp`".to_owned(), copy("exec cp \"$1\" \"$2\"")),
        Contestant::new("`cp` and `sync`".to_owned(), copy("cp \"$1\" \"$2\" && sync \"$2\"")),
    ];
    for (kind, _, path) in &archives {
        for (way, more) in WAYS {
            let (binary, path, out) = (onnxport.binary().to_owned(), path.clone(), out.join("model.onnx"));
            contestants.push(Contestant::new(
                format!("{kind}{way}"),
                Box::new(move || {
                    let mut command = Command::new(&binary);
                    command.args(["convert", "--no-verify", "--quiet"]).arg(&path).arg("-o").arg(&out);
                    command.args(more);
                    command
                }),
            ));
        }
    }
    // The first round fills the page cache, the last one watches memory; neither is timed.
    for round in 0..arguments.repeat + 2 {
        for contestant in &mut contestants {
            contestant.turn(plain, &out, round, arguments.repeat)?;
        }
        eprintln!("round {} of {}", round + 1, arguments.repeat + 2);
    }
    let times = |at: usize| median(contestants[at].wall.iter().copied()).unwrap_or_default();
    let (copied, synced) = (times(0), times(1));
    let mut rows: Vec<Row> = contestants.iter().map(|contestant| contestant.row(copied, synced)).collect();
    if arguments.torch_repeat > 0 {
        rows.extend(peers(arguments, &onnxport, plain, folder.path(), (copied, synced))?);
    }
    println!("{:.2} GB of weights, medians of {}:\n", llama.weight_bytes() as f64 / 1e9, arguments.repeat);
    println!("{}", report(&rows));
    crate::save_json(arguments.json.as_deref(), &rows)
}

impl Contestant {
    fn new(what: String, command: Box<dyn Fn() -> Command>) -> Self {
        Self { what, command, cpu: Vec::new(), wall: Vec::new(), memory: None }
    }

    /// Runs once, into an empty folder and with nothing left to be written by the system. The memory for the output
    /// was used a moment before: a virtual machine gives unused memory away, and the first process to need it back
    /// would wait.
    fn turn(&mut self, archive: &Path, out: &Path, round: usize, repeat: usize) -> io::Result<()> {
        if out.exists() {
            fs::remove_dir_all(out)?;
        }
        fs::create_dir(out)?;
        let warm = out.join("warm");
        fs::copy(archive, &warm)?;
        fs::remove_file(warm)?;
        // SAFETY: it takes no arguments and touches no memory.
        unsafe { libc::sync() };
        let run = measure::run(&mut (self.command)(), round > repeat)?;
        if !run.success {
            return Err(io::Error::other(format!("{} fails: {}", self.what, run.stdout)));
        }
        self.memory = run.peak.or(self.memory);
        if (1..=repeat).contains(&round) {
            self.cpu.push(run.cpu);
            self.wall.push(run.wall);
        }
        Ok(())
    }

    fn row(&self, copied: f64, synced: f64) -> Row {
        let wall = median(self.wall.iter().copied()).unwrap_or_default();
        Row {
            what: self.what.clone(),
            cpu: median(self.cpu.iter().copied()).unwrap_or_default(),
            wall,
            ratio: copied / wall,
            synced_ratio: synced / wall,
            memory: self.memory,
            growth: None,
        }
    }
}

/// The exporter of PyTorch and the writer of `onnx_ir`, on the same program and its model.
fn peers(
    arguments: &Arguments,
    onnxport: &Onnxport,
    archive: &Path,
    folder: &Path,
    (copied, synced): (f64, f64),
) -> io::Result<Vec<Row>> {
    let mut exporter = Exporter::start(&arguments.python, folder)?;
    let model = folder.join("model.onnx");
    let mut command = onnxport.command();
    command.args(["convert", "--no-verify", "--quiet"]).arg(archive).arg("-o").arg(&model);
    if !measure::run(&mut command, false)?.success {
        return Err(io::Error::other("the conversion fails"));
    }
    let onnx_ir = exporter.copy(&model, arguments.torch_repeat)?.map_err(io::Error::other)?;
    exporter.load(archive)?.map_err(io::Error::other)?;
    let torch = exporter.export(false, arguments.torch_repeat)?.map_err(io::Error::other)?;
    let row = |what: &str, cost: crate::torch::Cost| Row {
        what: what.to_owned(),
        cpu: cost.cpu,
        wall: cost.wall,
        ratio: copied / cost.wall,
        synced_ratio: synced / cost.wall,
        memory: Some(cost.peak),
        growth: Some(cost.memory),
    };
    Ok(vec![row("`torch.onnx.export` to a file", torch), row("`onnx_ir.save` of our model", onnx_ir)])
}

fn report(rows: &[Row]) -> String {
    let line = |row: &Row| {
        vec![
            row.what.clone(),
            format!("{:.2}", row.cpu),
            format!("{:.2}", row.wall),
            format!("{:.2}", row.ratio),
            format!("{:.2}", row.synced_ratio),
            match (row.memory, row.growth) {
                (Some(peak), Some(growth)) => format!("{} (+{})", mebibytes(peak), mebibytes(growth)),
                (peak, _) => peak.map_or_else(String::new, mebibytes),
            },
        ]
    };
    let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    table(&["what", "CPU s", "wall s", "rate by `cp`", "by `cp` and `sync`", "RssAnon MiB"], &lines)
}
