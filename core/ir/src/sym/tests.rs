use super::{Dim, Range, Symbols};

fn canonical(text: &str) -> String {
    let mut symbols = Symbols::default();
    let dim = symbols.parse(text).expect(text);
    symbols.display(dim)
}

#[test]
fn equal_expressions_have_equal_handles() {
    let mut symbols = Symbols::default();
    let a = symbols.parse("(s0 + 1)*(s0 - 1) + 1").unwrap();
    let b = symbols.parse("s0*s0").unwrap();
    assert_eq!(a, b);
}

#[test]
fn sympy_constructors_read_like_our_own_text() {
    let text = "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))";
    assert_eq!(canonical(text), "2*s77 + 1");
    assert_eq!(
        canonical("FloorDiv(Add(Symbol('s0', integer=True), Integer(-1)), Integer(4))"),
        "((s0 + 3)//4) - 1"
    );
}

#[test]
fn text_reads_back() {
    for text in ["s0", "2*s0 + 1", "(s0 - 1)//4", "s0*s1", "max(1, s0)", "-s0 + 3", "(s0//2)*s1", "s0%3"] {
        assert_eq!(canonical(text), canonical(&canonical(text)), "{text}");
    }
    for least in ["-9223372036854775808", "- 9223372036854775808"] {
        assert_eq!(canonical(least), "-9223372036854775808");
    }
    assert!(Symbols::default().parse("-9223372036854775809").is_err());
}

#[test]
fn exact_division_cancels() {
    assert_eq!(canonical("(6*s0*s1 + 12*s1)//(3*s1)"), "2*s0 + 4");
    assert_eq!(canonical("(4*s0)%2"), "0");
}

#[test]
fn division_floors_and_modulo_takes_the_sign_of_the_divisor() {
    for (text, value) in
        [("(0-7)//2", -4), ("7//(0-2)", -4), ("(0-7)//(0-2)", 3), ("(0-7)%3", 2), ("7%(0-3)", -2)]
    {
        let mut symbols = Symbols::default();
        assert_eq!(symbols.parse(text).unwrap(), Dim::Const(value), "{text}");
    }
}

#[test]
fn overflow_is_opaque() {
    let mut symbols = Symbols::default();
    let dim = symbols.mul(Dim::Const(i64::MAX), Dim::Const(2));
    assert_eq!(symbols.eval(dim, &|_| Some(1)), None);
}

#[test]
fn ranges_decide_extremes() {
    let mut symbols = Symbols::default();
    let s0 = symbols.symbol("s0");
    let id = symbols.as_symbol(s0).unwrap();
    symbols.get_mut(id).range = Range::new(2, 100);
    assert_eq!(symbols.max(s0, Dim::Const(1)), s0);
    assert_eq!(symbols.min(s0, Dim::Const(1)), Dim::Const(1));
    let twice = symbols.parse("2*s0 - 1").unwrap();
    assert_eq!(symbols.range(twice), Range::new(3, 199));
}

#[test]
fn hostile_nesting_is_refused() {
    let mut symbols = Symbols::default();
    let text = "(".repeat(100_000);
    assert!(symbols.parse(&text).is_err());
    let text = "-".repeat(100_000);
    assert!(symbols.parse(&text).is_err());
}

#[test]
fn the_range_of_a_quotient_is_floored_below_zero_as_well() {
    let mut symbols = Symbols::default();
    symbols.symbol("s0");
    let id = symbols.find("s0").unwrap();
    symbols.get_mut(id).range = Range::new(0, 10);
    let quotient = symbols.parse("(s0 - 7)//2").unwrap();
    assert_eq!(symbols.range(quotient), Range::new(-4, 1));
}

/// A step of a ladder: an expression from the last one and a symbol.
type Step = fn(&mut Symbols, Dim, Dim) -> Dim;

#[test]
fn ladders_of_every_operation_end_in_what_is_not_known() {
    let steps: [(&str, Step); 11] = [
        ("square", |t, d, _| t.mul(d, d)),
        ("double", |t, d, _| t.add(d, d)),
        ("add", |t, d, s| {
            let product = t.mul(d, s);
            t.add(product, d)
        }),
        ("sub", |t, d, s| {
            let quotient = t.floor_div(d, s);
            t.sub(quotient, d)
        }),
        ("max and mul", |t, d, s| {
            let max = t.max(d, s);
            t.mul(max, d)
        }),
        ("min and add", |t, d, s| {
            let min = t.min(d, s);
            let sum = t.add(min, d);
            t.add(sum, s)
        }),
        ("min and max", |t, d, s| {
            let (min, max) = (t.min(d, s), t.max(d, s));
            let quotient = t.floor_div(min, max);
            t.add(quotient, d)
        }),
        ("div", |t, d, s| t.floor_div(s, d)),
        ("div by a sum", |t, d, s| {
            let sum = t.add(d, s);
            t.floor_div(d, sum)
        }),
        ("mod", |t, d, s| t.modulo(s, d)),
        ("mod of a sum", |t, d, s| {
            let sum = t.add(d, s);
            t.modulo(sum, d)
        }),
    ];
    for (name, step) in steps {
        let mut symbols = Symbols::default();
        let (mut dim, other) = (symbols.symbol("s0"), symbols.symbol("s1"));
        let mut number = Dim::Const(3);
        for round in 0..400 {
            dim = step(&mut symbols, dim, other);
            number = step(&mut symbols, number, Dim::Const(2));
            if round % 50 != 20 {
                continue;
            }
            assert!(symbols.display(dim).len() < 1 << 16, "{name}");
            // A value is exact, or there is none.
            let value = symbols.eval(dim, &|id| Some(if symbols.get(id).name == "s0" { 3 } else { 2 }));
            assert!(value.is_none_or(|value| number == Dim::Const(value)), "{name}");
        }
    }
}

