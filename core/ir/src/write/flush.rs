//! Flushes a long file while it is still being written, so that the flush at its end has little left to do.

use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::trace;

/// Bytes between two flushes.
pub(super) const STEP: u64 = 32 << 20;

/// A thread that flushes a file when it is told that there is more of it.
pub(super) struct Flusher {
    wake: SyncSender<()>,
    thread: JoinHandle<io::Result<()>>,
    /// Bytes that were written since it was last told.
    pending: u64,
}

impl Flusher {
    /// For a file that is to be `len` bytes long. `None` for short ones, and where no thread can be had.
    pub(super) fn start(file: &File, len: u64) -> Option<Self> {
        if len < 2 * STEP {
            return None;
        }
        let file = file.try_clone().ok()?;
        let (wake, woken) = sync_channel(1);
        let flush = trace::along(move || {
            woken.into_iter().try_for_each(|()| {
                let _span = trace::span("write", "flushing");
                file.sync_data()
            })
        });
        let thread = thread::Builder::new().name("flush".to_owned()).spawn(flush).ok()?;
        Some(Self { wake, thread, pending: 0 })
    }

    /// Says that there are `bytes` more.
    pub(super) fn written(&mut self, bytes: u64) {
        self.pending = self.pending.saturating_add(bytes);
        // While it is still at the last ones, more come together.
        if self.pending >= STEP && self.wake.try_send(()).is_ok() {
            self.pending = 0;
        }
    }

    /// Waits until it is done.
    ///
    /// # Errors
    /// Those of the flushes: the system reports each once, and the file's own flush would not see it.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.wake);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that flushes the data failed")))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn long_files_are_flushed_while_they_grow() {
        let mut file = tempfile::tempfile().unwrap();
        assert!(Flusher::start(&file, 2 * STEP - 1).is_none());
        let mut flusher = Flusher::start(&file, 2 * STEP).unwrap();
        for _ in 0..4 {
            file.write_all(&vec![1; 1 << 16]).unwrap();
            flusher.written(STEP);
        }
        flusher.finish().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_flush_reports_is_not_lost() {
        // A pipe cannot be flushed.
        let (_reader, writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let mut flusher = Flusher::start(&file, 2 * STEP).unwrap();
        flusher.written(STEP);
        assert_eq!(flusher.finish().unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
