//! Calls made from recorded inputs alone, at the recorded size and at others.

use super::expected::{Against, Case};
use super::values;
use crate::sizes::{Constraints, Port, Sizes};
use crate::sym::{Dim, SymId, Symbols};
use crate::tensor::data::count;
use crate::tensor::{DType, LazyTensor};

/// How many sizes besides the recorded one are tried.
const FURTHER_SIZES: i64 = 2;
/// How often a size that was tried already is moved on.
const NUDGES: i64 = 8;
/// How far above the recorded size other sizes may lie.
const HEADROOM: i64 = 3;

/// A recorded input and how its size may vary.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// The program's name for the input.
    pub name: String,
    /// The stated sizes of a tensor, over the program's symbols.
    pub dims: Vec<Dim>,
    /// The expression that a symbolic number equals.
    pub number: Option<Dim>,
    /// The recorded value.
    pub tensor: LazyTensor,
    /// The sizes that its elements stay below, where they are positions in other tensors.
    pub within: Vec<Dim>,
    /// Whether the value was made up, and only its type is known.
    pub made: bool,
}

impl Sample {
    /// The smallest size that its elements stay below, at these sizes.
    pub(super) fn limit(&self, symbols: &Symbols, sizes: &[(SymId, i64)]) -> Option<i64> {
        let size = |id: SymId| sizes.iter().find(|(symbol, _)| *symbol == id).map(|(_, size)| *size);
        self.within.iter().filter_map(|extent| symbols.eval(*extent, &size)).min()
    }

    /// As guards speak of it.
    pub(super) fn port(&self) -> Port<'_> {
        Port { name: &self.name, leaf: None, dims: &self.dims, number: self.number }
    }
}

/// The recorded call, and calls with other sizes of every dynamic dimension that `constraints` admit, whose
/// values repeat the recorded ones along the axes that grow. Dimensions of the same recorded size first change
/// together: they may have to be equal without the program saying so.
pub(super) fn cases(symbols: &Symbols, samples: &[Sample], constraints: &Constraints) -> Against {
    let traced = traced_sizes(symbols, samples);
    let recorded = samples.iter().map(|s| (s.name.clone(), s.tensor.clone())).collect();
    let mut cases = vec![Case::new("traced", recorded)];
    let mut seen = vec![traced.clone()];
    for step in 1..=FURTHER_SIZES {
        let drawn = |together: bool, nudge: i64| -> Sizes {
            let class = |i: usize, size: i64| match traced.iter().position(|(_, s)| *s == size) {
                Some(first) if together => first,
                _ => i,
            };
            let other = |(i, (symbol, size)): (usize, &(SymId, i64))| {
                let distinct = nudge + class(i, *size) as i64;
                (*symbol, other_size(symbols, *symbol, *size, step, distinct))
            };
            let mut sizes: Sizes = traced.iter().enumerate().map(other).collect();
            let wanted = sizes.clone();
            constraints.repair(&mut sizes);
            if together && follow(&traced, &wanted, &mut sizes) {
                constraints.repair(&mut sizes);
            }
            sizes
        };
        // The last step lets sizes that were equal differ, where nothing speaks against it.
        let first = step < FURTHER_SIZES;
        let tries = [first, !first].into_iter().flat_map(|together| (0..NUDGES).map(move |n| (together, n)));
        let fits = |sizes: &Sizes| !seen.contains(sizes) && constraints.admit(sizes);
        let Some(sizes) = tries.map(|(together, nudge)| drawn(together, nudge)).find(fits) else { continue };
        let resized: Option<Vec<_>> = samples
            .iter()
            .map(|sample| Some((sample.name.clone(), resize(symbols, sample, &sizes)?)))
            .collect();
        seen.push(sizes);
        if let Some(inputs) = resized {
            cases.push(Case { drawn: true, ..Case::new(format!("size-{step}"), inputs) });
        }
    }
    Against { cases, ..Against::default() }
}

/// Moves sizes that are still as `wanted` to where one with the same recorded size was moved. Returns whether any was.
fn follow(traced: &[(SymId, i64)], wanted: &[(SymId, i64)], sizes: &mut Sizes) -> bool {
    let moved: Vec<(i64, i64)> = traced
        .iter()
        .zip(wanted.iter().zip(sizes.iter()))
        .filter_map(|((_, recorded), ((_, wanted), (_, size)))| {
            (wanted != size).then_some((*recorded, *size))
        })
        .collect();
    let mut any = false;
    for ((_, recorded), ((_, wanted), (_, size))) in traced.iter().zip(wanted.iter().zip(sizes)) {
        if let Some((_, to)) = moved.iter().find(|(from, _)| from == recorded)
            && *size == *wanted
        {
            *size = *to;
            any = true;
        }
    }
    any
}

