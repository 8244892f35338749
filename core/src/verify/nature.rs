//! Properties of the values of an output, whatever the expected ones: two tensors that agree may both be worthless.

use schemars::JsonSchema;
use serde::Serialize;

use crate::tensor::DType;

/// Properties of the elements of a tensor. Complex numbers are two elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Nature {
    /// How many there are.
    pub elements: u64,
    /// How many are NaN.
    pub nan: u64,
    /// How many are infinite.
    pub infinite: u64,
    /// How many are finite, and larger than half of the largest number of the type.
    pub near_overflow: u64,
    /// How many are zero.
    pub zero: u64,
    /// Whether all are the same.
    pub constant: bool,
}

impl Nature {
    /// That of little-endian elements.
    pub(super) fn of(dtype: DType, bytes: &[u8]) -> Self {
        match dtype {
            DType::F32 | DType::C64 => floats::<4>(bytes, f32::MAX.into(), |b| f32::from_le_bytes(b).into()),
            DType::F64 | DType::C128 => floats::<8>(bytes, f64::MAX, f64::from_le_bytes),
            DType::F16 => {
                floats::<2>(bytes, half::f16::MAX.to_f64(), |b| half::f16::from_le_bytes(b).to_f64())
            }
            DType::BF16 => {
                floats::<2>(bytes, half::bf16::MAX.to_f64(), |b| half::bf16::from_le_bytes(b).to_f64())
            }
            _ => patterns(bytes, (dtype.bits() as usize).div_ceil(8).max(1)),
        }
    }

    /// Whether there is no finite element, so that being equal to it says nothing.
    pub fn says_nothing(&self) -> bool {
        self.elements > 0 && self.nan + self.infinite == self.elements
    }
}

fn floats<const N: usize>(bytes: &[u8], largest: f64, decode: impl Fn([u8; N]) -> f64) -> Nature {
    let mut nature = Nature { constant: true, ..Nature::default() };
    let mut first = None;
    for element in bytes.chunks_exact(N).filter_map(|chunk| chunk.try_into().ok()) {
        let x = decode(element);
        nature.elements += 1;
        nature.nan += u64::from(x.is_nan());
        nature.infinite += u64::from(x.is_infinite());
        nature.near_overflow += u64::from(x.is_finite() && x.abs() > largest / 2.0);
        nature.zero += u64::from(x == 0.0);
        nature.constant &= *first.get_or_insert(element) == element;
    }
    Nature { constant: nature.constant && nature.elements > 0, ..nature }
}

fn patterns(bytes: &[u8], size: usize) -> Nature {
    let mut all = bytes.chunks_exact(size);
    let (elements, first) = (all.len() as u64, bytes.get(..size));
    let zero = all.clone().filter(|element| element.iter().all(|byte| *byte == 0)).count() as u64;
    Nature {
        elements,
        zero,
        constant: elements > 0 && all.all(|element| Some(element) == first),
        ..Nature::default()
    }
}

/// How many elements are of a kind.
type Count = fn(&Nature) -> u64;

/// A sentence for each peculiarity of an output or of its expected values.
pub(super) fn remarks(got: &Nature, expected: Option<&Nature>) -> Vec<String> {
    let of = |count: Count| (count(got), expected.map_or(0, count));
    let mut said = Vec::new();
    let counted: [(&str, Count); 3] = [
        ("NaN", |nature| nature.nan),
        ("infinite", |nature| nature.infinite),
        ("more than half of the largest number of the type", |nature| nature.near_overflow),
    ];
    for (what, count) in counted {
        let (here, there) = of(count);
        if here == 0 && there == 0 {
            continue;
        }
        let all = got.elements;
        said.push(match expected {
            None => format!("{here} of {all} elements are {what}"),
            Some(_) if here == there => {
                format!("{here} of {all} elements are {what}, and so are as many expected ones")
            }
            Some(_) => format!("{here} of {all} elements are {what}, and {there} of the expected ones"),
        });
    }
    let zeros = |nature: &Nature| nature.elements > 0 && nature.zero == nature.elements;
    let same =
        |nature: &Nature| nature.elements > 1 && nature.constant && !zeros(nature) && !nature.says_nothing();
    // That one side is not quite so is a difference, which is told as one.
    for (what, holds) in [("zero", &zeros as &dyn Fn(&Nature) -> bool), ("the same", &same)] {
        match (holds(got), expected.map(holds)) {
            (true, None) => said.push(format!("all elements are {what}")),
            (true, Some(true)) => said.push(format!("all elements are {what}, and so are the expected ones")),
            _ => {}
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f32]) -> Nature {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        Nature::of(DType::F32, &bytes)
    }

    #[test]
    fn elements_are_counted_for_what_they_are() {
        let found = of(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2e38, 0.0, -0.0, 1.0]);
        let wanted = Nature { elements: 7, nan: 1, infinite: 2, near_overflow: 1, zero: 2, constant: false };
        assert_eq!(found, wanted);
        assert!(of(&[1.5, 1.5]).constant && !of(&[1.5, 2.0]).constant && !of(&[]).constant);
        let half = Nature::of(DType::F16, &half::f16::from_f32(60000.0).to_le_bytes());
        assert_eq!((half.near_overflow, half.elements), (1, 1));
        let ints = Nature::of(DType::I64, &[0; 16]);
        assert_eq!((ints.zero, ints.elements, ints.constant), (2, 2, true));
    }

    #[test]
    fn what_has_no_finite_element_says_nothing() {
        assert!(of(&[f32::NAN, f32::INFINITY]).says_nothing());
        assert!(!of(&[f32::NAN, 1.0]).says_nothing() && !of(&[]).says_nothing());
    }

    #[test]
    fn peculiarities_of_both_sides_are_told() {
        let told = |got: &[f32], expected: &[f32]| remarks(&of(got), Some(&of(expected))).join("; ");
        assert_eq!(told(&[1.0, 2.0], &[1.0, 2.5]), "");
        assert_eq!(
            told(&[f32::NAN, 2.0], &[1.0, 2.0]),
            "1 of 2 elements are NaN, and 0 of the expected ones"
        );
        assert_eq!(told(&[0.0, 0.0], &[0.0, 0.0]), "all elements are zero, and so are the expected ones");
        assert_eq!(told(&[3.0, 3.0], &[3.0, 3.0]), "all elements are the same, and so are the expected ones");
        assert_eq!(told(&[3.0, 3.0], &[3.0, 2.0]), "");
        assert_eq!(remarks(&of(&[2e38, 1.0]), None).len(), 1);
    }
}
