//! The results of a verification, as data.

use schemars::JsonSchema;
use serde::Serialize;

use super::branches::NotEntered;
use super::expected::{Case, Source};
use super::floor::Floor;
use super::nature::Nature;
use crate::compare::Difference;
use crate::diagnose::{Code, Diagnostic, Severity};

/// The outcome of running a model on every case.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Verification {
    /// The runtime of the model.
    pub executor: String,
    /// The runtime of the program, where it was run for this verification.
    pub torch: Option<String>,
    /// Whether outputs were compared with expected values; else only that the model runs, and that
    /// the outputs have the declared element types and shapes.
    pub values_compared: bool,
    /// Whether that only measures how far they are from each other, since weights were changed on
    /// purpose: element types and shapes are judged, values are not.
    pub measured: bool,
    /// The tool that compared the values.
    pub tolerance: Judged,
    /// The executor whose values are expected where nothing else is: where that is `executor` itself, they are not held
    /// against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oracle: Option<String>,
    /// Whether the inputs were made up: a call that fails may do so because of them.
    pub made: bool,
    /// One per call.
    pub cases: Vec<CaseReport>,
    /// The branches that no call entered, as far as that could be seen.
    pub not_entered: Vec<NotEntered>,
    /// Wall-clock seconds, loading included.
    pub seconds: f64,
}

/// Where the tolerances of a verification come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// From element types.
    Default,
    /// From the user.
    Given,
    /// From the noise of each output, else from element types.
    Auto,
}

/// The outcome of one call.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CaseReport {
    /// The name of the case.
    pub name: String,
    /// The inputs.
    pub inputs: Vec<TensorReport>,
    /// The outputs.
    pub outputs: Vec<OutputReport>,
    /// Why the call itself failed.
    pub error: Option<String>,
    /// Whether sizes or values were drawn: that a call with them fails says nothing where nothing is expected,
    /// since the program itself may not take them.
    pub drawn: bool,
    /// Why the call was not run: it is of a size that the model was not made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<String>,
    /// Where the expected values come from.
    pub expected: Source,
    /// Whether the program draws random numbers, so that only types and shapes were compared.
    pub random: bool,
    /// Why the program itself does not take the call; the model was not run then.
    pub refused: Option<String>,
    /// Why the noise of the computation is not known, where the tolerance was to follow from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inexact: Option<String>,
}

/// A tensor's name and type.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct TensorReport {
    /// The name in the model.
    pub name: String,
    /// Element type.
    pub dtype: String,
    /// The extents.
    pub shape: Vec<i64>,
}

/// The outcome for one output.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct OutputReport {
    /// The name and type of the output.
    #[serde(flatten)]
    pub tensor: TensorReport,
    /// The name of the state whose next value this is.
    pub state: Option<String>,
    /// The fault.
    pub problem: Option<String>,
    /// How the values compare, where there are expected ones of the same type and shape.
    pub difference: Option<Difference>,
    /// The distance of neighbouring codes, where results are that far from the expected ones and no further.
    pub codes: Option<f64>,
    /// The noise of the computation, where the tolerance follows from it, or where it explains a difference that the
    /// tolerance of the type does not accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// Properties of the values.
    pub got: Nature,
    /// Properties of the expected values.
    pub wanted: Option<Nature>,
    /// Peculiarities of either.
    pub remarks: Vec<String>,
}

impl OutputReport {
    /// Whether values were compared, and agreeing with them says nothing: none of them is finite.
    pub fn says_nothing(&self) -> bool {
        self.difference.is_some() && self.wanted.is_some_and(|wanted| wanted.says_nothing())
    }
}

impl Verification {
    /// Whether every case passed. One that does not run with inputs that were made up says nothing.
    pub fn passed(&self) -> bool {
        self.cases.iter().all(|case| case.passed() || self.excuses(case))
    }

    /// Whether rounding may explain all that is wrong: floating-point outputs, all finite, that differ from the program's
    /// by more than the tolerance of their types.
    pub fn may_be_noise(&self) -> bool {
        let wrong = || self.cases.iter().filter(|case| !case.passed() && !self.excuses(case));
        self.tolerance == Judged::Default && wrong().next().is_some() && wrong().all(CaseReport::may_be_noise)
    }

