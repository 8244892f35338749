//! The other side: a Python process that loads programs and exports them with `torch.onnx.export`.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::measure::Sampler;
use crate::ours::root;
use crate::statistics::median;

/// The pause between two looks at the memory of an export, which takes seconds.
const PAUSE: Duration = Duration::from_millis(1);

/// The cost of an export.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cost {
    /// User and system seconds.
    pub(crate) cpu: f64,
    /// Wall seconds.
    pub(crate) wall: f64,
    /// By how much anonymous memory grew at most, in bytes.
    pub(crate) memory: u64,
    /// The most anonymous memory that the process held, in bytes.
    pub(crate) peak: u64,
    /// The nodes of the model, those of subgraphs included, constants not; 0 of a copy.
    pub(crate) nodes: usize,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer<T> {
    Error { error: String },
    Value(T),
}

#[derive(Deserialize)]
struct Greeting {
    torch: String,
}

#[derive(Deserialize)]
struct Nothing {}

#[derive(Deserialize)]
struct Exported {
    cpu: f64,
    wall: f64,
    #[serde(default)]
    nodes: usize,
}

/// The Python process.
pub(crate) struct Exporter {
    /// The version of PyTorch.
    pub(crate) version: String,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Exporter {
    /// Starts `python` and waits until everything is imported. Models are written below `folder`.
    pub(crate) fn start(python: &Path, folder: &Path) -> io::Result<Self> {
        let root = root();
        let mut child = Command::new(python)
            .args(["-m", "benches.torch_export"])
            .env("PYTHONPATH", root.join("python"))
            .env("TMPDIR", folder)
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || io::Error::other("the Python process has no pipes");
        let requests = child.stdin.take().ok_or_else(missing)?;
        let answers = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let mut exporter = Self { version: String::new(), child, requests, answers };
        match exporter.answer::<Greeting>() {
            Ok(Ok(greeting)) => exporter.version = greeting.torch,
            Ok(Err(error)) => return Err(io::Error::other(error)),
            Err(error) => {
                let help = "does `python -m benches.torch_export` start in the root of the repository?";
                return Err(io::Error::other(format!(
                    "{} does not answer ({error}): {help}",
                    python.display()
                )));
            }
        }
        Ok(exporter)
    }

    /// Loads the program in `archive`.
    pub(crate) fn load(&mut self, archive: &Path) -> io::Result<Result<(), String>> {
        self.ask(&json!({ "load": archive }))?;
        Ok(self.answer::<Nothing>()?.map(|_| ()))
    }

    /// Exports the program that was loaded last `repeat` times, and states the medians and, of the
    /// memory, the most.
    pub(crate) fn export(&mut self, optimize: bool, repeat: usize) -> io::Result<Result<Cost, String>> {
        self.cost(&json!({ "optimize": optimize }), repeat)
    }

    /// Reads a model with `onnx_ir` and writes it and its data, and states the same.
    pub(crate) fn copy(&mut self, model: &Path, repeat: usize) -> io::Result<Result<Cost, String>> {
        self.cost(&json!({ "copy": model }), repeat)
    }

    fn cost(&mut self, request: &Value, repeat: usize) -> io::Result<Result<Cost, String>> {
        let mut runs = Vec::new();
        let (mut memory, mut peak) = (0, 0);
        for _ in 0..repeat {
            let sampler = Sampler::start(self.child.id(), PAUSE);
            self.ask(request)?;
            let answer = self.answer::<Exported>()?;
            let seen = sampler.stop();
            memory = memory.max(seen.peak - seen.first);
            peak = peak.max(seen.peak);
            match answer {
                Ok(run) => runs.push(run),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(Cost {
            cpu: median(runs.iter().map(|run| run.cpu)).unwrap_or_default(),
            wall: median(runs.iter().map(|run| run.wall)).unwrap_or_default(),
            memory,
            peak,
            nodes: runs.first().map_or(0, |run| run.nodes),
        }))
    }

    fn ask(&mut self, request: &Value) -> io::Result<()> {
        writeln!(self.requests, "{request}")?;
        self.requests.flush()
    }

    fn answer<T: DeserializeOwned>(&mut self) -> io::Result<Result<T, String>> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the Python process ended"));
        }
        Ok(match serde_json::from_str(&line)? {
            Answer::Value(value) => Ok(value),
            Answer::Error { error } => Err(error),
        })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // It has nothing to lose, and may be in the middle of an export.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
