//! Axes of inputs, and names of inputs and outputs, as options take them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use onnxport_core::lower::{DimName, Names};
use onnxport_core::sizes::{AxisSize, InputAxis};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::value::as_text;

/// The requested form of an input's axis: `x:0=batch` or `x:0=8`, and in JSON, for names with these characters,
/// `["x", 0, "batch"]` or `["x", 0, 8]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// A dimension with this name.
    Named(DimName),
    /// Of this size, always.
    Sized(AxisSize),
}

impl Axis {
    /// Returns the input of the axis.
    pub fn input(&self) -> &str {
        match self {
            Self::Named(dim) => &dim.input,
            Self::Sized(size) => &size.input,
        }
    }

    /// Separates names from sizes.
    pub fn split<'a>(all: impl IntoIterator<Item = &'a Self>) -> (Vec<DimName>, Vec<AxisSize>) {
        let (mut names, mut sizes) = (Vec::new(), Vec::new());
        for axis in all {
            match axis {
                Self::Named(dim) => names.push(dim.clone()),
                Self::Sized(size) => sizes.push(size.clone()),
            }
        }
        (names, sizes)
    }

    fn from_json(value: Value) -> Result<Self, String> {
        let (input, axis, name): (String, usize, Value) = parse(value)?;
        match name {
            Value::String(name) => Ok(Self::Named(DimName { input, axis, name })),
            Value::Number(size) if size.is_u64() => {
                Ok(Self::Sized(AxisSize { input, axis, size: size.as_u64().unwrap_or_default() }))
            }
            other => Err(format!("{other} is neither a name nor a size")),
        }
    }
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with('[') {
            return Self::from_json(json_of(text)?);
        }
        let expected = "expected INPUT:AXIS=NAME or INPUT:AXIS=SIZE";
        let (axis, name) = text.rsplit_once('=').filter(|(_, name)| !name.is_empty()).ok_or(expected)?;
        let InputAxis { input, axis } = input_axis(axis, expected)?;
        Ok(match name.parse() {
            Ok(size) => Self::Sized(AxisSize { input, axis, size }),
            Err(_) => Self::Named(DimName { input, axis, name: name.to_owned() }),
        })
    }
}

impl<'de> Deserialize<'de> for Axis {
    fn deserialize<D: Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
        text_or_json(data, Self::from_json)
    }
}

impl Serialize for Axis {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(DimName { input, axis, name }) => (input, axis, name).serialize(to),
            Self::Sized(AxisSize { input, axis, size }) => (input, axis, size).serialize(to),
        }
    }
}

impl JsonSchema for Axis {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Axis".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"] })
    }
}

/// An axis that has to stay dynamic: `x:0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicAxis(pub InputAxis);

impl FromStr for DynamicAxis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        input_axis(text, "expected INPUT:AXIS").map(Self)
    }
}

impl fmt::Display for DynamicAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

as_text! { DynamicAxis: { "type": "string" } }

/// Names for all inputs or outputs in order, `a,b`, or new names for some, `old=new`. In JSON, for names with these
/// characters, a list or an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortNames(pub Names);

impl PortNames {
    fn from_json(names: Value) -> Result<Self, String> {
        let name = |value: Value| match value {
            Value::String(name) if !name.is_empty() => Ok(name),
            other => Err(format!("{other} is not a name")),
        };
        match names {
            Value::Array(all) => all.into_iter().map(name).collect::<Result<_, _>>().map(Names::InOrder),
            Value::Object(all) => {
                let pair = |(old, new)| Ok((name(Value::String(old))?, name(new)?));
                all.into_iter().map(pair).collect::<Result<_, String>>().map(Names::Renamed)
            }
            other => Err(format!("{other} has no names")),
        }
        .map(Self)
    }
}

impl FromStr for PortNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with(['[', '{']) {
            return Self::from_json(json_of(text)?);
        }
        let parts: Vec<&str> = text.split(',').collect();
        let pairs: Vec<(String, String)> = parts
            .iter()
            .filter_map(|part| part.split_once('='))
            .map(|(old, new)| (old.to_owned(), new.to_owned()))
            .collect();
        let is_empty = parts.iter().any(|part| part.is_empty())
            || pairs.iter().any(|(old, new)| old.is_empty() || new.is_empty());
        match pairs.len() {
            _ if is_empty => {
                Err("expected names, such as a,b, or new names for some, such as old=new".to_owned())
            }
            0 => Ok(Self(Names::InOrder(parts.into_iter().map(str::to_owned).collect()))),
            n if n == parts.len() => Ok(Self(Names::Renamed(pairs))),
            _ => Err("either all are names in order, or all are old=new".to_owned()),
        }
    }
}

