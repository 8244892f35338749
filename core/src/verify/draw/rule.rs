//! How the values of an input are drawn.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::ops::{Budget, Elements, Limits, Tensor};
use crate::random::Random;
use crate::tensor::{DType, Kind, LazyTensor};

/// The largest generated input, in bytes of the widest elements.
const MOST: u64 = 16 << 30;

/// A rule for the values of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Real numbers with this mean and deviation.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation, not negative.
        deviation: f64,
    },
    /// Real numbers from `low` up to `high`, which is left out.
    Uniform {
        /// The smallest.
        low: f64,
        /// Above the largest.
        high: f64,
    },
    /// Whole numbers from `low` up to `high`, which is left out; truth values that are not 0.
    Integers {
        /// The smallest.
        low: i64,
        /// Above the largest.
        high: i64,
    },
    /// Ones.
    Ones,
    /// 0, 1, 2 and so on along the last axis.
    Arange,
    /// A mask whose rows, along the last axis, leave some positions at the beginning open, at least one: 1 there and 0
    /// behind them. Of floats 0, and `hidden` behind them, which is added to masked elements.
    Mask {
        /// The value of masked elements; by default the lowest finite number.
        hidden: Option<f64>,
    },
}

impl Rule {
    /// A tensor of these values.
    ///
    /// # Errors
    /// A sentence where the element type has no such values, or where it is too large.
    pub(crate) fn draw(self, dtype: DType, shape: &[u64], random: &mut Random) -> Result<LazyTensor, String> {
        let extents: Option<Vec<usize>> = shape.iter().map(|d| usize::try_from(*d).ok()).collect();
        let extents = extents.ok_or("it is too large")?;
        let budget = Budget::new(Limits { bytes: MOST, steps: u64::MAX, time: Duration::MAX });
        let count = budget.count(&extents).map_err(|error| error.message)?;
        let row = extents.last().copied().unwrap_or(1).max(1);
        let elements = match (self, dtype.kind()) {
            (_, Kind::Text) => return Err("it is text".to_owned()),
            (Self::Normal { mean, deviation }, Kind::Float | Kind::Complex) => {
                reals(dtype, count, || mean + deviation * random.normal())
            }
            (Self::Uniform { low, high }, Kind::Float | Kind::Complex) => {
                reals(dtype, count, || (high - low) * random.unit() + low)
            }
            (Self::Normal { .. } | Self::Uniform { .. }, _) => {
                return Err(format!("it generates real numbers, which {dtype} cannot represent"));
            }
            (Self::Ones, kind) => whole(kind, vec![1; count]),
            (Self::Arange, Kind::Bool) => return Err("it counts, and truth values do not".to_owned()),
            (Self::Arange, kind) => {
                held(dtype, 0, row as i64 - 1)?;
                whole(kind, (0..count).map(|at| (at % row) as i64).collect())
            }
            (Self::Integers { low, high }, kind) => {
                let span = u64::try_from(high.saturating_sub(low)).unwrap_or(0).max(1);
                if kind != Kind::Bool {
                    held(dtype, low, high.saturating_sub(1))?;
                }
                // The upper half of a product lies below the span.
                let below = |bits: u64| (u128::from(bits) * u128::from(span)) >> 64;
                whole(kind, (0..count).map(|_| low.wrapping_add(below(random.bits()) as i64)).collect())
            }
            (Self::Mask { hidden }, Kind::Float) => {
                let hidden = hidden.unwrap_or_else(|| lowest(dtype));
                Elements::Float(
                    open(count, row, random).map(|open| if open { 0.0 } else { hidden }).collect(),
                )
            }
            (Self::Mask { .. }, kind) => whole(kind, open(count, row, random).map(i64::from).collect()),
        };
        let tensor = Tensor::new(dtype, extents, &elements).and_then(|tensor| tensor.to_lazy());
        tensor.map_err(|error| error.message)
    }
}

/// Whether each position of a mask is open.
fn open(count: usize, row: usize, random: &mut Random) -> impl Iterator<Item = bool> {
    let mut length = 0;
    (0..count).map(move |at| {
        if at % row == 0 {
            // The first row is open to the end, so that nothing of the last axis is lost.
            length = if at == 0 { row } else { 1 + (random.bits() % row as u64) as usize };
        }
        at % row < length
    })
}

