//! Feeds every case to the model and checks each output as the runtime hands it over.

use std::path::Path;
use std::time::Instant;

use super::Signature;
use super::bind::{States, at_declared_sizes, bind, feeds, other_size};
use super::branches::Branches;
use super::executor::{Runtime, Session};
use super::expected::{Against, Case, Expected};
use super::judge::{Judge, report};
use super::report::{CaseReport, Judged, Verification};
use super::several::{Recorder, draws};
use super::written::Written;
use crate::compare::Chosen;
use crate::diagnose::{Code, Diagnostic};
use crate::ir::import::check_calls;
use crate::onnx::{CHANGED_KEY, OnnxFile};

/// The user's choices.
#[derive(Clone, Copy, Default)]
pub struct Options<'c> {
    /// Replaces the relative tolerance of floating-point outputs.
    pub rtol: Option<f64>,
    /// Replaces the absolute tolerance of floating-point outputs.
    pub atol: Option<f64>,
    /// The plugin that compares; without one, the host does.
    pub comparer: Option<&'c Chosen>,
    /// The weights are not those that the expected values were computed with: how far values are from
    /// them is found out, and is not a mistake.
    pub measure: bool,
    /// The tolerance of an output follows from the noise of its computation, where that is known.
    pub auto: bool,
}

impl Options<'_> {
    fn judged(&self) -> Judged {
        match (self.auto, self.rtol.or(self.atol)) {
            (true, _) => Judged::Auto,
            (false, Some(_)) => Judged::Given,
            (false, None) => Judged::Default,
        }
    }
}

/// Runs the model at `path` on every case. `progress` is told the case that starts.
///
/// A mismatch is part of the result; an error means that nothing could be verified.
pub fn verify(
    runtime: &Runtime,
    path: &Path,
    against: &Against,
    options: &Options<'_>,
    progress: &mut dyn FnMut(&Case),
) -> Result<Verification, Diagnostic> {
    run(runtime, path, against, options, None, progress)
}

/// [`verify`] that returns the outputs of each call, by its number.
pub(super) fn run(
    runtime: &Runtime,
    path: &Path,
    against: &Against,
    options: &Options<'_>,
    mut keep: Option<&mut Vec<(usize, Expected)>>,
    progress: &mut dyn FnMut(&Case),
) -> Result<Verification, Diagnostic> {
    let start = Instant::now();
    let file = OnnxFile::open(path)?;
    // A runtime may crash on data that is not there.
    file.check_data()?;
    check_calls(&file.proto)?;
    let signature = Signature::of(&file)?;
    signature.check_states()?;
    // Who states a tolerance wants values to be judged.
    let is_changed = file.metadata(CHANGED_KEY).is_some() && options.rtol.is_none() && options.atol.is_none();
    let options = &Options { measure: options.measure || is_changed, ..*options };
    let mut branches = Branches::of(&file, &against.branches);
    let random = keep.is_some() && draws(&file);
    drop(file);
    let executor = runtime.describe()?;
    let fixed = signature.fixed.as_slice();
    // Where nothing that was recorded is of the sizes that the model was made for, it is repeated to them.
    let made = match against.cases.first() {
        Some(first) if against.cases.iter().all(|case| other_size(fixed, case).is_some()) => {
            Some(at_declared_sizes(&signature, first)?)
        }
        _ => None,
    };
    let mut session = load(runtime, path, &signature, &mut branches)?;
    let written = Written::new(path);
    let mut cases = Vec::with_capacity(against.cases.len());
    // The states after the call before, if it ran.
    let (mut kept, mut stands) = (States::default(), false);
    for (number, case) in against.cases.iter().chain(&made).enumerate() {
        if let Some(why) = other_size(fixed, case) {
            cases.push(CaseReport::not_applicable(case, why));
            stands = false;
            continue;
        }
        let wanted = case.expected.is_some() || keep.is_some();
        if (case.trial || case.continues) && !wanted || case.continues && !stands {
            // Nothing shows that the program takes it, or no state is there to go on from; that is not even worth
            // telling.
            stands = false;
            continue;
        }
        if case.refused.is_some() {
            // A call that the program refuses shows nothing about the model.
            cases.push(CaseReport::refused(case));
            stands = false;
            continue;
        }
        progress(case);
        let before = if case.continues { std::mem::take(&mut kept) } else { States::default() };
        let inputs = bind(&signature, case)?;
        let feeds = feeds(&inputs, &before)?;
        branches.fed(&feeds);
        let goes_on = against.cases.get(number + 1).is_some_and(|next| next.continues);
        let mut left_behind = States::default();
        let mut seen = keep.is_some().then(|| Recorder::new(random));
        let mut judge = Judge::new(&signature, case, &inputs, options, &written);
        let mut left = signature.outputs.len();
        let outcome = session.run(&feeds, &mut |output| {
            branches.output(&output);
            // Conditions come after the outputs.
            if let Some(less) = left.checked_sub(1) {
                left = less;
                judge.output(&output);
                if goes_on {
                    left_behind.keep(&signature, &output);
                }
                if let Some(seen) = &mut seen {
                    seen.record(&signature, &output);
                }
            }
        });
        judge.accept_ties();
        stands = outcome.is_ok();
        kept = left_behind;
        let error = match outcome {
            Ok(()) => judge.refused().or_else(|| judge.missing()).or_else(|| judge.disordered()),
            Err(d) if d.code == Code::VERIFY_EXECUTOR => Some(d.message),
            Err(d) => return Err(d),
        };
        if let Some((keep, seen)) = keep.as_deref_mut().zip(seen.filter(|_| stands)) {
            keep.push((number, seen.expected()));
        }
        let fed = feeds.iter().map(|f| report(f.name, &f.dtype, &f.dims)).collect();
        cases.push(CaseReport {
            name: case.name.clone(),
            inputs: fed,
            outputs: judge.outputs,
            error,
            drawn: case.drawn,
            not_applicable: None,
            expected: case.source,
            random: case.is_random(),
            refused: None,
            inexact: case.inexact.clone().filter(|_| options.auto),
        });
    }
    let seconds = start.elapsed().as_secs_f64();
    let ran = |case: &&Case| other_size(fixed, case).is_none();
    let values_compared =
        against.cases.iter().filter(ran).any(|case| case.expected.is_some() && !case.is_random());
    Ok(Verification {
        executor,
        torch: against.torch.clone(),
        oracle: against.oracle.clone(),
        values_compared,
        measured: options.measure,
        tolerance: options.judged(),
        made: against.made,
        cases,
        not_entered: branches.not_entered(),
        seconds,
    })
}

/// Loads the model so that the conditions of its branches come out as well, where the executor can do that.
fn load<'r>(
    runtime: &'r Runtime,
    path: &Path,
    signature: &Signature,
    branches: &mut Branches,
) -> Result<Session<'r>, Diagnostic> {
    let ports: Vec<&str> =
        signature.inputs.iter().chain(&signature.outputs).map(|port| port.name.as_str()).collect();
    let taps = branches.taps(&ports);
    if taps.is_empty() {
        return runtime.load(path);
    }
    if let Ok(session) = runtime.load_with(path, &taps) {
        return Ok(session);
    }
    branches.give_up();
    runtime.load(path)
}
