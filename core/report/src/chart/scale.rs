//! An axis of powers of ten, with places for zero and for infinity.

/// Decades from `low` to `high`; a lane below is for zero and tiny values, and one above for NaN and infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decades {
    low: i32,
    high: i32,
    zero: bool,
    infinite: bool,
}

/// How high a lane is, in decades.
const LANE: f64 = 0.8;

/// Smaller values count as zero: no rounding of a float is so small.
const LEAST: f64 = 1e-18;

impl Decades {
    /// The decades that hold `values`, and lanes for those that stand in none.
    pub(super) fn from_values(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high, mut zero, mut infinite) = (i32::MAX, i32::MIN, false, false);
        for value in values {
            if !value.is_finite() {
                infinite = true;
            } else if value < LEAST {
                zero = true;
            } else {
                // Between -18 and 309.
                low = low.min(value.log10().floor() as i32);
                high = high.max(value.log10().ceil() as i32);
            }
        }
        if low > high {
            (low, high) = (-1, 0);
        } else if low == high {
            high += 1;
        }
        Self { low, high, zero, infinite }
    }

    /// Where a value stands, from 0 at the bottom to 1 at the top.
    pub(super) fn place(self, value: f64) -> f64 {
        let below = if self.zero { LANE } else { 0.0 };
        let decades = f64::from(self.high - self.low);
        let whole = below + decades + if self.infinite { LANE } else { 0.0 };
        let at = if !value.is_finite() {
            whole - LANE / 2.0
        } else if value < LEAST {
            LANE / 2.0
        } else {
            below + (value.log10() - f64::from(self.low)).clamp(0.0, decades)
        };
        at / whole
    }

    /// Labels of the axis, each with its place; at most `most` decades are labelled.
    pub(super) fn ticks(self, most: i32) -> Vec<(f64, String)> {
        let step = ((self.high - self.low) / most.max(1) + 1).max(1);
        let decades = (self.low..=self.high).filter(|decade| (decade - self.low) % step == 0);
        let mut ticks: Vec<_> = decades
            .map(|decade| {
                (
                    self.place(10f64.powi(decade)),
                    if decade == 0 { "1".to_owned() } else { format!("1e{decade}") },
                )
            })
            .collect();
        if self.zero {
            ticks.insert(0, (self.place(0.0), "≈ 0".to_owned()));
        }
        if self.infinite {
            ticks.push((self.place(f64::INFINITY), "∞".to_owned()));
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_rise_from_the_bottom_to_the_top() {
        let axis = Decades::from_values([0.0, 1e-9, 2e-3, f64::INFINITY].into_iter());
        let places = [0.0, 1e-9, 2e-3, 1e-2, f64::INFINITY].map(|value| axis.place(value));
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        assert!(places.iter().all(|place| (0.0..=1.0).contains(place)));
        assert_eq!(axis.place(f64::NAN), axis.place(f64::INFINITY));
    }

    #[test]
    fn lanes_are_there_only_for_what_needs_them() {
        let labels = |values: &[f64]| {
            Decades::from_values(values.iter().copied())
                .ticks(9)
                .into_iter()
                .map(|(_, label)| label)
                .collect::<Vec<_>>()
        };
        assert_eq!(labels(&[0.5, 20.0]), ["1e-1", "1", "1e1", "1e2"]);
        assert_eq!(labels(&[0.0, 5e-324, 0.5]), ["≈ 0", "1e-1", "1"]);
        assert_eq!(labels(&[f64::NAN]), ["1e-1", "1", "∞"]);
        assert_eq!(labels(&[1.0]), ["1", "1e1"]);
        assert_eq!(labels(&[]), ["1e-1", "1"]);
    }

    #[test]
    fn many_decades_get_few_labels() {
        assert!(Decades::from_values([5e-324, 1e308].into_iter()).ticks(8).len() <= 9);
    }
}
