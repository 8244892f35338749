//! Rewrites a call that writes to its arguments as a functional call and new values.

use std::sync::Arc;

use smallvec::smallvec;

use super::alias::Share;
use super::twin::{self, Twin};
use super::{Rewriter, View};
use crate::meta;
use crate::normalise::edit::named;
use crate::program::{Arg, Call, Output, Outputs, TensorType, Val, ValueType};
use crate::registry::{Schema, SchemaArg};

impl Rewriter<'_, '_> {
    /// Replaces `call`, whose operator writes to at least one argument.
    pub(super) fn write(&mut self, call: Call, schema: &Schema) -> Result<(), String> {
        let twin = twin::of(schema, self.cx.schemas);
        let own = call.args.first().and_then(|a| a.arg.as_value());
        match (twin, own) {
            (Twin::Refused(reason), _) => {
                self.name_results(&call, schema);
                Err(reason.to_owned())
            }
            (Twin::View(target), Some(own)) => self.metadata(call, &target, own),
            (Twin::Copy, Some(own)) => self.copy(&call, schema, own),
            (Twin::Out(target), _) => self.out(&call, schema, &target),
            (Twin::Values(target), _) => self.values(&call, schema, &target),
            (Twin::Functional(target), _) => self.appended(&call, schema, target),
            _ => {
                let target = call.target.to_string();
                self.appended(&call, schema, target)
            }
        }
    }

    pub(super) fn resolve(&mut self, call: &mut Call) {
        for arg in &mut call.args {
            arg.arg.map_values(&mut |v| self.current(v));
        }
    }

    /// Makes every result that is a written argument denote that argument.
    pub(super) fn name_results(&mut self, call: &Call, schema: &Schema) {
        for (output, ret) in call.outputs.iter().zip(&schema.returns) {
            let Some(alias) = &ret.alias else { continue };
            let arg = schema.args.iter().find(|a| a.alias.as_ref().is_some_and(|a| a.set == alias.set));
            let Some(arg) = arg.and_then(|a| call.arg(&a.name)) else { continue };
            let (mut from, mut to) = (Vec::new(), Vec::new());
            arg.each_value(&mut |v| from.push(v));
            output.each_value(&mut |v| to.push(v));
            for (from, to) in from.into_iter().zip(to) {
                if let Some(object) = self.memory.object(from) {
                    self.memory.name(to, object);
                }
            }
        }
    }

    pub(super) fn assign(&mut self, val: Val, new: Val, call: &Call) -> Result<(), String> {
        let Some(object) = self.memory.object(val) else {
            return Err("the tensor that it writes to is not known".to_owned());
        };
        self.memory.write(object, new, call.origin, &mut self.editor, self.symbols)
    }

    pub(super) fn tensor(&self, val: Val) -> Result<Arc<TensorType>, String> {
        match self.editor.ty(val) {
            ValueType::Tensor(ty) => Ok(Arc::clone(ty)),
            _ => Err("the value that it writes to is not a tensor".to_owned()),
        }
    }

    /// An operator such as `t_`: the same memory, seen in another way by all names of the tensor.
    fn metadata(&mut self, mut call: Call, target: &str, own: Val) -> Result<(), String> {
        let Some(object) = self.memory.object(own) else { return Ok(()) };
        call.target = target.into();
        let result = match call.outputs.first() {
            Some(Output::Value(val)) => *val,
            _ if target == "aten.detach.default" => return Ok(()),
            _ => return Err("its result, which states the new shape, is not recorded".to_owned()),
        };
        let schema = self.cx.schemas.get(target);
        let view = match self.share(&call, schema) {
            Share::Views { views, .. } => views.into_iter().next().map(|(_, view)| view),
            _ => None,
        };
        match view {
            Some(View::Same) => {}
            Some(view) => {
                self.resolve(&mut call);
                self.reshaped.push((object, call.origin));
                let objects = self.memory.views(object, call.clone(), vec![(result, view)]);
                self.editor.calls.push(call);
                if let [other] = objects.as_slice() {
                    self.memory.become_other(object, *other);
                }
            }
            None => return Err("its arguments are not understood".to_owned()),
        }
        self.memory.name(result, object);
        Ok(())
    }

