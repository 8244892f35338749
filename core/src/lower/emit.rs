//! Emits nodes on behalf of plugins.

use super::driver::Driver;
use crate::ir::opset::formal;
use crate::ir::opset::{self, FormalType, OpSchema, TypeTag};
use crate::ir::{Attr, Attribute, ValueId};
use crate::op;
use crate::tensor::DType;

impl Driver<'_> {
    /// Appends a node and returns its outputs; `None` if an attribute refers to one that the enclosing
    /// function does not have, or has with another type.
    ///
    /// Many of ONNX's operators do not accept bfloat16 before opset 22. They then compute in float32, and
    /// the results are cast back to bfloat16.
    pub(super) fn emit(
        &mut self,
        domain: &str,
        op: &str,
        mut inputs: Vec<Option<ValueId>>,
        mut attributes: Vec<Attribute>,
        outputs: usize,
    ) -> Option<Vec<Option<ValueId>>> {
        let referred = self.resolve(domain, op, &mut attributes)?;
        let schema = if domain.is_empty() { opset::lookup(op, self.model.opset()) } else { None };
        let widened = schema.map(|schema| self.widen(schema, &mut inputs)).unwrap_or_default();
        let typed = attributes.iter().any(|a| a.name == "dtype");
        let (block, origin) = (self.block, self.origin);
        let id = self.model.graph.append(block, domain, op, inputs, attributes, outputs, origin);
        self.infer(id);
        for (name, outer) in referred {
            let attributes = &mut self.model.graph.nodes[id].attributes;
            attributes
                .iter_mut()
                .filter(|a| a.name == name)
                .for_each(|a| a.value = Attr::Ref(outer.clone(), None));
        }
        let mut made = self.model.graph.nodes[id].outputs.to_vec();
        if let (Some(schema), false) = (schema, widened.is_empty()) {
            for (index, output) in made.iter_mut().enumerate() {
                let Some(value) = *output else { continue };
                let variable = formal(schema.outputs, index).and_then(|f| match f.ty {
                    FormalType::Var(variable) => Some(variable),
                    FormalType::Fixed(_) => None,
                });
                // An output with its own type variable has the input's type unless another was requested.
                let follows = |v| widened.contains(&v) || (op.ends_with("Like") && !typed);
                if variable.is_some_and(follows) && self.is_of(value, DType::F32) {
                    *output = Some(self.cast(value, DType::BF16));
                }
            }
        }
        Some(made)
    }

    /// Replaces references to attributes of the enclosing function by the values of the current call, so
    /// that types can be inferred; returns the references. Only ONNX's own operators accept them, because
    /// their signatures state the type of an attribute.
    fn resolve(&self, domain: &str, op: &str, attributes: &mut [Attribute]) -> Option<Vec<(String, String)>> {
        let mut referred = Vec::new();
        for attribute in attributes {
            let Attr::Ref(outer, _) = &attribute.value else { continue };
            let schema = opset::lookup(op, self.model.opset()).filter(|_| domain.is_empty())?;
            let kind = schema.attributes.iter().find(|a| a.name == attribute.name)?.kind;
            let given = self.given(outer).filter(|value| kind.fits(value))?.clone();
            referred.push((attribute.name.to_string(), outer.clone()));
            attribute.value = given;
        }
        Some(referred)
    }

    /// Casts the inputs whose type variable does not allow bfloat16, and returns these variables.
    fn widen(&mut self, schema: &OpSchema, inputs: &mut [Option<ValueId>]) -> Vec<u8> {
        let mut widened = Vec::new();
        for (index, input) in inputs.iter_mut().enumerate() {
            let (Some(value), Some(formal)) = (*input, formal(schema.inputs, index)) else { continue };
            let FormalType::Var(variable) = formal.ty else { continue };
            let Some(held) = schema.type_vars.get(usize::from(variable)) else { continue };
            let allowed = held.allowed;
            let lacks = !allowed.contains(&TypeTag::Tensor(DType::BF16));
            if lacks && allowed.contains(&TypeTag::Tensor(DType::F32)) && self.is_of(value, DType::BF16) {
                *input = Some(self.cast(value, DType::F32));
                widened.push(variable);
            }
        }
        widened
    }

    fn is_of(&self, value: ValueId, dtype: DType) -> bool {
        self.model.graph.values[value].ty.dtype() == Some(dtype)
    }

    fn cast(&mut self, value: ValueId, dtype: DType) -> ValueId {
        let to = Attribute { name: "to".into(), value: Attr::Int(i64::from(dtype.onnx())) };
        self.append_with(op::Cast, &[value], vec![to])
    }
}
