//! Expressions in which symbols are replaced by numbers or by other symbols.

use rustc_hash::FxHashMap;

use super::{Dim, Expr, ExprId, SymId, Symbols, Term};

/// Numbers for symbols, merged symbols, and a cache of rewritten expressions.
#[derive(Debug, Default)]
pub struct Substitution {
    numbers: FxHashMap<SymId, i64>,
    /// Symbols that another one replaces; those on the right are not replaced themselves.
    merged: FxHashMap<SymId, SymId>,
    rewritten: FxHashMap<ExprId, Dim>,
}

impl Substitution {
    /// `symbol` is `number` from now on. Returns the number that it was before, if it was another one.
    pub fn set(&mut self, symbol: SymId, number: i64) -> Option<i64> {
        let before = self.numbers.insert(symbol, number).filter(|before| *before != number);
        self.rewritten.clear();
        before
    }

    /// Replaces `replaced` by `kept` from now on; neither has a number.
    pub fn merge(&mut self, replaced: SymId, kept: SymId) {
        let kept = self.kept(kept);
        for other in self.merged.values_mut().filter(|other| **other == replaced) {
            *other = kept;
        }
        if replaced != kept {
            self.merged.insert(replaced, kept);
        }
        self.rewritten.clear();
    }

    /// Returns the representative of `symbol`, mostly itself.
    pub fn kept(&self, symbol: SymId) -> SymId {
        self.merged.get(&symbol).copied().unwrap_or(symbol)
    }

    /// The number for `symbol`.
    pub fn get(&self, symbol: SymId) -> Option<i64> {
        self.numbers.get(&symbol).copied()
    }

    /// Every symbol and its number, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (SymId, i64)> {
        let mut all: Vec<_> = self.numbers.iter().map(|(symbol, number)| (*symbol, *number)).collect();
        all.sort_unstable();
        all.into_iter()
    }

    /// Whether every symbol stays as it is.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.merged.is_empty()
    }
}

impl Symbols {
    /// `dim` with the numbers and symbols of `with`. Equal expressions stay equal, unknown ones among them.
    pub fn substitute(&mut self, dim: Dim, with: &mut Substitution) -> Dim {
        let Dim::Expr(id) = dim else { return dim };
        if let Some(known) = with.rewritten.get(&id) {
            return *known;
        }
        let result = match self.expr(id).clone() {
            Expr::Sym(symbol) => match with.get(with.kept(symbol)) {
                Some(number) => Dim::Const(number),
                None if with.kept(symbol) == symbol => dim,
                None => self.intern(Expr::Sym(with.kept(symbol))),
            },
            Expr::Sum(terms) => {
                let mut sum = Dim::Const(0);
                for term in terms {
                    let mut product = Dim::Const(term.coefficient);
                    for factor in term.factors {
                        let factor = self.substitute(Dim::Expr(factor), with);
                        product = self.mul(product, factor);
                    }
                    sum = self.add(sum, product);
                }
                sum
            }
            Expr::FloorDiv(a, b) => {
                let (a, b) = (self.substitute(a, with), self.substitute(b, with));
                self.floor_div(a, b)
            }
            Expr::Mod(a, b) => {
                let (a, b) = (self.substitute(a, with), self.substitute(b, with));
                self.modulo(a, b)
            }
            Expr::Min(operands) => self.fold(&operands, with, Self::min),
            Expr::Max(operands) => self.fold(&operands, with, Self::max),
            Expr::Opaque(_) => dim,
        };
        with.rewritten.insert(id, result);
        result
    }

    fn fold(
        &mut self,
        operands: &[Dim],
        with: &mut Substitution,
        pick: fn(&mut Self, Dim, Dim) -> Dim,
    ) -> Dim {
        let mut picked: Option<Dim> = None;
        for operand in operands {
            let next = self.substitute(*operand, with);
            picked = Some(picked.map_or(next, |picked| pick(self, picked, next)));
        }
        picked.unwrap_or(Dim::Const(0))
    }

    /// The two symbols that must be equal for `a` and `b` to be equal, the one that was met first in front; `None` where the
    /// difference is anything else than a multiple of the difference of two symbols.
    pub fn equal_symbols(&mut self, a: Dim, b: Dim) -> Option<(SymId, SymId)> {
        let Dim::Expr(difference) = self.sub(a, b) else { return None };
        let Expr::Sum(terms) = self.expr(difference) else { return None };
        let [x, y] = terms.as_ref() else { return None };
        let symbol = |term: &Term| match term.factors.as_slice() {
            [factor] => self.as_symbol(Dim::Expr(*factor)),
            _ => None,
        };
        let (first, second) = (symbol(x)?, symbol(y)?);
        (x.coefficient.checked_add(y.coefficient) == Some(0)).then(|| (first.min(second), first.max(second)))
    }

