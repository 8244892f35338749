//! Return types of lowerings.

use onnxport_abi::RSlice;

use crate::abi::lowering::ABSENT;
use crate::abi::status;
use crate::{Lower, Res, Value};

/// The results of a lowering, one per return of the operator's schema.
pub trait Results {
    /// The values, lists flattened; `None` for a return that is not computed.
    fn values(self) -> Vec<Option<Value>>;

    /// Hands the values to the host.
    ///
    /// # Errors
    /// When an emission failed before, or the number of values is not that of the call's results.
    fn finish(self, cx: &Lower<'_>) -> Res<()>
    where
        Self: Sized,
    {
        let values = self.values();
        if let Some(failure) = cx.take_failure() {
            return Err(failure);
        }
        let expected = cx.result_count();
        if values.len() < expected {
            return Err(format!("the lowering returned {} of {expected} results", values.len()).into());
        }
        let ids: Vec<u32> = values.iter().take(expected).map(|v| v.map_or(ABSENT, |v| v.0)).collect();
        if (cx.host().finish)(cx.cx(), RSlice::from_slice(&ids)) != status::OK {
            return Err("the host refused the results".into());
        }
        Ok(())
    }
}

impl Results for Value {
    fn values(self) -> Vec<Option<Value>> {
        vec![Some(self)]
    }
}

impl Results for () {
    fn values(self) -> Vec<Option<Value>> {
        Vec::new()
    }
}

impl Results for Vec<Value> {
    fn values(self) -> Vec<Option<Value>> {
        self.into_iter().map(Some).collect()
    }
}

impl Results for Vec<Option<Value>> {
    fn values(self) -> Vec<Option<Value>> {
        self
    }
}

impl<const N: usize> Results for [Value; N] {
    fn values(self) -> Vec<Option<Value>> {
        self.into_iter().map(Some).collect()
    }
}

impl Results for (Value, Value) {
    fn values(self) -> Vec<Option<Value>> {
        vec![Some(self.0), Some(self.1)]
    }
}

impl Results for (Value, Value, Value) {
    fn values(self) -> Vec<Option<Value>> {
        vec![Some(self.0), Some(self.1), Some(self.2)]
    }
}