/// The recorded value of every symbol that is the whole size of some axis.
pub(super) fn traced_sizes(symbols: &Symbols, samples: &[Sample]) -> Vec<(SymId, i64)> {
    let mut sizes: Vec<(SymId, i64)> = Vec::new();
    let mut bind = |dim: Dim, size: i64| {
        if let Some(symbol) = symbols.as_symbol(dim)
            && !sizes.iter().any(|(known, _)| *known == symbol)
        {
            sizes.push((symbol, size));
        }
    };
    for sample in samples {
        for (dim, extent) in sample.dims.iter().zip(&sample.tensor.shape) {
            bind(*dim, *extent as i64);
        }
        if let Some((dim, value)) = sample.number.zip(integer(&sample.tensor)) {
            bind(dim, value);
        }
    }
    // Symbols that only appear inside expressions have their hints.
    for (id, symbol) in symbols.iter() {
        if let Some(hint) = symbol.hint
            && !sizes.iter().any(|(known, _)| *known == id)
        {
            sizes.push((id, hint));
        }
    }
    sizes
}

/// A size in the symbol's range: above the recorded one at odd steps, near the bottom at even ones.
/// `distinct` keeps the symbols of one call apart, so that a mix-up shows.
fn other_size(symbols: &Symbols, symbol: SymId, traced: i64, step: i64, distinct: i64) -> i64 {
    let range = symbols.get(symbol).range;
    let low = range.min.unwrap_or(1).max(1);
    let high = range.max.unwrap_or(i64::MAX).min(traced.max(low).saturating_mul(2).saturating_add(HEADROOM));
    let wanted = if step % 2 == 1 { traced.saturating_add(step) } else { low.saturating_add(step / 2 - 1) };
    let wanted = wanted.saturating_add(distinct);
    let size = wanted.clamp(low, high.max(low));
    if size == traced { if size < high { size + 1 } else { low } } else { size }
}

pub(super) fn resize(symbols: &Symbols, sample: &Sample, sizes: &[(SymId, i64)]) -> Option<LazyTensor> {
    let value_of = |id: SymId| sizes.iter().find(|(symbol, _)| *symbol == id).map(|(_, size)| *size);
    if let Some(number) = sample.number {
        let value = symbols.eval(number, &value_of)?;
        return Some(LazyTensor::inline(DType::I64, Vec::new(), value.to_le_bytes().to_vec()));
    }
    let shape: Option<Vec<u64>> = sample
        .dims
        .iter()
        .map(|dim| symbols.eval(*dim, &value_of).and_then(|n| u64::try_from(n).ok()))
        .collect();
    let (shape, tensor) = (shape?, &sample.tensor);
    if tensor.shape == shape {
        return Some(values::within(tensor.clone(), sample.limit(symbols, sizes)));
    }
    let drawn = values::alike(tensor, &shape, count(&shape)?, shape.iter().sum());
    drawn.or_else(|| Some(values::within(tile(tensor, &shape)?, sample.limit(symbols, sizes))))
}

