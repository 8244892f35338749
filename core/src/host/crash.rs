//! A crash inside of a plugin is said in a sentence that names it.
//!
//! A plugin can abort (it was built with `panic = "abort"`, or panicked where nothing catches it), or
//! access memory that is not there. The process cannot go on then; it can say who it was.

#[cfg(unix)]
pub use unix::report;

/// On this system crashes are left to the system.
#[cfg(not(unix))]
pub fn report(_exit: u8) {}

#[cfg(unix)]
mod unix {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI32, Ordering};

    use crate::diagnose::Code;
    use crate::host::crossing;

    static EXIT: AtomicI32 = AtomicI32::new(1);

    const SIGNALS: [(libc::c_int, &str); 4] = [
        (libc::SIGABRT, "aborted"),
        (libc::SIGSEGV, "accessed memory that is not there"),
        (libc::SIGILL, "executed an invalid instruction"),
        (libc::SIGFPE, "divided by zero"),
    ];

    /// What took place before, for crashes elsewhere.
    static BEFORE: [OnceLock<libc::sigaction>; SIGNALS.len()] = [const { OnceLock::new() }; SIGNALS.len()];

    /// From now on a crash inside of a plugin ends the process with `exit` and a message on standard
    /// error; elsewhere it does what it always did. For programs, not for libraries: it replaces the
    /// handlers of four signals. To be called once.
    pub fn report(exit: u8) {
        EXIT.store(exit.into(), Ordering::Relaxed);
        for ((signal, _), before) in SIGNALS.iter().zip(&BEFORE) {
            // SAFETY: the action is fully initialised, and the handler only does what is allowed in
            // one. SA_ONSTACK uses the stack that Rust's runtime gives every thread, so that an
            // overflow of the ordinary one is reported as well.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut old: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as extern "C" fn(libc::c_int) as usize;
                action.sa_flags = libc::SA_ONSTACK;
                libc::sigemptyset(&raw mut action.sa_mask);
                if libc::sigaction(*signal, &raw const action, &raw mut old) == 0 {
                    let _ = before.set(old);
                }
            }
        }
    }

    /// Writes the message with nothing but `write`, and ends the process.
    extern "C" fn handle(signal: libc::c_int) {
        let known = SIGNALS.iter().zip(&BEFORE).find(|((number, _), _)| *number == signal);
        let Some(site) = crossing::current() else {
            let before = known.and_then(|(_, before)| before.get());
            let before = before.map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: what took place before takes place again: at once when the handler returns, for
            // the raised signal is held back until then.
            unsafe {
                if before.is_null() {
                    libc::signal(signal, libc::SIG_DFL);
                } else {
                    libc::sigaction(signal, before, std::ptr::null_mut());
                }
                libc::raise(signal);
            }
            return;
        };
        let what = known.map_or("crashed", |((_, what), _)| what);
        let (open, close) = if site.subject.is_empty() { ("", "") } else { (" `", "`") };
        let parts = [
            "\nerror[",
            Code::PLUGIN_CRASH.as_str(),
            "]: plugin `",
            site.plugin,
            "` ",
            what,
            " while ",
            site.task,
            open,
            site.subject,
            close,
            "\n  help: convert without the plugin; the defect is its own\n",
        ];
        for part in parts {
            // SAFETY: the pointer and the length are those of a text.
            unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
        }
        // SAFETY: ends the process without running anything.
        unsafe { libc::_exit(EXIT.load(Ordering::Relaxed)) };
    }
}
