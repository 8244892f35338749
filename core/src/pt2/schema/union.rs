//! Unions: JSON objects with one key that names the variant.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Visitor};

/// Reads a key as one of the listed names, or as an unknown name.
pub(crate) struct Tag(pub(crate) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Tag {
    type Value = Result<&'static str, String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Tag {
    type Value = Result<&'static str, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a variant")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|known| **known == name).copied().ok_or_else(|| name.to_owned()))
    }
}

/// Defines a union. Keys whose value is null are skipped: some writers emit every key.
macro_rules! union {
    ($($(#[$meta:meta])* $name:ident { $($key:literal => $variant:ident($ty:ty),)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug)]
        #[allow(dead_code, reason = "every variant is decoded, which checks it; not every payload is used")]
        #[allow(clippy::enum_variant_names, reason = "the names are PyTorch's")]
        pub(crate) enum $name { $($variant($ty)),* }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Union;

                impl<'de> serde::de::Visitor<'de> for Union {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object with one variant of ", stringify!($name)))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        use serde::de::Error;
                        const TAGS: &[&str] = &[$($key),*];
                        let mut found: Option<(&str, $name)> = None;
                        while let Some(tag) = map.next_key_seed($crate::pt2::schema::union::Tag(TAGS))? {
                            let (key, value) = match tag {
                                $(Ok($key) => ($key, map.next_value::<Option<$ty>>()?.map($name::$variant)),)*
                                Ok(known) => return Err(A::Error::custom(format_args!(
                                    "variant `{known}` of {} is not handled", stringify!($name)))),
                                Err(unknown) => {
                                    if map.next_value::<Option<serde::de::IgnoredAny>>()?.is_some() {
                                        return Err(A::Error::custom(format_args!(
                                            "unknown variant `{unknown}` of {}", stringify!($name))));
                                    }
                                    continue;
                                }
                            };
                            let Some(value) = value else { continue };
                            if let Some((first, _)) = &found {
                                return Err(A::Error::custom(format_args!(
                                    "two variants of {}, `{first}` and `{key}`", stringify!($name))));
                            }
                            found = Some((key, value));
                        }
                        found.map(|(_, value)| value).ok_or_else(|| {
                            A::Error::custom(concat!("no variant of ", stringify!($name)))
                        })
                    }
                }

                deserializer.deserialize_map(Union)
            }
        }
    )*};
}

pub(crate) use union;
