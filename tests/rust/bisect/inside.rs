//! Faults inside of nodes, and differences that are not faults.

use onnxport_core::bisect::{Options, Wrong};
use onnxport_core::taps::Verdict;

use super::{between, with_options};

/// A model with `nodes` between the input `x: f32[4]` and the output `z`.
fn model(nodes: &str) -> String {
    format!(
        "opset 20\nopset local 1\ngraph {{\nconstant %yes: bool[] = [true]\nconstant %three: i64[] = [3]\n\
         constant %half: f32[] = [0.5]\n\
         constant %third: f32[] = [0.33333337]\nconstant %near: f32[] = [0.3333]\n\
         constant %parts: f32[] = [3.0]\ninput %x: f32[4]\n{nodes}\noutput %z as z\n}}\n"
    )
}

/// Compares the models with `right` and with `wrong` in place of `?`; returns the nodes that were entered, and the
/// operator and the value of the innermost fault.
fn found(nodes: &str, right: &str, wrong: &str) -> (Vec<String>, String, Wrong) {
    let [wrong, right] = [wrong, right].map(|op| model(&nodes.replace('?', op)));
    let found = between(&wrong, &right);
    let (way, fault) = found.innermost().unwrap_or_else(|| panic!("nothing is found: {found:?}"));
    (way.into_iter().map(str::to_owned).collect(), fault.row.place.operator.clone(), fault.wrong)
}

#[test]
fn a_fault_in_a_branch_is_found_in_it() {
    let nodes = "%a = Cos(%x)\n%z = If(%yes) {then_branch = {\n%p = Exp(%a)\n%q = ?(%p)\n%r = Neg(%q)\n\
                 output %r\n}, else_branch = {\n%u = Neg(%x)\noutput %u\n}}";
    let (way, operator, wrong) = found(nodes, "Sin", "Cos");
    assert_eq!((way, operator.as_str(), wrong), (vec!["then_branch".to_owned()], "Cos", Wrong::Model));
}

#[test]
fn a_fault_in_a_loop_is_found_in_the_first_iteration_that_shows_it() {
    let nodes = "%z = Loop(%three, %yes, %x) {body = {\ninput %i: i64[]\ninput %go: bool[]\ninput %h: f32[4]\n\
                 %k = Cast(%i) {to = 1}\n%p = ?(%k, %half)\n%q = Add(%h, %p)\n%r = Sin(%q)\noutput %go\noutput %r\n}}";
    // They are equal where a number is not above one half.
    let nodes = nodes.replace("?(%k, %half)", "?(%k, %k)");
    let (way, operator, wrong) = found(&nodes, "Add", "Mul");
    assert_eq!((way, operator.as_str(), wrong), (vec!["iteration 1".to_owned()], "Mul", Wrong::Model));
}

#[test]
fn a_fault_in_a_scan_is_found_in_its_body() {
    let nodes = "%start = ReduceSum(%x) {keepdims = 0}\n%last, %z = Scan(%start, %x) {num_scan_inputs = 1, body = {\n\
                 input %s: f32[]\ninput %e: f32[]\n%p = ?(%s, %e)\n%q = Sin(%p)\noutput %p\noutput %q\n}}";
    let (way, operator, wrong) = found(nodes, "Add", "Sub");
    assert_eq!((way, operator.as_str(), wrong), (vec!["iteration 0".to_owned()], "Sub", Wrong::Model));
}

#[test]
fn a_fault_in_a_function_is_found_in_its_body() {
    let text = |op: &str| {
        let body = format!(
            "function local::F() {{\ninput %v: f32[4]\n%p = Exp(%v)\n%q = {op}(%p)\n%r = Neg(%q)\noutput %r\n}}\n"
        );
        model("%a = Cos(%x)\n%z = local::F(%a)") + &body
    };
    let found = between(&text("Cos"), &text("Sin"));
    let (way, fault) = found.innermost().unwrap_or_else(|| panic!("nothing is found: {found:?}"));
    assert_eq!((way, fault.row.place.operator.as_str()), (vec!["the function local::F"], "Cos"));
}