impl<'de> Deserialize<'de> for PortNames {
    fn deserialize<D: Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
        text_or_json(data, Self::from_json)
    }
}

impl Serialize for PortNames {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Names::Own => json!({}).serialize(to),
            Names::InOrder(names) => names.serialize(to),
            Names::Renamed(pairs) => {
                let pair = |(old, new): &(String, String)| (old.clone(), Value::String(new.clone()));
                pairs.iter().map(pair).collect::<Map<_, _>>().serialize(to)
            }
        }
    }
}

impl JsonSchema for PortNames {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PortNames".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array", "object"] })
    }
}

/// Reads a text as on the command line, or other data with `from_json`.
fn text_or_json<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    data: D,
    from_json: impl FnOnce(Value) -> Result<T, String>,
) -> Result<T, D::Error> {
    let read = match Value::deserialize(data)? {
        Value::String(text) => text.parse(),
        other => from_json(other),
    };
    read.map_err(D::Error::custom)
}

/// Reads `x:0`.
fn input_axis(text: &str, expected: &str) -> Result<InputAxis, String> {
    let (input, axis) = text.rsplit_once(':').filter(|(input, _)| !input.is_empty()).ok_or(expected)?;
    let axis = axis.parse().map_err(|_| format!("{axis:?} is not an axis"))?;
    Ok(InputAxis { input: input.to_owned(), axis })
}

fn parse<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn json_of(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_name_or_a_size() {
        let axis = str::parse::<Axis>;
        let dim = |name: &str| DimName { input: "a:b".to_owned(), axis: 1, name: name.to_owned() };
        assert_eq!(axis("a:b:1=batch"), Ok(Axis::Named(dim("batch"))));
        let size = AxisSize { input: "a:b".to_owned(), axis: 1, size: 8 };
        assert_eq!(axis("a:b:1=8"), Ok(Axis::Sized(size)));
        assert_eq!(axis("a:b:1=-8"), Ok(Axis::Named(dim("-8"))));
        let odd = DimName { input: "a=b".to_owned(), axis: 0, name: "8".to_owned() };
        assert_eq!(axis(r#"["a=b", 0, "8"]"#), Ok(Axis::Named(odd)));
        assert_eq!(axis(r#"["a:b", 1, 8]"#), axis("a:b:1=8"));
        for wrong in ["x", "x:0", "x=n", "x:z=n", ":0=n", "x:0=", "[", r#"["x", 0, -1]"#, r#"["x", -1, "n"]"#]
        {
            assert!(axis(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_in_order_or_replace_others() {
        let names = str::parse::<PortNames>;
        let texts = |all: &[&str]| all.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(names("a,b"), Ok(PortNames(Names::InOrder(texts(&["a", "b"])))));
        let pairs = vec![("x".to_owned(), "y".to_owned()), ("z".to_owned(), "w=v".to_owned())];
        assert_eq!(names("x=y,z=w=v"), Ok(PortNames(Names::Renamed(pairs))));
        assert_eq!(names(r#"["a,b", "c"]"#), Ok(PortNames(Names::InOrder(texts(&["a,b", "c"])))));
        let odd = vec![("a=b".to_owned(), "c,d".to_owned())];
        assert_eq!(names(r#"{"a=b": "c,d"}"#), Ok(PortNames(Names::Renamed(odd))));
        for wrong in ["", "a,", "a,b=c", "=b", "a=", "[", r#"["a", ""]"#, r#"{"a": 1}"#, "[1]"] {
            assert!(names(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn data_is_written_so_that_it_is_read_again() {
        for text in ["x:0=batch", "x:0=8", r#"["a=b", 0, "8"]"#] {
            let axis: Axis = text.parse().unwrap();
            let written = serde_json::to_value(&axis).unwrap();
            assert_eq!(serde_json::from_value::<Axis>(written).unwrap(), axis);
        }
        for text in ["a,b", "x=y", r#"["a,b"]"#] {
            let names: PortNames = text.parse().unwrap();
            let written = serde_json::to_value(&names).unwrap();
            assert_eq!(serde_json::from_value::<PortNames>(written).unwrap(), names);
        }
    }
}
