//! Local functions: operators of a plugin's own, whose bodies the model carries.

use onnxport_abi::{RSlice, RSliceMut};

use crate::abi::lowering::ABSENT;
use crate::abi::status;
use crate::{Emit, Lower, NodeBuilder, Res, Value};

impl<'h> Lower<'h> {
    /// Begins a call of the local function `name` in `domain`; [`NodeBuilder::body`] says what it computes.
    ///
    /// ```ignore
    /// let [y] = cx.function("mylib", "Swish").input(x).float("beta", beta).body(|cx, [x]| {
    ///     let beta = cx.op("Constant").refer("value_float", "beta").one();
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
    /// Those of `body`; when the host is too old, and when the model has a function of this name with another
    /// body.
    pub fn body<const I: usize, const O: usize>(
        self,
        body: impl FnOnce(&Lower<'h>, [Value; I]) -> Res<[Value; O]>,
    ) -> Res<[Value; O]> {
        let Self { cx, node } = self;
        let (Some(begin), Some(end)) = (cx.host().begin_function, cx.host().end_function) else {
            return Err(cx.too_old("a local function"));
        };
        let mut inputs = [ABSENT; I];
        let sink = RSliceMut::from_mut_slice(&mut inputs);
        if cx.emission.lend(&node, |call| begin(cx.cx(), call, sink)) != status::OK {
            let (name, why) =
                (node.op, "a call passes as many values as its body takes, and plain attributes");
            return Err(format!("the host refused a call of the function `{name}`: {why}").into());
        }
        let outputs = body(cx, inputs.map(Value))?;
        let outputs = outputs.map(|value| value.0);
        let mut results = [ABSENT; O];
        let ended = end(cx.cx(), RSlice::from_slice(&outputs), RSliceMut::from_mut_slice(&mut results));
        if ended != status::OK {
            if let Some(failure) = cx.take_failure() {
                return Err(failure);
            }
            return Err(format!("the host refused the body of the function `{}`", node.op).into());
        }
        Ok(results.map(Value))
    }
}