#[test]
fn values_that_are_no_numbers_on_both_sides_agree() {
    let nodes = "%n = Log(%x)\n%m = Sqrt(%n)\n%z = Add(%m, %x)";
    let found = between(&model(nodes), &model(nodes));
    assert!(found.fault.is_none() && found.values.rows.len() == 3, "{found:?}");
}

#[test]
fn random_values_are_not_judged_and_do_not_hide_a_fault() {
    let nodes = "%n = RandomUniformLike(%x) {seed = ?.0}\n%a = Mul(%x, %half)\n%z = Sub(%a, %n)";
    let [one, two] = ["1", "2"].map(|seed| model(&nodes.replace('?', seed)));
    let found = between(&one, &two);
    assert!(found.fault.is_none(), "{found:?}");
    assert!(found.values.rows.iter().any(|row| matches!(row.verdict, Verdict::NotJudged(_))), "{found:?}");
    let wrong = one.replace("Mul(%x", "Add(%x");
    let found = between(&wrong, &two);
    assert_eq!(found.fault.map(|fault| fault.row.value), Some("a".to_owned()));
}

#[test]
fn other_types_and_shapes_are_said_and_do_not_stop_the_search() {
    let shape = "%a = ReduceSum(%x) {keepdims = ?}\n%z = Sin(%a)";
    let [kept, not] = ["1", "0"].map(|keeps| model(&shape.replace('?', keeps)));
    let found = between(&kept, &not);
    let fault = found.fault.unwrap_or_else(|| panic!("nothing is found"));
    assert_eq!((fault.row.got.as_str(), fault.row.expected.as_str()), ("f32[1]", "f32[]"));
    let cast = "%w = Mul(%x, %half)\n%a = ?\n%z = Cast(%a) {to = 1}";
    let [lost, right] = ["Identity(%w)", "Cast(%w) {to = 10}"].map(|node| model(&cast.replace('?', node)));
    let found = between(&lost, &right);
    assert_eq!(found.fault.map(|fault| fault.row.value), Some("a".to_owned()));
}

#[test]
fn rounding_that_is_amplified_is_no_fault() {
    // Both compute a third, one of them by a factor that is off by one unit in the last place; the subtraction
    // cancels most digits and magnifies the error ten thousandfold.
    let third =
        |node: &str| model(&format!("%p = {node}\n%q = Mul(%x, %near)\n%d = Sub(%p, %q)\n%z = Sin(%d)"));
    let found = between(&third("Mul(%x, %third)"), &third("Div(%x, %parts)"));
    assert!(found.fault.is_none(), "{found:?}");
    assert_eq!(found.cleared, ["d"]);
}

#[test]
fn a_fault_among_hundreds_of_nodes_is_found_in_few_rounds() {
    let chain = |at: usize| {
        let node = |k: usize| {
            let from = if k == 0 { "x".to_owned() } else { format!("v{}", k - 1) };
            let op = if k == at { "Sin" } else { "Cos" };
            format!("%v{k} = {op}(%{from})\n")
        };
        model(&((0..300).map(node).collect::<String>() + "%z = Neg(%v299)"))
    };
    // Repeated cosines converge, whatever the start: only nodes close after a fault show it.
    let options = Options { memory: 1024, ..Options::default() };
    for at in [3, 151, 298] {
        let found = with_options(&chain(at), &chain(usize::MAX), &options);
        assert_eq!(found.fault.map(|fault| fault.row.value), Some(format!("v{at}")));
        assert!(found.values.rounds <= 3, "{}", found.values.rounds);
    }
    let found = with_options(&chain(usize::MAX), &chain(usize::MAX), &options);
    assert!(found.fault.is_none() && found.values.complete, "{found:?}");
}
