//! The attributes `interface`, `table`, `record` and `slot`: facts and their defaults.

use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Ident, LitFloat, LitStr, Result, Token, parenthesized};

use super::model::{Answers, Facts, Gives, Kind, Revision, Takes, Thread, Type};

/// The facts that one attribute states.
#[derive(Clone, Default)]
pub(super) struct AttributeFacts {
    pub id: Option<String>,
    pub side: Option<Side>,
    pub since: Option<Revision>,
    pub optional: bool,
    thread: Option<Thread>,
    takes: Option<Takes>,
    gives: Option<Gives>,
    answers: Option<AnswerWords>,
}

/// Who provides a table.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Plugin,
    Host,
}

impl Side {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Plugin => Kind::PluginTable,
            Self::Host => Kind::HostTable,
        }
    }
}

#[derive(Clone)]
enum AnswerWords {
    Number,
    Statuses(Vec<String>),
}

impl AttributeFacts {
    /// The arguments of the attribute called `name`, if it is there.
    pub(super) fn find(attributes: &[Attribute], name: &str, statuses: &[String]) -> Result<Option<Self>> {
        let Some(attribute) = attributes.iter().find(|a| a.path().is_ident(name)) else { return Ok(None) };
        let mut stated = Self::default();
        attribute.parse_nested_meta(|meta| stated.read(&meta, statuses))?;
        Ok(Some(stated))
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>, statuses: &[String]) -> Result<()> {
        let word = meta.path.require_ident()?.to_string();
        match word.as_str() {
            "id" => self.id = Some(meta.value()?.parse::<LitStr>()?.value()),
            "plugin" => self.side = Some(Side::Plugin),
            "host" => self.side = Some(Side::Host),
            "since" => self.since = Some(revision(&meta.value()?.parse()?)?),
            "optional" => self.optional = true,
            "thread" => self.thread = Some(chosen(&meta.value()?.parse()?, Thread::WORDS)?),
            "takes" => self.takes = Some(chosen(&meta.value()?.parse()?, Takes::WORDS)?),
            "gives" => self.gives = Some(gives(meta)?),
            "answers" => self.answers = Some(answers(meta, statuses)?),
            _ => return Err(meta.error("no such fact")),
        }
        Ok(())
    }

    /// These facts, and those of `outer` where these state none.
    pub(super) fn or(self, outer: &Self) -> Self {
        Self {
            id: self.id.or_else(|| outer.id.clone()),
            side: self.side.or(outer.side),
            since: self.since.or(outer.since),
            optional: self.optional,
            thread: self.thread.or(outer.thread),
            takes: self.takes.or(outer.takes),
            gives: self.gives.or_else(|| outer.gives.clone()),
            answers: self.answers.or_else(|| outer.answers.clone()),
        }
    }

    /// The facts of a function of this type: `own` are those that its attribute states, `self` has the
    /// defaults as well.
    pub(super) fn complete(self, own: &Self, ty: &Type, at: &impl Spanned) -> Result<Option<Facts>> {
        let Type::Function { parameters, result, .. } = ty else {
            let stray = own.thread.is_some() || own.takes.is_some() || own.answers.is_some();
            return if stray {
                Err(Error::new(at.span(), "only functions have such facts"))
            } else {
                Ok(None)
            };
        };
        let missing = |fact: &str| {
            let why = format!("it is not stated: `{fact}`, here or as a default of the table or interface");
            Error::new(at.span(), why)
        };
        let lends = parameters.iter().any(|(_, ty)| ty.borrows() && !ty.is_out());
        let takes = match (lends, own.takes) {
            (true, _) => self.takes.ok_or_else(|| missing("takes"))?,
            (false, None) => Takes::Nothing,
            (false, Some(_)) => return Err(Error::new(at.span(), "`takes`: it borrows nothing")),
        };
        let status = matches!(result.as_deref(), Some(Type::Named { name, .. }) if name == "u32");
        let stores = parameters.iter().any(|(_, ty)| ty.is_out()) || (result.is_some() && !status);
        let sinks = parameters.iter().any(|(_, ty)| is_sink(ty));
        let gives = match (stores, sinks, &own.gives) {
            (true, ..) => self.gives.ok_or_else(|| missing("gives"))?,
            (false, true, _) => Gives::Sink,
            (false, false, None) => Gives::Nothing,
            (false, false, Some(_)) => return Err(Error::new(at.span(), "`gives`: it gives nothing")),
        };
        let answers = match (status, self.answers, &own.answers) {
            (true, Some(AnswerWords::Number), _) => Answers::Number,
            (true, Some(AnswerWords::Statuses(names)), _) => Answers::Statuses(names),
            (true, None, _) => return Err(missing("answers")),
            (false, _, None) => Answers::Never,
            (false, _, Some(_)) => return Err(Error::new(at.span(), "`answers`: it returns no status")),
        };
        let thread = self.thread.ok_or_else(|| missing("thread"))?;
        Ok(Some(Facts { thread, takes, gives, answers }))
    }
}

fn is_sink(ty: &Type) -> bool {
    match ty {
        Type::Reference { to, .. } => is_sink(to),
        Type::Named { name, .. } => name.ends_with("Sink"),
        Type::Pointer { .. } | Type::Function { .. } => false,
    }
}

/// Reads `1.10`.
pub(super) fn revision(literal: &LitFloat) -> Result<Revision> {
    let parts = literal.base10_digits().split_once('.');
    let numbers = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) =
        numbers.ok_or_else(|| Error::new(literal.span(), "a revision is written like `1.0`"))?;
    Ok(Revision { major, minor })
}

fn chosen<T: Clone>(word: &Ident, words: &[(&str, T)]) -> Result<T> {
    words.iter().find(|(name, _)| word == name).map(|(_, found)| found.clone()).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        Error::new(word.span(), format!("it is one of {}", names.join(", ")))
    })
}

fn gives(meta: &ParseNestedMeta<'_>) -> Result<Gives> {
    let value = meta.value()?;
    let word: Ident = value.parse()?;
    if word != "until" {
        return chosen(&word, Gives::WORDS);
    }
    let inner;
    parenthesized!(inner in value);
    Ok(Gives::Until(inner.parse::<Ident>()?.to_string()))
}

fn answers(meta: &ParseNestedMeta<'_>, statuses: &[String]) -> Result<AnswerWords> {
    if meta.input.peek(Token![=]) {
        return chosen(&meta.value()?.parse()?, &[("number", AnswerWords::Number)]);
    }
    let inner;
    parenthesized!(inner in meta.input);
    let words = inner.parse_terminated(Ident::parse_any, Token![,])?;
    let known = |word: &Ident| {
        let name = word.to_string();
        if statuses.contains(&name) {
            Ok(name)
        } else {
            Err(Error::new(word.span(), "there is no such status"))
        }
    };
    Ok(AnswerWords::Statuses(words.iter().map(known).collect::<Result<_>>()?))
}
