//! Reports reads of mapped files that were truncated: the signal `SIGBUS`, with a message.

#[cfg(unix)]
pub(crate) use unix::report;

/// On this system a mapped file cannot be truncated.
#[cfg(not(unix))]
pub(crate) fn report(_exit: u8, _json: bool, _claim: fn() -> bool) {}

#[cfg(unix)]
mod unix {
    use std::ffi::CStr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
    use std::time::Duration;

    use onnxport_core::diagnose::Code;
    use onnxport_core::tensor::fault;

    /// How long a thread waits for the command to end.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Claims the right to print, which one part of the program has.
    static CLAIM: OnceLock<fn() -> bool> = OnceLock::new();

    static EXIT: AtomicI32 = AtomicI32::new(1);
    static JSON: AtomicBool = AtomicBool::new(false);

    /// The previous action, for faults elsewhere.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

    /// Installs the handler: a read of a truncated mapped file ends the process with `exit` and a message:
    /// an object on standard output with `json`, else a line on standard error, unless `claim`, which must be
    /// async-signal-safe, says that the command prints. Outputs in progress have no names yet, so nothing is left of
    /// them. Must be called once.
    pub(crate) fn report(exit: u8, json: bool, claim: fn() -> bool) {
        let _ = CLAIM.set(claim);
        EXIT.store(exit.into(), Ordering::Relaxed);
        JSON.store(json, Ordering::Relaxed);
        // SAFETY: the action is fully initialised, and the handler is async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut old: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as Handler as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_SIGINFO;
            libc::sigemptyset(&raw mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, &raw const action, &raw mut old) == 0 {
                let _ = BEFORE.set(old);
            }
        }
    }

    extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system hands a valid record to a handler with SA_SIGINFO.
        let address = unsafe { (*info).si_addr() } as usize;
        if fault::mapped_at(address, say).is_some() {
            // SAFETY: ends the process without running anything.
            unsafe { libc::_exit(EXIT.load(Ordering::Relaxed)) };
        }
        let before = BEFORE.get().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: restores the previous action, which applies when the read is retried.
        unsafe {
            if before.is_null() {
                libc::signal(signal, libc::SIG_DFL);
            } else {
                libc::sigaction(signal, before, std::ptr::null_mut());
            }
        }
    }

    /// Says that the file at `path` was truncated, unless the command is printing its own result: a reader of
    /// `--json` expects one object.
    fn say(path: &CStr) {
        if CLAIM.get().is_none_or(|claim| claim()) {
            tell(path);
        } else {
            std::thread::sleep(PATIENCE);
        }
    }

    fn tell(path: &CStr) {
        let code = Code::WRITE_SOURCE_CHANGED;
        let why = " was truncated while it was read";
        if !JSON.load(Ordering::Relaxed) {
            let (code, help) = (code.as_str(), "\n  help: convert it again when it is complete\n");
            for part in ["\nerror[".as_bytes(), code.as_bytes(), b"]: `", path.to_bytes(), b"`"] {
                write(libc::STDERR_FILENO, part);
            }
            write(libc::STDERR_FILENO, why.as_bytes());
            write(libc::STDERR_FILENO, help.as_bytes());
            return;
        }
        let out = |part: &[u8]| write(libc::STDOUT_FILENO, part);
        out(b"{\"ok\": false, \"exit\": ");
        let exit = EXIT.load(Ordering::Relaxed) as u8;
        let digits = [b'0' + exit / 100, b'0' + exit / 10 % 10, b'0' + exit % 10];
        let leading = digits.iter().take(2).take_while(|digit| **digit == b'0').count();
        out(digits.get(leading..).unwrap_or_default());
        out(b", \"diagnostics\": [{\"code\": \"");
        out(code.as_str().as_bytes());
        out(b"\", \"severity\": \"error\", \"message\": \"`");
        for byte in path.to_bytes() {
            // Bytes that need escaping, or may not be UTF-8.
            let plain = (0x20..0x7f).contains(byte) && !b"\"\\".contains(byte);
            out(&[if plain { *byte } else { b'?' }]);
        }
        out(b"`");
        out(why.as_bytes());
        out(b"\"}]}\n");
    }

    fn write(to: libc::c_int, bytes: &[u8]) {
        // SAFETY: the pointer and the length are those of a slice.
        unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::path::Path;

    use onnxport_core::tensor::MappedFile;

    /// The environment variable that makes this test the faulting process.
    const FAULTING: &str = "ONNXPORT_TEST_FAULT";

    /// The name of the file that is read while the command prints its result.
    const LATE: &str = "late.json";

    #[test]
    fn a_read_of_a_truncated_file_ends_with_a_message() {
        if let Ok(path) = std::env::var(FAULTING) {
            let claim: fn() -> bool = if path.ends_with(LATE) { || false } else { || true };
            super::report(5, path.ends_with("json"), claim);
            let file = MappedFile::open(Path::new(&path)).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            let sum: u32 = file.bytes().iter().map(|byte| u32::from(*byte)).sum();
            panic!("{sum} was read from nothing");
        }
        let dir = tempfile::tempdir().unwrap();
        let test = "truncated::tests::a_read_of_a_truncated_file_ends_with_a_message";
        for name in ["a \"file\".text", "a \"file\".json", LATE] {
            let path = dir.path().join(name);
            std::fs::write(&path, vec![1; 10_000]).unwrap();
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let output = child.args(["--exact", test, "--nocapture"]).env(FAULTING, &path).output().unwrap();
            assert_eq!(output.status.code(), Some(5), "{output:?}");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            if name == LATE {
                assert!(!text(&output.stdout).contains("OP613"), "{output:?}");
                continue;
            }
            if name.ends_with("text") {
                let said = format!("error[OP613]: `{}` was truncated while it was read\n", path.display());
                assert!(text(&output.stderr).contains(&said), "{output:?}");
                continue;
            }
            let stdout = text(&output.stdout);
            // With one thread, the name of the test is before it.
            let json = stdout.lines().find_map(|line| line.find('{').map(|at| &line[at..])).unwrap();
            let said: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!((&said["exit"], &said["diagnostics"][0]["code"]), (&5.into(), &"OP613".into()));
            assert!(said["diagnostics"][0]["message"].as_str().unwrap().contains("a ?file?.json"));
        }
    }
}
