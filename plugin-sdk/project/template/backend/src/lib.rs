//! A backend: it takes matrix products and what follows them, and makes one node of each region.

use onnxport_sdk::backend::{Backend, Cost, Op, Profile, Region};
use onnxport_sdk::{DType, Res};

#[cfg(test)]
mod tests;

/// The versions that programs depend on: they are recorded in models, and checked before a model is loaded.
const ENVIRONMENT: &str = "SDK 1.0, driver 1.0";

/// The accelerator.
#[derive(Default)]
struct Accelerator;

impl Backend for Accelerator {
    /// What it is called and what it can take.
    fn profile(&self) -> Profile {
        let float = [DType::F32];
        Profile::new("myplugin")
            .description("What the accelerator is.")
            .domain("com.example.myplugin", 1)
            .op(Op::named(["MatMul", "Add", "Relu"]).inputs(&float).outputs(&float).ranks(1..=4).dynamic())
    }

    /// One node in the place of a region, with a program of its own and the region's inputs and weights.
    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let ops: Vec<String> = region.nodes().into_iter().map(|node| node.op()).collect();
        let mut blob = region.blob();
        blob.append(&program(&ops))?;
        let (inputs, weights, outputs) = (region.inputs(), region.weights(), region.outputs());
        let node = region.own("Program").inputs(inputs).inputs(weights).blob("program", &blob);
        let made = node.outputs_like(&outputs).emit()?;
        region.replace(&made)
    }

    fn environment(&self) -> Option<String> {
        Some(ENVIRONMENT.to_owned())
    }

    /// Seconds, by measurements of the accelerator and of the runtime that would compute the nodes otherwise.
    fn cost(&self, region: &Region<'_>) -> Option<Cost> {
        let products = region.nodes().into_iter().filter(|node| node.op() == "MatMul").count() as f64;
        Some(Cost { device: products * 1e-6, runtime: products * 20e-6, entry: 10e-6, byte: 0.1e-9 })
    }
}

/// The program of a region: here the names of its operators, a line each. Equal regions give equal bytes.
fn program(ops: &[String]) -> Vec<u8> {
    ops.iter().flat_map(|op| [op.as_bytes(), b"\n"].concat()).collect()
}

onnxport_sdk::export_plugin! { id: "myplugin", backend: Accelerator }
