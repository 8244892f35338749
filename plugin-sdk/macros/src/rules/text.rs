//! The text of a pattern, which crosses to the host.

use std::fmt::{self, Display, Formatter};

use syn::ext::IdentExt;

use super::pattern::{Attribute, AttributeValue, Dim, Node, Operand, Pattern, Term, quoted};

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
        let question = |optional: bool| if optional { "?" } else { "" };
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

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.name.iter().try_for_each(|name| write!(f, "{name} @ "))?;
        self.keywords.iter().try_for_each(|keyword| write!(f, "{keyword} "))?;
        if !self.domain.is_empty() {
            write!(f, "{}::", quoted(&self.domain))?;
        }
        let mut arguments: Vec<String> = self.operands.iter().map(Operand::to_string).collect();
        arguments.extend(self.attributes.iter().map(Attribute::to_string));
        arguments.extend(self.open.then(|| "..".to_owned()));
        write!(f, "{}({})", self.op, arguments.join(", "))?;
        self.output.iter().try_for_each(|output| write!(f, ".{output}"))
    }
}

impl Display for Attribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = ", self.name.unraw())?;
        match &self.value {
            AttributeValue::Capture(name) => write!(f, "{name}")?,
            AttributeValue::Literal(text) => f.write_str(text)?,
        }
        f.write_str(if self.optional { "?" } else { "" })
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

struct Joined<'a, T>(&'a [T], &'static str);

impl<T: Display> Display for Joined<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (at, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if at > 0 { self.1 } else { "" })?;
        }
        Ok(())
    }
}
