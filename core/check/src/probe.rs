//! The process of a probe.

use onnxport_core::host::Validated;
use std::collections::BTreeMap;
use std::path::PathBuf;

use onnxport_abi::{PluginRoot, Version};

use super::interfaces::{self, Subject};
use super::journal::Journal;
use super::{launch, library, limits, revisions};
use onnxport_core::diagnose::Diagnostic;
use onnxport_core::host::{Source, attach, load, options};
use onnxport_core::session::HOST_ROOT;

/// The task of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which probe: `library`, `revisions` or an interface.
    pub name: String,
    /// The library.
    pub library: PathBuf,
    /// The file for its findings.
    pub journal: PathBuf,
    /// How many of its steps an earlier process did.
    pub skip: usize,
}

/// Does the probe. `linked` are plugins whose schemas describe operators that the library may lower.
///
/// # Errors
/// When the journal cannot be written. Problems of the library are in the journal.
pub fn probe(probe: &Probe, linked: &[&'static PluginRoot]) -> Result<(), Diagnostic> {
    limits::set();
    let mut journal = Journal::create(&probe.journal, probe.skip).map_err(|error| launch::problem(&error))?;
    match probe.name.as_str() {
        "library" => library::probe(&probe.library, &mut journal),
        "revisions" => revisions::probe(&load::load(&probe.library)?.0, &mut journal),
        name => {
            let (root, said) = load::load(&probe.library)?;
            let about = attach::about(&root, said)?;
            let mut plugin = attach::plugin(&about, Source::Flag, Some(probe.library.clone()));
            attach::attach(&mut plugin, &root, &HOST_ROOT)?;
            // With its defaults. One that needs an option goes on without, and may refuse calls.
            let _ = options::configure(&plugin, &BTreeMap::new());
            let mut schemas = Vec::new();
            for root in linked {
                let about = attach::about(root, "linked in")?;
                let mut other = attach::plugin(&about, Source::Linked, None);
                attach::attach(&mut other, root, &HOST_ROOT)?;
                schemas.extend(other.lowering.map(|table| table.schemas.validated()));
            }
            let subject = Subject { plugin, schemas };
            if let Some(interface) = interfaces::ALL.iter().find(|interface| interface.name == name) {
                (interface.probe)(&subject, &mut journal);
            }
        }
    }
    Ok(())
}

/// A version as manifests spell it.
pub(super) fn version(version: Version) -> String {
    version.to_string()
}
