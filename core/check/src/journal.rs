//! The file in which a probe records its steps and findings, as one line of JSON per event. It is flushed before every
//! step, so that it says which one ended the process.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Finding;

/// An event of a probe.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// A step begins.
    Begin { step: String, number: usize },
    /// The step ends with a finding.
    Found(Finding),
    /// The step ends and has nothing to say.
    End,
    /// The description that the library gives of itself.
    Description(Description),
    /// Something that must be the same in every process.
    Seen { key: String, value: String },
}

/// The description that a library gives of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    pub id: String,
    pub version: String,
    pub contract: String,
    pub provides: Vec<String>,
}

/// The results of a probe that other probes use.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub said: Option<Description>,
    pub seen: BTreeMap<String, String>,
}

/// The writing side.
pub(super) struct Journal {
    file: File,
    /// Steps of an earlier process, which are not done again.
    skip: usize,
    count: usize,
}

impl Journal {
    pub(super) fn create(path: &Path, skip: usize) -> std::io::Result<Self> {
        Ok(Self { file: File::create(path)?, skip, count: 0 })
    }

    /// An event that cannot be written is missing, which the reader takes for an early end.
    pub(super) fn write(&mut self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        // One write per line: there is nothing to flush.
        let _ = self.file.write_all(&line);
    }

    /// Does a step, unless an earlier process did. `None` is a step that has nothing to say.
    pub(super) fn step(&mut self, name: &str, work: impl FnOnce(&mut Self) -> Option<Finding>) {
        let number = self.count;
        self.count += 1;
        if number < self.skip {
            return;
        }
        self.write(&Event::Begin { step: name.to_owned(), number });
        let event = work(self).map_or(Event::End, Event::Found);
        self.write(&event);
    }
}

/// The events of a journal; a line that was cut off ends them.
pub(super) fn read(path: &Path) -> Vec<Event> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map_while(|line| serde_json::from_slice(line).ok()).collect()
}
