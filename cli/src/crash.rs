//! Reports a crash inside a plugin with a message that names the plugin.
//!
//! A plugin can abort (it was built with `panic = "abort"`, or panicked where nothing catches it), or
//! access unmapped memory. The process cannot continue then, but it can name the culprit. A plugin can also
//! call `exit`: the command has then not done its work, whatever the status.

#[cfg(unix)]
pub(crate) use unix::{done, report};

/// On this system crashes are left to the system.
#[cfg(not(unix))]
pub(crate) fn report(_exit: u8) {}

/// On this system nothing is installed.
#[cfg(not(unix))]
pub(crate) fn done() {}

#[cfg(unix)]
mod unix {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

    use onnxport_core::diagnose::Code;
    use onnxport_core::host::{Site, crossing};

    static EXIT: AtomicI32 = AtomicI32::new(1);

    /// Whether the process may end: the program is done.
    static DONE: AtomicBool = AtomicBool::new(false);

    const SIGNALS: [(libc::c_int, &str); 5] = [
        (libc::SIGABRT, "aborted"),
        (libc::SIGSEGV, "accessed invalid memory"),
        (libc::SIGBUS, "accessed invalid memory"),
        (libc::SIGILL, "executed an invalid instruction"),
        (libc::SIGFPE, "divided by zero"),
    ];

    /// The previous actions, for crashes elsewhere.
    static BEFORE: [OnceLock<libc::sigaction>; SIGNALS.len()] = [const { OnceLock::new() }; SIGNALS.len()];

    /// Installs the handlers: a crash inside a plugin ends the process with `exit` and a message on standard
    /// error; elsewhere the previous action applies. The same holds for a call of `exit` before [`done`], by any
    /// part of the process. Must be called once, before other handlers of these signals are installed.
    pub(crate) fn report(exit: u8) {
        EXIT.store(exit.into(), Ordering::Relaxed);
        for ((signal, _), before) in SIGNALS.iter().zip(&BEFORE) {
            // SAFETY: the action is fully initialised, and the handler is async-signal-safe. SA_ONSTACK
            // uses the stack that Rust's runtime gives every thread, so that a stack overflow is reported
            // as well.
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
        // SAFETY: the function lives as long as the program, and does not unwind.
        unsafe { libc::atexit(at_exit) };
    }

    /// Ends the watch: all output is written, and the process may end. Must be called right before it does.
    pub(crate) fn done() {
        DONE.store(true, Ordering::Release);
    }

    /// Runs after a call of `exit`, on the calling thread.
    extern "C" fn at_exit() {
        if DONE.load(Ordering::Acquire) {
            return;
        }
        match crossing::current().or_else(crossing::anywhere) {
            Some(site) => tell(site, "called `exit`"),
            None => write(&[
                "\nerror[",
                Code::PLUGIN_CRASH.as_str(),
                "]: the process ended before the command finished\n  help: a plugin or a library called `exit`; the \
                 command did not complete\n",
            ]),
        }
        // SAFETY: ends the process without running anything.
        unsafe { libc::_exit(EXIT.load(Ordering::Relaxed)) };
    }

    /// Names the crashed plugin, and ends the process.
    extern "C" fn handle(signal: libc::c_int) {
        let known = SIGNALS.iter().zip(&BEFORE).find(|((number, _), _)| *number == signal);
        let Some(site) = crossing::current() else {
            let before = known.and_then(|(_, before)| before.get());
            let before = before.map_or(std::ptr::null(), std::ptr::from_ref);
            // SAFETY: restores the previous action, which runs as soon as the handler returns, because the
            // raised signal is blocked until then.
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
        tell(site, known.map_or("crashed", |((_, what), _)| what));
        // SAFETY: ends the process without running anything.
        unsafe { libc::_exit(EXIT.load(Ordering::Relaxed)) };
    }

    /// Writes the message with nothing but `write`.
    fn tell(site: Site, what: &str) {
        let (open, close) = if site.subject.is_empty() { ("", "") } else { (" `", "`") };
        write(&[
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
            "\n  help: run without the plugin, and report this to its author\n",
        ]);
    }

    fn write(parts: &[&str]) {
        for part in parts {
            // SAFETY: the pointer and the length are those of a text.
            unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
        }
    }
}
