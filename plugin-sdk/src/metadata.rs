//! Metadata of the nodes that a lowering emits.

use onnxport_abi::{RStr, status};

use crate::{Emit, Lower, Value};

impl Lower<'_> {
    /// Puts an entry into the metadata of the node that computes `value`. An entry with the same key is replaced; those
    /// that the host writes, such as the module, stay as they are.
    ///
    /// Like emitting, this never fails in the author's code: if `value` is an input or a constant, or `key` is empty, the
    /// call is refused.
    pub fn metadata(&self, value: Value, key: &str, text: &str) {
        let answer = (self.host().metadata)(self.cx(), value.0, RStr::from_str(key), RStr::from_str(text));
        match answer {
            status::OK => {}
            status::REFUSED => {
                self.fail(format!(
                    "no node can have the metadata `{key}`: the value is an input or a constant"
                ));
            }
            _ => {
                self.fail(format!("the host refused the metadata `{key}`"));
            }
        }
    }
}
