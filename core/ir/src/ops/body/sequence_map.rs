//! `SequenceMap`.

use std::fmt::Write;

use super::call::Call;
use super::text::Text;
use crate::ir::{Function, Type};

/// A loop over the first sequence, with the graph of the call in its body.
pub(super) fn sequence_map(call: &Call<'_>) -> Option<Function> {
    let body = &call.graph.blocks[call.block("body")?];
    let (arity, results) = (call.node.inputs.len(), call.node.outputs.len());
    if !matches!(call.types.first(), Some(Type::Sequence(_)))
        || body.inputs.len() != arity
        || body.outputs().len() != results
        || !(0..arity).all(|at| call.has(at))
        || !(0..results).all(|at| call.asks(at))
    {
        return None;
    }
    let input = |at: usize| match at {
        0 => "input_sequence".to_owned(),
        at => format!("additional_inputs_{at}"),
    };
    let list = |count: usize, name: &dyn Fn(usize) -> String| {
        (0..count).map(|at| format!("%{}", name(at))).collect::<Vec<_>>().join(", ")
    };
    let output = |at: usize| format!("out_sequence_{at}");
    let empty = |at: usize| format!("SequenceMap_out_sequence_{at}_seqempty");
    let mut text = Text::for_call(call);
    text.add(
        "%SequenceMap_input_sequence_seqlen = SequenceLength(%input_sequence)
        %SequenceMap_input_sequence_cond = Constant() {value = tensor bool[] [true]}",
    );
    for (at, result) in body.outputs().iter().enumerate() {
        let Type::Tensor { dtype: Some(dtype), .. } = call.graph.values[*result].ty else { return None };
        text.add(format!("%{} = SequenceEmpty() {{dtype = {}}}", empty(at), dtype.onnx()));
    }
    let mut inner = String::from("input %count: i64[]\ninput %going: bool[]\n");
    // Writing to a String cannot fail.
    for at in 0..results {
        let _ = writeln!(inner, "input %so_far_{at}");
    }
    inner.push_str("%goes_on = Identity(%going)\n");
    for at in 0..arity {
        let _ = match call.types.get(at)? {
            Type::Sequence(_) => writeln!(inner, "%item_{at} = SequenceAt(%{}, %count)", input(at)),
            _ => writeln!(inner, "%item_{at} = Identity(%{})", input(at)),
        };
    }
    let made = list(results, &|at| format!("made_{at}"));
    let _ = writeln!(inner, "{made} = Graft({}) {{of = \"body\"}}", list(arity, &|at| format!("item_{at}")));
    for at in 0..results {
        let _ = writeln!(inner, "%grown_{at} = SequenceInsert(%so_far_{at}, %made_{at})");
    }
    inner.push_str("output %goes_on\n");
    for at in 0..results {
        let _ = writeln!(inner, "output %grown_{at}");
    }
    text.add(format!(
        "{} = Loop(%SequenceMap_input_sequence_seqlen, %SequenceMap_input_sequence_cond, {}) {{body = {{\n{inner}}}}}",
        list(results, &output),
        list(results, &empty),
    ));
    let inputs: Vec<String> = (0..arity).map(input).collect();
    let outputs: Vec<String> = (0..results).map(output).collect();
    text.function(Some(&inputs), &outputs.iter().map(String::as_str).collect::<Vec<_>>())
}
