//! The checks of each interface, one file per interface. To add one: a file with a function of [`Interface::probe`]'s
//! type, and a line in [`ALL`].

mod backend;
mod compare;
mod executor;
mod graph;
mod lowering;
mod pass;
mod rules;
mod weights;

use super::journal::Journal;
use onnxport_core::host::Plugin;

/// The checks of an interface.
pub(super) struct Interface {
    /// The interface, `lowering/1`.
    pub name: &'static str,
    /// Does the steps, in the probe's process.
    pub probe: fn(&Subject, &mut Journal),
    /// Whether the values that the probe sees ([`Event::Seen`](super::journal::Event::Seen)) must be the same in a
    /// second process.
    pub repeats: bool,
}

/// The interfaces that have checks.
pub(super) const ALL: &[Interface] = &[
    Interface { name: "lowering/1", probe: lowering::probe, repeats: true },
    Interface { name: "executor/1", probe: executor::probe, repeats: false },
    Interface { name: "rules/1", probe: rules::rules, repeats: false },
    Interface { name: "pass/1", probe: pass::probe, repeats: false },
    Interface { name: "compare/1", probe: compare::probe, repeats: false },
    Interface { name: "backend/1", probe: backend::probe, repeats: true },
    Interface { name: "weights/1", probe: weights::probe, repeats: true },
];

/// The plugin that is checked, attached.
pub(super) struct Subject {
    pub plugin: Plugin,
    /// Schemas of the operators of plugins that come with the host.
    pub schemas: Vec<&'static str>,
}
