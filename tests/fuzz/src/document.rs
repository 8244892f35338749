//! The values of a JSON document, to damage one of them.

use serde_json::Value;

/// The number of values in a document, itself included.
pub fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum::<usize>(),
        Value::Object(items) => items.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

/// The value with this number, in depth first; `at` counts down.
pub fn nth<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, at)),
        Value::Object(items) => items.values_mut().find_map(|item| nth(item, at)),
        _ => None,
    }
}
