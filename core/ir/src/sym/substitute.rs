//! Expressions in which symbols are numbers.

use rustc_hash::FxHashMap;

use super::{Dim, Expr, ExprId, SymId, Symbols};

/// Numbers for symbols, and the expressions that were rewritten with them.
#[derive(Debug, Default)]
pub struct Substitution {
    numbers: FxHashMap<SymId, i64>,
    rewritten: FxHashMap<ExprId, Dim>,
}

impl Substitution {
    /// `symbol` is `number` from now on. Returns the number that it was before, if it was another one.
    pub fn set(&mut self, symbol: SymId, number: i64) -> Option<i64> {
        let before = self.numbers.insert(symbol, number).filter(|before| *before != number);
        self.rewritten.clear();
        before
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

    /// Whether no symbol has a number.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

impl Symbols {
    /// `dim` with the numbers of `with`. Equal expressions stay equal, unknown ones among them.
    pub fn substitute(&mut self, dim: Dim, with: &mut Substitution) -> Dim {
        let Dim::Expr(id) = dim else { return dim };
        if let Some(known) = with.rewritten.get(&id) {
            return *known;
        }
        let result = match self.expr(id).clone() {
            Expr::Sym(symbol) => with.get(symbol).map_or(dim, Dim::Const),
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
