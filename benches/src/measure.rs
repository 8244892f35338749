//! The cost of a process: CPU seconds as the kernel counts them, and anonymous memory.
//!
//! CPU is user plus system time of the whole process, from its start until it is gone, taken from
//! `wait4`, with that of the processes that it waited for. Memory is `RssAnon` of `/proc/<pid>/status`: the high-water mark of a process
//! (`VmHWM`) also counts pages of mapped files, which the kernel may drop at any time. Nothing
//! records the peak of `RssAnon`, so it is read again and again from outside, and a peak that
//! lasts for less than the pause between two looks can be missed.

use std::fs;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The pause between two looks at a process that lives for milliseconds.
const PAUSE: Duration = Duration::from_micros(100);

/// A finished process and its cost.
#[derive(Debug)]
pub(crate) struct Run {
    /// User and system seconds.
    pub(crate) cpu: f64,
    /// Wall seconds.
    pub(crate) wall: f64,
    /// The peak of its anonymous memory in bytes, if it was watched.
    pub(crate) peak: Option<u64>,
    /// Whether it succeeded.
    pub(crate) success: bool,
    /// Its standard output.
    pub(crate) stdout: String,
}

/// Runs `command` to its end. Its memory is watched only on request, so that the watching costs the
/// timed runs nothing.
pub(crate) fn run(command: &mut Command, watch: bool) -> io::Result<Run> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let sampler = watch.then(|| Sampler::start(child.id(), PAUSE));
    let mut stdout = String::new();
    if let Some(pipe) = &mut child.stdout {
        pipe.read_to_string(&mut stdout)?;
    }
    let (cpu, success) = wait(child.id())?;
    let wall = start.elapsed().as_secs_f64();
    let peak = sampler.map(|sampler| sampler.stop().peak);
    Ok(Run { cpu, wall, peak, success, stdout })
}

/// Waits for the child process `pid`; its CPU seconds, and whether it succeeded.
fn wait(pid: u32) -> io::Result<(f64, bool)> {
    let mut status = 0;
    // SAFETY: `rusage` holds integers only, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals of the types that `wait4` writes.
    let waited = unsafe { libc::wait4(pid as libc::pid_t, &raw mut status, 0, &raw mut usage) };
    if waited < 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Ok((seconds(usage.ru_utime) + seconds(usage.ru_stime), status == 0))
}

/// The anonymous memory of a process over some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memory {
    /// At first, in bytes.
    pub(crate) first: u64,
    /// At most, in bytes.
    pub(crate) peak: u64,
}

/// A thread that watches the memory of a process.
pub(crate) struct Sampler {
    done: Arc<AtomicBool>,
    thread: JoinHandle<Memory>,
}

impl Sampler {
    /// Starts to watch `pid`, with this pause between two looks.
    pub(crate) fn start(pid: u32, pause: Duration) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&done);
        let thread = thread::spawn(move || {
            let first = rss_anon(pid).unwrap_or(0);
            let mut memory = Memory { first, peak: first };
            while !stop.load(Ordering::Relaxed) {
                memory.peak = memory.peak.max(rss_anon(pid).unwrap_or(0));
                thread::sleep(pause);
            }
            memory
        });
        Self { done, thread }
    }

    /// Stops, and returns the samples.
    pub(crate) fn stop(self) -> Memory {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// The anonymous memory of `pid` in bytes; `None` once it is gone.
fn rss_anon(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
