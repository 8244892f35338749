//! A program in the memory of the process that exported it, in the parts of an archive.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::payload::Payloads;
use super::view::{Claim, lent};
use super::{Archive, dim_names, finish, guard_lines, program_of};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::tensor::{DType, LentMemory};

/// The name of the JSON in diagnostics, as in an archive.
const PROGRAM: &str = "models/model.json";

/// A program in parts.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The JSON of PyTorch's serializer.
    pub program: Vec<u8>,
    /// Parameters and buffers by their names. Those without a tensor have no bytes: they are fake.
    pub weights: IndexMap<String, Option<GivenTensor>>,
    /// Constants and non-persistent buffers, in the same way.
    pub constants: IndexMap<String, Option<GivenTensor>>,
    /// Names for symbols of the program.
    pub dims: BTreeMap<String, String>,
    /// Python stack traces by the guards that they asked for.
    pub guards: BTreeMap<String, String>,
}

/// A strided tensor in lent memory.
#[derive(Clone, Debug)]
pub struct GivenTensor {
    /// The element type.
    pub dtype: DType,
    /// The sizes, outermost first.
    pub shape: Vec<u64>,
    /// Elements to step per axis.
    pub strides: Vec<u64>,
    /// Elements to skip from the start of the memory.
    pub offset: u64,
    /// The whole storage. Tensors of one storage share the loan.
    pub memory: LentMemory,
}

impl GivenTensor {
    /// Returns the element type with PyTorch's name `name`, such as `float32`; `None` for those that no model has.
    pub fn dtype(name: &str) -> Option<DType> {
        super::pickle::dtype(name)
    }
}

/// Reads a program from its parts. Its tensors are not copied.
///
/// # Errors
/// As [`read`](super::read), except for those about files.
pub fn from_parts(parts: Parts) -> Result<Archive, Report> {
    let Parts { program, weights, constants, dims, guards } = parts;
    let mut program = program_of(&program, PROGRAM)?;
    dim_names::rename(dims, &mut program);
    guard_lines::add(&guards, &mut program);
    let mut payloads = Payloads::default();
    let mut loans = BTreeSet::new();
    for (name, given) in weights.into_iter().chain(constants) {
        if payloads.tensors.contains_key(&name) || payloads.weightless.contains(&name) {
            let message = format!("the tensor `{name}` is given twice");
            payloads.problems.push(Diagnostic::error(Code::READ_PAYLOAD, message));
            continue;
        }
        let Some(GivenTensor { dtype, shape, strides, offset, memory }) = given else {
            payloads.weightless.insert(name);
            continue;
        };
        if loans.insert(memory.id()) {
            payloads.bytes = payloads.bytes.saturating_add(memory.bytes().len() as u64);
        }
        match lent(Claim { dtype, shape, strides, offset }, memory, &format!("`{name}`")) {
            Ok(tensor) => {
                payloads.tensors.insert(name, tensor);
            }
            Err(problem) => payloads.problems.push(problem),
        }
    }
    finish(program, payloads, None, None)
}
