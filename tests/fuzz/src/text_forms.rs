//! Texts: models, programs, expressions over sizes, patterns, schemas, tables of targets. A text that is read is printed
//! as one that reads back the same.

use onnxport_core::ir::Model;
use onnxport_core::legalise::Target;
use onnxport_core::program::Program;
use onnxport_core::program::text::Template;
use onnxport_core::pt2::TreeSpec;
use onnxport_core::sym::Symbols;
use onnxport_schema::Schema;

pub(crate) fn run(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match kind % 8 {
        0 => model(text),
        1 => program(text),
        2 => expression(text),
        3 => pattern(text),
        4 => drop(Schema::<onnxport_schema::Default>::parse(text)),
        5 => drop(Template::parse(text)),
        6 => drop(Target::parse(text)),
        _ => {
            if let Ok(spec) = TreeSpec::parse(text) {
                assert!(spec.leaf_names().len() <= text.len());
            }
        }
    }
}

fn model(text: &str) {
    let Ok(model) = Model::parse(text) else { return };
    let printed = model.to_text();
    let again = Model::parse(&printed).unwrap_or_else(|error| panic!("{error} in\n{printed}"));
    assert_eq!(again.to_text(), printed);
}

fn program(text: &str) {
    let Ok(program) = Program::parse(text) else { return };
    let printed = program.to_text();
    let again = Program::parse(&printed).unwrap_or_else(|error| panic!("{error} in\n{printed}"));
    assert_eq!(again.to_text(), printed);
}

fn expression(text: &str) {
    let mut symbols = Symbols::default();
    let Ok(dim) = symbols.parse(text) else { return };
    let printed = symbols.display(dim);
    // An opaque integer is distinct from every other.
    if !printed.contains("unknown") {
        assert_eq!(symbols.parse(&printed), Ok(dim), "{printed}");
    }
    let range = symbols.range(dim);
    for sizes in [[0, 0], [1, 2], [3, 1], [7, 5], [100, 64]] {
        let value = |symbol: onnxport_core::sym::SymId| sizes.get(symbol.index() % 2).copied();
        let at_sizes = |symbol| value(symbol).filter(|n| symbols.get(symbol).range.contains(*n));
        if let Some(n) = symbols.eval(dim, &at_sizes) {
            assert!(range.contains(n), "{printed} is {n} at {sizes:?}, outside of {range:?}");
        }
    }
}

fn pattern(text: &str) {
    let read = |text: &str| onnxport_pattern::parse(&onnxport_pattern::tokens(text)?);
    let Ok(pattern) = read(text) else { return };
    let printed = pattern.to_string();
    match read(&printed) {
        Ok(again) => assert_eq!(again.to_string(), printed),
        Err(error) => panic!("{error:?} in {printed}"),
    }
    onnxport_pattern::overlap(&pattern, &pattern, &|_| true);
    onnxport_pattern::shadows(&pattern, &pattern);
}
