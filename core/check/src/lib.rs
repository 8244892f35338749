//! Checks of a plugin's library, each in a process of its own: a crash, a hang or a greedy allocation of
//! the library is a finding and not the end of the check.
//!
//! [`run`] is the side that starts processes and never loads the library; [`probe`] is the work that such a process
//! does. They talk through a [`journal`]: a file that the probe appends to, so that what it was doing is
//! known when it ends early.
//!
//! An interface of the contract has its own file in [`interfaces`].

mod beside;
mod finding;
mod interfaces;
mod journal;
mod launch;
mod library;
mod limits;
mod probe;
mod revisions;
mod threads;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub use finding::{Finding, Verdict};
pub use probe::{Probe, probe};

use journal::{Event, Facts};
use launch::{Ended, launch};
use onnxport_core::diagnose::{Diagnostic, Report};

/// How a library is checked.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// How long one step of a probe may take.
    pub limit: Duration,
    /// Write the manifest that the library should have.
    pub write_manifest: bool,
}

/// The findings of the checks.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// In the order of the checks.
    pub findings: Vec<Finding>,
}

impl Checked {
    /// How many findings have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// The failures as diagnostics.
    pub fn report(&self) -> Report {
        let failures = self.findings.iter().filter(|finding| finding.verdict == Verdict::Fail);
        Report { diagnostics: failures.map(Finding::diagnostic).collect(), ..Report::default() }
    }
}

/// Checks the library at `library`. `command` makes the command of a process that calls [`probe`] with
/// what it is given.
///
/// # Errors
/// When the checks themselves cannot be done: no process can be started, the manifest cannot be written.
pub fn run(
    library: &Path,
    options: CheckOptions,
    command: &dyn Fn(&Probe) -> Command,
) -> Result<Checked, Diagnostic> {
    let mut checked = Checked::default();
    let folder = tempfile::tempdir().map_err(|error| launch::problem(&error))?;
    let journal = folder.path().join("journal");
    let mut session = Session { library, journal: &journal, limit: options.limit, command };
    let facts = session.probe("library", &mut checked)?;
    let Some(said) = facts.said.clone() else {
        let reason = "the library cannot be used";
        checked.findings.push(Finding::skip("manifest", reason));
        checked.findings.push(Finding::skip("interfaces", reason));
        return Ok(checked);
    };
    beside::check(library, &said, options.write_manifest, &mut checked)?;
    session.probe("revisions", &mut checked)?;
    for interface in interfaces::ALL {
        if !said.provides.iter().any(|provided| provided == interface.name) {
            continue;
        }
        let first = session.probe(interface.name, &mut checked)?;
        if interface.repeats {
            // The same in another process: the seen values are compared; its findings are already known.
            let second = session.probe(interface.name, &mut Checked::default())?;
            checked.findings.push(deterministic(interface.name, &first, &second));
        }
    }
    let unknown: Vec<&str> = said
        .provides
        .iter()
        .map(String::as_str)
        .filter(|provided| interfaces::ALL.iter().all(|interface| interface.name != *provided))
        .collect();
    for name in unknown {
        checked.findings.push(Finding::skip(name, "this interface has no checks yet"));
    }
    Ok(checked)
}

/// Whether two processes saw the same.
fn deterministic(interface: &str, first: &Facts, second: &Facts) -> Finding {
    let name = format!("{interface} two processes");
    let differs = |key: &&String| second.seen.get(*key).is_some_and(|other| *other != first.seen[*key]);
    match first.seen.keys().find(differs) {
        Some(key) => Finding::fail(&name, format!("`{key}` returns different results in another process"))
            .next("nothing that is emitted may depend on addresses, hash order, time or the environment"),
        None => Finding::pass(&name, format!("give the same for the same, {} of them", first.seen.len())),
    }
}

/// The processes of one check.
struct Session<'a> {
    library: &'a Path,
    journal: &'a Path,
    limit: Duration,
    command: &'a dyn Fn(&Probe) -> Command,
}

impl Session<'_> {
    /// Runs a probe to its end, beginning again behind each step that ended its process.
    fn probe(&mut self, name: &str, checked: &mut Checked) -> Result<Facts, Diagnostic> {
        /// So many steps may end their process; then something else is wrong.
        const ENOUGH: usize = 20;
        let mut facts = Facts::default();
        let mut skip = 0;
        for _ in 0..ENOUGH {
            let probe = Probe {
                name: name.to_owned(),
                library: self.library.to_owned(),
                journal: self.journal.to_owned(),
                skip,
            };
            let ended = launch((self.command)(&probe), self.journal, self.limit)?;
            let events = journal::read(self.journal);
            let mut open = None;
            for event in events {
                match event {
                    Event::Begin { step, number } => open = Some((step, number)),
                    Event::Found(finding) => {
                        checked.findings.push(finding);
                        open = None;
                    }
                    Event::End => open = None,
                    Event::Description(said) => facts.said = Some(said),
                    Event::Seen { key, value } => {
                        facts.seen.insert(key, value);
                    }
                }
            }
            let Some(why) = ended.reason(self.limit) else { return Ok(facts) };
            let (step, number) = open.unwrap_or_else(|| (name.to_owned(), usize::MAX));
            checked.findings.push(why.finding(&step));
            // The later steps need the one that failed.
            if number == usize::MAX || name == "library" {
                return Ok(facts);
            }
            skip = number + 1;
        }
        checked.findings.push(Finding::skip(name, "too many steps ended their process"));
        Ok(facts)
    }
}

impl Ended {
    /// Why the process did not do all that it should.
    fn reason(self, limit: Duration) -> Option<Early> {
        match self {
            Ended::Done => None,
            Ended::Crashed(how) => Some(Early { how, hung: false }),
            Ended::Hung => {
                Some(Early { how: format!("did not come back within {} s", limit.as_secs_f64()), hung: true })
            }
        }
    }
}

/// A process that ended early.
struct Early {
    how: String,
    hung: bool,
}

impl Early {
    fn finding(self, step: &str) -> Finding {
        let next = if self.hung {
            "a call must return; give slow code more time with --timeout"
        } else {
            "the call must not end the process: build with `panic = \"unwind\"`, and do not call abort or exit"
        };
        Finding::fail(step, self.how).next(next)
    }
}
