//! The stored forms of weights: changes on their way into a model.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::ir::Model;

/// Weights with the same transforms.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct WeightForm {
    /// The transforms in order: `cast f16`; `as it is`, or `a view of it`, if nothing is computed.
    pub form: String,
    /// The number of weights.
    pub tensors: usize,
    /// Their size in the model in bytes.
    pub bytes: u64,
}

impl WeightForm {
    /// Returns the forms of the initializers of a model, sorted.
    pub fn from_model(model: &Model) -> Vec<Self> {
        let mut found: BTreeMap<String, (usize, u64)> = BTreeMap::new();
        for initializer in &model.graph.initializers {
            let (base, transforms) = initializer.data.transforms();
            let mut steps: Vec<String> = transforms.iter().map(|transform| transform.describe()).collect();
            if steps.is_empty() {
                let is_view = base.strides.is_some() || base.offset > 0;
                steps.push(if is_view { "a view of it" } else { "as it is" }.to_owned());
            }
            let row = found.entry(steps.join(", ")).or_default();
            row.0 += 1;
            row.1 = row.1.saturating_add(initializer.data.byte_len().unwrap_or(0));
        }
        let form = |(form, (tensors, bytes))| Self { form, tensors, bytes };
        found.into_iter().map(form).collect()
    }
}
