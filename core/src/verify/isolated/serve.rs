//! The process that a runtime has for itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use onnxport_abi::{HostRoot, PluginRoot};

use super::super::executor::{Executor, Feed, Runtime, Session};
use crate::backend::Serving;
use crate::diagnose::{Code, Diagnostic, Severity};
use crate::host::{Plugin, Source, attach, load, log, options};
use crate::isolated::wire::{self, Reply, Request, Shape};
use crate::tensor::DType;

/// Serves the requests of the parent process until that closes its side. `linked` are the plugins of this
/// program, and `root` is the host that plugins attach to.
///
/// # Errors
/// `OP703` where the other side says something that is not understood, or goes away in the middle of it.
pub fn serve(linked: &[&'static PluginRoot], root: &'static HostRoot) -> Result<(), Diagnostic> {
    let mut from = BufReader::new(io::stdin());
    let mut to = answers().map_err(|error| broken(&error))?;
    ends_with_parent();
    let Some(first) = wire::header(&mut from).map_err(|error| broken(&error))? else { return Ok(()) };
    if let Request::Backend { id, library, settings, index, model, level } = first {
        log::show_level(level);
        let opened = told(&mut to, || {
            let plugin = plugin(&id, library.as_deref(), &settings, linked, root)?;
            Serving::open(&plugin, index, &model)
        })?;
        return match opened {
            Ok(serving) => regions(serving, &mut from, &mut to),
            Err(problem) => refuse(&mut to, &problem),
        };
    }
    let opened = told(&mut to, || opened(first, linked, root))?;
    let runtime = match opened {
        Ok(runtime) => runtime,
        Err(problem) => return refuse(&mut to, &problem),
    };
    let text = match runtime.describe() {
        Ok(text) => text,
        Err(problem) => return refuse(&mut to, &problem),
    };
    done(&mut to, text)?;
    let mut session: Option<Session<'_>> = None;
    while let Some(request) = wire::header(&mut from).map_err(|error| broken(&error))? {
        let answer = match request {
            Request::Open { .. } | Request::Backend { .. } | Request::Region(_) => {
                Err(Diagnostic::error(Code::INTERNAL, "a runtime is open already"))
            }
            Request::Load { path, values } => {
                let path = Path::new(&path);
                let loaded = told(&mut to, || match &values {
                    None => runtime.load(path),
                    Some(values) => {
                        runtime.load_with(path, &values.iter().map(String::as_str).collect::<Vec<_>>())
                    }
                })?;
                loaded.map(|loaded| session = Some(loaded))
            }
            Request::Run { feeds } => {
                let tensors = read(&mut from, &feeds).map_err(|error| broken(&error))?;
                match (&mut session, tensors) {
                    (Some(session), Some(tensors)) => run(session, &feeds, &tensors, &mut to)?,
                    _ => Err(Diagnostic::error(Code::INTERNAL, "there is no model, or no such type")),
                }
            }
        };
        match answer {
            Ok(()) => done(&mut to, String::new())?,
            Err(problem) => refuse(&mut to, &problem)?,
        }
    }
    Ok(())
}

/// Compiles the regions that the parent process asks for.
fn regions(mut serving: Serving, from: &mut dyn Read, to: &mut dyn Write) -> Result<(), Diagnostic> {
    done(to, String::new())?;
    while let Some(request) = wire::header(from).map_err(|error| broken(&error))? {
        let Request::Region(wanted) = request else {
            refuse(to, &Diagnostic::error(Code::INTERNAL, "a backend is open"))?;
            continue;
        };
        match told(to, || serving.compile(wanted))? {
            Ok((body, text)) => {
                let bytes = body.len() as u64;
                let shape = Shape { name: String::new(), dtype: 0, dims: Vec::new(), bytes };
                answer(to, &Reply::Output(shape), &[&body])?;
                done(to, text)?;
            }
            Err(problem) => refuse(to, &problem)?,
        }
    }
    Ok(())
}

fn broken(error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::VERIFY_EXECUTOR, format!("the process of a runtime cannot go on: {error}"))
}

/// Where answers go. Output of a runtime goes to standard error from now on, not between them.
#[cfg(unix)]
fn answers() -> io::Result<File> {
    use std::os::fd::AsFd;
    let own = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // SAFETY: both descriptors are open, and nothing has been written through the first one.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(own)
}

#[cfg(not(unix))]
fn answers() -> io::Result<io::Stdout> {
    Ok(io::stdout())
}

/// Ends this process soon after the one that started it, however deep a runtime is in its work.
#[cfg(unix)]
fn ends_with_parent() {
    use std::time::Duration;
    let parent = rustix::process::getppid();
    let watch = move || {
        while rustix::process::getppid() == parent {
            std::thread::sleep(Duration::from_millis(500));
        }
        // SAFETY: it ends the process and returns nowhere; nobody is left who waits for anything of it.
        unsafe { libc::_exit(1) }
    };
    // Without it the process ends when it is next done.
    let _ = std::thread::Builder::new().name("parent".to_owned()).spawn(watch);
}