fn reals(dtype: DType, count: usize, mut draw: impl FnMut() -> f64) -> Elements {
    if dtype.is_complex() {
        return Elements::Complex((0..count).map(|_| [draw(), draw()]).collect());
    }
    Elements::Float((0..count).map(|_| draw()).collect())
}

fn whole(kind: Kind, numbers: Vec<i64>) -> Elements {
    match kind {
        Kind::Bool => Elements::Bool(numbers.into_iter().map(|n| n != 0).collect()),
        Kind::Int => Elements::Int(numbers.into_iter().map(i128::from).collect()),
        Kind::Complex => Elements::Complex(numbers.into_iter().map(|n| [n as f64, 0.0]).collect()),
        Kind::Float | Kind::Text => Elements::Float(numbers.into_iter().map(|n| n as f64).collect()),
    }
}

/// Fails where an integer type does not hold all numbers from `low` to `high`.
fn held(dtype: DType, low: i64, high: i64) -> Result<(), String> {
    if !dtype.is_int() {
        return Ok(());
    }
    let unsigned = [DType::U2, DType::U4, DType::U8, DType::U16, DType::U32, DType::U64].contains(&dtype);
    let bits = dtype.bits();
    let (least, most) =
        if unsigned { (0, (1i128 << bits) - 1) } else { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) };
    let fits = |number: i64| (least..=most).contains(&i128::from(number));
    if fits(low) && fits(high) { Ok(()) } else { Err(format!("{dtype} does not hold {low} to {high}")) }
}

/// The lowest finite number of a type.
fn lowest(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MIN,
        DType::F32 => f32::MIN.into(),
        DType::BF16 => half::bf16::MIN.to_f64(),
        DType::F16 => half::f16::MIN.to_f64(),
        // The largest of the smallest ranges among the types of eight bits and less that have signs.
        _ => -6.0,
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal { mean, deviation } => write!(f, "normal({mean},{deviation})"),
            Self::Uniform { low, high } => write!(f, "uniform({low},{high})"),
            Self::Integers { low, high } => write!(f, "integers({low},{high})"),
            Self::Ones => f.write_str("ones"),
            Self::Arange => f.write_str("arange"),
            Self::Mask { hidden: None } => f.write_str("mask"),
            Self::Mask { hidden: Some(hidden) } => write!(f, "mask({hidden})"),
        }
    }
}

impl FromStr for Rule {
    type Err = String;

