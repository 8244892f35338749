//! Sources of values by their names.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::Recorded;
use crate::compare::Difference;
use crate::diagnose::{Code, Diagnostic};
use crate::run::Computed;
use crate::tensor::data::count;
use crate::verify::{Feed, Output, Runtime, Session};

/// A source of values by their names.
pub enum Side<'r> {
    /// A runtime that runs a model.
    Model(ModelSide<'r>),
    /// A recording.
    Recorded(Recorded),
}

/// A model in a file, with its runtime and its inputs.
pub struct ModelSide<'r> {
    /// The runtime.
    pub runtime: &'r Runtime,
    /// The file.
    pub path: PathBuf,
    /// Every input that has a value.
    pub inputs: Vec<Computed>,
    /// The names of its outputs, which need not be requested.
    pub outputs: Vec<String>,
    /// Whether the runtime compares its values in place, if it can.
    pub in_place: bool,
    /// Why it could not.
    cannot: RefCell<Option<String>>,
}

/// The answer of a side about a value.
#[derive(Debug)]
pub(super) enum Answer {
    /// The value.
    Value(Computed),
    /// The difference from the expected value, whose type and shape it has.
    Difference(Difference),
}

impl Side<'_> {
    /// Describes the side for people.
    ///
    /// # Errors
    /// Those of the runtime.
    pub fn describe(&self) -> Result<String, Diagnostic> {
        match self {
            Side::Model(model) => model.runtime.describe(),
            Side::Recorded(recorded) => Ok(format!("the recording {}", recorded.path().display())),
        }
    }

    /// Passes the values called `names` to `take`, one after the other and in any order. Missing ones are left out.
    ///
    /// # Errors
    /// Those of the runtime.
    pub fn each(&self, names: &[&str], take: &mut dyn FnMut(Computed)) -> Result<(), Diagnostic> {
        match self {
            Side::Model(model) => model.each(names, take),
            Side::Recorded(recorded) => {
                for name in names {
                    if let Some(value) = recorded.value(name)? {
                        take(value);
                    }
                }
                Ok(())
            }
        }
    }

    /// Returns each value in `pairs`, by its name, or its distance from the one beside it. Missing values are left out.
    ///
    /// # Errors
    /// Those of the runtime.
    pub(super) fn against(
        &self,
        pairs: &[(&str, Option<&Computed>)],
        take: &mut dyn FnMut(&str, Answer),
    ) -> Result<(), Diagnostic> {
        let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
        if let Side::Model(model) = self
            && model.in_place
            && model.cannot.borrow().is_none()
        {
            match model.measure(&names, pairs, take)? {
                Ok(()) => return Ok(()),
                Err(why) => *model.cannot.borrow_mut() = Some(why),
            }
        }
        self.each(&names, &mut |value| take(&value.name.clone(), Answer::Value(value)))
    }

    /// Returns the reason why values that should have been compared in place were transferred.
    pub(crate) fn not_in_place(&self) -> Option<String> {
        match self {
            Side::Model(model) => model.cannot.borrow().clone(),
            Side::Recorded(_) => None,
        }
    }
}

impl<'r> ModelSide<'r> {
    /// The model at `path`, whose outputs are called `outputs`.
    pub fn new(runtime: &'r Runtime, path: &Path, inputs: Vec<Computed>, outputs: Vec<String>) -> Self {
        Self { runtime, path: path.to_owned(), inputs, outputs, in_place: false, cannot: RefCell::default() }
    }

    /// [`Side::each`] for a model, which is run for this.
    ///
    /// # Errors
    /// Those of the runtime.
    pub fn each(&self, names: &[&str], take: &mut dyn FnMut(Computed)) -> Result<(), Diagnostic> {
        let mut session = self.session(names)?;
        let mut values = Values::from_names(names);
        session.run(&self.feeds()?, &mut |output| values.note(output, take))?;
        values.end(self.runtime)
    }

    /// [`Side::against`] in the runtime, or the reason why it cannot do that.
    fn measure(
        &self,
        names: &[&str],
        pairs: &[(&str, Option<&Computed>)],
        take: &mut dyn FnMut(&str, Answer),
    ) -> Result<Result<(), String>, Diagnostic> {
        let expected = pairs.iter().filter_map(|(name, expected)| Some((*name, (*expected)?)));
        let expected = expected.map(|(name, value)| Ok(Feed { name, ..value.feed()? }));
        let expected: Vec<Feed<'_>> = expected.collect::<Result<_, Diagnostic>>()?;
        let mut session = self.session(names)?;
        let (mut values, mut found, mut given) = (Values::from_names(names), Vec::new(), Vec::new());
        let mut measured = |name: &str, difference| found.push((name.to_owned(), difference));
        let mut output = |output: Output<'_>| values.note(output, &mut |value| given.push(value));
        if let Err(why) = session.measure(&self.feeds()?, &expected, &mut measured, &mut output)? {
            return Ok(Err(why));
        }
        for (name, difference) in found {
            take(&name, Answer::Difference(difference));
        }
        for value in given {
            take(&value.name.clone(), Answer::Value(value));
        }
        values.end(self.runtime).map(Ok)
    }

    /// Opens a session of the model with the outputs `names`.
    fn session(&self, names: &[&str]) -> Result<Session<'r>, Diagnostic> {
        let inside: Vec<&str> =
            names.iter().copied().filter(|name| !self.outputs.iter().any(|o| o == name)).collect();
        if inside.is_empty() {
            return self.runtime.load(&self.path);
        }
        self.runtime.load_with(&self.path, &inside)
    }

    fn feeds(&self) -> Result<Vec<Feed<'_>>, Diagnostic> {
        self.inputs.iter().map(Computed::feed).collect()
    }
}

/// The requested outputs of a run.
struct Values<'a> {
    wanted: rustc_hash::FxHashSet<&'a str>,
    /// The first whose bytes are not those of its type and shape.
    malformed: Option<String>,
}

impl<'a> Values<'a> {
    fn from_names(names: &[&'a str]) -> Self {
        Self { wanted: names.iter().copied().collect(), malformed: None }
    }

    fn note(&mut self, output: Output<'_>, take: &mut dyn FnMut(Computed)) {
        if !self.wanted.contains(output.name) {
            return;
        }
        let shape: Option<Vec<u64>> = output.dims.iter().map(|d| u64::try_from(*d).ok()).collect();
        let elements = shape.as_deref().and_then(count);
        let length = output.dtype.zip(elements).and_then(|(dtype, count)| dtype.byte_len(count));
        match output.dtype.zip(shape).filter(|_| length == Some(output.bytes.len() as u64)) {
            Some((dtype, shape)) => take(Computed {
                name: output.name.to_owned(),
                dtype,
                shape,
                bytes: Bytes::copy_from_slice(output.bytes),
            }),
            None => {
                self.malformed.get_or_insert_with(|| output.name.to_owned());
            }
        }
    }

    fn end(self, runtime: &Runtime) -> Result<(), Diagnostic> {
        let Some(name) = self.malformed else { return Ok(()) };
        let runtime = runtime.name();
        let message = format!("{runtime} returned the value `{name}` with the wrong type or shape");
        Err(Diagnostic::error(Code::VERIFY_ANSWER, message))
    }
}
