//! `cargo xtask imports`: who imports whom, held against the order that ARCHITECTURE.md draws.
//!
//! Rooms are the crates of the workspace and the top-level modules of the crates whose modules have an order
//! too. A room may import from the rows above its own and from nothing else, so that there is no cycle.

mod crates;
mod order;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use order::Order;

/// The imports of each room, each with one source location.
type Imports = BTreeMap<String, BTreeMap<String, String>>;

/// The crates whose modules have an order, and where they are.
const ORDERED: [(&str, &str); 4] = [
    ("onnxport-ir", "core/ir/src"),
    ("onnxport-core", "core/src"),
    ("onnxport-requests", "core/requests/src"),
    ("onnxport", "cli/src"),
];

/// The name of the order of crates.
const CRATES: &str = "crates";

/// Prints the imports of every room. Returns whether they keep to the order.
pub(crate) fn run(root: &Path) -> Result<bool, String> {
    let orders = read(root)?;
    for (name, order, imports) in measured(root, &orders)? {
        println!("{name}");
        for room in order.rooms() {
            let from: BTreeSet<&str> =
                imports.get(room).into_iter().flat_map(|i| i.keys().map(String::as_str)).collect();
            let from: Vec<&str> = from.into_iter().collect();
            println!("  {room} <- {}", if from.is_empty() { "nothing".to_owned() } else { from.join(" ") });
        }
    }
    let found = violations(root)?;
    for line in &found {
        println!("{line}");
    }
    Ok(found.is_empty())
}

/// Every import against the order, as sentences.
pub(crate) fn violations(root: &Path) -> Result<Vec<String>, String> {
    let orders = read(root)?;
    let mut found = Vec::new();
    for (name, order, imports) in measured(root, &orders)? {
        found.extend(judge(name, order, &imports));
    }
    Ok(found)
}

fn judge(name: &str, order: &Order, imports: &Imports) -> Vec<String> {
    let mut found = Vec::new();
    for (room, from) in imports {
        let Some(row) = order.row(room) else {
            found.push(format!("{name}: ARCHITECTURE.md gives `{room}` no place in the order of imports"));
            continue;
        };
        for (other, place) in from {
            if order.row(other).is_none_or(|above| above >= row) {
                found.push(format!("{name}: `{room}` imports `{other}`, which is not above it: {place}"));
            }
        }
    }
    let gone = order.rooms().filter(|room| !imports.contains_key(*room));
    found.extend(gone.map(|room| format!("{name}: ARCHITECTURE.md places `{room}`, which is not there")));
    found
}

fn read(root: &Path) -> Result<BTreeMap<String, Order>, String> {
    let text =
        fs::read_to_string(root.join("ARCHITECTURE.md")).map_err(|e| format!("ARCHITECTURE.md: {e}"))?;
    order::parse(&text)
}

fn measured<'a>(
    root: &Path,
    orders: &'a BTreeMap<String, Order>,
) -> Result<Vec<(&'static str, &'a Order, Imports)>, String> {
    let of =
        |name: &str| orders.get(name).ok_or_else(|| format!("ARCHITECTURE.md draws no order of `{name}`"));
    let mut all = vec![(CRATES, of(CRATES)?, crates::imports(root)?)];
    for (name, folder) in ORDERED {
        all.push((name, of(name)?, source::imports(root, folder)?));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{Imports, judge, order};

    fn found(imports: &[(&str, &[&str])]) -> Vec<String> {
        let order = &order::parse("```imports\nc\n  a b\n  d\n```\n").expect("an order")["c"];
        let imports: Imports = imports
            .iter()
            .map(|(room, from)| {
                (room.to_string(), from.iter().map(|f| (f.to_string(), "x.rs:1".to_owned())).collect())
            })
            .collect();
        judge("c", order, &imports)
    }

    #[test]
    fn rooms_import_from_above_only() {
        assert_eq!(found(&[("a", &[]), ("b", &[]), ("d", &["a", "b"])]), Vec::<String>::new());
        let upwards = found(&[("a", &["d"]), ("b", &[]), ("d", &[])]);
        assert_eq!(upwards, ["c: `a` imports `d`, which is not above it: x.rs:1"]);
        let sideways = found(&[("a", &["b"]), ("b", &[]), ("d", &[])]);
        assert_eq!(sideways, ["c: `a` imports `b`, which is not above it: x.rs:1"]);
    }

    #[test]
    fn every_room_has_a_place_and_every_place_a_room() {
        let new = found(&[("a", &[]), ("b", &[]), ("d", &[]), ("e", &[])]);
        assert_eq!(new, ["c: ARCHITECTURE.md gives `e` no place in the order of imports"]);
        assert_eq!(found(&[("a", &[]), ("b", &[])]), ["c: ARCHITECTURE.md places `d`, which is not there"]);
    }
}
