//! Every tensor of a planned model: what happens to it, and where it goes.

use std::collections::HashMap;
use std::path::Path;

use super::Prepared;
use super::plan::{Extent, Place};
use crate::inspect::{Drafts, PlaceSummary, WeightTable};

pub(super) fn of(prepared: &Prepared<'_>) -> WeightTable {
    let Prepared { target, weights, places, .. } = prepared;
    let mut drafts = Drafts::default();
    let mut stored: HashMap<Extent, &str> = HashMap::new();
    for (weight, place) in weights.iter().zip(&places.places) {
        let place = match place {
            Place::Left => PlaceSummary::LeftOut,
            Place::Inline => PlaceSummary::Model,
            Place::Unbound(_) => PlaceSummary::Unbound,
            Place::Data(extent) => {
                let first = *stored.entry(*extent).or_insert(weight.name);
                PlaceSummary::Data {
                    file: target.data.get(extent.file).cloned().unwrap_or_default(),
                    offset: extent.offset,
                    length: extent.len,
                    tied: (first != weight.name).then(|| first.to_owned()),
                }
            }
            Place::Pointed(extent) => {
                let location = places.pointed.get(extent.file).map_or("", |file| file.location.as_str());
                PlaceSummary::Pointed {
                    file: target.model.parent().unwrap_or(Path::new("")).join(location),
                    offset: extent.offset,
                    length: extent.len,
                }
            }
        };
        drafts.push(weight.name, weight.kind, weight.data, Some(place));
    }
    drafts.into_table()
}
