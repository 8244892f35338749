//! Negotiation: the plugin attaches to hosts of every frozen revision of the contract, to a newer one of
//! the same major version, and refuses another major version.

use std::sync::Mutex;

use onnxport_abi::{FINGERPRINTS, HostRoot, PluginRoot, Table, Version, status};
use onnxport_abi::{RSlice, RStr};

use super::Finding;
use super::journal::Journal;
use onnxport_core::host::Validated;
use onnxport_core::host::{CONTRACT, attach};

/// The contract of the host that [`query`] plays.
static PLAYED: Mutex<Version> = Mutex::new(CONTRACT);

pub(super) fn probe(root: &PluginRoot, journal: &mut Journal) {
    let needs = attach::about(root, "unknown").map_or(CONTRACT, |about| about.needs);
    for version in revisions() {
        let check = format!("host {version}");
        journal.step(&check, |_| {
            if version < needs {
                return Some(Finding::skip(&check, format!("the plugin states that it needs {needs}")));
            }
            Some(match play(root, version) {
                status::OK => Finding::pass(&check, "the plugin attaches"),
                status::PANICKED => Finding::fail(&check, "the plugin panics while it is attached"),
                other => Finding::fail(&check, format!("the plugin does not attach (status {other})")).next(
                    "use only functions that the host provides, or state the contract version that the plugin needs",
                ),
            })
        });
    }
    let other = Version { major: CONTRACT.major + 1, minor: 0 };
    let check = format!("host {other}");
    journal.step(&check, |_| {
        Some(match play(root, other) {
            status::OK => Finding::fail(&check, "the plugin attaches to a host of another major version")
                .next("compare the major version of the host's root in `attach`"),
            status::PANICKED => Finding::fail(&check, "the plugin panics instead of refusing"),
            _ => Finding::pass(&check, "the plugin refuses"),
        })
    });
}

/// The frozen revisions, this host's, and one that is newer than both sides know.
fn revisions() -> Vec<Version> {
    let mut found: Vec<Version> = frozen().map(|(version, ..)| version).collect();
    found.extend([CONTRACT, Version { minor: CONTRACT.minor + 1, ..CONTRACT }]);
    found.sort();
    found.dedup();
    found
}

/// Revision, interface and table of every frozen field.
fn frozen() -> impl Iterator<Item = (Version, &'static str, &'static str)> {
    FINGERPRINTS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        let (major, minor) = words.next()?.split_once('.')?;
        let version = Version { major: major.parse().ok()?, minor: minor.parse().ok()? };
        Some((version, words.next()?, words.next()?))
    })
}

fn play(root: &PluginRoot, version: Version) -> u32 {
    if let Ok(mut played) = PLAYED.lock() {
        *played = version;
    }
    // Every played host stays as it is, as a real one does.
    let host: &'static HostRoot = Box::leak(Box::new(HostRoot { version, query }));
    (root.attach)(host)
}

/// The tables of the host that is played: of this host's, the fields that the revision had.
extern "C" fn query(interface: RStr<'_>) -> Table {
    let played = PLAYED.lock().map_or(CONTRACT, |played| *played);
    let full = onnxport_core::session::query(interface);
    if full.pointer.is_null() || played >= CONTRACT {
        return Table { version: if full.pointer.is_null() { full.version } else { played }, ..full };
    }
    let of_host = |table: &str| table.ends_with("Host") || table.ends_with("HostTable");
    let fields = frozen()
        .filter(|(since, name, table)| *since <= played && *name == interface.validated() && of_host(table))
        .count();
    let Some(prints) = full.layout.validated().get(..fields).filter(|prints| !prints.is_empty()) else {
        return Table::NONE;
    };
    Table { version: played, layout: RSlice::from_slice(prints), ..full }
}
