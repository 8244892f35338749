//! Deterministic chance: numbers, values that programs get wrong, and damage to JSON documents.

use onnxport_fuzz::document::{count, nth};
use serde_json::{Value, json};

/// The variable with which tests make more rounds than usual: a factor.
const ROUNDS: &str = "ONNXPORT_FUZZ_ROUNDS";

/// A small generator of numbers, the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.next() as usize % bound
    }

    /// Whether one chance in `of` comes true.
    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A size: mostly small, now and then next to where arithmetic ends.
    pub(crate) fn size(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => 1,
            2 => 1 << self.below(64),
            3 => (1u64 << self.below(64)).wrapping_sub(1),
            4 => u64::MAX - self.next() % 3,
            _ => self.next() % 9,
        }
    }
}

/// Runs `case` for some rounds, each with numbers of its own; a failure names its round.
pub(crate) fn rounds(count: u64, seed: u64, mut case: impl FnMut(&mut Random)) {
    struct Round(u64);
    impl Drop for Round {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("in round {}", self.0);
            }
        }
    }
    let factor = std::env::var(ROUNDS).ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for number in 0..count.saturating_mul(factor) {
        let _round = Round(number);
        let mut random = Random::new((seed << 40 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        case(&mut random);
    }
}

/// Damages one value of a document, or a few.
pub(crate) fn damage(document: &mut Value, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let places = count(document);
        let donor = nth(document, &mut random.below(places)).cloned().unwrap_or_default();
        let wanted = random.below(places);
        if let Some(place) = nth(document, &mut { wanted }) {
            *place = other(place, donor, random);
        }
    }
}

fn other(value: &Value, donor: Value, random: &mut Random) -> Value {
    let size = random.size();
    match (value, random.below(6)) {
        (_, 0) => donor,
        (_, 1) => {
            random.pick(&[json!(null), json!(true), json!([]), json!({}), json!(-1), json!(1e300)]).clone()
        }
        (Value::Number(_), 2) => json!((size as i64).wrapping_neg()),
        (Value::Number(_), _) => json!(size),
        (Value::String(text), 2) => json!(format!("../{text}")),
        (Value::String(text), 3) => json!(format!("/{text}")),
        (Value::String(_), 4) => json!("\u{0}\u{1b}[2J\"\\"),
        (Value::String(text), _) => json!(text.repeat(random.below(4))),
        (Value::Array(_), 2) => json!(vec![donor; random.below(70)]),
        (Value::Array(items), _) if !items.is_empty() => {
            let mut items = items.clone();
            let at = random.below(items.len());
            if random.one_in(2) {
                items.push(items[at].clone());
            } else {
                items.remove(at);
            }
            Value::Array(items)
        }
        (Value::Object(items), _) if !items.is_empty() => {
            let mut items = items.clone();
            let key = random.pick(&items.keys().cloned().collect::<Vec<_>>()).clone();
            let old = items.remove(&key).unwrap_or_default();
            if random.one_in(2) {
                items.insert(format!("{key}{}", random.below(2)), old);
            }
            Value::Object(items)
        }
        _ => json!(size),
    }
}

/// The text of an object, in which two entries may have one name.
pub(crate) fn text(document: &Value, random: &mut Random) -> String {
    let Some(items) = document.as_object().filter(|items| items.len() > 1 && random.one_in(4)) else {
        return document.to_string();
    };
    let keys: Vec<&String> = items.keys().collect();
    let (from, to) = (random.pick(&keys).as_str(), random.pick(&keys).as_str());
    document.to_string().replacen(&format!("{}:", json!(from)), &format!("{}:", json!(to)), 1)
}
