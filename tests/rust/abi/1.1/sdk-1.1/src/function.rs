//! Local functions: operators of a plugin's own, whose bodies the model carries.

use onnxport_abi::abi_stable::std_types::{RSlice, RSliceMut};

use crate::abi::lowering::ABSENT;
use crate::abi::status;
use crate::build::NodeBuilder;
use crate::{Lower, Res, Value};

impl<'h> Lower<'h> {
    /// Begins a call of the local function `name` in `domain`; [`NodeBuilder::body`] says what it computes.
    ///
    /// ```ignore
    /// let [y] = cx.function("mylib", "Swish").input(x).float("beta", beta).body(|cx, [x]| {
    ///     let beta = cx.op("Constant").refer("value_float", "beta").one();
    ///     let scaled = cx.mul(x, beta);
    ///     let gate = cx.sigmoid(scaled);
    ///     Ok([cx.mul(x, gate)])
    /// })?;
    /// ```
    pub fn function<'c, 'a>(&'c mut self, domain: &'a str, name: &'a str) -> NodeBuilder<'c, 'h, 'a> {
        self.op_in(domain, 1, name)
    }
}

impl<'h> NodeBuilder<'_, 'h, '_> {
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
        body: impl FnOnce(&mut Lower<'h>, [Value; I]) -> Res<[Value; O]>,
    ) -> Res<[Value; O]> {
        let host = self.lower.host;
        let (Some(begin), Some(end)) = (host.begin_function, host.end_function) else {
            return Err(self.lower.too_old("a local function"));
        };
        let mut inputs = [ABSENT; I];
        let attributes = self.records();
        let call = self.record(&attributes);
        let begun = begin(self.lower.cx, &call, RSliceMut::from_mut_slice(&mut inputs));
        let name = call.op.as_str().to_owned();
        drop(attributes);
        if begun != status::OK {
            let why = "a call passes as many values as its body takes, and plain attributes";
            return Err(format!("the host refused a call of the function `{name}`: {why}").into());
        }
        let cx = self.lower;
        let outputs = body(cx, inputs.map(Value))?;
        let outputs = outputs.map(|value| value.0);
        let mut results = [ABSENT; O];
        let ended = end(cx.cx, RSlice::from_slice(&outputs), RSliceMut::from_mut_slice(&mut results));
        if ended != status::OK {
            if let Some(failure) = cx.failure.take() {
                return Err(failure);
            }
            return Err(format!("the host refused the body of the function `{name}`").into());
        }
        Ok(results.map(Value))
    }
}
