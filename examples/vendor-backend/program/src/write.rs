//! Programs as bytes.

use crate::{Program, VERSION, hash};

impl Program {
    /// The bytes of the program.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = b"NPUP".to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend([0, 0]);
        let counts = [self.constants.len(), self.instructions.len(), self.outputs.len()];
        put(&mut out, self.inputs);
        counts.iter().for_each(|count| put(&mut out, *count as u32));
        for constant in &self.constants {
            put(&mut out, constant.shape.len() as u32);
            constant.shape.iter().for_each(|extent| put(&mut out, *extent));
            put(&mut out, constant.elements.len() as u32);
            constant.elements.iter().for_each(|n| out.extend(n.to_le_bytes()));
        }
        for instruction in &self.instructions {
            out.extend((instruction.opcode as u16).to_le_bytes());
            out.extend((instruction.operands.len() as u16).to_le_bytes());
            instruction.operands.iter().for_each(|register| put(&mut out, *register));
            put(&mut out, instruction.ints.len() as u32);
            instruction.ints.iter().for_each(|n| out.extend(n.to_le_bytes()));
            put(&mut out, instruction.floats.len() as u32);
            instruction.floats.iter().for_each(|x| out.extend(x.to_le_bytes()));
        }
        self.outputs.iter().for_each(|register| put(&mut out, *register));
        let hash = hash(&out);
        out.extend(hash.to_le_bytes());
        out
    }
}

fn put(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}
