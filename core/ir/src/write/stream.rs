//! Copying tensors to a file without holding them.

use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Progress;
use super::flush::{self, Flusher};
use super::plan::Weight;
use super::sync;
use crate::tensor::{Error, LazyTensor, Source, Workspace};
use crate::trace;

/// The memory in bytes that copying takes unless less is allowed.
const BUFFER: u64 = 1 << 20;

/// The least memory in bytes that copying works with.
const MIN_BUFFER: u64 = 64 << 10;

/// The memory in bytes that making tensors takes unless less is allowed: several pieces at a time,
/// read across a transposed source, are then long enough.
const MAKING: u64 = 48 << 20;

/// The memory in bytes that streaming takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// With less it fails.
    pub(super) least: u64,
    /// With more it is not faster.
    pub(super) wanted: u64,
}

/// Returns the memory needed to stream `weights`: transforms and strided views take more than copying.
pub(super) fn needs(weights: &[Weight<'_>]) -> Needs {
    let mut needs = Needs { least: MIN_BUFFER, wanted: BUFFER };
    for weight in weights.iter().filter(|weight| weight.is_written) {
        let is_copied = |part: &LazyTensor| part.dense_range().is_some() && part.least_memory() == 0;
        let is_copied = weight.data.parts().into_iter().all(is_copied);
        if !is_copied && weight.data.byte_len().is_some_and(|len| len > BUFFER) {
            needs.wanted = MAKING;
        }
        needs.least = needs.least.max(weight.data.least_memory());
    }
    Needs { wanted: needs.wanted.max(needs.least), ..needs }
}

/// Counts bytes and tells the user.
pub(super) struct Meter {
    done: AtomicU64,
    total: u64,
    progress: Option<Progress>,
    /// The memory in bytes that streaming may take.
    memory: u64,
    workspace: Mutex<Workspace>,
    flusher: Mutex<Option<Flusher>>,
}

impl Meter {
    pub(super) fn new(total: u64, progress: Option<Progress>, memory: u64) -> Self {
        Self {
            done: AtomicU64::new(0),
            total,
            progress,
            memory: memory.max(MIN_BUFFER),
            workspace: Mutex::default(),
            flusher: Mutex::default(),
        }
    }

    /// Begins a file that is to be `len` bytes long.
    pub(super) fn begin(&self, file: &File, len: u64) {
        *self.flusher() = Flusher::start(file, len);
    }

    /// Ends a file: all of it is on the disk then.
    pub(super) fn end(&self, file: &File) -> io::Result<()> {
        let flusher = self.flusher().take();
        flusher.map_or(Ok(()), Flusher::finish)?;
        sync::file(file)
    }

    fn flusher(&self) -> MutexGuard<'_, Option<Flusher>> {
        self.flusher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts `bytes` that were written.
    ///
    /// # Errors
    /// When writing is to end early.
    pub(super) fn add(&self, bytes: u64) -> io::Result<()> {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(flusher) = self.flusher().as_mut() {
            flusher.written(bytes);
        }
        match self.progress.as_ref().map(|progress| progress(done, self.total)) {
            Some(ControlFlow::Break(())) => Err(Error::Interrupted.into()),
            _ => Ok(()),
        }
    }
}

/// The destination of a stream.
pub(super) enum Out<'o> {
    /// A file, into which the kernel can copy.
    File(&'o mut File),
    /// Anything else.
    Stream(&'o mut (dyn Write + Send)),
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::File(file) => file.write(bytes),
            Out::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::File(file) => file.flush(),
            Out::Stream(stream) => stream.flush(),
        }
    }
}

/// Appends the dense bytes of `weight` to `out`. An error names it.
pub(super) fn weight(weight: &Weight<'_>, out: &mut Out<'_>, meter: &Meter) -> io::Result<()> {
    let _span = trace::span_of("write", || weight.name.to_owned());
    Ok(tensor(weight.data, out, meter).map_err(|error| Error::from(error).of(weight.name))?)
}

/// Appends the dense bytes of `data` to `out`, part by part where it has several.
fn tensor(data: &LazyTensor, out: &mut Out<'_>, meter: &Meter) -> io::Result<()> {
    data.parts().into_iter().try_for_each(|data| part(data, out, meter))
}

fn part(data: &LazyTensor, out: &mut Out<'_>, meter: &Meter) -> io::Result<()> {
    let Some(range) = data.dense_range() else { return made(data, out, meter) };
    match &data.source {
        Source::Unbound(unbound) => Err(io::Error::other(format!("`{}` has no data", unbound.name))),
        Source::Lent(_) | Source::Inline(_) => {
            let bytes = data.source.bytes().get(range.start as usize..range.end as usize);
            for bytes in bytes.ok_or_else(too_short)?.chunks(flush::STEP as usize) {
                out.write_all(bytes)?;
                meter.add(bytes.len() as u64)?;
            }
            Ok(())
        }
        Source::Mapped { file, offset, len } => {
            if range.end > *len {
                return Err(too_short());
            }
            let start = offset.checked_add(range.start).ok_or_else(too_short)?;
            between_files(file.file(), start, range.end - range.start, out, meter)
        }
        Source::Produced(_) | Source::Derived(_) | Source::Joined(_) => made(data, out, meter),
    }
}

/// Appends a tensor that is not in its source as it is to be, in pieces.
fn made(data: &LazyTensor, out: &mut Out<'_>, meter: &Meter) -> io::Result<()> {
    let len = data.byte_len().ok_or_else(too_short)?;
    let budget = usize::try_from(meter.memory).unwrap_or(usize::MAX);
    let mut workspace = meter.workspace.lock().unwrap_or_else(PoisonError::into_inner);
    data.stream_in(&mut workspace, 0..len, budget, &mut |bytes: &[u8]| {
        out.write_all(bytes)?;
        meter.add(bytes.len() as u64)
    })?;
    Ok(())
}

/// Appends `len` bytes of `from`, which start at `start`: by the kernel where it can, else in
/// chunks. Reading the file rather than the mapping turns a source that was cut short into an error.
fn between_files(from: &File, start: u64, len: u64, out: &mut Out<'_>, meter: &Meter) -> io::Result<()> {
    let mut done = 0;
    #[cfg(target_os = "linux")]
    if let Out::File(out) = out {
        // Explicit offsets leave the position of the shared source file alone.
        let mut at = start;
        while done < len {
            let step = (len - done).min(flush::STEP) as usize;
            match rustix::fs::copy_file_range(from, Some(&mut at), &**out, None, step) {
                Ok(0) | Err(_) => break,
                Ok(n) => {
                    done += n as u64;
                    meter.add(n as u64)?;
                }
            }
        }
    }
    let mut buffer = vec![0; meter.memory.min(BUFFER).min(len - done) as usize];
    while done < len {
        let left = usize::try_from(len - done).unwrap_or(usize::MAX);
        let read = read_some(from, &mut buffer, left, start + done)?;
        if read.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the source of a weight was truncated"));
        }
        out.write_all(read)?;
        done += read.len() as u64;
        meter.add(read.len() as u64)?;
    }
    Ok(())
}

/// At most `most` bytes of `file` from `at` on, as far as `buffer` holds them; none at the end.
pub(super) fn read_some<'a>(file: &File, buffer: &'a mut [u8], most: usize, at: u64) -> io::Result<&'a [u8]> {
    let most = most.min(buffer.len());
    let buffer = buffer.get_mut(..most).unwrap_or_default();
    let read = read_at(file, buffer, at)?;
    Ok(buffer.get(..read).unwrap_or_default())
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

fn too_short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the source of a weight is shorter than its shape")
}
