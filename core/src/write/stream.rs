//! Copying tensors to a file without holding them.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};

use super::Progress;
use crate::tensor::{LazyTensor, Source};

/// The memory in bytes that streaming takes unless less is allowed.
pub(super) const BUFFER: u64 = 1 << 20;

/// The least memory in bytes that streaming works with.
pub(super) const MIN_BUFFER: u64 = 64 << 10;

/// Counts bytes and tells the user.
pub(super) struct Meter {
    done: Cell<u64>,
    total: u64,
    progress: Option<Progress>,
    /// Bytes that are copied at a time.
    chunk: usize,
}

impl Meter {
    pub(super) fn new(total: u64, progress: Option<Progress>, memory: u64) -> Self {
        let chunk = memory.clamp(MIN_BUFFER, BUFFER) as usize;
        Self { done: Cell::new(0), total, progress, chunk }
    }

    pub(super) fn add(&self, bytes: u64) {
        self.done.set(self.done.get() + bytes);
        if let Some(progress) = &self.progress {
            progress(self.done.get(), self.total);
        }
    }
}

/// Appends the dense bytes of `data` to `out`.
pub(super) fn tensor(data: &LazyTensor, out: &mut File, meter: &Meter) -> io::Result<()> {
    let Some(range) = data.dense_range() else { return strided(data, out, meter) };
    match &data.source {
        Source::Unbound(unbound) => Err(io::Error::other(format!("`{}` has no data", unbound.name))),
        Source::Inline(bytes) => {
            let bytes = bytes.get(range.start as usize..range.end as usize).ok_or_else(too_short)?;
            out.write_all(bytes)?;
            meter.add(bytes.len() as u64);
            Ok(())
        }
        Source::Mapped { file, offset, len } => {
            if range.end > *len {
                return Err(too_short());
            }
            let start = offset.checked_add(range.start).ok_or_else(too_short)?;
            between_files(file.file(), start, range.end - range.start, out, meter)
        }
    }
}

/// Appends `len` bytes of `from`, which start at `start`: by the kernel where it can, else in
/// chunks. Reading the file rather than the mapping turns a source that was cut short into an error.
fn between_files(from: &File, start: u64, len: u64, out: &mut File, meter: &Meter) -> io::Result<()> {
    let mut done = 0;
    #[cfg(target_os = "linux")]
    {
        // Explicit offsets leave the position of the shared source file alone.
        let mut at = start;
        while done < len {
            let step = (len - done).min(64 << 20) as usize;
            match rustix::fs::copy_file_range(from, Some(&mut at), &*out, None, step) {
                Ok(0) | Err(_) => break,
                Ok(n) => {
                    done += n as u64;
                    meter.add(n as u64);
                }
            }
        }
    }
    let mut buffer = vec![0; meter.chunk.min((len - done) as usize)];
    while done < len {
        let step = buffer.len().min((len - done) as usize);
        let read = read_at(from, &mut buffer[..step], start + done)?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the source of a weight was truncated"));
        }
        out.write_all(&buffer[..read])?;
        done += read as u64;
        meter.add(read as u64);
    }
    Ok(())
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

/// Appends a strided view, a run of neighbouring elements at a time.
fn strided(data: &LazyTensor, out: &mut File, meter: &Meter) -> io::Result<()> {
    let (Some(strides), Some(total)) = (&data.strides, data.elements()) else { return Err(too_short()) };
    if !data.dtype.bits().is_multiple_of(8) || data.dtype.bits() == 0 || strides.len() != data.shape.len() {
        return Err(io::Error::other("a strided view of packed elements cannot be written"));
    }
    if total == 0 {
        return Ok(());
    }
    let size = (data.dtype.bits() / 8) as usize;
    let bytes = data.source.bytes();
    let (run, outer) = runs(&data.shape, strides);
    let mut buffer = Vec::with_capacity(meter.chunk + size);
    let mut index = vec![0u64; outer];
    for _ in 0..total / run {
        let at = index
            .iter()
            .zip(strides)
            .try_fold(data.offset, |at, (i, s)| at.checked_add(i.checked_mul(*s)?))
            .and_then(|at| usize::try_from(at).ok()?.checked_mul(size))
            .ok_or_else(too_short)?;
        let end = at.checked_add(run as usize * size).ok_or_else(too_short)?;
        for piece in bytes.get(at..end).ok_or_else(too_short)?.chunks(meter.chunk) {
            buffer.extend_from_slice(piece);
            if buffer.len() >= meter.chunk {
                out.write_all(&buffer)?;
                meter.add(buffer.len() as u64);
                buffer.clear();
            }
        }
        for (i, extent) in index.iter_mut().zip(&data.shape).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    out.write_all(&buffer)?;
    meter.add(buffer.len() as u64);
    Ok(())
}

/// The elements that lie next to each other at the innermost axes, and the number of other axes.
fn runs(shape: &[u64], strides: &[u64]) -> (u64, usize) {
    let (mut run, mut outer) = (1, shape.len());
    while let Some(axis) = outer.checked_sub(1) {
        if strides[axis] != run && shape[axis] != 1 {
            break;
        }
        run *= shape[axis];
        outer = axis;
    }
    (run, outer)
}

fn too_short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the source of a weight is shorter than its shape")
}
