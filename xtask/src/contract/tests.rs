//! Invalid specifications, and the positions of their errors.

use super::parse;

/// A specification with one interface that holds `items`.
fn read(items: &str) -> Result<(), String> {
    let text = format!(
        "#![contract(current = 1.2)]\n\
         /// Statuses.\npub mod status {{\n/// Done.\npub const OK: u32 = 0;\n}}\n\
         /// `test/1`: a test.\n#[interface(id = \"test/1\", since = 1.1)]\npub mod test {{\n{items}\n}}\n"
    );
    parse::contract(&text).map(|_| ()).map_err(|error| {
        // Lines are counted from the first one of `items`.
        format!("{}: {error}", error.span().start().line as i64 - 9)
    })
}

fn table(fields: &str) -> Result<(), String> {
    read(&format!("/// A table.\n#[table(host)]\npub struct T {{\n{fields}\n}}"))
}

#[test]
fn a_function_needs_all_of_its_facts() {
    let function = "pub f: extern \"C\" fn(text: RStr<'_>, out: &mut u32) -> u32,";
    let with = |facts: &str| table(&format!("/// Docs.\n#[slot({facts})]\n{function}"));
    assert_eq!(with("thread = any, takes = call, gives = values, answers(OK)"), Ok(()));
    for (facts, missing) in [
        ("takes = call, gives = values, answers(OK)", "thread"),
        ("thread = any, gives = values, answers(OK)", "takes"),
        ("thread = any, takes = call, answers(OK)", "gives"),
        ("thread = any, takes = call, gives = values", "answers"),
    ] {
        let why = with(facts).expect_err("a fact is missing");
        assert_eq!(
            why,
            format!("4: it is not stated: `{missing}`, here or as a default of the table or interface")
        );
    }
}

#[test]
fn a_fact_must_be_one_that_the_type_calls_for() {
    let with =
        |facts: &str| table(&format!("/// Docs.\n#[slot(thread = any, {facts})]\npub f: extern \"C\" fn(),"));
    assert_eq!(with("since = 1.1"), Ok(()));
    assert_eq!(with("takes = call"), Err("4: `takes`: it borrows nothing".to_owned()));
    assert_eq!(with("answers(OK)"), Err("4: `answers`: it returns no status".to_owned()));
    assert_eq!(with("answers(GONE)"), Err("5: there is no such status".to_owned()));
    assert_eq!(with("gives = until(close)"), Err("4: `gives`: it gives nothing".to_owned()));
    assert_eq!(with("nothing = 1"), Err("5: no such fact".to_owned()));
}

#[test]
fn tables_grow_at_their_end_and_records_never() {
    let grown = "/// A.\n#[slot(since = 1.2)]\npub a: u32,\n/// B.\npub b: u32,";
    assert_eq!(table(grown), Err("7: a table grows at its end only".to_owned()));
    assert_eq!(table("/// A.\n#[slot(since = 1.2)]\npub a: u32,"), Ok(()));
    assert!(table("/// A.\n#[slot(since = 1.2)]\npub a: RStr<'static>,").is_err(), "zero is not a text");
    let optional = "/// A.\n#[slot(optional)]\npub a: u32,";
    let of_plugin =
        |fields: &str| read(&format!("/// A table.\n#[table(plugin)]\npub struct T {{\n{fields}\n}}"));
    assert_eq!(of_plugin(optional), Ok(()));
    assert!(table(optional).is_err(), "a host provides every function");
    assert!(of_plugin(&format!("{optional}\n/// B.\npub b: u32,")).is_err(), "what is optional comes last");
    assert!(table("/// A.\n#[slot(since = 1.3)]\npub a: u32,").is_err(), "there is no such revision");
    let record = read("/// R.\npub struct R {\n/// A.\n#[slot(since = 1.2)]\npub a: u32,\n}");
    assert_eq!(record, Err("3: a record never changes; make a new one".to_owned()));
}

#[test]
fn only_plain_types_cross() {
    for ty in ["String", "bool", "Option<u32>", "[u8; 4]", "(u32, u32)", "fn()", "&str"] {
        let why = table(&format!("/// A.\npub a: {ty},")).expect_err("it does not cross");
        assert!(why.starts_with("5: ") || why.starts_with("4: "), "{ty}: {why}");
    }
    assert!(read("/// E.\npub enum E { A }").is_err());
    assert!(read("/// H.\npub struct H(pub *const u8);").is_err());
    assert_eq!(table("pub a: u32,"), Err("4: it has no documentation".to_owned()));
}
