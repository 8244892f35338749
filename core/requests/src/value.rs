//! Values of options that are more than a text or a number. Each has one parser, for command lines and for data.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use onnxport_core::optimise::Level;
use onnxport_core::verify::Rule;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// Reads a scalar as it would be written on a command line.
pub(crate) fn text<'de, D: Deserializer<'de>>(data: D) -> Result<String, D::Error> {
    match Value::deserialize(data)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(D::Error::custom(format!("expected a string or a number, not {other}"))),
    }
}

/// Implements the data form of a type with [`FromStr`] and [`fmt::Display`]: the text on the command line.
macro_rules! as_text {
    ($($type:ty: $schema:tt)*) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
                $crate::value::text(data)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    )*};
}
pub(crate) use as_text;

as_text! {
    ByteSize: { "type": ["string", "integer"] }
    Budget: { "type": ["string", "integer"] }
    Share: { "type": ["string", "number"] }
    Seconds: { "type": ["string", "number"] }
    NameValue: { "type": "string" }
    Draw: { "type": "string" }
}

/// A number of bytes: `1000`, `500MB`, `2 GiB`. `K`, `M`, `G` and `T` without `B` are powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a size, such as 500MB or 2GiB");
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim().to_ascii_lowercase();
        let (prefix, base) = match unit.strip_suffix("ib") {
            Some(prefix) if !prefix.is_empty() => (prefix, 1024f64),
            Some(_) => return Err(wrong()),
            None => match unit.strip_suffix('b') {
                Some(prefix) => (prefix, 1000.0),
                None => (unit.as_str(), 1024.0),
            },
        };
        let power = match prefix {
            "" => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            _ => return Err(wrong()),
        };
        let bytes = number.parse::<f64>().map_err(|_| wrong())? * base.powi(power);
        if bytes >= 1.0 && bytes < 2f64.powi(62) { Ok(Self(bytes as u64)) } else { Err(wrong()) }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.iter().find(|(power, _)| self.0 > 0 && self.0.trailing_zeros() >= *power) {
            Some((power, unit)) => write!(f, "{}{unit}", self.0 >> power),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A number of bytes; 0 means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(pub u64);

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" { Ok(Self(0)) } else { text.parse().map(|ByteSize(bytes)| Self(bytes)) }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ByteSize(self.0).fmt(f)
    }
}

/// A positive time in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
        match Duration::try_from_secs_f64(seconds) {
            Ok(time) if !time.is_zero() => Ok(Self(time)),
            _ => Err(format!("{text:?} is not a time")),
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

/// A tolerance: a number that is not negative.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(inline)]
pub struct Tolerance(#[schemars(range(min = 0))] pub f64);

/// A share of a whole, from 0 to 1: 0.9 or 90%.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a share: a percentage such as 90%, or a number from 0 to 1");
        let share = match text.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0,
            None => text.trim().parse().map_err(|_| wrong())?,
        };
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(wrong()) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded down, so that a share below a bound does not look equal to it.
        write!(f, "{}%", (self.0 * 1000.0 + 1e-9).floor() / 10.0)
    }
}

const NEGATIVE: &str = "expected a number that is not negative";

impl Tolerance {
    fn checked(number: f64) -> Result<Self, &'static str> {
        if number >= 0.0 { Ok(Self(number)) } else { Err(NEGATIVE) }
    }
}

impl FromStr for Tolerance {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        text.parse().map_err(|_| NEGATIVE).and_then(Self::checked)
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
        Self::checked(f64::deserialize(data)?).map_err(D::Error::custom)
    }
}

/// `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameValue {
    /// The part before the first `=`; it is not empty.
    pub name: String,
    /// The part after it.
    pub value: String,
}

impl FromStr for NameValue {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err("expected NAME=VALUE"),
        }
    }
}

impl fmt::Display for NameValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// `INPUT=RULE`: how the values of an input are generated, such as `x=normal(0,1)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// The input.
    pub input: String,
    /// The rule.
    pub rule: Rule,
    written: String,
}

impl FromStr for Draw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (input, rule) =
            text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("expected INPUT=RULE")?;
        Ok(Self { input: input.to_owned(), rule: rule.parse()?, written: rule.to_owned() })
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.input, self.written)
    }
}

/// A value, and the text that it was parsed from.
#[derive(Clone, Debug)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    text: String,
}

impl<T> fmt::Display for Parsed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T> PartialEq for Parsed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T: FromStr> FromStr for Parsed<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        Ok(Self { value: text.parse()?, text: text.to_owned() })
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
        text(data)?.parse().map_err(D::Error::custom)
    }
}

impl<T> Serialize for Parsed<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(to)
    }
}

