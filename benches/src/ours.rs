//! Our side: the `onnxport` command, as a user runs it, in a new process for every conversion.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use memmap2::Mmap;
use onnxport_core::pipeline::stage_names;
use onnxport_proto::{GraphProto, ModelProto, NodeProto};
use prost::Message;
use prost::bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::measure;
use crate::statistics::median;

/// How often a program is converted while its memory is watched.
const WATCHED: usize = 3;

/// The fields used from the output of `onnxport convert --json`.
#[derive(Debug, Default, Deserialize)]
struct Said {
    #[serde(default)]
    seconds: Map<String, Value>,
    #[serde(default)]
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    code: String,
    severity: String,
    message: String,
}

/// The cost of a conversion.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cost {
    /// User and system seconds.
    pub(crate) cpu: f64,
    /// Wall seconds.
    pub(crate) wall: f64,
    /// The peak of anonymous memory in bytes.
    pub(crate) memory: u64,
    /// The nodes of the model, those of subgraphs included, constants not.
    pub(crate) nodes: usize,
    /// The wall seconds of the stages, in order.
    pub(crate) stages: Vec<(String, f64)>,
}

/// The release build of the command.
#[derive(Debug)]
pub(crate) struct Onnxport {
    binary: PathBuf,
}

impl Onnxport {
    /// Builds the command, in the profile and folder of this program.
    pub(crate) fn build() -> io::Result<Self> {
        let folder = env::current_exe()?.parent().and_then(Path::file_name).map(ToOwned::to_owned);
        if folder.is_none_or(|folder| folder != "release") {
            return Err(io::Error::other("only a release build measures; run with --release"));
        }
        let built = cargo().args(["build", "--quiet", "--release", "-p", "onnxport"]).status()?;
        let binary = env::current_exe()?.with_file_name("onnxport");
        if !built.success() || !binary.exists() {
            return Err(io::Error::other(format!("{} is not built", binary.display())));
        }
        Ok(Self { binary })
    }

    /// Where it is.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// The command, without arguments.
    pub(crate) fn command(&self) -> Command {
        Command::new(&self.binary)
    }

    /// Converts `archive` several times and states the medians and, of the memory, the most.
    ///
    /// # Errors
    /// In the inner result, why the program is not converted.
    pub(crate) fn cost(&self, archive: &Path, repeat: usize) -> io::Result<Result<Cost, String>> {
        let folder = tempfile::tempdir()?;
        self.cost_of(archive, repeat, WATCHED, &folder.path().join("model.onnx"))
    }

    /// The same to `output`, which stays, with the memory of `watched` more runs.
    ///
    /// # Errors
    /// In the inner result, why the program is not converted.
    pub(crate) fn cost_of(
        &self,
        archive: &Path,
        repeat: usize,
        watched: usize,
        output: &Path,
    ) -> io::Result<Result<Cost, String>> {
        let mut runs = Vec::new();
        let mut memory = 0;
        // The first run reads the files from disk, and is not counted.
        for at in 0..=repeat + watched {
            let mut command = self.command();
            command.args(["convert", "--no-verify", "--json"]).arg(archive).arg("-o").arg(output);
            let run = measure::run(&mut command, at > repeat)?;
            let said: Said = serde_json::from_str(&run.stdout).unwrap_or_default();
            if !run.success {
                return Ok(Err(summary(&said.diagnostics)));
            }
            match run.peak {
                Some(peak) => memory = memory.max(peak),
                None if at > 0 => runs.push((run, said)),
                None => {}
            }
        }
        let stage = |name: &str| median(runs.iter().filter_map(|(_, said)| said.seconds.get(name)?.as_f64()));
        Ok(Ok(Cost {
            cpu: median(runs.iter().map(|(run, _)| run.cpu)).unwrap_or_default(),
            wall: median(runs.iter().map(|(run, _)| run.wall)).unwrap_or_default(),
            memory,
            nodes: nodes(output)?,
            stages: stage_names().filter_map(|name| Some((name.to_owned(), stage(name)?))).collect(),
        }))
    }
}

/// Cargo, in the root of the repository.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// The first error, and how many there are.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let mut errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == "error");
    let Some(first) = errors.next() else { return "the process failed".to_owned() };
    let others = match errors.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} {}{others}", first.code, first.message)
}

/// The nodes of the model at `path`, those of subgraphs and functions included, constants not.
fn nodes(path: &Path) -> io::Result<usize> {
    // SAFETY: the file lies in a temporary folder of this process and is not written to any more.
    let file = unsafe { Mmap::map(&fs::File::open(path)?)? };
    let model = ModelProto::decode(Bytes::from_owner(file)).map_err(io::Error::other)?;
    let functions: usize = model.functions.iter().map(|function| count(&function.node)).sum();
    Ok(functions + model.graph.as_ref().map_or(0, |graph| count(&graph.node)))
}

fn count(nodes: &[NodeProto]) -> usize {
    let inner = |graph: &GraphProto| count(&graph.node);
    let of_node = |node: &NodeProto| {
        let graphs = node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs));
        usize::from(node.op_type() != "Constant") + graphs.map(inner).sum::<usize>()
    };
    nodes.iter().map(of_node).sum()
}
