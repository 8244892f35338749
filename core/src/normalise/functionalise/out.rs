//! Replaces overloads that write their results into given tensors: by the functional operator, and a copy.

use smallvec::smallvec;

use super::Rewriter;
use crate::meta;
use crate::normalise::edit::named;
use crate::program::{Arg, Call, Output, TensorType, Val};
use crate::registry::Schema;

impl Rewriter<'_, '_> {
    /// Replaces `call` by one of `target`, whose results are copied into the written arguments.
    pub(super) fn out(&mut self, call: &Call, schema: &Schema, target: &str) -> Result<(), String> {
        self.name_results(call, schema);
        let schemas = self.cx.schemas;
        let Some(functional) = schemas.get(target) else {
            return Err(format!("the schema of `{target}` is not known"));
        };
        let written: Vec<&str> =
            schema.args.iter().filter(|a| a.is_written()).map(|a| a.name.as_str()).collect();
        // An elementwise operator may write the memory that it reads.
        if let Some((a, b)) = self.written_twice(call, schema).filter(|_| !meta::is_pointwise(functional)) {
            return Err(format!("`{a}` and `{b}` show the same memory, and one of them is written"));
        }
        let mut new = call.clone();
        new.target = target.into();
        new.args.retain(|arg| !written.contains(&arg.name.as_str()));
        self.resolve(&mut new);
        new.outputs.clear();
        // A factory creates the contents of the tensor.
        let first = written.first().and_then(|name| call.arg(name)).and_then(Arg::as_value);
        if let Some(own) =
            first.filter(|_| functional.arg("dtype").is_some() && schema.arg("dtype").is_none())
        {
            new.args.push(named("dtype", Arg::DType(self.tensor(own)?.dtype)));
        }
        let (mut casts, mut pending) = (Vec::new(), Vec::new());
        for (i, name) in written.iter().enumerate() {
            let Some(own) = call.arg(name).and_then(Arg::as_value) else {
                return Err(format!("`{name}` is not a tensor"));
            };
            let before = self.current(own);
            let ty = self.tensor(before)?;
            // PyTorch resizes a tensor that does not fit, and records its new shape.
            let Some(Output::Value(recorded)) = call.outputs.get(i) else {
                return Err("its result, which states the shape, is not recorded".to_owned());
            };
            if self.tensor(*recorded)?.shape != ty.shape {
                return Err(format!("it changes the size of `{name}`"));
            }
            let Some(dtype) = meta::dtype_of(&new, functional, i, &self.editor.values) else {
                return Err(format!("the result type of `{target}` is unknown"));
            };
            let val = self.result_for(own, call.outputs.get(i))?;
            if dtype == ty.dtype {
                new.outputs.push(Output::Value(val));
            } else if meta::is_pointwise(functional) {
                let stem = target.split('.').nth(1).unwrap_or(target);
                let wide = self.editor.fresh(stem, TensorType { dtype, ..(*ty).clone() }.into());
                new.outputs.push(Output::Value(wide));
                casts.push(cast(wide, val, &ty, call));
            } else {
                // Other operators may compute in the type of the tensor that they write.
                return Err(format!("`{name}` is {}, but `{target}` returns {dtype}", ty.dtype));
            }
            pending.push((own, val));
        }
        self.editor.calls.push(new);
        self.editor.calls.extend(casts);
        pending.into_iter().try_for_each(|(own, val)| self.assign(own, val, call))
    }
}

fn cast(from: Val, to: Val, ty: &TensorType, call: &Call) -> Call {
    let args = vec![named("self", from), named("dtype", Arg::DType(ty.dtype))];
    let (target, outputs) = ("aten._to_copy.default".into(), smallvec![Output::Value(to)]);
    Call { target, args, outputs, origin: call.origin }
}
