//! Source locations of nodes, taken from the program that the model was converted from.

use rustc_hash::FxHashMap;

use super::Found;
use crate::diagnose::Origin;
use crate::diff::NodeSite;
use crate::program::Program;

/// Adds the modules and source lines that the model does not state to the locations in `found`.
pub(super) fn locate(found: &mut Found, program: &Program) {
    let origins = program.body.calls.iter().map(|call| program.origins.get(call.origin));
    let known: FxHashMap<&str, &Origin> = origins.map(|origin| (origin.node.as_str(), origin)).collect();
    let place = |place: &mut NodeSite| {
        // Of several merged calls, the first is the one whose result remains.
        let first = place.exported.split('+').next().unwrap_or_default();
        let Some(origin) = known.get(first) else { return };
        if place.module.is_empty() {
            place.module = origin.module.to_string();
        }
        if place.source.is_empty() {
            place.source = origin.user_frame().map(crate::diagnose::Frame::place).unwrap_or_default();
        }
    };
    for row in &mut found.values.rows {
        place(&mut row.place);
    }
    if let Some(fault) = &mut found.fault {
        place(&mut fault.row.place);
        fault.nodes.iter_mut().for_each(place);
    }
}
