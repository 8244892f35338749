//! The tensors of programs and of files of weights, as a table.

use std::collections::HashMap;

use crate::program::{InputKind, Program};
use crate::table::{Drafts, TensorKind, WeightTable};
use crate::weights::WeightSet;

impl From<&Program> for WeightTable {
    /// The parameters, buffers and constants of a program.
    fn from(program: &Program) -> Self {
        let mut drafts = Drafts::default();
        let specs = &program.signature.inputs;
        let kinds: HashMap<&str, TensorKind> = specs
            .iter()
            .filter_map(|spec| {
                let kind = match &spec.kind {
                    InputKind::Parameter(_) => TensorKind::Parameter,
                    InputKind::Buffer { .. } => TensorKind::Buffer,
                    _ => TensorKind::Constant,
                };
                Some((spec.kind.tensor_name()?, kind))
            })
            .collect();
        for (name, tensor) in &program.tensors {
            let kind = kinds.get(name.as_str()).copied().unwrap_or(TensorKind::Unused);
            drafts.push(name, kind, tensor, None);
        }
        drafts.into_table()
    }
}

impl From<&WeightSet> for WeightTable {
    /// The tensors of files of weights.
    fn from(set: &WeightSet) -> Self {
        let mut drafts = Drafts::default();
        for name in set.names() {
            if let Some(tensor) = set.get(name) {
                drafts.push(name, TensorKind::Tensor, tensor, None);
            }
        }
        drafts.into_table()
    }
}