    /// `copy_`: the new value is the source, in the element type and shape of the tensor.
    fn copy(&mut self, call: &Call, schema: &Schema, own: Val) -> Result<(), String> {
        let Some(source) = call.arg("src").and_then(Arg::as_value) else {
            return Err("its source is not a tensor".to_owned());
        };
        let (source, before) = (self.current(source), self.current(own));
        let (ty, from) = (self.tensor(before)?, self.tensor(source)?);
        let result = ValueType::Tensor(ty.clone());
        let new = if ty.shape != from.shape {
            let args = vec![named("self", before), named("src", source)];
            self.emit_as(call, "aten.copy.default", args, result)
        } else if ty.dtype != from.dtype {
            let args = vec![named("self", source), named("dtype", Arg::DType(ty.dtype))];
            self.emit_as(call, "aten._to_copy.default", args, result)
        } else {
            source
        };
        self.name_results(call, schema);
        self.assign(own, new, call)
    }

    /// Emits a call whose result takes the name of the first result of `call`.
    fn emit_as(
        &mut self,
        call: &Call,
        target: &str,
        args: Vec<crate::program::NamedArg>,
        ty: ValueType,
    ) -> Val {
        let val = match call.outputs.first() {
            Some(Output::Value(val)) => *val,
            _ => return self.editor.emit(target, args, ty, call.origin),
        };
        let (outputs, origin) = (smallvec![Output::Value(val)], call.origin);
        self.editor.calls.push(Call { target: target.into(), args, outputs, origin });
        val
    }

    /// A twin whose results are the new values.
    fn values(&mut self, call: &Call, schema: &Schema, target: &str) -> Result<(), String> {
        let mut new = call.clone();
        new.target = target.into();
        let first = self.cx.schemas.get(target).and_then(|s| s.args.first()).map(|a| a.name.clone());
        if let (Some(arg), Some(name)) = (new.args.first_mut(), first) {
            // `dropout_(self)` and `dropout(input)`.
            if schema.arg(&name).is_none() {
                arg.name = name.into();
            }
        }
        self.resolve(&mut new);
        let written: Vec<&str> =
            schema.args.iter().filter(|a| a.is_written()).map(|a| a.name.as_str()).collect();
        let mut pending = Vec::new();
        let mut outputs = Outputs::new();
        for (i, name) in written.iter().enumerate() {
            let Some(arg) = call.arg(name) else { return Err(format!("`{name}` is not stated")) };
            match arg {
                Arg::Value(own) => {
                    let val = self.result_for(*own, call.outputs.get(i))?;
                    pending.push((*own, val));
                    outputs.push(Output::Value(val));
                }
                Arg::List(items) => {
                    let vals: Vec<Val> = items.iter().filter_map(Arg::as_value).collect();
                    let mut list = Vec::with_capacity(vals.len());
                    for own in vals {
                        let val = self.result_for(own, None)?;
                        pending.push((own, val));
                        list.push(Some(val));
                    }
                    outputs.push(Output::List(list));
                }
                _ => return Err(format!("`{name}` is not a tensor")),
            }
        }
        new.outputs = outputs;
        let computed = match pending.as_slice() {
            [(own, _)] => self.computed_type(&new, *own)?,
            _ => None,
        };
        if let (Some(ty), Some((_, val))) = (computed, pending.first()) {
            let dtype = self.tensor(*val)?.dtype;
            let stem = target.split('.').nth(1).unwrap_or(target);
            let wide = self.editor.fresh(stem, ty.into());
            new.outputs = smallvec![Output::Value(wide)];
            self.editor.calls.push(new);
            let args = vec![named("self", wide), named("dtype", Arg::DType(dtype))];
            let (target, outputs) = ("aten._to_copy.default".into(), smallvec![Output::Value(*val)]);
            self.editor.calls.push(Call { target, args, outputs, origin: call.origin });
        } else {
            self.editor.calls.push(new);
        }
        self.name_results(call, schema);
        for (own, val) in pending {
            self.assign(own, val, call)?;
        }
        Ok(())
    }

    /// Returns the value for the new contents of `own`: the result that the call records for it, or a fresh one.
    pub(super) fn result_for(&mut self, own: Val, recorded: Option<&Output>) -> Result<Val, String> {
        let name = self.editor.values[own].name.clone();
        self.result_called(&name, own, recorded)
    }

