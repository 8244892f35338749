//! An onnxport backend for a pretend accelerator, the "npu".
//!
//! It multiplies float32 matrices, and takes the operators between products with it: additions, activations, views. It
//! takes any sizes, but for `Softmax`, whose unit needs fixed ones. A region becomes one node that carries a
//! program and has the region's weights as inputs, where they are.

mod claim;
mod compile;

use npu_program::{ATTRIBUTE, DOMAIN, OPERATOR};
use onnxport_sdk::backend::{Backend, Claim, Op, Profile, Region};
use onnxport_sdk::{DType, Res};

/// The accelerator.
#[derive(Default)]
struct Npu;

/// The products.
const PRODUCTS: [&str; 2] = ["MatMul", "Gemm"];

impl Backend for Npu {
    fn profile(&self) -> Profile {
        let float = [DType::F32];
        let with_shapes = [DType::F32, DType::I64];
        Profile::new("npu")
            .description("A pretend accelerator that multiplies matrices")
            .domain(DOMAIN, 1)
            .op(Op::named(PRODUCTS).versions(13..=23).inputs(&float).outputs(&float).ranks(1..=8).dynamic())
            .op(Op::named(["Add", "Sub", "Mul", "Div", "Relu", "Gelu", "Tanh", "Sigmoid"])
                .versions(14..=23)
                .inputs(&float)
                .outputs(&float)
                .ranks(0..=8)
                .dynamic())
            .op(Op::named(["Reshape", "Transpose", "Squeeze", "Unsqueeze", "Gather"])
                .versions(13..=23)
                .inputs(&with_shapes)
                .outputs(&float)
                .ranks(0..=8)
                .dynamic())
            .op(Op::named(["Softmax"]).versions(13..=23).inputs(&float).outputs(&float).ranks(1..=8))
    }

    fn claim(&self, claim: &mut Claim<'_>) -> Res<()> {
        claim::claim(claim)
    }

    fn compile(&self, region: &mut Region<'_>) -> Res<()> {
        let compiled = compile::program(region)?;
        let mut blob = region.blob();
        blob.append(&compiled.program.encode())?;
        let outputs = region.outputs();
        let node = region.own(OPERATOR).inputs(compiled.inputs).blob(ATTRIBUTE, &blob);
        let made = node.outputs_like(&outputs).emit()?;
        region.replace(&made)
    }
}

onnxport_sdk::export_plugin! { id: "npu", backend: Npu }