    /// Whether every call for which something is expected has random values.
    pub fn random(&self) -> bool {
        let mut expected = self.cases.iter().filter(|case| case.expected != Source::Nothing).peekable();
        expected.peek().is_some() && expected.all(|case| case.random)
    }

    /// Whether that the case does not run says nothing about the model. That another executor ran it says something where
    /// this one runs no call.
    fn excuses(&self, case: &CaseReport) -> bool {
        case.refused.is_some()
            || case.unproven(self.made) && case.outputs_are_right()
            || case.is_refused_here() && self.cases.iter().any(CaseReport::passed)
    }

    /// Whether agreeing says something: some output of some call was compared with finite values.
    pub fn says_something(&self) -> bool {
        let mut compared = self.compared().peekable();
        self.values_compared && (compared.peek().is_none() || compared.any(|output| !output.says_nothing()))
    }

    fn compared(&self) -> impl Iterator<Item = &OutputReport> {
        self.cases.iter().flat_map(|case| &case.outputs).filter(|output| output.difference.is_some())
    }

    /// The distance of neighbouring codes, where results of a quantised model are that far from the expected ones.
    pub fn codes(&self) -> Option<f64> {
        let outputs = self.cases.iter().flat_map(|case| &case.outputs);
        outputs.filter_map(|output| output.codes).reduce(f64::max)
    }

    /// The largest absolute difference over all outputs.
    pub fn max_abs(&self) -> f64 {
        self.differences().map(|d| d.max_abs).fold(0.0, f64::max)
    }

    /// The largest relative difference over all outputs.
    pub fn max_rel(&self) -> f64 {
        self.differences().map(|d| d.max_rel).fold(0.0, f64::max)
    }

    /// The smallest cosine over all outputs.
    pub fn min_cosine(&self) -> f64 {
        self.differences().map(|d| d.cosine).fold(1.0, f64::min)
    }

    fn differences(&self) -> impl Iterator<Item = &Difference> {
        self.cases.iter().flat_map(|c| &c.outputs).filter_map(|o| o.difference.as_ref())
    }

