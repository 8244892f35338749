//! The transforms and the destination of every tensor of a planned model.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::plan::{Destination, Extent, Plan, Weight};
use crate::table::{DestinationSummary, Drafts, WeightTable};

/// Returns the table of `rows`: names, weights and their positions in `plan`, whose data files are `data`. Files
/// that the model points into are relative to `folder`.
pub(super) fn of<'a>(
    rows: impl Iterator<Item = (String, &'a Weight<'a>, &'a Destination)>,
    plan: &Plan,
    data: &[PathBuf],
    folder: &Path,
) -> WeightTable {
    let mut drafts = Drafts::default();
    let mut stored: HashMap<Extent, String> = HashMap::new();
    for (name, weight, place) in rows {
        let place = match place {
            Destination::Left => DestinationSummary::LeftOut,
            Destination::Inline => DestinationSummary::Model,
            Destination::Unbound(_) => DestinationSummary::Unbound,
            Destination::Data(extent) => {
                let first = stored.entry(*extent).or_insert_with(|| name.clone());
                DestinationSummary::Data {
                    file: data.get(extent.file).cloned().unwrap_or_default(),
                    offset: extent.offset,
                    length: extent.len,
                    tied: (*first != name).then(|| first.clone()),
                }
            }
            Destination::Pointed(extent) => {
                let location = plan.pointed.get(extent.file).map_or("", |file| file.location.as_str());
                DestinationSummary::Pointed {
                    file: folder.join(location),
                    offset: extent.offset,
                    length: extent.len,
                }
            }
        };
        drafts.push(&name, weight.kind, weight.data, Some(place));
    }
    drafts.into_table()
}