    /// Replaces `replaced` by `kept`, restricted to the range that both allow; `None`, with nothing changed, if
    /// that range is empty or the symbols had different values when the program was traced.
    pub fn merge(&mut self, replaced: SymId, kept: SymId, with: &mut Substitution) -> Option<()> {
        let (old, new) = (self.get(replaced), self.get(kept));
        let range = old.range.and(new.range)?;
        let hint = match (old.hint, new.hint) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => b.or(a),
        };
        if hint.is_some_and(|hint| !range.contains(hint)) {
            return None;
        }
        let symbol = self.get_mut(kept);
        (symbol.range, symbol.hint) = (range, hint);
        with.merge(replaced, kept);
        Some(())
    }

    /// `(factor, symbol, offset)` where `dim` is `factor * symbol + offset`.
    pub fn linear(&self, dim: Dim) -> Option<(i64, SymId, i64)> {
        if let Some(symbol) = self.as_symbol(dim) {
            return Some((1, symbol, 0));
        }
        let Dim::Expr(id) = dim else { return None };
        let Expr::Sum(terms) = self.expr(id) else { return None };
        let (mut found, mut offset) = (None, 0);
        for term in terms {
            match term.factors.as_slice() {
                [] => offset = term.coefficient,
                [factor] if found.is_none() => {
                    found = Some((term.coefficient, self.as_symbol(Dim::Expr(*factor))?));
                }
                _ => return None,
            }
        }
        found.map(|(factor, symbol)| (factor, symbol, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Range;
    use super::*;

    #[test]
    fn expressions_become_numbers_and_equal_ones_stay_equal() {
        let mut symbols = Symbols::default();
        let cases = [
            ("2*s0*s1 + s0", "16*s1 + 8"),
            ("(s0 - 1)//4 + s0%3", "3"),
            ("max(s0, s1, 3)", "max(8, s1)"),
            ("min(s0, 5)", "5"),
            ("s1//s0", "s1//8"),
        ];
        let mut with = Substitution::default();
        symbols.symbol("s0");
        assert_eq!(with.set(symbols.find("s0").unwrap(), 8), None);
        for (text, expected) in cases {
            let dim = symbols.parse(text).unwrap();
            let found = symbols.substitute(dim, &mut with);
            assert_eq!(symbols.display(found), expected, "{text}");
        }
        let by_zero = symbols.parse("s1//(s0 - 8)").unwrap();
        let unknown = symbols.substitute(by_zero, &mut with);
        assert_eq!(unknown, symbols.substitute(by_zero, &mut with));
        assert_eq!(symbols.eval(unknown, &|_| Some(1)), None);
    }

    #[test]
    fn symbols_that_must_be_equal_become_one() {
        let mut symbols = Symbols::default();
        let ids = ["a", "b", "c"].map(|name| {
            symbols.symbol(name);
            symbols.find(name).unwrap()
        });
        let [a, b, c] = ids;
        for (left, right, equal) in [
            ("a + 3", "b + 3", Some((a, b))),
            ("2*b", "2*a", Some((a, b))),
            ("a + 3", "b", None),
            ("a*c", "b*c", None),
            ("a", "a", None),
            ("a", "4", None),
        ] {
            let (x, y) = (symbols.parse(left).unwrap(), symbols.parse(right).unwrap());
            assert_eq!(symbols.equal_symbols(x, y), equal, "{left} and {right}");
        }
        symbols.get_mut(a).range = Range::new(2, 9);
        symbols.get_mut(b).range = Range::new(4, 20);
        let mut with = Substitution::default();
        assert_eq!(symbols.merge(b, c, &mut with), Some(()));
        assert_eq!(symbols.merge(c, a, &mut with), Some(()));
        let sum = symbols.parse("a + b + c").unwrap();
        let sum = symbols.substitute(sum, &mut with);
        assert_eq!(symbols.display(sum), "3*a");
        assert_eq!(symbols.get(a).range, Range::new(4, 9));
        let d = symbols.symbol("d");
        let d = symbols.as_symbol(d).unwrap();
        symbols.get_mut(d).range = Range::new(10, 20);
        assert_eq!(symbols.merge(d, a, &mut with), None, "no value is in both ranges");
    }

    #[test]
    fn one_symbol_can_be_solved_for() {
        let mut symbols = Symbols::default();
        for (text, found) in
            [("s0", Some((1, 0))), ("2*s0 - 3", Some((2, -3))), ("s0*s0", None), ("s0 + s1", None)]
        {
            let dim = symbols.parse(text).unwrap();
            let linear = symbols.linear(dim).map(|(factor, _, offset)| (factor, offset));
            assert_eq!(linear, found, "{text}");
        }
    }
}