impl<T> JsonSchema for Parsed<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Parsed".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Data for [`Level`]: its name, a number, or false for none.
pub(crate) mod level {
    use super::{
        Deserialize, Deserializer, Error, Level, Schema, SchemaGenerator, Serialize, Serializer, Value,
        json_schema, text,
    };

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(data: D) -> Result<Option<Level>, D::Error> {
        match Value::deserialize(data)? {
            Value::Null | Value::Bool(true) => Ok(None),
            Value::Bool(false) => Ok(Some(Level::Nothing)),
            other => text(other)
                .and_then(|name| name.parse().map_err(Error::custom))
                .map(Some)
                .map_err(D::Error::custom),
        }
    }

    #[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(level: &Option<Level>, to: S) -> Result<S::Ok, S::Error> {
        level.map(|level| level.to_string()).serialize(to)
    }

    pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": ["0", "1", "2", "target", 0, 1, 2, true, false, null] })
    }
}

/// Data for an option whose value can be omitted: its name, true for the first one, or false for none.
pub mod optional {
    use clap::ValueEnum;

    use super::{
        Deserialize, Deserializer, Error, Schema, SchemaGenerator, Serialize, Serializer, Value, json_schema,
    };

    #[expect(missing_docs, reason = "serde's own")]
    pub fn deserialize<'de, D: Deserializer<'de>, T: ValueEnum + 'static>(
        data: D,
    ) -> Result<Option<T>, D::Error> {
        match Value::deserialize(data)? {
            Value::Null | Value::Bool(false) => Ok(None),
            Value::Bool(true) => Ok(T::value_variants().first().cloned()),
            Value::String(name) => T::from_str(&name, false).map(Some).map_err(|_| {
                let known: Vec<String> = names::<T>().map(|name| format!("`{name}`")).collect();
                D::Error::custom(format!("`{name}` is not one of {}", known.join(", ")))
            }),
            other => Err(D::Error::custom(format!("expected a string, true or false, not {other}"))),
        }
    }

    #[expect(missing_docs, reason = "serde's own")]
    pub fn serialize<S: Serializer, T: ValueEnum + 'static>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let value = value.as_ref().and_then(T::to_possible_value);
        value.map(|value| value.get_name().to_owned()).serialize(to)
    }

    /// The schema of the data.
    pub fn schema<T: ValueEnum + 'static>(_: &mut SchemaGenerator) -> Schema {
        let names = names::<T>().map(Value::String);
        let all: Vec<Value> = names.chain([Value::Bool(true), Value::Bool(false), Value::Null]).collect();
        json_schema!({ "enum": all })
    }

    fn names<T: ValueEnum + 'static>() -> impl Iterator<Item = String> {
        T::value_variants().iter().filter_map(T::to_possible_value).map(|value| value.get_name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units_and_written_in_the_largest() {
        let sizes = [
            ("1", 1, "1"),
            ("500MB", 500_000_000, "500000000"),
            ("2 GiB", 2 << 30, "2GiB"),
            ("1.5k", 1536, "1536"),
            ("3T", 3 << 40, "3072GiB"),
        ];
        for (text, size, written) in sizes {
            assert_eq!(text.parse(), Ok(ByteSize(size)), "{text}");
            assert_eq!(ByteSize(size).to_string(), written);
            assert_eq!(written.parse(), Ok(ByteSize(size)));
        }
        assert_eq!(("0".parse(), Budget(0).to_string().as_str()), (Ok(Budget(0)), "0"));
        for wrong in ["", "0", "-1", "MB", "1 XB", "1iB", "99999999T", "1..5k", "NaN", "0.5"] {
            assert!(wrong.parse::<ByteSize>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn data_is_read_as_the_command_line_is() {
        let read = |json: &str| serde_json::from_str::<ByteSize>(json).map_err(|error| error.to_string());
        assert_eq!(read("4096"), Ok(ByteSize(4096)));
        assert_eq!(read("\"4KiB\""), Ok(ByteSize(4096)));
        assert!(read("true").unwrap_err().contains("expected a string or a number, not true"));
        assert!(serde_json::from_str::<Tolerance>("-1").is_err());
        assert_eq!(serde_json::from_str::<Seconds>("0.5").unwrap(), "0.5".parse().unwrap());
        let pair: NameValue = serde_json::from_str("\"a=b=c\"").unwrap();
        assert_eq!((pair.name.as_str(), pair.value.as_str()), ("a", "b=c"));
        let drawn: Draw = serde_json::from_str("\"x=normal(0,1)\"").unwrap();
        assert_eq!(serde_json::to_string(&drawn).unwrap(), "\"x=normal(0,1)\"");
    }
}
