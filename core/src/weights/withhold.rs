//! Removes the weights of programs.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::{InputKind, Program};
use crate::tensor::{Source, Unbound};

/// Removes the bytes of the state dict, parameters and persistent buffers, from `program`, as if it had
/// been saved without them. Which tensors share memory stays known; other buffers and constants keep their
/// bytes, since no checkpoint has them. Returns the number of emptied tensors.
pub fn withhold(program: &mut Program) -> usize {
    let kinds = program.signature.inputs.iter().map(|spec| &spec.kind);
    let in_checkpoints = kinds
        .filter(|kind| matches!(kind, InputKind::Parameter(_) | InputKind::Buffer { persistent: true, .. }));
    let names: BTreeSet<String> =
        in_checkpoints.filter_map(|kind| kind.tensor_name().map(str::to_owned)).collect();
    // The first tensor of each storage, by file and offset, or by address.
    let mut storages: BTreeMap<(usize, u64), String> = BTreeMap::new();
    let mut taken = 0;
    for (name, tensor) in &mut program.tensors {
        let memory = match &tensor.source {
            Source::Mapped { file, offset, .. } => (file.id(), *offset),
            Source::Lent(memory) => (memory.id(), 0),
            Source::Inline(bytes) => (usize::MAX, bytes.as_ptr() as u64),
            _ => continue,
        };
        if !names.contains(name) {
            continue;
        }
        let storage = storages.entry(memory).or_insert_with(|| format!("of {name}")).clone();
        let (dtype, shape) = (tensor.dtype, tensor.shape.clone());
        let (offset, strides) = (tensor.offset, tensor.strides.clone());
        *tensor = Unbound { name: name.clone(), storage, dtype, shape, offset, strides }.into_tensor();
        taken += 1;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{DType, LazyTensor};

    #[test]
    fn what_a_state_dict_holds_is_taken_and_ties_stay() {
        let text = "\
graph {
  input %a: f32[2] = parameter \"a\"
  input %b: f32[2] = parameter \"b\"
  input %c: f32[2] = buffer \"c\"
  input %d: f32[2] = buffer \"d\" nonpersistent
  output %a = user
}
";
        let mut program = Program::parse(text).unwrap();
        let shared = LazyTensor::inline(DType::F32, vec![2], vec![0; 8]);
        program.tensors.insert("a".to_owned(), shared.clone());
        program.tensors.insert("b".to_owned(), shared);
        for name in ["c", "d"] {
            program.tensors.insert(name.to_owned(), LazyTensor::inline(DType::F32, vec![2], vec![0; 8]));
        }
        assert_eq!(withhold(&mut program), 3);
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| &program.tensors[name]);
        assert!(a.same_bytes(b) && !a.same_bytes(c) && d.unbound().is_none());
        assert_eq!(withhold(&mut program), 0);
    }
}
