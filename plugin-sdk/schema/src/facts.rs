//! Facts that a schema cannot state about its operator: `#: shape=reduce(dim,keepdim) dtype=same(self)`, in the
//! line after it. Readers of schemas alone take such a line for a comment.

/// The facts about one overload.
///
/// A fact has a key and a term per result. What a key or a term means is not decided here: a reader
/// passes over those that it does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(Vec<(String, Vec<Term>)>);

/// A mechanism, and which arguments of the operator it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// The mechanism; empty for `?`, of which nothing is known.
    pub name: String,
    /// Names of arguments in the schema, and numbers.
    pub args: Vec<String>,
}

impl Facts {
    /// Reads the text after `#:`: `key=term/term key=term`. Malformed facts are left out.
    pub fn parse(text: &str) -> Self {
        let fact = |word: &str| {
            let (key, terms) = word.split_once('=')?;
            Some((key.to_owned(), terms.split('/').map(Term::parse).collect()))
        };
        Self(text.split_whitespace().filter_map(fact).collect())
    }

    /// Adds the facts of `other`.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The terms of `key`, one per result; none where nothing is stated.
    pub fn terms(&self, key: &str) -> &[Term] {
        self.0.iter().find(|(k, _)| k == key).map_or(&[], |(_, terms)| terms.as_slice())
    }

    /// The only or first term of `key`.
    pub fn term(&self, key: &str) -> Option<&Term> {
        self.terms(key).first()
    }

    /// Every key with its terms.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Term])> {
        self.0.iter().map(|(key, terms)| (key.as_str(), terms.as_slice()))
    }
}

impl Term {
    /// Reads `name` or `name(arg,arg)`.
    fn parse(text: &str) -> Self {
        let (name, rest) = text.split_once('(').unwrap_or((text, ""));
        let args = rest.trim_end_matches(')').split(',').filter(|a| !a.is_empty()).map(str::to_owned);
        Self { name: name.trim_matches('?').to_owned(), args: args.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::Facts;

    #[test]
    fn terms_are_read_by_key_and_result() {
        let facts = Facts::parse(" shape=reduce(dim,keepdim)/? dtype=bool nonsense");
        let [reduce, unknown] = facts.terms("shape") else { panic!("{facts:?}") };
        assert_eq!(
            (reduce.name.as_str(), reduce.args.as_slice()),
            ("reduce", ["dim", "keepdim"].map(str::to_owned).as_slice())
        );
        assert!(unknown.name.is_empty() && unknown.args.is_empty());
        assert_eq!(facts.term("dtype").map(|t| t.name.as_str()), Some("bool"));
        assert!(facts.terms("view").is_empty());
    }
}
