//! Key-value caches of `transformers` among the sample inputs.

use super::sample_inputs::SampleValue;

/// Returns the parts into which `transformers` flattens a cache whose layers have `keys` and `values`.
pub(super) fn parts(attributes: &[(SampleValue, SampleValue)]) -> Option<Vec<(SampleValue, SampleValue)>> {
    let (SampleValue::List(layers) | SampleValue::Tuple(layers)) = attribute(attributes, "layers")? else {
        return None;
    };
    let column = |name: &str| {
        let part = |layer: &SampleValue| match layer {
            SampleValue::Object { attributes, .. } => attribute(attributes, name).cloned(),
            _ => None,
        };
        layers.iter().map(part).collect::<Option<Vec<_>>>().map(SampleValue::List)
    };
    Some(vec![
        (SampleValue::Str("key_cache".to_owned()), column("keys")?),
        (SampleValue::Str("value_cache".to_owned()), column("values")?),
    ])
}

fn attribute<'a>(attributes: &'a [(SampleValue, SampleValue)], name: &str) -> Option<&'a SampleValue> {
    attributes
        .iter()
        .find(|(key, _)| matches!(key, SampleValue::Str(key) if key == name))
        .map(|(_, value)| value)
}
