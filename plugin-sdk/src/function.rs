//! Local functions: operators of a plugin's own, whose bodies the model carries.

use onnxport_abi::{RSlice, RSliceMut};

use crate::abi::lowering::ABSENT;
use crate::abi::status;
use crate::{Emit, Lower, NodeBuilder, Res, Value};

impl<'h> Lower<'h> {
    /// Begins a call of the local function `name` in `domain`; [`NodeBuilder::body`] defines it.
    ///
    /// ```ignore
    /// let [y] = cx.function("mylib", "Swish").input(x).beta(beta).body(|cx, [x]| {
    ///     let beta = cx.op(op::Constant).refer("value_float", "beta").one();
    ///     Ok([x * cx.sigmoid(x * beta)])
    /// })?;
    /// ```
    pub fn function<'c, 'a>(&'c self, domain: &'a str, name: &'a str) -> NodeBuilder<'c, 'a, Self> {
        self.op_in(domain, 1, name)
    }
}

impl<'h> NodeBuilder<'_, '_, Lower<'h>> {
    /// Emits the call of a local function with this body, and returns its outputs.
    ///
    /// The body is a function of its inputs and attributes alone: it uses no value from outside, and refers to
    /// attributes with [`NodeBuilder::refer`]. It is stated for every call, on inputs typed as this call's, and
    /// the model keeps it once; so it must not depend on anything else, unless the name of the function does.
    ///
    /// # Errors
    /// Those of `body`, and when the model has a function of this name with another
    /// body.
    pub fn body<const I: usize, const O: usize>(
        self,
        body: impl FnOnce(&Lower<'h>, [Value; I]) -> Res<[Value; O]>,
    ) -> Res<[Value; O]> {
        let results = self.body_of(I, O, |cx, inputs| {
            let mut own = [Value(ABSENT); I];
            own.copy_from_slice(inputs);
            body(cx, own).map(Vec::from)
        })?;
        let mut own = [Value(ABSENT); O];
        own.copy_from_slice(&results);
        Ok(own)
    }

    /// As [`NodeBuilder::body`], for numbers of inputs and outputs that are known when it runs. The slice has
    /// `inputs` values, and the list `outputs`.
    ///
    /// # Errors
    /// As there, and when `body` returns another number of values.
    pub fn body_of(
        self,
        inputs: usize,
        outputs: usize,
        body: impl FnOnce(&Lower<'h>, &[Value]) -> Res<Vec<Value>>,
    ) -> Res<Vec<Value>> {
        let Self { cx, node, .. } = self;
        let (begin, end) = (cx.host().begin_function, cx.host().end_function);
        let mut formal = vec![ABSENT; inputs];
        let sink = RSliceMut::from_mut_slice(&mut formal);
        if cx.emission.lend(&node, |call| begin(cx.cx(), call, sink)) != status::OK {
            let (name, why) =
                (node.op, "a call passes as many values as its body takes, and plain attributes");
            return Err(format!("the host refused a call of the function `{name}`: {why}").into());
        }
        let formal: Vec<Value> = formal.into_iter().map(Value).collect();
        let made: Vec<u32> = body(cx, &formal)?.into_iter().map(|value| value.0).collect();
        if made.len() != outputs {
            let message = format!("the body of the function `{}` returns {} values", node.op, made.len());
            return Err(format!("{message}, but its call has {outputs}").into());
        }
        let mut results = vec![ABSENT; outputs];
        let ended = end(cx.cx(), RSlice::from_slice(&made), RSliceMut::from_mut_slice(&mut results));
        if ended != status::OK {
            if let Some(failure) = cx.take_failure() {
                return Err(failure);
            }
            return Err(format!("the host refused the body of the function `{}`", node.op).into());
        }
        Ok(results.into_iter().map(Value).collect())
    }
}