/// The tensor at another shape, its elements repeated cyclically along every axis.
pub(super) fn tile(tensor: &LazyTensor, shape: &[u64]) -> Option<LazyTensor> {
    if tensor.shape == shape {
        return Some(tensor.clone());
    }
    let bytes = tensor.read()?;
    if !tensor.dtype.bits().is_multiple_of(8) {
        return None;
    }
    let size = (tensor.dtype.bits() / 8) as usize;
    let elements = count(shape)?;
    let total = usize::try_from(tensor.dtype.byte_len(elements)?).ok()?;
    let mut out = Vec::new();
    // The size is that of an expression of the program, and may be anything.
    out.try_reserve_exact(total).ok()?;
    if bytes.is_empty() {
        out.resize(total, 0);
        return Some(LazyTensor::inline(tensor.dtype, shape.to_vec(), out));
    }
    let mut index = vec![0u64; shape.len()];
    for _ in 0..elements {
        let at = index.iter().zip(&tensor.shape).fold(0u64, |at, (i, old)| at * old + i % old);
        let start = at as usize * size;
        out.extend_from_slice(bytes.get(start..start + size)?);
        for (i, extent) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    Some(LazyTensor::inline(tensor.dtype, shape.to_vec(), out))
}

fn integer(tensor: &LazyTensor) -> Option<i64> {
    let bytes = tensor.read()?;
    (tensor.dtype == DType::I64).then(|| bytes.as_ref().try_into().ok().map(i64::from_le_bytes)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::Implied;
    use crate::sym::Range;

    #[test]
    fn other_sizes_stay_in_range_differ_and_repeat_the_recorded_values() {
        let mut symbols = Symbols::default();
        let batch = symbols.symbol("batch");
        let half = symbols.symbol("half");
        for (name, min, max) in [("batch", 1, 64), ("half", 2, 5)] {
            if let Some(id) = symbols.find(name) {
                symbols.get_mut(id).range = Range::new(min, max);
                symbols.get_mut(id).hint = Some(3);
            }
        }
        let double = symbols.mul(half, Dim::Const(2));
        let bytes: Vec<u8> = (0..12).collect();
        let sample = |name: &str, dims: Vec<Dim>, shape: &[u64], len: usize| Sample {
            name: name.to_owned(),
            dims,
            number: None,
            tensor: LazyTensor::inline(DType::U8, shape.to_vec(), bytes[..len].to_vec()),
            within: Vec::new(),
            made: false,
        };
        let samples = [
            sample("x", vec![batch, double], &[2, 6], 12),
            sample("y", vec![batch, Dim::Const(3)], &[2, 3], 6),
        ];
        let against = cases(&symbols, &samples, &constraints(&symbols, &[], &samples));
        assert_eq!(against.cases.len(), 3);
        let shapes: Vec<_> = against.cases.iter().map(|c| c.inputs[0].1.shape.clone()).collect();
        assert_eq!(shapes[0], [2, 6]);
        for (case, shape) in against.cases.iter().zip(&shapes).skip(1) {
            assert_ne!(shape, &shapes[0]);
            assert_eq!(shape[1] % 2, 0);
            assert_eq!(case.inputs[1].1.shape, [shape[0], 3]);
        }
        let grown = &against.cases[1].inputs[1].1;
        assert_eq!(grown.shape, [3, 3]);
        assert_eq!(grown.read().as_deref(), Some([0, 1, 2, 3, 4, 5, 0, 1, 2].as_slice()));
    }

    #[test]
    fn no_size_is_below_or_above_what_a_dimension_allows() {
        for (min, max, traced) in [(4_u64, 64_u64, 5_u64), (4, 6, 4), (7, 8, 7), (3, 100, 50)] {
            let mut symbols = Symbols::default();
            let dim = symbols.symbol("s");
            let id = symbols.find("s").unwrap();
            symbols.get_mut(id).range = Range::new(min as i64, max as i64);
            let tensor = LazyTensor::inline(DType::U8, vec![traced], vec![1; traced as usize]);
            let sample = Sample {
                name: "x".to_owned(),
                dims: vec![dim],
                number: None,
                tensor,
                within: Vec::new(),
                made: false,
            };
            let samples = [sample];
            let sizes: Vec<u64> = cases(&symbols, &samples, &constraints(&symbols, &[], &samples))
                .cases
                .iter()
                .map(|case| case.inputs[0].1.shape[0])
                .collect();
            assert!(sizes.len() > 1, "{sizes:?}");
            assert!(sizes.iter().all(|size| (min..=max).contains(size)), "{min} {max}: {sizes:?}");
        }
    }

    #[test]
    fn a_static_program_has_one_case() {
        let symbols = Symbols::default();
        let tensor = LazyTensor::inline(DType::U8, vec![2], vec![1, 2]);
        let sample = Sample {
            name: "x".to_owned(),
            dims: vec![Dim::Const(2)],
            number: None,
            tensor,
            within: Vec::new(),
            made: false,
        };
        let samples = [sample];
        assert_eq!(cases(&symbols, &samples, &constraints(&symbols, &[], &samples)).cases.len(), 1);
    }

    fn constraints(symbols: &Symbols, guards: &[&str], samples: &[Sample]) -> Constraints {
        let guards: Vec<_> = guards.iter().map(|guard| (*guard).to_owned().into()).collect();
        Constraints::new(Implied::nothing(symbols), &guards, samples.iter().map(Sample::port))
    }

    #[test]
    fn sizes_keep_guards_and_change_together() {
        let mut symbols = Symbols::default();
        let dims = ["past", "new", "mask", "other"].map(|name| symbols.symbol(name));
        let sample = |name: &str, dim: Dim, size: u64| Sample {
            name: name.to_owned(),
            dims: vec![dim],
            number: None,
            tensor: LazyTensor::inline(DType::U8, vec![size], vec![1; size as usize]),
            within: Vec::new(),
            made: false,
        };
        let sizes = [5, 3, 8, 5];
        let names = ["cache_0", "ids", "mask", "cache_1"];
        let known: Vec<Sample> =
            names.iter().zip(dims).zip(sizes).map(|((name, dim), size)| sample(name, dim, size)).collect();
        let guards = [
            "L['cache'][0].size()[0] + L['ids'].size()[0] + ((-1)*L['mask'].size()[0]) <= 0",
            "L['mask'].size()[0] <= L['cache'][0].size()[0] + L['ids'].size()[0]",
            "((-1) + L['ids'].size()[0]) // 2 != 1",
            "what else PyTorch may write",
        ];
        // Whichever input comes first, and whichever size is changed to keep a guard.
        for order in [[0, 1, 2, 3], [1, 2, 0, 3], [3, 0, 2, 1], [2, 3, 1, 0]] {
            let samples = order.map(|i: usize| known[i].clone());
            let against = cases(&symbols, &samples, &constraints(&symbols, &guards, &samples));
            assert!(against.cases.iter().any(|case| case.name == "size-1"), "{order:?}");
            for case in &against.cases[1..] {
                let size = |name| case.inputs.iter().find(|(n, _)| n == name).map(|(_, t)| t.shape[0]);
                let [past, new, mask, other] = names.map(|name| size(name).unwrap());
                assert_eq!(past + new, mask, "{}", case.name);
                assert_ne!((new - 1) / 2, 1, "{}", case.name);
                assert!(case.name != "size-1" || past == other, "{order:?}: {past} and {other}");
                assert!(case.drawn && past != 5);
            }
        }
    }
}
