//! The plan of a write, and whether the machine can hold the result.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{Destination, Plan};
use super::publish::Target;
use super::{WriteOptions, resources, stream};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::Artefact;
use crate::table::shown;

/// The disk space of a file beyond its bytes: a last block, and an entry in its folder.
const FILE_OVERHEAD: u64 = 8 << 10;

/// Anonymous memory that writing takes beside the buffer for tensors: hashes, names, memory kept by the allocator.
const OVERHEAD: u64 = 8 << 20;

/// Returns the bytes that the allocator holds for `buffers` bytes of buffers: it returns outgrown buffers to the
/// system with a delay.
const fn allocated(buffers: u64) -> u64 {
    buffers.saturating_add(buffers / 4)
}

/// A file that would be written.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PlannedFile {
    /// Where.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// The size in bytes of the file that it replaces. Both exist for a moment.
    pub replaces: Option<u64>,
}

/// Where the tensors go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TensorCounts {
    /// Into data files, bytes of their own.
    pub stored: usize,
    /// Into data files, sharing the bytes of another one.
    pub tied: usize,
    /// Where they are: the model points at them.
    pub pointed: usize,
    /// Nowhere yet: their bytes are still to be given.
    pub unbound: usize,
    /// Into the model.
    pub inline: usize,
    /// Nowhere.
    pub left_out: usize,
}

/// What a call of [`write`](super::write()) does.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct WritePlan {
    /// The model, then its data files; all models of a package, then theirs; then the files of backends.
    /// Lists of hashes are not among them.
    pub files: Vec<PlannedFile>,
    /// Where the tensors go.
    pub tensors: TensorCounts,
    /// The bytes of the tensors in data files.
    pub stored_bytes: u64,
    /// The bytes of the tensors in the model.
    pub inline_bytes: u64,
    /// The bytes between tensors that align them.
    pub padding_bytes: u64,
    /// The bytes that must be free on the disk: those of all new files, since the old ones stay until
    /// the new ones are complete.
    pub disk_needed: u64,
    /// The bytes that are free, where that is known.
    pub disk_free: Option<u64>,
    /// The most anonymous memory in bytes that the process will take while it writes: what it holds
    /// now, the model's message included, and what streaming takes. Linux only.
    pub peak_memory: Option<u64>,
    /// The bytes of the buffers through which tensors are streamed.
    pub stream_memory: u64,
    /// The least that they can take.
    pub least_stream_memory: u64,
}

impl WritePlan {
    /// The plan of the files of one model.
    pub(super) fn of_model(
        target: &Target,
        plan: &Plan,
        model_bytes: u64,
        needs: stream::Needs,
        options: &WriteOptions,
    ) -> Self {
        let sizes = plan.files.iter().map(|file| file.bytes);
        let paths = [&target.model].into_iter().chain(&target.data);
        let files = paths.zip([model_bytes].into_iter().chain(sizes)).map(|(path, bytes)| PlannedFile {
            path: path.clone(),
            bytes,
            replaces: std::fs::metadata(path).ok().map(|old| old.len()),
        });
        Self::from_plan(files.collect(), target.folder(), plan, needs, options)
    }

    /// The plan of `files`, which lie on the disk of `folder` and hold weights as `plan` says.
    pub(super) fn from_plan(
        files: Vec<PlannedFile>,
        folder: &Path,
        plan: &Plan,
        needs: stream::Needs,
        options: &WriteOptions,
    ) -> Self {
        let count = |of: fn(&Destination) -> bool| plan.places.iter().filter(|place| of(place)).count();
        let data = count(|place| matches!(place, Destination::Data(_)));
        let stored = plan.files.iter().map(|file| file.stored.len()).sum();
        let tensors = TensorCounts {
            stored,
            tied: data.saturating_sub(stored),
            pointed: count(|place| matches!(place, Destination::Pointed(_))),
            unbound: count(|place| matches!(place, Destination::Unbound(_))),
            inline: count(|place| matches!(place, Destination::Inline)),
            left_out: count(|place| matches!(place, Destination::Left)),
        };
        let stored_bytes = plan.stored_bytes();
        let held = resources::anonymous_memory();
        let stream_memory = stream_memory(needs, options);
        let new = files.iter().map(|file| file.bytes.saturating_add(FILE_OVERHEAD));
        Self {
            tensors,
            stored_bytes,
            inline_bytes: plan.inline_bytes,
            padding_bytes: plan.data_bytes() - stored_bytes,
            disk_needed: new.fold(0, u64::saturating_add),
            disk_free: resources::free_space(folder),
            peak_memory: held.map(|held| held + OVERHEAD + allocated(stream_memory)),
            stream_memory,
            least_stream_memory: needs.least,
            files,
        }
    }

    /// Adds the files of backends, to be written to `folder`. An existing one is not written again: its name
    /// identifies its contents.
    pub(super) fn add_beside(&mut self, artefacts: &[Artefact], folder: &Path) {
        for artefact in artefacts {
            let path = folder.join(&artefact.file);
            let bytes = artefact.data.byte_len().unwrap_or(0);
            let is_there = std::fs::metadata(&path).is_ok_and(|found| found.len() == bytes);
            if is_there || self.files.iter().any(|file| file.path == path) {
                continue;
            }
            self.disk_needed = self.disk_needed.saturating_add(bytes.saturating_add(FILE_OVERHEAD));
            self.files.push(PlannedFile { path, bytes, replaces: None });
        }
    }

    /// Fails when the plan cannot be carried out on this machine.
    ///
    /// # Errors
    /// `OP610` when the disk is too full, `OP611` when the memory that is allowed does not suffice.
    pub fn check(&self, options: &WriteOptions) -> Result<(), Report> {
        let mut report = Report::default();
        if let Some(free) = self.disk_free.filter(|free| *free < self.disk_needed) {
            let message =
                format!("the output takes {} bytes on a disk that has {free} left", self.disk_needed);
            let help =
                "free some space or choose another folder; files that are replaced count until they are";
            report.diagnostics.push(Diagnostic::error(Code::WRITE_SPACE, message).help(help));
        }
        if let Some(limit) = options.max_memory.filter(|_| self.stream_memory < self.least_stream_memory) {
            let least = self
                .peak_memory
                .map(|peak| peak - allocated(self.stream_memory) + allocated(self.least_stream_memory));
            let needs = least.map_or_else(String::new, |least| format!("; it takes {least} bytes at least"));
            let message = format!("the model cannot be written in {limit} bytes of memory{needs}");
            let help = "allow more with `--max-memory`";
            report.diagnostics.push(Diagnostic::error(Code::WRITE_MEMORY, message).help(help));
        }
        if report.diagnostics.is_empty() { Ok(()) } else { Err(report) }
    }
}

/// Returns the bytes of the buffers through which tensors are streamed: the wanted size, or the rest of the allowed
/// memory.
pub(super) fn stream_memory(needs: stream::Needs, options: &WriteOptions) -> u64 {
    let Some(limit) = options.max_memory else { return needs.wanted };
    let held = resources::anonymous_memory().unwrap_or(0);
    let left = limit.saturating_sub(held).saturating_sub(OVERHEAD);
    (left / 5 * 4).min(needs.wanted)
}
