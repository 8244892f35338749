//! Programs from bytes that may be anything.

use crate::{Constant, Instruction, NONE, Opcode, Program, VERSION, hash};

/// The largest count of anything in a program. Nothing is reserved for a count before its items were read.
const MAX_COUNT: u32 = 1 << 24;

impl Program {
    /// Reads a program and checks every number in it.
    ///
    /// # Errors
    /// A sentence about the first thing that is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let body = bytes.len().checked_sub(8).ok_or("it is too short")?;
        let (body, stated) = bytes.split_at(body);
        let mut reader = Reader { rest: body };
        if reader.take::<4>()? != *b"NPUP" {
            return Err("it is not a program".to_owned());
        }
        let version = u16::from_le_bytes(reader.take()?);
        if version != VERSION {
            return Err(format!("it has version {version}, this runtime knows {VERSION}"));
        }
        if stated != hash(body).to_le_bytes() {
            return Err("it is damaged".to_owned());
        }
        reader.take::<2>()?;
        let [inputs, constants, instructions, outputs] =
            [reader.count()?, reader.count()?, reader.count()?, reader.count()?];
        let mut program = Self { inputs, ..Self::default() };
        for index in 0..constants {
            program.constants.push(reader.constant(index)?);
        }
        for index in 0..instructions {
            let instruction = reader.instruction(index, program.register(index as usize))?;
            program.instructions.push(instruction);
        }
        let registers = program.register(program.instructions.len());
        for index in 0..outputs {
            let register = reader.number()?;
            if register >= registers {
                return Err(format!("output {index} is register {register}, of which there are {registers}"));
            }
            program.outputs.push(register);
        }
        if reader.rest.is_empty() { Ok(program) } else { Err("it is too long".to_owned()) }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or("it is cut short")?;
        self.rest = rest;
        Ok(*head)
    }

    fn number(&mut self) -> Result<u32, String> {
        self.take().map(u32::from_le_bytes)
    }

    fn count(&mut self) -> Result<u32, String> {
        let count = self.number()?;
        if count > MAX_COUNT { Err(format!("it counts to {count}")) } else { Ok(count) }
    }

    fn ints(&mut self) -> Result<Vec<i64>, String> {
        (0..self.count()?).map(|_| self.take().map(i64::from_le_bytes)).collect()
    }

    fn constant(&mut self, index: u32) -> Result<Constant, String> {
        let shape: Vec<u32> = (0..self.count()?).map(|_| self.number()).collect::<Result<_, _>>()?;
        let elements = self.ints()?;
        let wanted = match shape.as_slice() {
            [] => 1,
            [extent] => *extent as usize,
            _ => return Err(format!("constant {index} has {} axes", shape.len())),
        };
        if elements.len() != wanted {
            return Err(format!("constant {index} has {} elements for {wanted}", elements.len()));
        }
        Ok(Constant { shape, elements })
    }

    fn instruction(&mut self, index: u32, own: u32) -> Result<Instruction, String> {
        let code = u16::from_le_bytes(self.take()?);
        let opcode = Opcode::of(code).ok_or_else(|| format!("instruction {index} has the opcode {code}"))?;
        let operands = u16::from_le_bytes(self.take()?);
        let operands: Vec<u32> = (0..operands).map(|_| self.number()).collect::<Result<_, _>>()?;
        let ints = self.ints()?;
        let floats: Vec<f32> =
            (0..self.count()?).map(|_| self.take().map(f32::from_le_bytes)).collect::<Result<_, _>>()?;
        if !opcode.takes(operands.len(), ints.len(), floats.len()) {
            return Err(format!("instruction {index} has operands that {opcode:?} does not take"));
        }
        for (place, register) in operands.iter().enumerate() {
            // Only the third operand of a product may be left out.
            if *register == NONE && !(opcode == Opcode::Gemm && place == 2) {
                return Err(format!("instruction {index} lacks an operand"));
            }
            if *register != NONE && *register >= own {
                return Err(format!("instruction {index} reads register {register} too early"));
            }
        }
        Ok(Instruction { opcode, operands, ints, floats })
    }
}
