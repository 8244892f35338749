//! Tests of the grammar.

use crate::{Dim, Kind, Pattern, Term, Value, overlap, parse, shadows, tokens};

fn read(text: &str) -> Result<Pattern, String> {
    let read = tokens(text).and_then(|tokens| parse(&tokens));
    read.map_err(|error| format!("{:?}: {}", error.at, error.message))
}

#[test]
fn a_pattern_prints_as_it_is_written() {
    for text in [
        "Mul(Sqrt(x), const w)",
        "let p = Split(x, axis = 1); Concat(p.1, p)",
        "(A(x), B(x).2)",
        "n @ shared maybe commutative \"com.example\"::Op(_, x?, (A(x) | B(x)), perm = p?, a = [1, -2], b = [0.5], c = \"t\", ..)",
        "ordered Add(x: [B, _, 64, ..], 0.5 ~ 1e-3)",
        "Add(x, -1)",
        "Clip(x, -inf, _?)",
        "\"\"::Future(x, alpha = 1.0, beta = -2)",
        "each(Transpose(x, perm = p), y)",
        "(A(x) | B(x))",
    ] {
        assert_eq!(read(text).unwrap().to_string(), text);
    }
}

#[test]
fn a_text_in_quotes_keeps_every_character() {
    let text = "A(x, s = \"a\\\"\\\\\\n\\u{1b}é\")";
    let pattern = read(text).unwrap();
    let [root] = &pattern.roots[..] else { panic!("one root") };
    let Term::Node(node) = &root.term else { panic!("a node") };
    assert_eq!(node.attributes[0].value, Value::Str("a\"\\\n\u{1b}é".to_owned()));
    assert_eq!(pattern.to_string(), text);
}

#[test]
fn comments_and_white_space_are_skipped() {
    assert_eq!(read("Add( # first\n  x ,y,\n)").unwrap().to_string(), "Add(x, y)");
}

#[test]
fn integers_and_floats_are_told_apart() {
    let value = |text: &str| {
        let pattern = read(&format!("A(x, a = {text})")).unwrap();
        let Term::Node(node) = pattern.roots[0].term.clone() else { panic!("a node") };
        node.attributes[0].value.clone()
    };
    assert_eq!(value("1"), Value::Int(1));
    assert!(
        matches!(value("1.0"), Value::Float(number) if number.value() == 1.0 && number.tolerance() == 0.0)
    );
    assert!(matches!(value("1 ~ 0.5"), Value::Float(number) if number.tolerance() == 0.5));
    assert_eq!(value("[1, 2.5]"), Value::Floats(vec![1.0, 2.5]));
    assert_eq!(value("[]"), Value::Ints(Vec::new()));
}

#[test]
fn extents_are_read() {
    let pattern = read("A(x: [N, 3, _, ..])").unwrap();
    let Term::Node(node) = &pattern.roots[0].term else { panic!("a node") };
    let Some([Dim::Variable(n), Dim::Number(3), Dim::Any, Dim::Rest]) = node.operands[0].shape.as_deref()
    else {
        panic!("four sizes")
    };
    assert_eq!(n.text, "N");
}

#[test]
fn errors_name_the_token() {
    for (text, why) in [
        ("", "None: expected a name"),
        ("x", "Some(0): a root is an operator"),
        ("3", "Some(0): a root is an operator"),
        ("let p = A(x); q", "Some(14): a root is an operator"),
        ("A(x) B", "Some(5): expected the end of the pattern"),
        ("A(x", "None: expected `)`"),
        ("A(x, .. , y)", "Some(10): `..` must be last"),
        ("A(a = 1, x)", "Some(9): operands must come before attributes"),
        ("A(x, a = [b])", "Some(10): expected a number"),
        ("A(x, 1e)", "Some(5): expected a number"),
        ("A(x: [.., 2, ..])", "Some(15): a shape has at most one `..`"),
        ("commutative A(x)", "Some(12): a commutative operator has two operands"),
        ("maybe A()", "Some(6): an operator that may be missing has an operand"),
        ("wrong A(x)", "Some(0): a root is an operator"),
        ("shared wrong A(x)", "Some(7): expected `shared`, `maybe`, `commutative`, `ordered` or an operator"),
        ("A(x, s = \"a)", "Some(9): the quoted text does not close"),
        ("A(x, s = \"\\q\")", "Some(9): the quoted text has an unknown escape"),
        ("A(x, s = \"\\u{110000}\")", "Some(9): not a code point"),
        ("A(p.x)", "Some(4): expected an integer"),
    ] {
        assert_eq!(read(text).unwrap_err(), why, "{text}");
    }
    let deep = format!("{}x{}", "A(".repeat(100), ")".repeat(100));
    assert!(read(&deep).unwrap_err().ends_with("nested deeper than 64"));
}