#[test]
fn a_product_of_many_factors_is_opaque() {
    let mut symbols = Symbols::default();
    let mut power = symbols.symbol("s0");
    let mut factors = Vec::new();
    for _ in 0..6 {
        power = symbols.mul(power, power);
        factors.push(symbols.display(power).matches("s0").count());
    }
    assert_eq!(factors, [2, 4, 8, 16, 32, 0]);
}

#[test]
fn quotients_and_remainders_are_canonical() {
    for (text, expected) in [
        ("((s0 - 2)//2) + 1", "s0//2"),
        ("((s0 - 1)//2) + 1", "(s0 + 1)//2"),
        ("((((s0 - 2)//2) - 1)//2) + 1", "s0//4"),
        ("2*((((((s0 - 2)//2) - 1)//2) - 1)//2) + (s0//4) - 2*(s0//8) + 2", "s0//4"),
        ("((s0//2) + 3)//4", "(s0 + 6)//8"),
        ("(6*s0 + 5)//4", "((3*s0)//2) + 1"),
        ("(2*s0 + 3)//2", "s0 + 1"),
        ("(3*s0 + 8)//2", "((3*s0)//2) + 4"),
        ("(4*s0 + s1 - 5)%4", "(s1 + 3)%4"),
        ("(-s0)%4", "(-s0)%4"),
        ("(3*s0)%2", "s0%2"),
        ("(s0%4)//4", "0"),
        ("(s0%4)%7", "s0%4"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
}

#[test]
fn ranges_decide_each_operand() {
    let mut symbols = Symbols::default();
    for (name, range) in [("a", Range { min: Some(2), max: None }), ("b", Range { min: Some(0), max: None })]
    {
        symbols.symbol(name);
        let id = symbols.find(name).unwrap();
        symbols.get_mut(id).range = range;
    }
    for (text, expected) in [
        ("max(0, a)", "a"),
        ("max(0, a, b)", "max(a, b)"),
        ("max(max(a, b), a + b)", "a + b"),
        ("min(a, b, a + 3)", "min(a, b)"),
        ("max(0, (a + 6)//4 - 1)", "(a + 2)//4"),
        ("min(9223372036854775807, -5)", "-5"),
    ] {
        let dim = symbols.parse(text).unwrap();
        assert_eq!(symbols.display(dim), expected, "{text}");
    }
}

/// The same expression as a dimension and as its value at `sizes`, drawn by `next`.
#[expect(clippy::arithmetic_side_effects, reason = "small numbers, and divisors that are not 0")]
fn drawn(
    symbols: &mut Symbols,
    sizes: [i64; 2],
    next: &mut impl FnMut(u64) -> u64,
    depth: u32,
) -> (Dim, Option<i64>) {
    if depth == 0 || next(5) == 0 {
        return match next(3) {
            0 => {
                let n = next(9) as i64 - 4;
                (Dim::Const(n), Some(n))
            }
            which => (symbols.symbol(["s0", "s1"][which as usize - 1]), Some(sizes[which as usize - 1])),
        };
    }
    let (a, x) = drawn(symbols, sizes, next, depth - 1);
    let (b, y) = match next(3) {
        0 => drawn(symbols, sizes, next, depth - 1),
        _ => {
            let n = next(8) as i64 + 1;
            (Dim::Const(n), Some(n))
        }
    };
    let pair = x.zip(y);
    let floor = |(x, y): (i64, i64)| (y != 0).then(|| (x as f64 / y as f64).floor() as i64);
    match next(7) {
        0 => (symbols.add(a, b), pair.map(|(x, y)| x + y)),
        1 => (symbols.sub(a, b), pair.map(|(x, y)| x - y)),
        2 => (symbols.mul(a, b), pair.map(|(x, y)| x * y)),
        3 => (symbols.floor_div(a, b), pair.and_then(floor)),
        4 => (symbols.modulo(a, b), pair.and_then(|(x, y)| Some(x - y * floor((x, y))?))),
        5 => (symbols.min(a, b), pair.map(|(x, y)| x.min(y))),
        _ => (symbols.max(a, b), pair.map(|(x, y)| x.max(y))),
    }
}

#[test]
fn canonical_forms_have_the_value_of_what_was_written() {
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut compared = 0;
    for _ in 0..4_000 {
        let sizes = [next(12) as i64 - 2, next(30) as i64];
        let mut symbols = Symbols::default();
        for (name, size) in ["s0", "s1"].into_iter().zip(sizes) {
            symbols.symbol(name);
            let id = symbols.find(name).unwrap();
            let (below, above) = (next(3) as i64, next(9) as i64);
            symbols.get_mut(id).range = match next(3) {
                0 => Range::ANY,
                1 => Range { min: Some(size - below), max: None },
                _ => Range::new(size - below, size + above),
            };
        }
        let (dim, value) = drawn(&mut symbols, sizes, &mut next, 4);
        let found = symbols.eval(dim, &|id| Some(sizes[usize::from(symbols.get(id).name == "s1")]));
        // A division by 0 has no value, whatever is left of it.
        if let (Some(value), Some(found)) = (value, found) {
            compared += 1;
            assert_eq!(found, value, "{} at {sizes:?}", symbols.display(dim));
            assert!(symbols.range(dim).contains(value), "{} at {sizes:?}", symbols.display(dim));
        }
    }
    assert!(compared > 3_000, "{compared}");
}
