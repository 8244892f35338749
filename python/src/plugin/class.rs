//! The stated exactness of rules and passes of Python.

use onnxport_sdk::abi::RStr;
use onnxport_sdk::abi::rules::{ClassRecord, class};

/// The class that states nothing.
pub(super) const UNSTATED: ClassRecord =
    ClassRecord { kind: class::UNSTATED, relative: 0.0, ulps: 0.0, target: RStr::from_str(""), finite: 0 };

/// Results differ by at most `bound`, relative to the larger of 1 and the value; 0 means that they are equal.
pub(super) fn within(bound: f64) -> ClassRecord {
    let kind = if bound == 0.0 { class::EXACT } else { class::BOUNDED };
    ClassRecord { kind, relative: bound, ..UNSTATED }
}
