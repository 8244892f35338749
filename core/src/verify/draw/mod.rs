//! Which calls are drawn, and how: sizes at the ends of what symbols allow, and values by rules.

mod extremes;
mod infer;
mod rule;

use extremes::{Extremes, at_extremes};
use infer::inferred;
pub use rule::Rule;

use super::expected::Case;
use super::samples::{self, Sample};
use crate::diagnose::{Code, Diagnostic};
use crate::random::Random;
use crate::sizes::{Constraints, Sizes};
use crate::sym::{SymId, Symbols};
use crate::tensor::LazyTensor;

/// Calls besides the recorded ones.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Draw sizes and values also where calls were recorded.
    pub besides: bool,
    /// Draw calls at the smallest sizes, at primes in the middle, and at the largest sizes at which all values of the
    /// program take at most this many bytes.
    pub extremes: Option<u64>,
    /// Draw a call whose inputs have values by rules, which depend on this number; rules that are stated ask for it as
    /// well.
    pub seed: Option<u64>,
    /// The rules of inputs, by their names. Others have the rule that their recorded values, and what reads them,
    /// suggest.
    pub rules: Vec<(String, Rule)>,
}

impl Drawing {
    /// Whether values are drawn by rules.
    pub fn by_rule(&self) -> bool {
        self.seed.is_some() || !self.rules.is_empty()
    }

    /// The calls that are drawn from `samples`, whose values take the bytes that `cost` tells.
    ///
    /// # Errors
    /// `OP710` where a rule is for no input, or cannot give such a tensor.
    pub(super) fn cases(
        &self,
        symbols: &Symbols,
        samples: &[Sample],
        constraints: &Constraints,
        cost: &dyn Fn(&Sizes) -> Option<u64>,
    ) -> Result<Vec<Case>, Diagnostic> {
        self.check(samples.iter().map(|sample| sample.name.as_str()))?;
        let traced = samples::traced_sizes(symbols, samples);
        let mut chosen: Vec<(&str, Sizes)> = Vec::new();
        if self.by_rule() {
            chosen.push(("drawn", traced.clone()));
        }
        if let Some(most) = self.extremes {
            let extremes = Extremes { symbols, traced: &traced, constraints, cost, most };
            chosen.extend(at_extremes(&extremes, &mut vec![traced.clone()]));
        }
        let mut cases = Vec::new();
        for (name, sizes) in chosen {
            let values = (0..samples.len()).map(|place| self.value(symbols, samples, place, &sizes));
            let values: Option<Vec<LazyTensor>> = values.collect::<Result<_, Diagnostic>>()?;
            let Some(values) = values else { continue };
            let inputs = samples.iter().map(|sample| sample.name.clone()).zip(values).collect();
            cases.push(Case { drawn: true, ..Case::new(name, inputs) });
        }
        Ok(cases)
    }

    /// Fails where a rule is for none of the inputs `names`.
    ///
    /// # Errors
    /// `OP710`.
    pub(super) fn check<'a>(&self, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), Diagnostic> {
        let stranger = self.rules.iter().find(|(name, _)| !names.clone().any(|known| known == name));
        stranger.map_or(Ok(()), |(name, rule)| {
            let known: Vec<&str> = names.collect();
            let message = format!("no input `{name}` for the rule {rule}");
            Err(Diagnostic::error(Code::RUN_INPUT, message).help(format!("there are {}", known.join(", "))))
        })
    }

    /// The value of the input at `place` among `samples` at these sizes: by its stated rule, else by the one that is
    /// inferred.
    ///
    /// # Errors
    /// `OP710` where the stated rule cannot give such a tensor.
    pub(super) fn value(
        &self,
        symbols: &Symbols,
        samples: &[Sample],
        place: usize,
        sizes: &[(SymId, i64)],
    ) -> Result<Option<LazyTensor>, Diagnostic> {
        let Some(sample) = samples.get(place) else { return Ok(None) };
        let size = |id: SymId| sizes.iter().find(|(symbol, _)| *symbol == id).map(|(_, size)| *size);
        let stated = self.rules.iter().find(|(name, _)| *name == sample.name).map(|(_, rule)| *rule);
        // A number that is a size is none that could be drawn.
        let resized = || samples::resize(symbols, sample, sizes);
        if sample.number.is_some() {
            return Ok(resized());
        }
        let Some(rule) = stated.or_else(|| inferred(symbols, samples, place, sizes)) else {
            return Ok(resized());
        };
        let shape = sample.dims.iter().map(|dim| u64::try_from(symbols.eval(*dim, &size)?).ok());
        let Some(shape) = shape.collect::<Option<Vec<u64>>>() else { return Ok(None) };
        let mut random = Random::new(stream(self.seed.unwrap_or(0), place));
        match rule.draw(sample.tensor.dtype, &shape, &mut random) {
            Ok(tensor) => Ok(Some(tensor)),
            Err(why) if stated.is_some() => {
                let message = format!("the input `{}` cannot be drawn by {rule}: {why}", sample.name);
                Err(Diagnostic::error(Code::RUN_INPUT, message))
            }
            Err(_) => Ok(resized()),
        }
    }
}

/// The seed of the values at `place`, which do not depend on those of others.
pub(crate) fn stream(seed: u64, place: usize) -> u64 {
    seed ^ (place as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03)
}
