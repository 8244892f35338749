use super::{Alias, Schema, SchemaType, Schemas};
use crate::program::Arg;

fn parse(line: &str) -> Schema {
    Schema::parse(line).unwrap()
}

#[test]
fn in_place_overload() {
    let schema = parse("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
    assert_eq!(schema.target, "aten.add_.Tensor");
    assert!(schema.args[0].is_written());
    assert!(!schema.args[1].kwarg_only && schema.args[2].kwarg_only);
    assert_eq!(schema.args[2].default, Some(Arg::Int(1)));
    assert_eq!(schema.returns[0].alias, Some(Alias { set: "a".into(), write: true }));
}

#[test]
fn lists_and_wildcards() {
    let schema =
        parse("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
    assert_eq!(schema.args[0].alias, Some(Alias { set: "a".into(), write: false }));
    assert_eq!(schema.returns[0].ty, SchemaType::List(Box::new(SchemaType::Tensor), None));
    assert_eq!(schema.returns[0].alias, Some(Alias { set: "a".into(), write: false }));
}

#[test]
fn defaults_take_the_argument_type() {
    let schema = parse(
        "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, \
         bool ceil_mode=False, float eps=1, float[]? scales=None, str mode=\"none\") -> Tensor",
    );
    assert_eq!(schema.target, "aten.max_pool2d.default");
    let default = |name: &str| schema.arg(name).unwrap().default.clone().unwrap();
    assert_eq!(default("stride"), Arg::List(vec![]));
    assert_eq!(default("padding"), Arg::List(vec![Arg::Int(0), Arg::Int(0)]));
    assert_eq!(default("eps"), Arg::Float(1.0));
    assert_eq!(default("scales"), Arg::None);
    assert_eq!(default("mode"), Arg::Str("none".into()));
}

#[test]
fn returns_without_values_and_malformed_lines() {
    assert!(parse("mylib::f(Tensor(a!)[] xs) -> ()").returns.is_empty());
    for line in ["", "aten::f(", "aten::f(Tensor) -> Tensor", "aten::f() -> Tensor junk;", "aten::f() Tensor"]
    {
        assert!(Schema::parse(line).is_err(), "{line}");
    }
}

#[test]
fn every_generated_line_is_read() {
    let text = include_str!("../../../../plugins/aten/schemas.txt");
    let lines = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let count = lines.map(|line| assert!(Schema::parse(line).is_ok(), "{line}")).count();
    let schemas = Schemas::new([text]);
    assert_eq!(schemas.len(), count);
    assert!(schemas.get("aten.relu_.default").is_some_and(Schema::is_mutating));
    assert!(schemas.get("aten.relu.default").is_some_and(|s| !s.is_mutating()));
    assert!(schemas.get("aten.nothing.default").is_none());
}
