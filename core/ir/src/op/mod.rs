//! The names of operators: a misspelt `op::Sofmax` does not compile.
//!
//! They are texts, since a graph may have any operator: `node.is(op::Softmax)`, or `op::Softmax` as a pattern.

#![allow(non_upper_case_globals, reason = "the names are those of operators")]

/// A constant for each name.
macro_rules! names {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`")]
            pub const $name: &str = stringify!($name);
        )*
    };
}

include!("generated.rs");