#[cfg(not(unix))]
fn ends_with_parent() {}

/// The runtime that the first request asks for.
fn opened(
    first: Request,
    linked: &[&'static PluginRoot],
    root: &'static HostRoot,
) -> Result<Runtime, Diagnostic> {
    let Request::Open { id, library, settings, options, level } = first else {
        return Err(Diagnostic::error(Code::INTERNAL, "no runtime was asked for"));
    };
    log::show_level(level);
    let plugin = plugin(&id, library.as_deref(), &settings, linked, root)?;
    let executor = Executor::of(&plugin)
        .ok_or_else(|| Diagnostic::error(Code::PLUGIN_CHOICE, format!("unknown executor `{id}`")))?;
    let options: Vec<(&str, &str)> = options.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    executor.open(&options)
}

fn plugin(
    id: &str,
    library: Option<&Path>,
    settings: &BTreeMap<String, String>,
    linked: &[&'static PluginRoot],
    root: &'static HostRoot,
) -> Result<Plugin, Diagnostic> {
    let (about, own, source) = match library {
        Some(library) => {
            let (own, said) = load::load(library)?;
            (attach::about(&own, said)?, own, Source::Flag)
        }
        None => {
            let about = |own: &&&'static PluginRoot| Some((attach::about(own, "linked in").ok()?, ***own));
            let found = linked.iter().filter_map(|own| about(&own)).find(|(about, _)| about.id == id);
            let (about, own) = found
                .ok_or_else(|| Diagnostic::error(Code::PLUGIN_CHOICE, format!("unknown executor `{id}`")))?;
            (about, own, Source::Linked)
        }
    };
    let mut plugin = attach::plugin(&about, source, library.map(Path::to_owned));
    attach::attach(&mut plugin, &own, root)?;
    let refused = options::configure(&plugin, settings).err().into_iter().flatten().next();
    refused.map_or(Ok(plugin), Err)
}

/// Does `work`, and forwards the messages of plugins meanwhile.
fn told<T>(to: &mut dyn Write, work: impl FnOnce() -> T) -> Result<T, Diagnostic> {
    let (result, said) = log::collect(work);
    for message in said.into_iter().chain(log::others()) {
        let plugin = message.provider.unwrap_or_default();
        let prefix = format!("plugin `{plugin}`: ");
        let text = message.message.strip_prefix(&prefix).unwrap_or(&message.message).to_owned();
        let level = if message.severity == Severity::Note {
            onnxport_abi::log::level::INFO
        } else {
            onnxport_abi::log::level::WARN
        };
        answer(to, &Reply::Said { level, plugin, text }, &[])?;
    }
    Ok(result)
}

/// The elements of a tensor.
type Typed = (DType, Vec<u8>);

/// The tensors of `feeds`; `None` where a type is not known.
fn read(from: &mut dyn Read, feeds: &[Shape]) -> io::Result<Option<Vec<Typed>>> {
    let mut tensors = Vec::with_capacity(feeds.len());
    let mut known = true;
    for feed in feeds {
        let bytes = wire::bytes(from, feed.bytes)?;
        match DType::from_onnx(feed.dtype) {
            Some(dtype) => tensors.push((dtype, bytes)),
            None => known = false,
        }
    }
    Ok(known.then_some(tensors))
}

/// Runs the model; outputs are handed on as they come.
fn run(
    session: &mut Session<'_>,
    feeds: &[Shape],
    tensors: &[Typed],
    to: &mut dyn Write,
) -> Result<Result<(), Diagnostic>, Diagnostic> {
    let feeds: Vec<Feed<'_>> = feeds
        .iter()
        .zip(tensors)
        .map(|(feed, (dtype, bytes))| Feed {
            name: &feed.name,
            dtype: *dtype,
            dims: feed.dims.clone(),
            bytes,
        })
        .collect();
    let mut lost = None;
    let (outcome, said) = log::collect(|| {
        session.run(&feeds, &mut |output| {
            let shape = Shape {
                name: output.name.to_owned(),
                dtype: output.dtype.map_or(0, DType::onnx),
                dims: output.dims.to_vec(),
                bytes: output.bytes.len() as u64,
            };
            if lost.is_none() {
                lost = answer(to, &Reply::Output(shape), &[output.bytes]).err();
            }
        })
    });
    if let Some(lost) = lost {
        return Err(lost);
    }
    told(to, || log::hand_back(said))?;
    Ok(outcome)
}

fn answer(to: &mut dyn Write, reply: &Reply, parts: &[&[u8]]) -> Result<(), Diagnostic> {
    wire::write(to, reply, parts).map_err(|error| broken(&error))
}

fn done(to: &mut dyn Write, text: String) -> Result<(), Diagnostic> {
    answer(to, &Reply::Done(text), &[])
}

fn refuse(to: &mut dyn Write, problem: &Diagnostic) -> Result<(), Diagnostic> {
    let reply = Reply::Failed {
        code: problem.code.to_string(),
        message: problem.message.clone(),
        help: problem.help.clone(),
        provider: problem.provider.clone(),
    };
    answer(to, &reply, &[])
}
