//! Numbers as Python's serialiser writes them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A float; infinities and NaN arrive as strings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Float(pub(crate) f64);

/// A bound of a range: an integer of any size, or an infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    Finite(i128),
    Infinite,
}

struct Number;

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E>(self, n: f64) -> Result<f64, E> {
        Ok(n)
    }

    fn visit_i64<E>(self, n: i64) -> Result<f64, E> {
        Ok(n as f64)
    }

    fn visit_u64<E>(self, n: u64) -> Result<f64, E> {
        Ok(n as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        match text {
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            "NaN" => Ok(f64::NAN),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Number).map(Float)
    }
}

struct BoundVisitor;

impl Visitor<'_> for BoundVisitor {
    type Value = Bound;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or an infinity")
    }

    fn visit_i64<E>(self, n: i64) -> Result<Bound, E> {
        Ok(Bound::Finite(n.into()))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Bound, E> {
        Ok(Bound::Finite(n.into()))
    }

    // Integers beyond 64 bits arrive as floats; for a bound they are as good as infinite.
    fn visit_f64<E: Error>(self, n: f64) -> Result<Bound, E> {
        if n.is_nan() {
            return Err(E::invalid_value(serde::de::Unexpected::Float(n), &self));
        }
        Ok(if n.abs() < 9.0e18 { Bound::Finite(n as i128) } else { Bound::Infinite })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bound, E> {
        match text {
            "Infinity" | "-Infinity" | "int_oo" | "-int_oo" | "oo" | "-oo" => Ok(Bound::Infinite),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BoundVisitor)
    }
}
