//! Runtimes in processes of their own: a crash, a hang or a kill there is a diagnostic here.
//!
//! A process serves one session. It is this program again, which [`serve`]s: it attaches the one plugin that is asked for,
//! and does through its standard streams what an executor in this process would do. A session whose process ended starts
//! another one when it is run again.

mod serve;

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::executor::{Feed, Output};
use crate::diagnose::Diagnostic;
use crate::host::{Plugin, log};
use crate::isolated::Process;
use crate::isolated::wire::{Request, Shape};
use crate::tensor::DType;

pub use serve::serve;

/// How processes are started, and how long each of their answers may take.
pub struct Isolation {
    /// Makes the command of a process that calls [`serve`].
    pub command: Box<dyn Fn() -> Result<Command, Diagnostic>>,
    /// The longest that opening the runtime, loading a model or running it may take.
    pub limit: Option<Duration>,
}

/// A runtime in other processes.
pub(super) struct Remote {
    isolation: Isolation,
    name: &'static str,
    id: &'static str,
    open: Request,
    /// The runtime's description of itself.
    pub(super) text: String,
    /// A process that opened the runtime, and loads the first model.
    spare: Mutex<Option<Process>>,
}

impl Remote {
    /// Opens the runtime of `plugin`.
    pub(super) fn open(
        plugin: &Plugin,
        name: &'static str,
        options: &[(&str, &str)],
        isolation: Isolation,
    ) -> Result<Self, Diagnostic> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let open = Request::Open {
            id: plugin.id.to_owned(),
            library: plugin.library.clone(),
            settings: plugin.given.clone(),
            options: options.iter().map(owned).collect(),
            level: log::shown(),
        };
        let mut remote =
            Self { isolation, name, id: plugin.id, open, text: String::new(), spare: Mutex::new(None) };
        let (process, text) = remote.start()?;
        remote.text = text;
        remote.spare = Mutex::new(Some(process));
        Ok(remote)
    }

    /// A process that has opened the runtime, and the description of that.
    fn start(&self) -> Result<(Process, String), Diagnostic> {
        let mut process =
            Process::start((self.isolation.command)()?, self.name, self.id, self.isolation.limit)?;
        let text = process.ask(&self.open, &[], "starting", &mut |_, _| {})?;
        Ok((process, text))
    }

    /// A session of the model at `path`, which also gives `values`.
    pub(super) fn load(&self, path: &str, values: Option<&[&str]>) -> Result<RemoteSession<'_>, Diagnostic> {
        let values = values.map(|values| values.iter().map(|&name| name.to_owned()).collect());
        let load = Request::Load { path: path.to_owned(), values };
        let mut session = RemoteSession { remote: self, load, process: None };
        session.process()?;
        Ok(session)
    }
}

/// A model that another process loaded.
pub(super) struct RemoteSession<'r> {
    remote: &'r Remote,
    load: Request,
    process: Option<Process>,
}

impl RemoteSession<'_> {
    /// The process, which has loaded the model.
    fn process(&mut self) -> Result<&mut Process, Diagnostic> {
        if let Some(process) = self.process.take_if(|process| process.is_alive()) {
            return Ok(self.process.insert(process));
        }
        let spare = self.remote.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut process = match spare {
            Some(process) => process,
            None => self.remote.start()?.0,
        };
        process.ask(&self.load, &[], "loading the model", &mut |_, _| {})?;
        Ok(self.process.insert(process))
    }

    pub(super) fn run(
        &mut self,
        feeds: &[Feed<'_>],
        take: &mut dyn FnMut(Output<'_>),
    ) -> Result<(), Diagnostic> {
        let shape = |feed: &Feed<'_>| Shape {
            name: feed.name.to_owned(),
            dtype: feed.dtype.onnx(),
            dims: feed.dims.clone(),
            bytes: feed.bytes.len() as u64,
        };
        let request = Request::Run { feeds: feeds.iter().map(shape).collect() };
        let parts: Vec<&[u8]> = feeds.iter().map(|feed| feed.bytes).collect();
        let mut handed = |shape: &Shape, bytes: &[u8]| {
            let dtype = DType::from_onnx(shape.dtype);
            take(Output { name: &shape.name, dtype, dims: &shape.dims, bytes });
        };
        self.process()?.ask(&request, &parts, "running the model", &mut handed)?;
        Ok(())
    }
}