    /// An error for every case that failed, and a warning for outputs that could not have failed.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let of_case = |case: &CaseReport| {
            if let Some(why) = &case.not_applicable {
                let message = format!("case {} is not applicable: {why}", case.name);
                let note = Diagnostic::error(Code::VERIFY_EXPECTED, message);
                return Some(Diagnostic { severity: Severity::Note, ..note });
            }
            let found = case.diagnostic()?;
            let severity = match (&case.refused, self.excuses(case)) {
                (Some(_), _) => Severity::Note,
                (None, true) => Severity::Warning,
                (None, false) => found.severity,
            };
            Some(Diagnostic { severity, ..found })
        };
        let mut diagnostics: Vec<Diagnostic> = self.cases.iter().filter_map(of_case).collect();
        let vacuous = self.vacuous();
        if !vacuous.is_empty() {
            let message = format!(
                "the expected values of {} are all within the tolerance of zero: comparing them proves little",
                vacuous.join(", ")
            );
            diagnostics.push(
                Diagnostic::warning(Code::VERIFY_EXPECTED, message)
                    .help("record a model with trained or larger weights, or set a smaller --atol"),
            );
        }
        diagnostics.extend(self.worthless());
        if self.measured {
            diagnostics.extend(self.lost());
        }
        diagnostics.extend(self.unseen());
        diagnostics.extend(self.one_size());
        diagnostics
    }

    /// A warning about outputs of which no expected value is finite: being equal to them says nothing.
    fn worthless(&self) -> Option<Diagnostic> {
        let mut names: Vec<&str> = Vec::new();
        for output in self.compared() {
            let name = output.tensor.name.as_str();
            let worthless =
                || self.compared().filter(|o| o.tensor.name == name).all(OutputReport::says_nothing);
            if !names.contains(&name) && output.says_nothing() && worthless() {
                names.push(name);
            }
        }
        if names.is_empty() {
            return None;
        }
        let message =
            format!("no expected value of {} is finite: comparing them proves nothing", names.join(", "));
        let help = "the program itself returns NaN or infinity for these inputs: try others, `--inputs FILE` or `--draw`";
        Some(Diagnostic::warning(Code::VERIFY_EXPECTED, message).help(help))
    }

    /// Whether the program refused every call of other sizes that was drawn: nothing is known of the model at other sizes.
    pub fn has_one_size(&self) -> bool {
        let shapes = |case: &CaseReport| -> Vec<Vec<i64>> {
            case.inputs.iter().map(|input| input.shape.clone()).collect()
        };
        let Some(first) = self.cases.first().map(shapes) else { return false };
        let mut others = self.cases.iter().filter(|case| case.drawn && shapes(case) != first).peekable();
        others.peek().is_some() && others.all(|case| case.refused.is_some())
    }

    /// A warning where [`has_one_size`](Self::has_one_size).
    fn one_size(&self) -> Option<Diagnostic> {
        if !self.has_one_size() {
            return None;
        }
        let tried = self.cases.iter().filter(|case| case.refused.is_none()).count();
        let message = format!(
            "tried {tried} of {} calls: the program refuses every generated call of another size",
            self.cases.len()
        );
        let help = "see the notes for the line that fixes the size, or give calls that the program takes: `--inputs FILE`";
        Some(Diagnostic::warning(Code::VERIFY_EXPECTED, message).help(help))
    }

    /// A note about branches that no case is known to have entered: nothing is known of their results.
    fn unseen(&self) -> Option<Diagnostic> {
        let branch = |branch: &NotEntered| {
            let NotEntered { name, place, when } = branch;
            let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
            match when {
                Some(when) => format!("`{name}`{place}: the branch for a condition that is {when}"),
                None => {
                    format!("`{name}`{place}: which branch is entered inside of another graph was not seen")
                }
            }
        };
        let notes: Vec<String> = self.not_entered.iter().map(branch).collect();
        let message = match notes.len() {
            0 => return None,
            1 => "no case is known to enter one of the model's branches".to_owned(),
            n => format!("no case is known to enter {n} of the model's branches"),
        };
        let help = "record calls that enter them: `onnxport.save(program, path, inputs=[…])`";
        let found = Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help);
        Some(Diagnostic { severity: Severity::Note, notes, ..found })
    }

    /// A warning about values that are infinite or NaN on one side only: no rounding does that.
    fn lost(&self) -> Option<Diagnostic> {
        let outputs = self.cases.iter().flat_map(|c| c.outputs.iter().map(move |o| (c, o)));
        let lost = outputs.filter_map(|(case, output)| {
            let lost = output.difference.as_ref()?.not_finite;
            (lost > 0).then(|| format!("case {}, {}: {lost} elements", case.name, output.tensor.name))
        });
        let notes: Vec<String> = lost.collect();
        if notes.is_empty() {
            return None;
        }
        let message = "some values are infinite or NaN where the recorded ones are finite, or vice versa";
        let help = "the type may be too small for some weights: leave them out, or choose another one";
        let diagnostic = Diagnostic::warning(Code::VERIFY_MISMATCH, message.to_owned()).help(help);
        Some(Diagnostic { notes, ..diagnostic })
    }

    /// The outputs of which no case has an expected value that zeros would not match.
    fn vacuous(&self) -> Vec<&str> {
        let ran = self.cases.iter().find(|case| case.not_applicable.is_none());
        let outputs = ran.map(|case| case.outputs.as_slice()).unwrap_or_default();
        let is_vacuous = |name: &str| {
            let mut all = self.cases.iter().flat_map(|c| &c.outputs).filter(|o| o.tensor.name == name);
            all.all(|o| !o.says_nothing() && o.difference.as_ref().is_some_and(Difference::is_vacuous))
        };
        outputs.iter().map(|o| o.tensor.name.as_str()).filter(|name| is_vacuous(name)).collect()
    }
}

impl CaseReport {
    /// Whether rounding may explain all that is wrong with it.
    fn may_be_noise(&self) -> bool {
        let may_round = |output: &OutputReport| {
            let is_float = matches!(output.tensor.dtype.as_str(), "f32" | "f16" | "bf16");
            is_float
                && output.difference.as_ref().is_some_and(|found| found.wrong > 0 && found.not_finite == 0)
        };
        let is_of_program = matches!(self.expected, Source::Recorded | Source::Torch);
        let mut wrong = self.outputs.iter().filter(|output| output.problem.is_some());
        self.error.is_none() && is_of_program && wrong.all(may_round)
    }

