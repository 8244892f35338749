//! Reads of mapped files that somebody truncated: the signal `SIGBUS`, and which file it was.
//!
//! A handler may neither lock nor allocate, so that the table has a fixed size and is atomic
//! throughout. Mappings beyond its size are not in it; a fault in them ends the process as it would
//! without the table.

use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// How many mappings are known at a time.
const SLOTS: usize = 256;

/// A mapping: `start..end` in memory. A slot with the start 0 is free, one with the start 1 is being
/// filled or emptied.
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    path: AtomicPtr<std::ffi::c_char>,
}

static TABLE: [Slot; SLOTS] = [const {
    Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), path: AtomicPtr::new(ptr::null_mut()) }
}; SLOTS];

const FREE: usize = 0;
const BUSY: usize = 1;

/// A mapping that is in the table while this lives, which must end before the mapping does.
#[derive(Debug)]
pub(super) struct Known(Option<usize>);

impl Known {
    /// Enters the mapping `bytes` of the file at `path`.
    pub(super) fn new(bytes: &[u8], path: &Path) -> Self {
        let Ok(path) = CString::new(path.as_os_str().as_encoded_bytes()) else { return Self(None) };
        let range = bytes.as_ptr_range();
        let claim = |slot: &&Slot| {
            slot.start.compare_exchange(FREE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let Some(at) = TABLE.iter().position(|slot| claim(&slot)) else { return Self(None) };
        if let Some(slot) = TABLE.get(at) {
            slot.path.store(path.into_raw(), Ordering::Relaxed);
            slot.end.store(range.end as usize, Ordering::Relaxed);
            slot.start.store(range.start as usize, Ordering::Release);
        }
        Self(Some(at))
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let Some(slot) = self.0.and_then(|at| TABLE.get(at)) else { return };
        slot.start.store(BUSY, Ordering::Release);
        let path = slot.path.swap(ptr::null_mut(), Ordering::AcqRel);
        if !path.is_null() {
            // SAFETY: the pointer comes from `CString::into_raw`, and the swap took the only copy. A
            // handler that still reads it would be handling a fault in this mapping, whose last owner
            // is this thread, which is here.
            drop(unsafe { CString::from_raw(path) });
        }
        slot.start.store(FREE, Ordering::Release);
    }
}

/// Calls `then` with the path of the file that is mapped at `address`, if one is. Only atomics are
/// read, so that a signal handler may call it.
fn mapped_at<T>(address: usize, then: impl FnOnce(&CStr) -> T) -> Option<T> {
    let slot = TABLE.iter().find(|slot| {
        let start = slot.start.load(Ordering::Acquire);
        start > BUSY && start <= address && address < slot.end.load(Ordering::Relaxed)
    })?;
    let path = slot.path.load(Ordering::Relaxed);
    if path.is_null() {
        return None;
    }
    // SAFETY: the path of a filled slot is a C string. It lives as long as the mapping, which the
    // faulting read borrows.
    Some(then(unsafe { CStr::from_ptr(path) }))
}

/// From now on a read of a mapped file that somebody truncated ends the process with `exit` and a
/// message: an object on standard output with `json`, else a line on standard error. Outputs that are
/// being written have no names yet, so that nothing is left of them. For programs, not for libraries:
/// it replaces the handler of a signal. To be called once.
#[cfg(unix)]
pub fn report(exit: u8, json: bool) {
    handler::install(exit, json);
}

/// On this system a mapped file cannot be truncated.
#[cfg(not(unix))]
pub fn report(_exit: u8, _json: bool) {}

#[cfg(unix)]
mod handler {
    use std::ffi::CStr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

    use crate::diagnose::Code;

    static EXIT: AtomicI32 = AtomicI32::new(1);
    static JSON: AtomicBool = AtomicBool::new(false);

    /// What took place before, for faults elsewhere.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

    pub(super) fn install(exit: u8, json: bool) {
        EXIT.store(exit.into(), Ordering::Relaxed);
        JSON.store(json, Ordering::Relaxed);
        // SAFETY: the action is fully initialised, and the handler only does what is allowed in one.
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
        if super::mapped_at(address, tell).is_some() {
            // SAFETY: ends the process without running anything.
            unsafe { libc::_exit(EXIT.load(Ordering::Relaxed)) };
        }
        let before = BEFORE.get().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: what took place before takes place again, when the read is tried once more.
        unsafe {
            if before.is_null() {
                libc::signal(signal, libc::SIG_DFL);
            } else {
                libc::sigaction(signal, before, std::ptr::null_mut());
            }
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
            // What needs escaping, or may be no UTF-8.
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

#[cfg(test)]
mod tests {
    use super::super::MappedFile;
    use super::*;

    #[test]
    fn mappings_are_known_while_they_live() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![1; 10_000]).unwrap();
        let file = MappedFile::open(&path).unwrap();
        let start = file.bytes().as_ptr() as usize;
        let found = |address| mapped_at(address, |found| found.to_str().unwrap() == path.to_str().unwrap());
        assert_eq!(found(start), Some(true));
        assert_eq!(found(start + 9_999), Some(true));
        // Other tests map files as well.
        assert_ne!(found(start - 1), Some(true));
        assert_ne!(found(start + 10_000), Some(true));
        assert_eq!(found(0), None);
        drop(file);
        assert_ne!(found(start), Some(true));
    }

    /// The variable that makes this test the process that faults.
    #[cfg(unix)]
    const FAULTING: &str = "ONNXPORT_TEST_FAULT";

    #[cfg(unix)]
    #[test]
    fn a_read_of_a_truncated_file_ends_with_a_message() {
        if let Ok(path) = std::env::var(FAULTING) {
            report(5, path.ends_with("json"));
            let file = MappedFile::open(Path::new(&path)).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            let sum: u32 = file.bytes().iter().map(|byte| u32::from(*byte)).sum();
            panic!("{sum} was read from nothing");
        }
        let dir = tempfile::tempdir().unwrap();
        let name = "tensor::fault::tests::a_read_of_a_truncated_file_ends_with_a_message";
        for end in ["text", "json"] {
            let path = dir.path().join(format!("a \"file\".{end}"));
            std::fs::write(&path, vec![1; 10_000]).unwrap();
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let output = child.args(["--exact", name, "--nocapture"]).env(FAULTING, &path).output().unwrap();
            assert_eq!(output.status.code(), Some(5), "{output:?}");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            if end == "text" {
                let said = format!("error[OP613]: `{}` was truncated while it was read\n", path.display());
                assert!(text(&output.stderr).contains(&said), "{output:?}");
                continue;
            }
            let stdout = text(&output.stdout);
            let json = stdout.lines().find(|line| line.starts_with('{')).unwrap();
            let said: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!((&said["exit"], &said["diagnostics"][0]["code"]), (&5.into(), &"OP613".into()));
            assert!(said["diagnostics"][0]["message"].as_str().unwrap().contains("a ?file?.json"));
        }
    }
}
