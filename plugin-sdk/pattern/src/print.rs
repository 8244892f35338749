//! Patterns as texts.

use std::fmt::{self, Display, Formatter, Write};

use crate::{Attribute, Dim, Name, Node, Number, Operand, Pattern, Term, Value};

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (name, part) in &self.parts {
            write!(f, "let {name} = {part}; ")?;
        }
        match self.roots.as_slice() {
            [root] => write!(f, "{root}"),
            roots => write!(f, "({})", Joined(roots, ", ")),
        }
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.term)?;
        match &self.shape {
            Some(dims) => write!(f, ": [{}]", Joined(dims, ", ")),
            None => Ok(()),
        }
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any { optional } => write!(f, "_{}", question(*optional)),
            Self::Name { name, constant, optional, output } => {
                write!(f, "{}{name}", if *constant { "const " } else { "" })?;
                output.iter().try_for_each(|output| write!(f, ".{output}"))?;
                f.write_str(question(*optional))
            }
            Self::Number(number) => write!(f, "{number}"),
            Self::Node(node) => write!(f, "{node}"),
            Self::Either(terms) => write!(f, "({})", Joined(terms, " | ")),
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.tolerance.iter().try_for_each(|tolerance| write!(f, " ~ {tolerance}"))
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.iter().try_for_each(|name| write!(f, "{name} @ "))?;
        let order = self.commutative.map(|either| if either { "commutative " } else { "ordered " });
        for (stated, word) in [(self.shared, "shared "), (self.maybe, "maybe ")] {
            f.write_str(if stated { word } else { "" })?;
        }
        f.write_str(order.unwrap_or_default())?;
        self.domain.iter().try_for_each(|domain| write!(f, "{}::", quoted(domain)))?;
        let mut arguments: Vec<String> = self.operands.iter().map(Operand::to_string).collect();
        arguments.extend(self.attributes.iter().map(Attribute::to_string));
        arguments.extend(self.open.then(|| "..".to_owned()));
        write!(f, "{}({})", self.op, arguments.join(", "))?;
        self.output.iter().try_for_each(|output| write!(f, ".{output}"))
    }
}

impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}{}", self.name, self.value, question(self.optional))
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(name) => write!(f, "{name}"),
            Self::Int(int) => write!(f, "{int}"),
            Self::Float(number) => write!(f, "{number}"),
            Self::Str(text) => f.write_str(&quoted(text)),
            Self::Ints(ints) => write!(f, "{ints:?}"),
            Self::Floats(floats) => write!(f, "{floats:?}"),
        }
    }
}

impl Display for Dim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("_"),
            Self::Rest => f.write_str(".."),
            Self::Number(number) => write!(f, "{number}"),
            Self::Variable(name) => write!(f, "{name}"),
        }
    }
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn question(optional: bool) -> &'static str {
    if optional { "?" } else { "" }
}

struct Joined<'a, T>(&'a [T], &'static str);

impl<T: Display> Display for Joined<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if at > 0 { self.1 } else { "" })?;
        }
        Ok(())
    }
}
