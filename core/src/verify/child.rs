//! A Python in its own process that works on a program: it is given a request, and answers.
//!
//! Everything goes through pipes, so that nothing lies on the disk. The process ends with this one: it reads the
//! end of its input, and on Linux the system ends it as well.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How such a process talks. It receives the script first, since arguments may have 128 KiB on Linux.
const PROCESS: &str =
    concat!(include_str!("process.py"), "\n\nexec(compile(receive(), \"<string>\", \"exec\"))\n");
/// The most bytes that an answer may have.
const LONGEST: u64 = 2 << 30;
/// The most bytes of its last words that are kept.
const LAST_WORDS: usize = 4096;
/// How long a process that closed its output may take to end.
const FAREWELL: Duration = Duration::from_secs(2);

/// A running process. It is ended, and its end is waited for, when this is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    answers: Receiver<io::Result<Vec<u8>>>,
    /// Takes requests. Its end is that of the input, and so of the process.
    request: Sender<Vec<u8>>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    /// Closed once all of them are there.
    spoken: Receiver<()>,
    limit: Duration,
    end: Instant,
}

impl Child {
    /// Starts `interpreter` with `script` for the archive at `path`, and hands it `request`. All of its answers have
    /// to come within `limit`. Who is `trusted` may run code while it is loaded.
    ///
    /// # Errors
    /// A sentence when no process or thread can be started.
    pub(crate) fn start(
        interpreter: &Path,
        script: &str,
        path: &Path,
        trusted: bool,
        request: Vec<u8>,
        limit: Duration,
    ) -> Result<Self, String> {
        let mut child = Self::begin(interpreter, script, path, trusted)?;
        child.ask(request, limit);
        Ok(child)
    }

    /// Hands it a request. All of the answers have to come within `limit` from now on.
    pub(crate) fn ask(&mut self, request: Vec<u8>, limit: Duration) {
        // One that has ended says so where it is to answer.
        let _ = self.request.send(request);
        (self.limit, self.end) = (limit, Instant::now() + limit);
    }

    /// [`start`](Self::start) without a request, which [`ask`](Self::ask) hands over.
    ///
    /// # Errors
    /// A sentence when no process or thread can be started.
    pub(crate) fn begin(
        interpreter: &Path,
        script: &str,
        path: &Path,
        trusted: bool,
    ) -> Result<Self, String> {
        let cannot = |error: io::Error| format!("`{}` cannot be started: {error}", interpreter.display());
        let mut command = Command::new(interpreter);
        command.args(["-W", "ignore", "-c", PROCESS]).arg(std::path::absolute(path).map_err(cannot)?);
        command.arg(std::process::id().to_string()).args(trusted.then_some("trusted"));
        // The sandbox has another temporary folder than the environment states.
        command.env("TMPDIR", tempfile::env::temp_dir());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(cannot)?;
        let (input, output, errors) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (answer, answers) = mpsc::sync_channel(1);
        let (asking, asked) = mpsc::channel::<Vec<u8>>();
        let last_words = Arc::default();
        let (speaking, spoken) = mpsc::channel::<()>();
        let (limit, end) = (Duration::ZERO, Instant::now());
        // From here on the process is ended whatever happens.
        let child = Self { process, answers, request: asking, last_words, spoken, limit, end };
        let (Some(mut input), Some(mut output), Some(errors)) = (input, output, errors) else {
            return Err("the pipes of the process are missing".to_owned());
        };
        spawn("ask", move || {
            while let Ok(request) = asked.recv() {
                // A process that does not read the request does not answer either.
                let sent = input.write_all(&(request.len() as u64).to_le_bytes());
                let _ = sent.and_then(|()| input.write_all(&request)).and_then(|()| input.flush());
            }
        })?;
        spawn("answers", move || {
            loop {
                let message = read(&mut output);
                let more = message.as_ref().is_ok_and(Option::is_some);
                let Some(message) = message.transpose() else { return };
                if answer.send(message).is_err() || !more {
                    return;
                }
            }
        })?;
        let kept = Arc::clone(&child.last_words);
        spawn("last words", move || {
            keep(errors, &kept);
            drop(speaking);
        })?;
        // One that has ended says so where it is to answer.
        let _ = child.request.send(script.as_bytes().to_vec());
        Ok(child)
    }

    /// The next answer.
    ///
    /// # Errors
    /// A sentence that says why there is none.
    pub(crate) fn answer(&mut self) -> Result<Vec<u8>, String> {
        let left = self.end.saturating_duration_since(Instant::now());
        match self.answers.recv_timeout(left) {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(error)) => Err(format!("its answer cannot be read: {error}")),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("it did not answer within {} s", self.limit.as_secs_f64()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.epitaph()),
        }
    }

    /// The description of a process that ended without an answer.
    fn epitaph(&mut self) -> String {
        let patience = Instant::now() + FAREWELL;
        let status = loop {
            match self.process.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < patience => thread::sleep(Duration::from_millis(10)),
                _ => return "it answered no more".to_owned(),
            }
        };
        // Others may hold the pipe open.
        let _ = self.spoken.recv_timeout(FAREWELL);
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<u8> = words.iter().copied().collect();
        let words = String::from_utf8_lossy(&words).into_owned();
        let last = words.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let last = last.map_or_else(String::new, |line| format!(": {line}"));
        format!("it ended without an answer, {}{last}", ending(status))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // One that has ended is not an error.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| format!("no thread can be started to talk with it: {error}"))
}

/// The next message; `None` at the end.
fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u64::from_le_bytes(length);
    if length > LONGEST {
        return Err(io::Error::other(format!("it states a length of {length} bytes")));
    }
    let mut message = Vec::new();
    // The length is only believed as far as bytes come.
    from.take(length).read_to_end(&mut message)?;
    if message.len() as u64 == length { Ok(Some(message)) } else { Err(io::Error::other("it is cut off")) }
}

fn keep(mut from: impl Read, kept: &Mutex<VecDeque<u8>>) {
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(piece.get(..count).unwrap_or_default());
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }
}

#[cfg(unix)]
fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;

    const SIGKILL: i32 = 9;
    match (status.signal(), status.code()) {
        (Some(SIGKILL), _) => "killed, as the system does when memory runs out".to_owned(),
        (Some(signal), _) => format!("by signal {signal}"),
        (_, Some(code)) => format!("with exit code {code}"),
        _ => status.to_string(),
    }
}

#[cfg(not(unix))]
fn ending(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("with exit code {code}"))
}

/// Interpreters for tests that are shell scripts: a Python might do anything that they do.
#[cfg(all(test, unix))]
pub(crate) mod shell {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use crate::interpreter::Python;

    /// Returns an interpreter in `folder` that runs `script`.
    ///
    /// Another process writes the file: a descriptor of this one might be inherited by a process that another test starts, and
    /// no file that is open for writing can be executed.
    pub(crate) fn interpreter(folder: &Path, script: &str) -> Python {
        let [text, interpreter] = ["python3.sh", "python3"].map(|name| folder.join(name));
        fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        let installed = Command::new("install").args(["-m", "755"]).arg(text).arg(&interpreter).status();
        assert!(installed.unwrap().success());
        Python { interpreter, packages: Vec::new() }
    }

    /// Returns an interpreter in `folder` that writes `answers` and then runs `script`.
    pub(crate) fn answering(folder: &Path, answers: &[u8], script: &str) -> Python {
        let file = folder.join("answers");
        fs::write(&file, answers).unwrap();
        interpreter(folder, &format!("cat '{}'\n{script}", file.display()))
    }

    /// Returns a message: its length and its bytes.
    pub(crate) fn message(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
    }
}