    /// The report about a call that was not run.
    fn not_run(case: &Case) -> Self {
        let signed = |shape: &[u64]| shape.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect();
        let fed = case.inputs.iter().map(|(name, tensor)| TensorReport {
            name: name.clone(),
            dtype: tensor.dtype.to_string(),
            shape: signed(&tensor.shape),
        });
        Self {
            name: case.name.clone(),
            inputs: fed.collect(),
            outputs: Vec::new(),
            error: None,
            drawn: case.drawn,
            not_applicable: None,
            expected: case.source,
            random: false,
            refused: None,
            inexact: None,
        }
    }

    /// The report about a call that the model was not made for.
    pub(super) fn not_applicable(case: &Case, why: String) -> Self {
        Self { not_applicable: Some(why), ..Self::not_run(case) }
    }

    /// The report about a call that the program itself refuses.
    pub(super) fn refused(case: &Case) -> Self {
        Self { refused: case.refused.clone(), ..Self::not_run(case) }
    }

    /// Whether the call failed with sizes or values that nothing shows the program to take, or that it refuses.
    pub fn not_tried(&self) -> bool {
        self.refused.is_some()
            || self.unproven(false) && self.error.is_some() && self.outputs_are_right()
            || self.is_refused_here()
    }

    /// Whether this executor refused a drawn call that another one ran: only the executors say what is expected of it, and
    /// they do not agree that the model takes it.
    fn is_refused_here(&self) -> bool {
        self.drawn && self.expected == Source::Executor && self.error.is_some() && self.outputs.is_empty()
    }

    /// Whether nothing shows that the program itself takes the call.
    fn unproven(&self, made: bool) -> bool {
        (made || self.drawn) && self.expected == Source::Nothing
    }

    /// Whether the call ran and every output is right.
    pub fn passed(&self) -> bool {
        self.refused.is_none() && self.error.is_none() && self.outputs_are_right()
    }

    fn outputs_are_right(&self) -> bool {
        self.outputs.iter().all(|output| output.problem.is_none())
    }

    fn diagnostic(&self) -> Option<Diagnostic> {
        if let Some(why) = &self.refused {
            let message = format!("case {} was not tried: the program refuses it: {why}", self.name);
            return Some(self.fed(Diagnostic::error(Code::VERIFY_EXPECTED, message)));
        }
        if let Some(error) = &self.error {
            if self.is_refused_here() {
                let message = format!("case {} was not compared: {error}", self.name);
                let note =
                    "it was generated, another executor runs it, and it may be invalid for the program";
                return Some(self.fed(Diagnostic::error(Code::VERIFY_EXPECTED, message).note(note)));
            }
            if self.not_tried() {
                let message = format!("case {} was not tried: {error}", self.name);
                let note = "it was generated, and may be invalid for the program";
                return Some(self.fed(Diagnostic::error(Code::VERIFY_EXPECTED, message).note(note)));
            }
            let message = format!("case {}: {error}", self.name);
            return Some(self.fed(Diagnostic::error(Code::VERIFY_MISMATCH, message)));
        }
        let wrong: Vec<&OutputReport> = self.outputs.iter().filter(|o| o.problem.is_some()).collect();
        if wrong.is_empty() {
            return None;
        }
        let message =
            format!("case {}: {} of {} outputs are wrong", self.name, wrong.len(), self.outputs.len());
        let mut diagnostic = Diagnostic::error(Code::VERIFY_MISMATCH, message);
        for output in wrong {
            let problem = output.problem.as_deref().unwrap_or_default();
            diagnostic = diagnostic.note(format!("{}: {problem}", output.tensor.name));
        }
        Some(self.fed(diagnostic))
    }

    fn fed(&self, diagnostic: Diagnostic) -> Diagnostic {
        let inputs: Vec<String> =
            self.inputs.iter().map(|t| format!("{} {}{:?}", t.name, t.dtype, t.shape)).collect();
        diagnostic.note(format!("inputs: {}", inputs.join(", ")))
    }
}