    /// As [`Self::result_for`]; a fresh value is called `name`.
    fn result_called(&mut self, name: &str, own: Val, recorded: Option<&Output>) -> Result<Val, String> {
        let before = self.current(own);
        let ty = self.tensor(before)?;
        if let Some(Output::Value(val)) = recorded
            && self.tensor(*val).is_ok_and(|t| t.shape == ty.shape && t.dtype == ty.dtype)
        {
            return Ok(*val);
        }
        Ok(self.editor.fresh(name, ValueType::Tensor(ty)))
    }

    /// Returns the type of the functional result, if it differs from that of the written tensor.
    fn computed_type(&self, call: &Call, own: Val) -> Result<Option<TensorType>, String> {
        let ty = self.tensor(own)?;
        let schema = self.cx.schemas.get(&call.target);
        let computed = schema.and_then(|schema| meta::computed_dtype(call, schema, &self.editor.values));
        Ok(computed.filter(|dtype| *dtype != ty.dtype).map(|dtype| TensorType { dtype, ..(*ty).clone() }))
    }

    /// Returns an argument that an operator writes, and another one that shares its memory. The elements that the
    /// operator reads there depend on the order in which its kernel works, which no schema states.
    pub(super) fn written_twice<'s>(&self, call: &Call, schema: &'s Schema) -> Option<(&'s str, &'s str)> {
        let mut seen: Vec<(&SchemaArg, usize)> = Vec::new();
        for arg in &schema.args {
            let mut own = Vec::new();
            if let Some(given) = call.arg(&arg.name) {
                given.each_value(&mut |v| own.extend(self.memory.object(v)));
            }
            for object in own {
                let clash = seen.iter().find(|(other, earlier)| {
                    (arg.is_written() || other.is_written()) && self.memory.may_overlap(*earlier, object)
                });
                if let Some((other, _)) = clash {
                    return Some((&other.name, &arg.name));
                }
                seen.push((arg, object));
            }
        }
        None
    }

    /// An operator whose new values follow its own results.
    fn appended(&mut self, call: &Call, schema: &Schema, target: String) -> Result<(), String> {
        if let Some((a, b)) = self.written_twice(call, schema) {
            self.name_results(call, schema);
            return Err(format!("`{a}` and `{b}` show the same memory, and one of them is written"));
        }
        let mut new = call.clone();
        let has_twin = new.target != target;
        new.target = target.into();
        self.resolve(&mut new);
        let mut outputs = Outputs::new();
        for (i, ret) in schema.returns.iter().enumerate() {
            if ret.alias.is_none() {
                outputs.push(call.outputs.get(i).cloned().unwrap_or(Output::None));
            }
        }
        let mut pending = Vec::new();
        for arg in schema.args.iter().filter(|a| a.is_written()) {
            match call.arg(&arg.name) {
                Some(Arg::Value(own)) => {
                    let recorded = schema.returns.iter().position(|r| match (&r.alias, &arg.alias) {
                        (Some(a), Some(b)) => a.set == b.set,
                        _ => false,
                    });
                    let recorded = recorded.and_then(|i| call.outputs.get(i));
                    let val = if has_twin {
                        self.result_called(&arg.name, *own, recorded)?
                    } else {
                        self.result_for(*own, recorded)?
                    };
                    pending.push((*own, val));
                    outputs.push(Output::Value(val));
                }
                Some(Arg::List(items)) => {
                    let mut list = Vec::with_capacity(items.len());
                    for item in items {
                        list.push(match item.as_value() {
                            Some(own) => {
                                let val = self.result_for(own, None)?;
                                pending.push((own, val));
                                Some(val)
                            }
                            None => None,
                        });
                    }
                    outputs.push(Output::List(list));
                }
                _ => outputs.push(Output::None),
            }
        }
        new.outputs = outputs;
        let mut fresh = Vec::new();
        let reuses = |v: &Val| pending.iter().any(|(_, p)| p == v);
        call.outputs.iter().for_each(|o| o.each_value(&mut |v| fresh.push(v)));
        fresh.retain(|v| !reuses(v));
        self.editor.calls.push(new);
        self.name_results(call, schema);
        self.track_roots(fresh);
        for (own, val) in pending {
            self.assign(own, val, call)?;
        }
        Ok(())
    }
}