    /// Reads `normal(0,1)`, `uniform(-1,1)`, `integers(0,10)`, `ones`, `arange`, `mask` or `mask(-1e4)`.
    fn from_str(text: &str) -> Result<Self, String> {
        let known = || {
            format!(
                "{text:?} is none of normal(MEAN,DEVIATION), uniform(LOW,HIGH), integers(LOW,HIGH), ones, arange, \
                 mask and mask(HIDDEN)"
            )
        };
        let (name, numbers) = match text.trim().split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or_else(known)?.split(',').collect()),
            None => (text.trim(), Vec::new()),
        };
        let real = |text: &str| text.trim().parse::<f64>().map_err(|_| known());
        let finite = |text: &str| real(text).and_then(|x| if x.is_finite() { Ok(x) } else { Err(known()) });
        let integer = |text: &str| text.trim().parse::<i64>().map_err(|_| known());
        match (name, numbers.as_slice()) {
            ("normal", [mean, deviation]) => match (finite(mean)?, finite(deviation)?) {
                (mean, deviation) if deviation >= 0.0 => Ok(Self::Normal { mean, deviation }),
                _ => Err("a deviation is not negative".to_owned()),
            },
            ("uniform", [low, high]) => match (finite(low)?, finite(high)?) {
                (low, high) if low <= high => Ok(Self::Uniform { low, high }),
                (low, high) => Err(format!("nothing lies between {low} and {high}")),
            },
            ("integers", [low, high]) => match (integer(low)?, integer(high)?) {
                (low, high) if low < high => Ok(Self::Integers { low, high }),
                (low, high) => Err(format!("no integer is {low} or more and below {high}")),
            },
            ("ones", []) => Ok(Self::Ones),
            ("arange", []) => Ok(Self::Arange),
            ("mask", []) => Ok(Self::Mask { hidden: None }),
            ("mask", [hidden]) => Ok(Self::Mask { hidden: Some(real(hidden)?) }),
            _ => Err(known()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rule: &str, dtype: DType, shape: &[u64]) -> Result<Vec<f64>, String> {
        let rule: Rule = rule.parse()?;
        let tensor = rule.draw(dtype, shape, &mut Random::new(7))?;
        let bytes = tensor.read().ok_or("unreadable")?;
        assert_eq!((tensor.dtype, tensor.shape.as_slice()), (dtype, shape));
        let all = |size: usize, decode: &dyn Fn(&[u8]) -> f64| bytes.chunks_exact(size).map(decode).collect();
        Ok(match dtype {
            DType::F32 => all(4, &|b| f32::from_le_bytes(b.try_into().unwrap()).into()),
            DType::I64 => all(8, &|b| i64::from_le_bytes(b.try_into().unwrap()) as f64),
            _ => all(1, &|b| f64::from(b[0])),
        })
    }

    #[test]
    fn rules_are_read_as_they_are_written() {
        let all =
            ["normal(0,1.5)", "uniform(-1,1)", "integers(0,10)", "ones", "arange", "mask", "mask(-inf)"];
        for text in all {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
        let bad = [
            "",
            "normal",
            "normal(1)",
            "normal(0,-1)",
            "normal(0,nan)",
            "integers(3,3)",
            "integers(0,1.5)",
            "ones(1)",
        ];
        assert!(bad.iter().all(|text| text.parse::<Rule>().is_err()));
    }

    #[test]
    fn values_are_those_of_the_rule_and_the_same_every_time() {
        let normal = drawn("normal(10,2)", DType::F32, &[4000]).unwrap();
        let mean = normal.iter().sum::<f64>() / 4000.0;
        let variance = normal.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4000.0;
        assert!((mean - 10.0).abs() < 0.15 && (variance.sqrt() - 2.0).abs() < 0.1, "{mean} {variance}");
        assert_eq!(normal, drawn("normal(10,2)", DType::F32, &[4000]).unwrap());
        let uniform = drawn("uniform(2,3)", DType::F32, &[1000]).unwrap();
        assert!(uniform.iter().all(|x| (2.0..=3.0).contains(x)));
        let integers = drawn("integers(-2,3)", DType::I64, &[200]).unwrap();
        assert!((-2..3).all(|n| integers.contains(&f64::from(n))) && integers.iter().all(|n| n.abs() <= 2.0));
        assert_eq!(drawn("arange", DType::I64, &[2, 3]).unwrap(), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
        assert_eq!(drawn("ones", DType::Bool, &[3]).unwrap(), [1.0; 3]);
    }

    #[test]
    fn masks_leave_the_beginning_of_every_row_open() {
        for (dtype, open) in [(DType::Bool, 1.0), (DType::I64, 1.0), (DType::F32, 0.0)] {
            let mask = drawn("mask(-5)", dtype, &[40, 6]).unwrap();
            let lengths: Vec<usize> = mask
                .chunks(6)
                .map(|row| {
                    let length = row.iter().take_while(|x| **x == open).count();
                    assert!(row[length..].iter().all(|x| *x == if open == 0.0 { -5.0 } else { 0.0 }));
                    length
                })
                .collect();
            assert!(
                lengths[0] == 6 && lengths.contains(&1) && lengths.iter().all(|n| *n >= 1),
                "{lengths:?}"
            );
        }
        assert_eq!(drawn("mask", DType::F32, &[2, 1]).unwrap(), [0.0, 0.0]);
    }

    #[test]
    fn types_that_do_not_hold_the_values_are_refused() {
        let refused = [
            ("normal(0,1)", DType::I64),
            ("uniform(0,1)", DType::Bool),
            ("integers(0,300)", DType::U8),
            ("integers(-1,3)", DType::U8),
            ("arange", DType::Bool),
            ("ones", DType::String),
        ];
        for (rule, dtype) in refused {
            assert!(drawn(rule, dtype, &[2]).is_err(), "{rule} {dtype}");
        }
        assert!(drawn("integers(0,256)", DType::U8, &[2]).is_ok());
        assert!(drawn("ones", DType::F32, &[1 << 40, 1 << 40]).is_err());
        assert!(drawn("normal(0,1)", DType::F32, &[0, 3]).unwrap().is_empty());
    }
}
