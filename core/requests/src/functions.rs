//! The modules that become local functions, as options name them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use onnxport_core::functions::Selection;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

const AUTO: &str = "auto";
const NONE: &str = "none";

/// `auto`, `none`, or the classes of modules, separated by commas; in data also as a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions(pub Selection);

impl Functions {
    fn from_classes(classes: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let classes: Vec<String> = classes.into_iter().map(|class| class.trim().to_owned()).collect();
        if classes.iter().any(String::is_empty) {
            return Err("expected auto, none or the names of classes".to_owned());
        }
        Ok(Self(if classes.is_empty() { Selection::Nothing } else { Selection::Classes(classes) }))
    }
}

impl FromStr for Functions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            AUTO => Ok(Self(Selection::Repeated)),
            NONE => Ok(Self(Selection::Nothing)),
            names => Self::from_classes(names.split(',').map(str::to_owned)),
        }
    }
}

impl fmt::Display for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Selection::Nothing => f.write_str(NONE),
            Selection::Repeated => f.write_str(AUTO),
            Selection::Classes(names) => f.write_str(&names.join(",")),
        }
    }
}

impl<'de> Deserialize<'de> for Functions {
    fn deserialize<D: Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
        let read = match Value::deserialize(data)? {
            Value::String(text) => text.parse(),
            Value::Array(names) => names
                .into_iter()
                .map(|name| match name {
                    Value::String(name) => Ok(name),
                    other => Err(format!("{other} is not the name of a class")),
                })
                .collect::<Result<Vec<String>, String>>()
                .and_then(Self::from_classes),
            other => Err(format!("expected auto, none or the names of classes, not {other}")),
        };
        read.map_err(D::Error::custom)
    }
}

impl Serialize for Functions {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Selection::Classes(names) => names.serialize(to),
            _ => to.collect_str(self),
        }
    }
}

impl JsonSchema for Functions {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Functions".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

#[cfg(test)]
mod tests {
    use super::{Functions, Selection};

    #[test]
    fn classes_are_a_text_or_a_list() {
        let classes = Functions(Selection::Classes(vec!["Block".to_owned(), "a.b.Layer".to_owned()]));
        assert_eq!("Block,a.b.Layer".parse(), Ok(classes.clone()));
        let of = |json: &str| serde_json::from_str::<Functions>(json);
        assert_eq!(of(r#"["Block", "a.b.Layer"]"#).unwrap(), classes);
        assert_eq!(of(r#""auto""#).unwrap(), Functions(Selection::Repeated));
        assert_eq!(of("[]").unwrap(), Functions(Selection::Nothing));
        for wrong in ["true", "[1]", r#""a,,b""#, r#""""#] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        for written in ["auto", "none", "Block,a.b.Layer"] {
            let read: Functions = written.parse().unwrap();
            assert_eq!(read.to_string(), written);
            assert_eq!(of(&serde_json::to_string(&read).unwrap()).unwrap(), read);
        }
    }
}
