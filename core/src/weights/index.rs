//! Indices of sharded weights: `model.safetensors.index.json` and `pytorch_model.bin.index.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::{WeightSet, into_result, source};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::files;

/// Longer indices are refused: one takes about a hundred bytes for a tensor.
const MAX_BYTES: u64 = 256 << 20;

#[derive(serde::Deserialize)]
struct Index {
    weight_map: WeightMap,
}

/// Names and their shards. Unlike JSON, an index must not repeat a name.
struct WeightMap {
    shards: Vec<(String, String)>,
    twice: Vec<String>,
}

/// Reads the shards that the index at `path` lists.
///
/// # Errors
/// `OP631` for a damaged index, a shard that is missing or elsewhere, a tensor that is not in its shard;
/// `OP636` for a name that the index lists twice; all of them at once.
pub(super) fn read(path: &Path, key: Option<&str>) -> Result<WeightSet, Report> {
    let place = source::label(path);
    let wrong = |why: String| Diagnostic::error(Code::WEIGHTS_SOURCE, format!("{place} {why}"));
    let unreadable =
        |e: std::io::Error| Diagnostic::error(Code::READ_IO, format!("{place} cannot be read: {e}"));
    let len = std::fs::metadata(path).map_err(unreadable)?.len();
    if len > MAX_BYTES {
        return Err(wrong(format!("has {len} bytes, more than an index can have")).into());
    }
    let text = files::read(path, MAX_BYTES).map_err(unreadable)?;
    let index: Index = serde_json::from_slice(&text).map_err(|e| {
        wrong(format!("is not an index of shards: {e}")).help("an index is JSON with a `weight_map`")
    })?;
    let mut problems = Vec::new();
    if !index.weight_map.twice.is_empty() {
        let message = format!("{place} lists names twice");
        let mut diagnostic = Diagnostic::error(Code::WEIGHTS_TWICE, message);
        diagnostic.notes = index.weight_map.twice;
        problems.push(diagnostic);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let names: BTreeSet<&str> = index.weight_map.shards.iter().map(|(_, shard)| shard.as_str()).collect();
    let mut shards = BTreeMap::new();
    for shard in names {
        let inside = Path::new(shard).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || shard.is_empty() {
            problems.push(wrong(format!("names the shard `{shard}`, which is outside of its folder")));
            continue;
        }
        let file = folder.join(shard);
        if source::is_index(&file) {
            problems.push(wrong(format!("names the shard `{shard}`, which is an index itself")));
            continue;
        }
        if !file.is_file() {
            problems.push(
                wrong(format!("names the shard `{shard}`, which is missing"))
                    .help("download all shards into one folder"),
            );
            continue;
        }
        match source::file(&file, key) {
            Ok(set) => {
                shards.insert(shard, set);
            }
            Err(report) => problems.extend(report.diagnostics),
        }
    }
    let mut set = WeightSet::default();
    set.files.extend(shards.values().flat_map(WeightSet::files).map(Path::to_owned));
    let mut absent = Vec::new();
    for (name, shard) in &index.weight_map.shards {
        let Some(held) = shards.get(shard.as_str()) else { continue };
        match held.given.get(name) {
            Some(given) => {
                problems.extend(set.insert(name.clone(), given.tensor.clone(), &given.place).err());
            }
            None => absent.push((name.clone(), format!("in {shard}"))),
        }
    }
    if !absent.is_empty() {
        let count = absent.len();
        let mut diagnostic = wrong(format!("lists tensors that are not in their shards: {count}"));
        diagnostic.notes = crate::table::grouped(absent);
        problems.push(diagnostic.help("the shards may belong to another release of the model"));
    }
    into_result(problems)?;
    Ok(set)
}

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = WeightMap;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("names with the files that hold them")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<WeightMap, A::Error> {
                let mut map = WeightMap { shards: Vec::new(), twice: Vec::new() };
                let mut seen = BTreeSet::new();
                while let Some((name, shard)) = access.next_entry::<String, String>()? {
                    if seen.insert(name.clone()) {
                        map.shards.push((name, shard));
                    } else {
                        map.twice.push(name);
                    }
                }
                Ok(map)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
