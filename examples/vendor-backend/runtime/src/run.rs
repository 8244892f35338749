//! Running programs.

use std::borrow::Cow;

use npu_program::{NONE, Program};

use crate::ops;
use crate::tensor::{Data, Tensor};

/// Runs `program` and returns its outputs.
///
/// # Errors
/// A sentence when the inputs do not fit the program.
pub fn run<'a>(program: &Program, inputs: Vec<Tensor<'a>>) -> Result<Vec<Tensor<'a>>, String> {
    if inputs.len() != program.inputs as usize {
        return Err(format!("the program takes {} inputs and got {}", program.inputs, inputs.len()));
    }
    let constants = program.constants.iter().map(|constant| Tensor {
        dims: constant.shape.iter().map(|extent| *extent as usize).collect(),
        data: Data::Ints(Cow::Owned(constant.elements.clone())),
    });
    let mut registers: Vec<Tensor<'a>> = inputs.into_iter().chain(constants).collect();
    for (index, instruction) in program.instructions.iter().enumerate() {
        // Decoding checked that the registers exist by now.
        let operands: Vec<Option<&Tensor<'_>>> =
            instruction.operands.iter().map(|r| (*r != NONE).then(|| &registers[*r as usize])).collect();
        let result = ops::run(instruction, &operands)
            .map_err(|why| format!("instruction {index}, {:?}: {why}", instruction.opcode))?;
        registers.push(result);
    }
    Ok(program.outputs.iter().map(|register| registers[*register as usize].clone()).collect())
}
