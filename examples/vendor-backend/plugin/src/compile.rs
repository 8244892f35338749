//! From a region to a program.

use std::collections::HashMap;

use npu_program::{Constant, Instruction, NONE, Opcode, Program};
use onnxport_sdk::backend::{Port, Region};
use onnxport_sdk::{DType, Literal, NodeRef, Res, ValueRef, op};

/// A program, and the inputs of its node: the first inputs of the region, then its weights.
pub(crate) struct Compiled {
    pub program: Program,
    pub inputs: Vec<Port>,
}

/// An instruction whose operands are still values of the model.
pub(crate) struct Planned<'h> {
    opcode: Opcode,
    operands: Vec<Option<ValueRef<'h>>>,
    ints: Vec<i64>,
    floats: Vec<f32>,
}

/// Compiles a region.
pub(crate) fn program(region: &Region<'_>) -> Res<Compiled> {
    let planned = region.nodes().into_iter().map(|node| Ok((node, instruction(node)?)));
    let planned = planned.collect::<Res<Vec<_>>>()?;
    if !planned.iter().any(|(_, p)| matches!(p.opcode, Opcode::MatMul | Opcode::Gemm)) {
        return Err("there is no product of matrices in it".into());
    }
    let used = |value: &ValueRef<'_>| planned.iter().any(|(_, p)| p.operands.contains(&Some(*value)));
    let (mut given, mut constants) = (region.inputs(), Vec::new());
    for weight in region.weights().into_iter().filter(used) {
        // Shapes are part of the program; matrices stay where the model has them.
        match shape_of(weight) {
            Some(constant) => constants.push((weight, constant)),
            None => given.push(weight),
        }
    }
    let mut program = Program { inputs: given.len() as u32, ..Program::default() };
    let values = given.iter().copied().chain(constants.iter().map(|(value, _)| *value));
    let mut registers: HashMap<u64, u32> = values.map(ValueRef::id).zip(0..).collect();
    program.constants = constants.into_iter().map(|(_, constant)| constant).collect();
    let register = |registers: &HashMap<u64, u32>, value: ValueRef<'_>| {
        registers.get(&value.id()).copied().ok_or("a value comes from nowhere")
    };
    for (index, (node, planned)) in planned.into_iter().enumerate() {
        let mut operands = Vec::new();
        for operand in planned.operands {
            operands.push(operand.map_or(Ok(NONE), |value| register(&registers, value))?);
        }
        let Planned { opcode, ints, floats, .. } = planned;
        program.instructions.push(Instruction { opcode, operands, ints, floats });
        registers.extend(node.output(0).map(|value| (value.id(), program.register(index))));
    }
    for output in region.outputs() {
        program.outputs.push(register(&registers, output)?);
    }
    Ok(Compiled { program, inputs: given.into_iter().map(Port::from).collect() })
}

/// The instruction for a node.
///
/// # Errors
/// Why there is none.
pub(crate) fn instruction(node: NodeRef<'_>) -> Res<Planned<'_>> {
    let (mut operands, mut ints, mut floats) = (node.inputs(), Vec::new(), Vec::new());
    // The caller of a function may give an attribute; then its value is not known here.
    let int = |name: &str| node.int(name).ok_or_else(|| format!("the value of `{name}` is not known"));
    let float = |name: &str| node.float(name).ok_or_else(|| format!("the value of `{name}` is not known"));
    let opcode = match node.op().as_str() {
        "MatMul" => Opcode::MatMul,
        "Gemm" => {
            ints.extend([int("transA")?, int("transB")?]);
            floats.extend([float("alpha")?, float("beta")?]);
            Opcode::Gemm
        }
        "Add" => Opcode::Add,
        "Sub" => Opcode::Sub,
        "Mul" => Opcode::Mul,
        "Div" => Opcode::Div,
        "Relu" => Opcode::Relu,
        "Gelu" => {
            let approximate = node.str("approximate").ok_or("the value of `approximate` is not known")?;
            ints.push(i64::from(approximate == "tanh"));
            Opcode::Gelu
        }
        "Tanh" => Opcode::Tanh,
        "Sigmoid" => Opcode::Sigmoid,
        "Softmax" => {
            ints.push(int("axis")?);
            Opcode::Softmax
        }
        "Reshape" if int("allowzero")? != 0 => {
            return Err("a size of 0 is meant literally".into());
        }
        "Reshape" => Opcode::Reshape,
        "Transpose" => {
            ints = node.ints("perm").ok_or("the axes are reversed")?;
            Opcode::Transpose
        }
        "Squeeze" | "Unsqueeze" => {
            let axes = operands.get(1).copied().flatten().and_then(ValueRef::constant);
            ints = axes.and_then(|axes| axes.ints()).ok_or("the axes are computed")?;
            operands.truncate(1);
            if node.is(op::Squeeze) { Opcode::Squeeze } else { Opcode::Unsqueeze }
        }
        "Gather" => {
            let index = operands.get(1).copied().flatten().and_then(ValueRef::constant);
            let index = index.filter(|i| i.shape.is_empty()).and_then(|i| i.ints());
            let index = index.ok_or("it looks up more than one slice")?;
            ints.push(int("axis")?);
            ints.extend(index);
            operands.truncate(1);
            Opcode::Select
        }
        _ => return Err("the backend does not have the operator".into()),
    };
    // A shape is a vector; all other operands are floats.
    let floats_only = if opcode == Opcode::Reshape { 1 } else { operands.len() };
    if operands.iter().take(floats_only).flatten().any(|value| value.dtype() != Some(DType::F32)) {
        return Err("an operand is not f32".into());
    }
    Ok(Planned { opcode, operands, ints, floats })
}

/// The elements of a constant shape.
fn shape_of(value: ValueRef<'_>) -> Option<Constant> {
    let literal: Literal = value.constant().filter(|l| l.dtype == DType::I64 && l.shape.len() < 2)?;
    let shape = literal.shape.iter().map(|extent| *extent as u32).collect();
    Some(Constant { shape, elements: literal.ints()? })
}
