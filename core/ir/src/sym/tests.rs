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
        "(s0 - 1)//4"
    );
}

#[test]
fn text_reads_back() {
    for text in ["s0", "2*s0 + 1", "(s0 - 1)//4", "s0*s1", "max(1, s0)", "-s0 + 3", "(s0//2)*s1", "s0%3"] {
        assert_eq!(canonical(text), canonical(&canonical(text)), "{text}");
    }
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
