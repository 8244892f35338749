//! OpenVINO as a backend: regions of a model become `EPContext` nodes with compiled blobs.
//!
//! ```text
//! offered nodes ─ numbers, trial ─→ claims ─→ regions ─ part, compile ─→ blob ─ container ─→ EPContext
//! ```
//!
//! The host offers the nodes that the table of the target `openvino` lists. OpenVINO's C API does not tell which nodes a
//! device runs, so that each kind of node is compiled on its own ([`trial`]). Nodes whose 64-bit integers OpenVINO might
//! cut to 32 bits are left to ONNX Runtime ([`numbers`]).

mod container;
mod numbers;
mod part;
mod trial;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use onnxport_sdk::backend::{Backend, Claim, Op, Profile, Region};
use onnxport_sdk::executor::Failure;
use onnxport_sdk::{DType, Refusal, Res, ValueRef};
use tempfile::TempDir;

use crate::runtime::Runtime;
use crate::{Settings, library};
use part::Part;

/// The execution provider that runs the nodes.
const PROVIDER: &str = "OpenVINOExecutionProvider";

/// The domain of `EPContext`.
const DOMAIN: &str = "com.microsoft";

/// The operator of a compiled region.
const OPERATOR: &str = "EPContext";

/// The element types of tensors that regions take and return. Devices compute f64 in f32, and u32 and u64 in i32.
const TYPES: [DType; 8] =
    [DType::F32, DType::F16, DType::BF16, DType::Bool, DType::I8, DType::U8, DType::I32, DType::I64];

/// Bytes of a blob that are copied at once.
const PIECE: usize = 1 << 20;

/// The backend.
#[derive(Default)]
pub(crate) struct Compiler;

impl Backend for Compiler {
    fn profile(&self) -> Profile {
        Profile::new("openvino")
            .description("Regions that ONNX Runtime runs by its OpenVINO execution provider")
            .domain(DOMAIN, 1)
            // To enter a region takes longer than most nodes.
            .min_nodes(2)
            // It reads one container, and a container holds what one region was compiled to.
            .single()
            .op(Op::named(["*"]).inputs(&TYPES).outputs(&TYPES).dynamic())
            .op(Op::of(DOMAIN, ["*"]).inputs(&TYPES).outputs(&TYPES).dynamic())
    }

    fn claim(&self, claim: &mut Claim<'_>) -> Res<()> {
        let runtime = open()?;
        let mut trials = trial::Trials::new(&runtime)?;
        for node in claim.offered() {
            let refused = match numbers::refusal(node) {
                Some(reason) => Some(reason.to_owned()),
                None => trials.refusal(node)?,
            };
            match refused {
                Some(reason) => claim.refuse(node, &reason),
                None => claim.take(node)?,
            }
        }
        Ok(())
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let (nodes, inputs, outputs) = (region.nodes(), region.inputs(), region.outputs());
        if inputs.is_empty() {
            return Err("ONNX Runtime takes no region without inputs".into());
        }
        // The host has others compile only one region, but a model that was read may have one already.
        if region.graph().nodes().into_iter().any(|node| node.is_in(DOMAIN, OPERATOR)) {
            return Err(
                "the OpenVINO provider takes one compiled region of a model, and the model has one".into()
            );
        }
        let runtime = open()?;
        let folder = folder()?;
        let part = Part { nodes: &nodes, inputs: &inputs, outputs: &outputs };
        let compiled = runtime.compile(&part.write(folder.path())?).map_err(refusal)?;
        let ports: [(&str, &[ValueRef<'_>]); 2] = [("input", &inputs), ("output", &outputs)];
        for (side, values) in ports {
            let names: Vec<String> = values.iter().map(|value| value.name()).collect();
            runtime.check_ports(&compiled, side, &names).map_err(refusal)?;
        }
        let exported = folder.path().join("region.blob");
        runtime.export(&compiled, &exported).map_err(refusal)?;
        let hardware = runtime.requirements(&compiled);
        drop(compiled);
        let mut blob = region.blob();
        copy(&exported, region.name(), &mut blob)
            .map_err(|error| format!("the blob cannot be kept: {error}"))?;
        let (name, version) = (region.name().to_owned(), runtime.library.version.clone());
        let notes = format!("device {}, onnxport {}", runtime.device(), env!("CARGO_PKG_VERSION"));
        let node = region.own(OPERATOR).inputs(inputs).blob("ep_cache_context", &blob);
        let node = node.int("main_context", 1).str("source", PROVIDER).str("partition_name", name);
        let node = node.str("ep_sdk_version", version).str("notes", notes);
        let node = node.str("hardware_architecture", hardware.unwrap_or_else(|| runtime.device()));
        let made = node.outputs_like(&outputs).emit()?;
        region.replace(&made)
    }

    /// Of other devices, the driver is not known.
    fn environment(&self) -> Option<String> {
        let runtime = open().ok().filter(|runtime| runtime.device() == "CPU")?;
        Some(format!("OpenVINO {} for CPU, {}", runtime.library.version, processor()?))
    }
}

/// The processor's instructions, on which blobs for a CPU depend.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let lines = text.split("\n\n").next()?.lines();
    let is_stated = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default().trim();
        ["flags", "Features", "CPU implementer", "CPU part"].contains(&name)
    };
    let stated: Vec<&str> = lines.filter(is_stated).collect();
    (!stated.is_empty()).then(|| stated.join("; "))
}

/// The runtime with the plugin's settings.
fn open() -> Res<Runtime> {
    let settings = Settings::get()?;
    let library = library::loaded(settings.library.as_deref()).map_err(refusal)?;
    Runtime::open(library, &settings).map_err(refusal)
}

fn folder() -> Res<TempDir> {
    let made = tempfile::Builder::new().prefix("onnxport-openvino-").tempdir();
    made.map_err(|error| format!("no folder for the region can be made: {error}").into())
}

fn refusal(failure: Failure) -> Refusal {
    Refusal::new(failure.message).help(failure.help)
}

/// Writes the container of an exported blob.
fn copy(exported: &Path, name: &str, blob: &mut impl Write) -> std::io::Result<()> {
    let mut file = File::open(exported)?;
    let size = file.metadata()?.len();
    blob.write_all(&container::head(name, size)?)?;
    let mut piece = vec![0; PIECE];
    let mut copied = 0;
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        blob.write_all(piece.get(..read).unwrap_or_default())?;
        copied += read as u64;
    }
    if copied == size { Ok(()) } else { Err(std::io::Error::other("it changed while it was read")) }
}
