//! The library itself: its file, its root, its description, its panic guard.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use onnxport_abi::RStr;
use onnxport_abi::about::AboutTable;
use onnxport_abi::{Interface, PANIC_PROBE, PluginRoot};
use onnxport_core::host::attach::About;

use super::Finding;
use super::journal::{Description, Event, Journal};
use super::probe::version;
use onnxport_core::host::{CONTRACT, Source, attach, load};
use onnxport_core::session::HOST_ROOT;

pub(super) fn probe(library: &Path, journal: &mut Journal) {
    let mut root: Option<PluginRoot> = None;
    journal.step("load", |_| {
        let start = Instant::now();
        Some(match load::load(library) {
            Ok((found, _)) => {
                root = Some(found);
                Finding::pass(
                    "load",
                    format!("a library with the root of a plugin, in {}", ms(start.elapsed())),
                )
            }
            Err(problem) => Finding::from_diagnostic("load", &problem),
        })
    });
    let Some(root) = root else { return };
    let mut about = None;
    journal.step("about", |_| {
        Some(match attach::about(&root, "unknown") {
            Ok(table) => {
                let finding = identity(&table);
                about = Some(table);
                finding
            }
            Err(problem) => Finding::from_diagnostic("about", &problem),
        })
    });
    let Some(about) = about else { return };
    journal.step("provides", |_| Some(provides(&root, &about)));
    journal.step("panic guard", |_| {
        (root.query)(RStr::from_str(PANIC_PROBE));
        Some(Finding::pass("panic guard", "asked to panic, it still answers"))
    });
    journal.step("unknown interface", |_| {
        let answer = (root.query)(RStr::from_str("onnxport.nothing/1"));
        Some(if answer.pointer.is_null() {
            Finding::pass("unknown interface", "is answered with nothing")
        } else {
            Finding::fail("unknown interface", "is answered with a table")
                .next("answer `Table::NONE` for every name that the plugin does not know")
        })
    });
    let mut attached = false;
    let mut options: Vec<&str> = Vec::new();
    journal.step("attach", |_| {
        let mut plugin = attach::plugin(&about, Source::Flag, Some(library.to_owned()));
        let start = Instant::now();
        Some(match attach::attach(&mut plugin, &root, &HOST_ROOT) {
            Ok(()) => {
                attached = true;
                options = plugin.options.iter().map(|option| option.name).collect();
                Finding::pass(
                    "attach",
                    format!("to this host of contract {CONTRACT}, in {}", ms(start.elapsed())),
                )
            }
            Err(problem) => Finding::from_diagnostic("attach", &problem),
        })
    });
    if attached {
        // Invalid options make the host refuse the plugin.
        let listed = if options.is_empty() { "the plugin takes none".to_owned() } else { options.join(", ") };
        journal.step("options", |_| Some(Finding::pass("options", listed)));
        journal.write(&Event::Description(Description {
            id: about.id.to_owned(),
            version: about.version.to_owned(),
            contract: version(about.contract),
            provides: about.provides.iter().map(|name| (*name).to_owned()).collect(),
        }));
    }
}

/// Milliseconds.
pub(super) fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn identity(about: &About) -> Finding {
    let id = about.id;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if id.is_empty() || !id.chars().all(plain) {
        return Finding::fail("about", format!("the id `{id}` is not of small letters, digits, `_` and `-`"))
            .next("diagnostics, `--use` and manifests name the plugin by it");
    }
    if about.version.is_empty() {
        return Finding::fail("about", "the plugin has no version").next("state one, such as `0.1.0`");
    }
    if about.needs > about.contract {
        let (needs, contract) = (about.needs, about.contract);
        return Finding::fail("about", format!("it is built with contract {contract} and needs {needs}"));
    }
    let About { version, contract, needs, .. } = about;
    Finding::pass("about", format!("`{id}` {version}, contract {contract}, works with hosts from {needs}"))
}

/// Every interface that the plugin claims must be answered.
fn provides(root: &PluginRoot, about: &About) -> Finding {
    let names = &about.provides;
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(*name) {
            return Finding::fail("provides", format!("`{name}` is listed twice"));
        }
        let form = name.rsplit_once('/').filter(|(_, version)| version.parse::<u32>().is_ok());
        if form.is_none() || *name == AboutTable::NAME {
            return Finding::fail("provides", format!("`{name}` is not an interface such as `lowering/1`"));
        }
        let table = (root.query)(RStr::from_str(name));
        if table.pointer.is_null() || table.size == 0 {
            return Finding::fail("provides", format!("`{name}` is listed, but not answered"))
                .next("list exactly the interfaces that `query` answers");
        }
        if table.version != about.contract {
            let (table, contract) = (table.version, about.contract);
            return Finding::fail(
                "provides",
                format!("`{name}` is of contract {table}, the plugin of {contract}"),
            );
        }
    }
    if names.is_empty() {
        return Finding::fail("provides", "the plugin provides nothing");
    }
    Finding::pass("provides", names.join(", "))
}
