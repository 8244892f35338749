//! Ranges, compared with the guards at each size.

use super::*;

/// The program of an input of two free sizes, each at least `least`.
fn program(least: i64, guards: &[String]) -> Program {
    let guards: Vec<String> = guards.iter().map(|guard| format!("guard {guard:?}\n")).collect();
    let guards = guards.concat();
    let text = format!(
        "symbol s0 {least}..\nsymbol s1 {least}..\n{guards}graph {{\n  input %x: f32[s0, s1] = user\n  \
         %y: f32[s0, s1] = aten.relu.default(self=%x)\n  output %y = user\n}}\n"
    );
    Program::parse(&text).expect("a program")
}

fn solved(least: i64, guards: &[&str]) -> Effective {
    let guards: Vec<String> = guards.iter().map(|guard| of_python(guard)).collect();
    effective(&program(least, &guards), &Schemas::default(), &InterfaceNames::default())
}

/// `a` and `b` as PyTorch spells the sizes.
fn of_python(guard: &str) -> String {
    let size = |axis| format!("L['x'].size()[{axis}]");
    let word = |word: &str| match word {
        "a" => size(0),
        "b" => size(1),
        other => other.to_owned(),
    };
    guard.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn shown(effective: &Effective) -> Vec<String> {
    effective.stated.dims.iter().map(ToString::to_string).collect()
}

fn conditions(effective: &Effective) -> Vec<&str> {
    effective.stated.conditions.iter().map(|condition| condition.expression.as_str()).collect()
}

#[test]
fn guards_narrow_bounds_and_steps() {
    let cases: &[(&[&str], [&str; 2])] = &[
        (&[], ["at least 2", "at least 2"]),
        (&["a <= 8"], ["2 to 8", "at least 2"]),
        (&["8 >= a", "3 < a"], ["4 to 8", "at least 2"]),
        (&["not ( a > 8)"], ["2 to 8", "at least 2"]),
        (&["2* a < 15"], ["2 to 7", "at least 2"]),
        (&[" a + (((-1)* a ) % 8) <= 8"], ["2 to 8", "at least 2"]),
        (&["( a % 4) == 0"], ["at least 4, in steps of 4", "at least 2"]),
        (
            &[" a == (4*( a // 4))", "4*( a // 4) >= 2", "( a // 4) != 1"],
            ["at least 8, in steps of 4", "at least 2"],
        ),
        (&[" a == 2* b "], ["at least 4, in steps of 2", "at least 2"]),
        (&[" a == 5"], ["only 5", "at least 2"]),
        (&[" a + b <= 12"], ["2 to 10", "2 to 10"]),
        (&[" a * b <= 12"], ["2 to 6", "2 to 6"]),
        (&[" a < b ", " b <= 9"], ["2 to 8", "3 to 9"]),
        (&["torch.sym_max( a , 3) <= 7"], ["2 to 7", "at least 2"]),
        (&[" a != 2", " a != 7"], ["at least 3", "at least 2"]),
        (&[" a <= 4 or a == 6"], ["at least 2", "at least 2"]),
    ];
    for (guards, ranges) in cases {
        assert_eq!(shown(&solved(2, guards)), *ranges, "{guards:?}");
    }
}

#[test]
fn conditions_that_ranges_do_not_imply_are_listed() {
    assert!(conditions(&solved(2, &["( a % 4) == 0", " a >= 2", " b != 1", " a <= a + b "])).is_empty());
    assert_eq!(conditions(&solved(2, &[" a != 7"])), ["s0 != 7"]);
    assert_eq!(conditions(&solved(2, &[" a == 2* b "])), ["s0 == 2*s1"]);
    assert_eq!(conditions(&solved(2, &[" a * b <= 12"])), ["s0*s1 <= 12"]);
    let both = solved(2, &["2* a + ((-1)* b ) <= 0", " b <= 2* a "]);
    assert_eq!(conditions(&both), ["2*s0 == s1"]);
    let unread = solved(2, &["f( a ) == 3"]);
    assert_eq!(conditions(&unread), ["f( L['x'].size()[0] ) == 3"]);
}

/// The severity and the message of each diagnostic.
fn said(least: i64, guards: &[&str]) -> Vec<String> {
    let found = solved(least, guards).diagnostics().into_iter();
    found.map(|found| format!("{:?} {}", found.severity, found.message)).collect()
}

#[test]
fn fewer_sizes_than_declared_are_warned_of() {
    assert_eq!(said(2, &[" a >= 2", " b != 1", "( a + 1) // 2 <= a ", " a + b > 3"]), [""; 0]);
    assert_eq!(said(2, &[" a <= 8"]), ["Warning the size of `x:0` (`s0`) is restricted: 2 to 8"]);
    assert_eq!(
        said(2, &[" b % 2 == 0", " a <= 100000"]),
        [
            "Warning the size of `x:0` (`s0`) is restricted: 2 to 100000",
            "Warning the size of `x:1` (`s1`) is restricted: at least 2, in steps of 2"
        ]
    );
    assert_eq!(said(2, &[" a != 2"]), ["Note the size of `x:0` (`s0`) excludes some sizes: at least 3"]);
    assert_eq!(said(2, &[" a == b "]), ["Note sizes depend on each other: s0 == s1"]);
    assert_eq!(said(2, &[" a != b "]), ["Note the sizes exclude some combinations: s0 != s1"]);
    assert_eq!(said(2, &[" a * b <= 12"]), ["Warning the sizes are restricted: s0*s1 <= 12"]);
    assert_eq!(
        said(2, &[" a <= 3", " a >= 5"]),
        ["Warning no sizes satisfy all guards and assertions of the program"]
    );
    assert_eq!(said(0, &[" a >= 1"]), ["Warning the size of `x:0` (`s0`) is restricted: at least 1"]);
}

#[test]
fn a_size_that_the_export_took_from_the_example_is_warned_of() {
    let text = "\
symbol s0 2..
symbol u0 25..25
symbol u1 0..
symbol up 3..3
graph {
  input %x: f32[s0] = user
  aten._assert_scalar.default(true, \"Runtime assertion failed for expression Eq(u0, 25) on node 'eq'\")
  aten._assert_scalar.default(true, \"Runtime assertion failed for expression u00 >= 1 on node 'ge'\")
  output %x = user
}
";
    let program = Program::parse(text).expect("a program");
    let found = effective(&program, &Schemas::default(), &InterfaceNames::default());
    let said: Vec<Diagnostic> = found.diagnostics();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].message, "the number `u0`, which depends on values, is restricted: only 25");
    assert_eq!(said[0].notes, ["the program requires Eq(u0, 25)"]);
    assert_eq!(said[0].severity, Severity::Warning);
}

#[test]
fn a_declared_range_is_no_restriction() {
    let declared = program(2, &[]).to_text().replace("symbol s0 2..", "symbol s0 2..64");
    let program = Program::parse(&declared).expect("a program");
    let found = effective(&program, &Schemas::default(), &InterfaceNames::default());
    assert_eq!(shown(&found), ["2 to 64", "at least 2"]);
    assert!(found.diagnostics().is_empty());
    // An export also states a guard on an open size as its range.
    let guarded = declared.replace("graph {", "guard \"L['x'].size()[0] <= 64\"\ngraph {");
    let program = Program::parse(&guarded).expect("a program");
    assert_eq!(effective(&program, &Schemas::default(), &InterfaceNames::default()).narrowed.len(), 1);
}

/// An expression over the two sizes.
#[derive(Clone, Debug)]
enum Expression {
    Size(usize),
    Number(i64),
    Add(Box<Expression>, Box<Expression>),
    Times(i64, Box<Expression>),
    Product(Box<Expression>, Box<Expression>),
    Quotient(Box<Expression>, i64),
    Remainder(Box<Expression>, i64),
    Least(Box<Expression>, Box<Expression>),
    Most(Box<Expression>, Box<Expression>),
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn number(&mut self, from: i64, to: i64) -> i64 {
        from + self.below((to - from + 1) as u64) as i64
    }

    fn made(&mut self, depth: u32) -> Expression {
        let mut inner = || Box::new(self.made(depth - 1));
        if depth == 0 {
            return match self.below(3) {
                0 => Expression::Number(self.number(-9, 20)),
                axis => Expression::Size(axis as usize - 1),
            };
        }
        let (a, b) = (inner(), inner());
        match self.below(9) {
            0..=2 => Expression::Add(a, b),
            3 => Expression::Times(self.number(-4, 4), a),
            4 => Expression::Product(a, b),
            5 => Expression::Quotient(a, self.number(2, 6)),
            6 => Expression::Remainder(a, self.number(2, 8)),
            7 => Expression::Least(a, b),
            _ => Expression::Most(a, b),
        }
    }
}

impl Expression {
    fn text(&self) -> String {
        match self {
            Self::Size(axis) => format!("L['x'].size()[{axis}]"),
            Self::Number(n) => format!("({n})"),
            Self::Add(a, b) => format!("({} + {})", a.text(), b.text()),
            Self::Times(n, a) => format!("(({n})*{})", a.text()),
            Self::Product(a, b) => format!("({}*{})", a.text(), b.text()),
            Self::Quotient(a, k) => format!("({} // {k})", a.text()),
            Self::Remainder(a, k) => format!("({} % {k})", a.text()),
            Self::Least(a, b) => format!("torch.sym_min({}, {})", a.text(), b.text()),
            Self::Most(a, b) => format!("torch.sym_max({}, {})", a.text(), b.text()),
        }
    }

    fn value(&self, sizes: [i64; 2]) -> i64 {
        match self {
            Self::Size(axis) => sizes[*axis],
            Self::Number(n) => *n,
            Self::Add(a, b) => a.value(sizes) + b.value(sizes),
            Self::Times(n, a) => n * a.value(sizes),
            Self::Product(a, b) => a.value(sizes) * b.value(sizes),
            Self::Quotient(a, k) => a.value(sizes).div_euclid(*k),
            Self::Remainder(a, k) => a.value(sizes).rem_euclid(*k),
            Self::Least(a, b) => a.value(sizes).min(b.value(sizes)),
            Self::Most(a, b) => a.value(sizes).max(b.value(sizes)),
        }
    }
}

type Comparison = (&'static str, fn(i64, i64) -> bool);

const COMPARISONS: [Comparison; 6] = [
    ("==", |a, b| a == b),
    ("!=", |a, b| a != b),
    ("<=", |a, b| a <= b),
    (">=", |a, b| a >= b),
    ("<", |a, b| a < b),
    (">", |a, b| a > b),
];

fn contains(range: &SizeRange, n: i64) -> bool {
    let inside = range.min.is_none_or(|min| min <= n) && range.max.is_none_or(|max| n <= max);
    inside && range.min.is_none_or(|min| (n - min) % range.step == 0)
}

#[test]
fn no_size_that_the_guards_allow_is_outside_of_the_range() {
    let mut random = Random(1);
    let (mut narrowed, mut admitted) = (0, 0);
    for round in 0..250 {
        let guards: Vec<_> = (0..=random.below(3))
            .map(|_| {
                (random.made(1 + round % 3), random.made(round % 2), COMPARISONS[random.below(6) as usize])
            })
            .collect();
        let texts: Vec<String> =
            guards.iter().map(|(a, b, (sign, _))| format!("{} {sign} {}", a.text(), b.text())).collect();
        let found = effective(&program(0, &texts), &Schemas::default(), &InterfaceNames::default());
        let allowed = |sizes| guards.iter().all(|(a, b, (_, holds))| holds(a.value(sizes), b.value(sizes)));
        for sizes in (1..=40).flat_map(|a| (1..=40).map(move |b| [a, b])).filter(|sizes| allowed(*sizes)) {
            admitted += 1;
            assert!(!found.empty, "{texts:?} allow {sizes:?}");
            for (range, size) in found.stated.dims.iter().zip(sizes) {
                assert!(contains(range, size), "{texts:?} allow {sizes:?}, {} is {range}", range.name);
            }
        }
        narrowed += usize::from(found.stated.dims.iter().any(|dim| dim.min != Some(1) || dim.max.is_some()));
        // Where nothing is listed, the ranges are all that the guards say.
        if !found.empty && found.stated.conditions.is_empty() {
            for sizes in (1..=40).flat_map(|a| (1..=40).map(move |b| [a, b])) {
                let inside = found.stated.dims.iter().zip(sizes).all(|(range, size)| contains(range, size));
                assert_eq!(inside, allowed(sizes), "{texts:?} at {sizes:?}: {:?}", shown(&found));
            }
        }
    }
    assert!(narrowed > 50 && admitted > 10_000, "{narrowed} {admitted}");
}

#[test]
fn bounds_of_one_linear_size_are_tight() {
    let mut random = Random(7);
    for _ in 0..300 {
        let (factor, offset, bound) = (random.number(-5, 5), random.number(-20, 20), random.number(-20, 60));
        if factor == 0 {
            continue;
        }
        let (sign, holds) = COMPARISONS[random.below(6) as usize];
        let text = format!("(({factor})*L['x'].size()[0]) + ({offset}) {sign} {bound}");
        let allowed: Vec<i64> = (0..200).filter(|n| holds(factor * n + offset, bound)).collect();
        let found = effective(
            &program(0, std::slice::from_ref(&text)),
            &Schemas::default(),
            &InterfaceNames::default(),
        );
        if allowed.is_empty() {
            assert!(found.empty, "{text}");
            continue;
        }
        // A size of 0 is stated only if there is no other.
        let allowed =
            if allowed.len() > 1 { allowed.into_iter().filter(|n| *n > 0).collect() } else { allowed };
        let range = &found.stated.dims[0];
        assert_eq!(range.min, allowed.first().copied(), "{text}");
        let last = allowed.last().copied().filter(|last| *last < 199);
        assert_eq!(range.max, last, "{text}");
    }
}