#[test]
fn tokens_know_their_positions() {
    let found = tokens("é A1(-2.5e-3).0").unwrap();
    let expected = [
        (0, Kind::Symbol('é')),
        (3, Kind::Word("A1".to_owned())),
        (5, Kind::Symbol('(')),
        (6, Kind::Symbol('-')),
        (7, Kind::Number("2.5e-3".to_owned())),
        (13, Kind::Symbol(')')),
        (14, Kind::Symbol('.')),
        (15, Kind::Number("0".to_owned())),
    ];
    assert_eq!(found.into_iter().map(|token| (token.at, token.kind)).collect::<Vec<_>>(), expected);
}

fn compared(a: &str, b: &str) -> (bool, bool) {
    let (a, b) = (read(a).unwrap(), read(b).unwrap());
    let commutes = |op: &str| op == "Add" || op == "Mul";
    assert_eq!(overlap(&a, &b, &commutes), overlap(&b, &a, &commutes), "{a} and {b}");
    (overlap(&a, &b, &commutes), shadows(&a, &b))
}

#[test]
fn a_general_pattern_shadows_a_special_one() {
    for (a, b) in [
        ("Neg(x)", "Neg(Neg(x))"),
        ("Add(x, y)", "Add(const a, 0)"),
        ("Add(x, x)", "Add(y, y)"),
        ("Add(x, 0 ~ 0.5)", "Add(x, 0.25)"),
        ("Softmax(x, ..)", "Softmax(x, axis = 1)"),
        ("Softmax(x, axis = a)", "Softmax(Relu(y), axis = 1)"),
        ("Concat(x, ..)", "Concat(x, y, axis = 0)"),
        ("Relu(x)", "Relu(x: [N, 3])"),
        ("Relu(x: [_, M])", "Relu(x: [N, 3])"),
        ("shared Neg(x)", "Neg(x)"),
        ("Add(x, y)", "ordered Add(x, y)"),
    ] {
        assert_eq!(compared(a, b), (true, true), "{a} and {b}");
    }
}

#[test]
fn a_pattern_that_may_not_match_does_not_shadow() {
    for (a, b) in [
        ("Neg(Neg(x))", "Neg(x)"),
        ("Clip(x, _)", "Clip(x, y?)"),
        ("Add(x, x)", "Add(x, y)"),
        ("Add(x, x)", "Add(Neg(y), Neg(y))"),
        ("Add(const a, y)", "Add(x, y)"),
        ("Softmax(x)", "Softmax(x, axis = a)"),
        ("Softmax(x, axis = 1)", "Softmax(x, axis = a)"),
        ("Softmax(x, axis = a)", "Softmax(x, ..)"),
        ("Neg(x)", "shared Neg(x)"),
        ("Relu(x: [N, N])", "Relu(x: [N, M])"),
        ("Relu(x: [N])", "Relu(x)"),
        ("ordered Add(x, y)", "Add(x, y)"),
        ("Add(x, 0.25)", "Add(x, 0 ~ 0.5)"),
        ("Neg(x)", "each(x)"),
        ("let p = Neg(x); Add(p, p)", "Add(x, x)"),
    ] {
        assert_eq!(compared(a, b), (true, false), "{a} and {b}");
    }
}

#[test]
fn patterns_that_exclude_each_other_do_not_overlap() {
    for (a, b) in [
        ("Neg(x)", "Abs(x)"),
        ("Neg(Abs(x))", "Neg(Exp(x))"),
        ("Neg(x)", "\"t\"::Neg(x)"),
        ("Softmax(x, axis = 1)", "Softmax(x, axis = 2)"),
        ("Clip(x, 0)", "Clip(x, 0, 6)"),
        ("Div(const a, x)", "Div(Neg(y), x)"),
        ("Div(0, x)", "Div(1, x)"),
        ("Relu(x: [_, 3])", "Relu(x: [_, 4])"),
        ("Relu(x: [_])", "Relu(x: [_, _])"),
        ("Split(x).1", "Split(x)"),
        ("let p = Neg(x); Abs(p)", "Abs(Exp(x))"),
        ("Abs((Neg(x) | Exp(x)))", "Abs(Sin(x))"),
    ] {
        assert_eq!(compared(a, b), (false, false), "{a} and {b}");
    }
}

#[test]
fn operands_in_either_order_overlap() {
    assert!(compared("Add(Neg(x), y)", "Add(x, Exp(y))").0);
    assert!(compared("Add(Neg(x), 0)", "Add(0, Neg(x))").0);
    assert!(!compared("Sub(Neg(x), 0)", "Sub(0, Neg(x))").0);
    assert!(!compared("ordered Add(Neg(x), 0)", "ordered Add(0, Neg(x))").0);
    assert!(compared("commutative Sub(Neg(x), 0)", "Sub(0, Neg(x))").0);
    assert!(compared("Abs(maybe Neg(Exp(x)))", "Abs(Exp(y))").0);
    assert!(compared("Clip(x, 0, m?)", "Clip(x, 0)").0);
}
