//! One process, asked and watched.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::wire::{self, Reply, Request, Shape};
use crate::diagnose::{Code, Diagnostic};
use crate::host::{ended, log};

/// The number of bytes of a process's last output that are read.
const WORDS: u64 = 64 << 10;

/// A process ends by itself so soon after its answers do.
const GRACE: Duration = Duration::from_secs(5);

/// Takes an output and its bytes.
pub(crate) type Take<'a> = dyn FnMut(&Shape, &[u8]) + 'a;

/// A reply of the process with its bytes, or the reason why there is none.
type Answer = io::Result<Option<(Reply, Vec<u8>)>>;

/// A process that serves.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Answer>,
    /// Its standard error.
    words: File,
    name: &'static str,
    id: &'static str,
    limit: Option<Duration>,
    /// Whether it can be asked again.
    alive: bool,
}

impl Process {
    /// Starts `command` for the runtime called `name` of the plugin `id`.
    pub(crate) fn start(
        mut command: Command,
        name: &'static str,
        id: &'static str,
        limit: Option<Duration>,
    ) -> Result<Self, Diagnostic> {
        let problem = |error: &io::Error| {
            let message = format!("no process for {name} can be started: {error}");
            Diagnostic::error(Code::VERIFY_NO_EXECUTOR, message)
        };
        let words = tempfile::tempfile().map_err(|error| problem(&error))?;
        let side = words.try_clone().map_err(|error| problem(&error))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(side);
        let mut child = command.spawn().map_err(|error| problem(&error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (put, answers) = sync_channel(1);
        let read = move || {
            let Some(mut from) = output.map(BufReader::new) else { return };
            loop {
                let next = next(&mut from);
                let last = !matches!(next, Ok(Some(_)));
                if put.send(next).is_err() || last {
                    return;
                }
            }
        };
        let process = Self { child, input, answers, words, name, id, limit, alive: true };
        let started = thread::Builder::new().name("answers".to_owned()).spawn(read);
        started.map_err(|error| problem(&error))?;
        Ok(process)
    }

    /// Whether it has neither failed to answer nor been given up.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive
    }

    /// Asks for something that is called `doing`; `take` is given the outputs. Returns the text of the answer.
    ///
    /// # Errors
    /// The runtime's refusal; `OP705` where it does not answer in time, `OP708` where its process ends.
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        parts: &[&[u8]],
        doing: &str,
        take: &mut Take<'_>,
    ) -> Result<String, Diagnostic> {
        let start = Instant::now();
        let Some(mut input) = self.input.take() else { return Err(self.ended(doing)) };
        let answer = thread::scope(|scope| {
            // It may wait for its answers to be read before it reads on.
            let writing = scope.spawn(|| {
                let _ = wire::write(&mut input, request, parts);
                input
            });
            let answer = self.answer(start, doing, take);
            if !self.alive {
                let _ = self.child.kill();
            }
            // A write that was in the way of an ended process has failed by now.
            self.input = writing.join().ok();
            answer
        });
        if !self.alive {
            self.input = None;
        }
        answer
    }

    fn answer(&mut self, start: Instant, doing: &str, take: &mut Take<'_>) -> Result<String, Diagnostic> {
        loop {
            let answer = match self.limit {
                None => self.answers.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(limit) => self.answers.recv_timeout(limit.saturating_sub(start.elapsed())),
            };
            match answer {
                Err(RecvTimeoutError::Timeout) => return Err(self.late(doing)),
                Err(RecvTimeoutError::Disconnected) | Ok(Ok(None)) => return Err(self.ended(doing)),
                Ok(Err(error)) => return Err(self.garbled(doing, &error)),
                Ok(Ok(Some((Reply::Output(shape), bytes)))) => take(&shape, &bytes),
                Ok(Ok(Some((Reply::Said { level, plugin, text }, _)))) => {
                    log::said(plugin, level, &text, None);
                }
                Ok(Ok(Some((Reply::Done(text), _)))) => return Ok(text),
                Ok(Ok(Some((Reply::Failed { code, message, help, provider }, _)))) => {
                    let known = Code::ALL.iter().map(|(known, _)| known).find(|known| known.as_str() == code);
                    let code = known.cloned().unwrap_or(Code::VERIFY_EXECUTOR);
                    return Err(Diagnostic { help, provider, ..Diagnostic::error(code, message) });
                }
            }
        }
    }

    /// It did not answer in time, and is ended.
    fn late(&mut self, doing: &str) -> Diagnostic {
        self.alive = false;
        let seconds = self.limit.unwrap_or_default().as_secs_f64();
        let message =
            format!("{} did not finish {doing} within {seconds} s; its process was ended", self.name);
        self.of(Diagnostic::error(Code::VERIFY_TIMEOUT, message).help("raise the limit with --timeout"))
    }

    /// It ended before it answered.
    fn ended(&mut self, doing: &str) -> Diagnostic {
        self.alive = false;
        let since = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if since.elapsed() < GRACE => thread::sleep(Duration::from_millis(2)),
                _ => break None,
            }
        };
        let how = match status {
            Some(status) => format!("ended with {}", ended::how(status, &self.said())),
            None => "closed its answers and went on".to_owned(),
        };
        let message = format!("the process of {} {how}, while it was {doing}", self.name);
        let killed = status.is_some_and(ended::is_killed);
        let help = if killed {
            "it was killed, possibly by the system for lack of memory"
        } else {
            "the fault is the runtime's; another version of it, or --executor reference, may run the model"
        };
        self.of(Diagnostic::error(Code::VERIFY_CRASH, message).help(help))
    }

    /// It said something that is not an answer.
    fn garbled(&mut self, doing: &str, error: &io::Error) -> Diagnostic {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return self.ended(doing);
        }
        self.alive = false;
        let message = format!("the process of {} answered {doing} with nonsense: {error}", self.name);
        self.of(Diagnostic::error(Code::VERIFY_CRASH, message))
    }

    fn of(&self, mut problem: Diagnostic) -> Diagnostic {
        problem.provider = Some(self.id.to_owned());
        problem
    }

    /// The end of its standard error.
    fn said(&mut self) -> String {
        let mut bytes = Vec::new();
        let length = self.words.metadata().map_or(0, |data| data.len());
        let begin = SeekFrom::Start(length.saturating_sub(WORDS));
        if self.words.seek(begin).is_ok() {
            let _ = (&self.words).take(WORDS).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that waits for a request ends when nobody can ask any more.
        self.input = None;
        let since = Instant::now();
        while self.alive && since.elapsed() < GRACE {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                _ => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next reply; `None` where there are no more.
fn next(from: &mut dyn Read) -> Answer {
    let Some(reply) = wire::header::<Reply>(from)? else { return Ok(None) };
    let bytes = match &reply {
        Reply::Output(shape) => wire::bytes(from, shape.bytes)?,
        _ => Vec::new(),
    };
    Ok(Some((reply, bytes)))
}
