//! `weights/1`: the lists, calls that no host would make, and the results of quantisers on weights that are made
//! up for them.

mod hostile;
mod quantisers;

use onnxport_abi::RStr;

use super::Subject;
use super::graph::{Named, entries};
use crate::journal::Journal;

pub(super) fn probe(subject: &Subject, journal: &mut Journal) {
    let Some(weights) = &subject.plugin.weights else { return };
    let named = |name: &'static str| Named { name: RStr::from_str(name), opsets: (0, u32::MAX) };
    let lists: [(&str, Vec<Named>); 3] = [
        ("weights/1 tensors", weights.tensors().map(named).collect()),
        ("weights/1 transforms", weights.transforms().map(named).collect()),
        ("weights/1 quantisers", weights.quantisers().map(|(name, _)| named(name)).collect()),
    ];
    if lists.iter().all(|(_, list)| list.is_empty()) {
        entries("weights/1 table", &[], journal);
    }
    for (check, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
        entries(check, list, journal);
    }
    hostile::check(weights, journal);
    quantisers::check(subject, journal);
}
