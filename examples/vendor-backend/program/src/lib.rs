//! Programs of the pretend accelerator.
//!
//! A program is a list of instructions over numbered registers. The inputs of the node that carries it are
//! the first registers, then come its constants, then one register per instruction. Sizes are not part of
//! a program: they are those of the tensors that it is given.
//!
//! ```text
//! "NPUP"  version u16  zero u16
//! inputs u32  constants u32  instructions u32  outputs u32
//! per constant:     rank u32  extents u32...  count u32  elements i64...
//! per instruction:  opcode u16  operands u16  registers u32...  integers u32  i64...  floats u32  f32...
//! per output:       register u32
//! hash of all bytes before, FNV-1a u64
//! ```
//!
//! All numbers are little-endian. [`Program::decode`] trusts nothing: its result can be run without
//! looking at its numbers again.

mod read;
mod write;

/// The version of the format.
pub const VERSION: u16 = 1;

/// The domain of the operator that carries programs.
pub const DOMAIN: &str = "com.example.npu";

/// The operator.
pub const OPERATOR: &str = "Program";

/// The attribute that holds a program.
pub const ATTRIBUTE: &str = "program";

/// The register of an omitted operand.
pub const NONE: u32 = u32::MAX;

macro_rules! opcodes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal ($operands:pat, $ints:pat, $floats:pat),)*) => {
        /// The operation of an instruction; the semantics are those of ONNX's operator of the same name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Opcode { $($(#[doc = $doc])+ $name = $code),* }

        impl Opcode {
            fn of(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }

            /// Whether an instruction may have so many operands, integers and floats.
            fn takes(self, operands: usize, ints: usize, floats: usize) -> bool {
                match self {
                    $(Self::$name => matches!((operands, ints, floats), ($operands, $ints, $floats)),)*
                }
            }
        }
    };
}

opcodes! {
    /// `a @ b`, with leading axes broadcast.
    MatMul = 1 (2, 0, 0),
    /// `alpha * a' @ b' + beta * c`; integers: `transA`, `transB`; floats: `alpha`, `beta`.
    Gemm = 2 (2 | 3, 2, 2),
    /// `a + b`.
    Add = 3 (2, 0, 0),
    /// `a - b`.
    Sub = 4 (2, 0, 0),
    /// `a * b`.
    Mul = 5 (2, 0, 0),
    /// `a / b`.
    Div = 6 (2, 0, 0),
    /// `max(a, 0)`.
    Relu = 7 (1, 0, 0),
    /// Integer: 1 for the approximation by `tanh`.
    Gelu = 8 (1, 1, 0),
    /// The hyperbolic tangent.
    Tanh = 9 (1, 0, 0),
    /// `1 / (1 + exp(-a))`.
    Sigmoid = 10 (1, 0, 0),
    /// Over the axis of its integer.
    Softmax = 11 (1, 1, 0),
    /// The second operand is the shape; 0 keeps a size, -1 is the rest.
    Reshape = 12 (2, 0, 0),
    /// Integers: the permutation.
    Transpose = 13 (1, _, 0),
    /// Integers: the axes.
    Squeeze = 14 (1, _, 0),
    /// Integers: the axes.
    Unsqueeze = 15 (1, _, 0),
    /// Integers: the axis, then the index of the slice that is taken; the axis goes.
    Select = 16 (1, 2, 0),
}

/// A constant vector or scalar of integers: a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The sizes; none or one.
    pub shape: Vec<u32>,
    /// The elements.
    pub elements: Vec<i64>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// The operation.
    pub opcode: Opcode,
    /// The registers that it reads; [`NONE`] for an operand that is left out.
    pub operands: Vec<u32>,
    /// The integers of the opcode.
    pub ints: Vec<i64>,
    /// The floats of the opcode.
    pub floats: Vec<f32>,
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// How many tensors it is given.
    pub inputs: u32,
    /// The constants.
    pub constants: Vec<Constant>,
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
    /// The registers that it returns.
    pub outputs: Vec<u32>,
}

impl Program {
    /// The register of the result of the instruction at `index`.
    pub fn register(&self, index: usize) -> u32 {
        self.inputs + self.constants.len() as u32 + index as u32
    }
}

/// FNV-1a of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        Program {
            inputs: 2,
            constants: vec![Constant { shape: vec![2], elements: vec![-1, 4] }],
            instructions: vec![
                Instruction { opcode: Opcode::MatMul, operands: vec![0, 1], ints: vec![], floats: vec![] },
                Instruction { opcode: Opcode::Reshape, operands: vec![3, 2], ints: vec![], floats: vec![] },
                Instruction {
                    opcode: Opcode::Gemm,
                    operands: vec![4, 1, NONE],
                    ints: vec![0, 1],
                    floats: vec![1.0, 0.5],
                },
            ],
            outputs: vec![5, 3],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for program in [program(), Program::default()] {
            assert_eq!(Program::decode(&program.encode()), Ok(program));
        }
    }

    #[test]
    fn every_damaged_byte_and_every_cut_is_noticed() {
        let bytes = program().encode();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Program::decode(&damaged).is_err(), "byte {at}");
            assert!(Program::decode(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn wrong_programs_with_a_right_hash_are_refused() {
        let said = |change: fn(&mut Program)| {
            let mut program = program();
            change(&mut program);
            Program::decode(&program.encode()).expect_err("a refusal")
        };
        assert_eq!(said(|p| p.instructions[0].operands[0] = 3), "instruction 0 reads register 3 too early");
        assert_eq!(said(|p| p.instructions[0].operands[0] = NONE), "instruction 0 lacks an operand");
        assert_eq!(
            said(|p| p.instructions[0].ints.push(1)),
            "instruction 0 has operands that MatMul does not take"
        );
        assert_eq!(said(|p| p.outputs[0] = 6), "output 0 is register 6, of which there are 6");
        assert_eq!(said(|p| p.constants[0].shape[0] = 3), "constant 0 has 2 elements for 3");
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = program().encode();
        bytes[4] = 2;
        let end = bytes.len() - 8;
        let hash = hash(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&hash);
        assert_eq!(Program::decode(&bytes), Err("it has version 2, this runtime knows 1".to_owned()));
    }
}
