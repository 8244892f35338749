//! Tests that reading on demand gives the same result as reading at once.

use super::{AMONG_SCHEMAS, Decompositions, lines, split};
use crate::program::text::Template;
use crate::registry::Schemas;

const OWN: [&str; 2] = [
    include_str!("../../../../plugins/aten/schemas.txt"),
    include_str!("../../../../plugins/torchvision/schemas.txt"),
];

/// Returns the text of a template without its position.
fn plain(template: &Template) -> String {
    let body = &template.body;
    let calls: Vec<String> =
        body.calls.iter().map(|call| format!("{} {:?}", call.target, call.args)).collect();
    let (parameters, conditions) = (&template.parameters, &template.conditions);
    format!("{} {parameters:?} {conditions:?} {calls:?} {:?}", template.target, body.outputs)
}

/// The lines as they stand among schemas.
fn among(programs: &str) -> String {
    programs.lines().map(|line| [AMONG_SCHEMAS, " ", line, "\n"].concat()).collect()
}

#[test]
fn on_demand_is_as_at_once() {
    for text in OWN {
        let all = Template::parse(&lines(text).collect::<Vec<_>>().join("\n")).unwrap();
        assert_eq!(split(text).map(|found| found.len()), Some(all.len()));
        let (table, schemas) =
            (Decompositions::among_schemas("own", text, false).unwrap(), Schemas::new([text]));
        for template in &all {
            let target = &template.target;
            let found = if template.writes {
                schemas.writes(target).unwrap()
            } else {
                table.of(target).unwrap().iter().collect()
            };
            let at_once: Vec<String> = all
                .iter()
                .filter(|t| t.target == *target && t.writes == template.writes)
                .map(plain)
                .collect();
            assert_eq!(found.into_iter().map(plain).collect::<Vec<_>>(), at_once, "{target}");
        }
        let decomposing = all.iter().filter(|template| !template.writes);
        assert!(decomposing.clone().all(|template| table.contains(&template.target)));
        assert_eq!(table.is_empty(), decomposing.count() == 0);
    }
}

#[test]
fn what_cannot_be_split_by_lines_is_read_at_once() {
    let two = "decomposition a.a.default(x) {\n output %x } decomposition b.b.default(x) {\n output %x\n}";
    let text = among(two);
    assert!(split(&text).is_none());
    let table = Decompositions::among_schemas("own", &text, false).unwrap();
    assert_eq!(table.targets(), ["a.a.default", "b.b.default"]);
    for stray in
        ["decompositon a.a.default(x) {\n output %x\n}", "decomposition a.a.default(x) {\n output %x"]
    {
        let text = among(stray);
        assert!(Decompositions::among_schemas("own", &text, false).is_err(), "{stray}");
    }
}

#[test]
fn malformed_programs_are_reported_when_they_are_asked_for() {
    let text = "#| decomposition a.a.default(x) {\n#|   output %y\n#| }\n#| writes b.b.default(x) {\n#|   oops\n#| }\n";
    assert!(Decompositions::among_schemas("own", text, true).is_err());
    let table = Decompositions::among_schemas("own", text, false).unwrap();
    assert_eq!(table.of("a.a.default").unwrap_err().code, crate::diagnose::Code::DECOMPOSE);
    assert!(table.of("c.c.default").unwrap().is_empty());
    assert!(Schemas::new([text]).writes("b.b.default").is_err());
}
