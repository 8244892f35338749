//! The exactness of rules and passes.

use std::fmt;

use onnxport_abi::rules::{ClassRecord, class};
use onnxport_abi::{RStr, status};
use schemars::JsonSchema;
use serde::Serialize;

use crate::incoming::Validated;

/// The bound on the difference of results: the larger of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Bound {
    /// Relative to the larger of 1 and the magnitude of the result; 0 if it is not stated.
    pub relative: f64,
    /// In units in the last place of the result's element type, or of 1 if the result is smaller; 0 if it is not
    /// stated.
    pub ulps: f64,
    /// Whether it holds for finite inputs only.
    pub finite: bool,
}

impl Bound {
    /// Whether nothing may differ.
    pub fn is_none(self) -> bool {
        self.relative == 0.0 && self.ulps == 0.0
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.relative > 0.0, self.ulps > 0.0) {
            (true, true) => write!(f, "{:e} or {} ulps", self.relative, self.ulps),
            (true, false) => write!(f, "{:e}", self.relative),
            (false, true) => write!(f, "{} ulps", self.ulps),
            (false, false) => f.write_str("none"),
        }?;
        f.write_str(if self.finite { ", of finite values" } else { "" })
    }
}

/// The exactness of a rule or pass.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(tag = "class", rename_all = "kebab-case")]
pub enum Class {
    /// It states nothing about results.
    Unstated,
    /// Results stay the same, bit for bit.
    Exact,
    /// Results stay within the bound.
    Bounded {
        /// The bound.
        bound: Bound,
    },
    /// It emits operators of one target only.
    Target {
        /// The target.
        target: String,
        /// The bound on the difference of results; none for an exact one.
        bound: Bound,
    },
}

impl Class {
    /// Returns the class that a plugin states for its rule or pass at `index`.
    ///
    /// # Errors
    /// The defect of the answer, in words.
    pub(super) fn asked(
        index: u32,
        ask: Option<extern "C" fn(u32, &mut ClassRecord) -> u32>,
    ) -> Result<Self, String> {
        let Some(ask) = ask else { return Ok(Self::Unstated) };
        let mut record = ClassRecord {
            kind: class::UNSTATED,
            relative: 0.0,
            ulps: 0.0,
            target: RStr::from_str(""),
            finite: 0,
        };
        match ask(index, &mut record) {
            status::OK => Self::read(&record),
            _ => Err("the plugin does not state its exactness".to_owned()),
        }
    }

    fn read(record: &ClassRecord) -> Result<Self, String> {
        let bound = Bound { relative: record.relative, ulps: record.ulps, finite: record.finite != 0 };
        let is_number = |number: f64| number >= 0.0 && number.is_finite();
        if !is_number(bound.relative) || !is_number(bound.ulps) || bound.relative >= 1.0 {
            return Err(format!("it states the bound {bound}"));
        }
        match record.kind {
            class::UNSTATED => Ok(Self::Unstated),
            class::EXACT if bound == Bound::default() => Ok(Self::Exact),
            class::EXACT => Err("it is declared exact, but states an error bound".to_owned()),
            class::BOUNDED if bound.is_none() => {
                Err("it is declared bounded, but states no error bound".to_owned())
            }
            class::BOUNDED => Ok(Self::Bounded { bound }),
            class::TARGET if record.target.is_empty() => {
                Err("it emits target operators, but names no target".to_owned())
            }
            class::TARGET => Ok(Self::Target { target: record.target.validated().to_owned(), bound }),
            other => Err(format!("it is of the unknown class {other}")),
        }
    }

    /// Returns the bound on the difference of results; `None` if it is not known.
    pub fn bound(&self) -> Option<Bound> {
        match self {
            Self::Unstated => None,
            Self::Exact => Some(Bound::default()),
            Self::Bounded { bound } | Self::Target { bound, .. } => Some(*bound),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unstated => f.write_str("not stated"),
            Self::Exact => f.write_str("exact"),
            Self::Bounded { .. } => f.write_str("bounded"),
            Self::Target { target, .. } => write!(f, "for {target}"),
        }
    }
}
