//! The test kit of plugin authors, over a plugin of its own and over `aten`.

use std::cell::Cell;
use std::panic::catch_unwind;

use onnxport_core::diagnose::Code;
use onnxport_sdk::prelude::*;
use onnxport_testkit::{Argument, Call, Plugin, Tensor, Tolerance, assert_close, constant, input};

simple! { "kit.relu.default" => Relu(self) }

#[lowering("kit.scaled.default")]
fn scaled(_: &Lower, x: Value, factor: f64, mode: Str) -> Res<Value> {
    if mode.0 != "times" {
        return Err(
            Refusal::new(format!("argument `mode`: `{}` is not expressed", mode.0)).help("use `times`")
        );
    }
    Ok(x * factor)
}

#[lowering("kit.formula.default")]
fn formula(cx: &Lower, x: Value, y: Value, factor: Scalar) -> Res<Value> {
    let near = cx.less(x, y) & !cx.is_nan(x);
    Ok(cx.select(near, 2.0 * x - y / factor, -x) + cx.max(x, 1))
}

#[lowering("kit.half.default")]
fn half(_cx: &Lower, x: Value) -> Res<Value> {
    Ok(x * 0.5)
}

#[lowering("kit.far.default")]
fn far(_cx: &Lower, x: Value) -> Res<Value> {
    Ok(x + 300)
}

thread_local! {
    static KEPT: Cell<Option<Value>> = const { Cell::new(None) };
}

#[lowering("kit.keeps.default")]
fn keeps(cx: &Lower, x: Value) -> Res<Value> {
    KEPT.set(Some(x));
    Ok(cx.relu(x))
}

/// As lowerings were written when verbs took the context for themselves.
#[lowering("kit.exclusive.default")]
fn exclusive(cx: &mut Lower, x: Value) -> Res<Value> {
    let y = cx.relu(x);
    Ok(cx.add(x, y))
}

#[lowering("kit.rows.default")]
fn rows(cx: &Lower, x: Value) -> Res<Value> {
    let shape = cx.shape(x)?;
    let columns = cx.dim_mul(shape[1], shape[2]);
    let target = cx.dims_value(&[shape[0], columns]);
    Ok(cx.op(op::Reshape).input(x).input(target).one())
}

#[lowering("kit.branch.default")]
fn branch(cx: &Lower, x: Value, flag: Value) -> Res<Value> {
    let negative = cx.block(|cx| Ok(vec![cx.neg(x)]))?;
    let same = cx.block(|cx| Ok(vec![cx.identity(x)]))?;
    Ok(cx.op(op::If).input(flag).then_branch(negative).else_branch(same).one())
}

#[lowering("kit.sizes.default")]
fn sizes(cx: &Lower, x: Value, shift: Value) -> Res<(Value, Value)> {
    let shift = cx.literal(shift).and_then(|l| l.ints()).ok_or("argument `shift` is not a constant")?;
    let extent = cx.dim(x, 0);
    let sum = cx.dim_add(extent, shift[0]);
    Ok((cx.dims_value(&[sum]), x))
}

#[lowering("kit.swish.default")]
fn swish(cx: &Lower, x: Value, beta: f64) -> Res<Value> {
    let [y] = cx.function("kit", "Swish").input(x).float("beta", beta).body(|cx, [x]| {
        let beta = cx.op(op::Constant).refer("value_float", "beta").one();
        Ok([x * cx.sigmoid(x * beta)])
    })?;
    Ok(y)
}

#[lowering("kit.leak.default")]
fn leak(cx: &Lower, x: Value) -> Res<Value> {
    let [y] = cx.function("kit", "Leak").input(x).body(|cx, [_]| Ok([cx.neg(x)]))?;
    Ok(y)
}

#[lowering("kit.wrong.default")]
fn wrong(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.cast(x, DType::I64))
}

#[lowering("kit.panics.default")]
fn panics(_: &Lower, _x: Value) -> Res<Value> {
    panic!("out of cheese")
}

#[lowering("kit.typo.default")]
fn typo(cx: &Lower, x: Value, facter: Scalar) -> Res<Value> {
    let _ = facter;
    Ok(cx.relu(x))
}

onnxport_sdk::export_plugin! { id: "kit", schemas: "\
kit::branch(Tensor x, Tensor flag) -> Tensor
kit::exclusive(Tensor x) -> Tensor
kit::far(Tensor x) -> Tensor
kit::formula(Tensor x, Tensor y, Scalar factor) -> Tensor
kit::half(Tensor x) -> Tensor
kit::keeps(Tensor x) -> Tensor
kit::leak(Tensor x) -> Tensor
kit::panics(Tensor x) -> Tensor
kit::relu(Tensor self) -> Tensor
kit::rows(Tensor x) -> Tensor
kit::scaled(Tensor x, float factor=2.0, str mode='times') -> Tensor
kit::sizes(Tensor x, Tensor shift) -> (SymInt, Tensor)
kit::swish(Tensor x, float beta=1.0) -> Tensor
kit::typo(Tensor x, Scalar factor=1) -> Tensor
kit::wrong(Tensor x) -> Tensor
" }

fn plugin() -> Plugin {
    Plugin::attach(&ROOT)
}

#[test]
fn a_call_is_bound_to_the_schema_and_shown() {
    let lowered = plugin()
        .call("kit.scaled.default")
        .arg("x", input("f32[n, 2]"))
        .gives("f32[n, 2]")
        .lower()
        .expect("a lowered call");
    assert_eq!(lowered.ops(), ["Mul"]);
    let text = lowered.to_text();
    assert!(
        text.contains("constant %0: f32[] = [2.0]") && text.contains(": f32[n, 2] = Mul(%x, %0)"),
        "{text}"
    );
    let x = Tensor::f32([3, 2], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let outputs = lowered.run(&[("x", &x)]).expect("numbers");
    assert_close(&outputs[0], &Tensor::f32([3, 2], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]), Tolerance::EXACT);
    let wrong = lowered.run(&[("x", &Tensor::f32([2], [0.0, 0.0]))]);
    assert_eq!(wrong, Err("input `x` is not f32[2]".to_owned()));
}

#[test]
fn operators_on_values_emit_from_left_to_right() {
    let call = plugin().call("kit.formula.default").arg("x", input("f32[2]")).arg("y", input("f32[2]"));
    let lowered = call.arg("factor", 4.0).gives("f32[2]").lower().expect("a lowered call");
    let ops = ["Less", "IsNaN", "Not", "And", "Mul", "Div", "Sub", "Neg", "Where", "Max", "Add"];
    assert_eq!(lowered.ops(), ops);
    let (x, y) = (Tensor::f32([2], [1.0, 3.0]), Tensor::f32([2], [2.0, 2.0]));
    let outputs = lowered.run(&[("x", &x), ("y", &y)]).expect("numbers");
    assert_close(&outputs[0], &Tensor::f32([2], [2.5, 0.0]), Tolerance::EXACT);
    let call = plugin().call("kit.exclusive.default").arg("x", input("f32[2]")).gives("f32[2]");
    assert_eq!(call.lower().expect("a lowered call").ops(), ["Relu", "Add"]);
}

#[test]
fn a_number_takes_the_type_beside_it_or_is_refused() {
    let half = |ty: &str| plugin().call("kit.half.default").arg("x", input(ty)).gives(ty).lower();
    assert!(half("f16[2]").expect("a lowered call").to_text().contains("constant %0: f16[] = [0.5]"));
    let refusal = half("i64[2]").expect_err("a fraction is not an integer");
    assert!(refusal.message.ends_with("0.5 is combined with a value of type i64"), "{refusal}");
    let far = |ty: &str| plugin().call("kit.far.default").arg("x", input(ty)).gives(ty).lower();
    assert!(far("i16[2]").is_ok() && far("i8[2]").is_err());
}

#[test]
fn a_value_does_not_outlive_its_call() {
    let call = plugin().call("kit.keeps.default").arg("x", input("f32[2]")).gives("f32[2]");
    call.lower().expect("a lowered call");
    let kept = KEPT.get().expect("the value was kept");
    assert!(catch_unwind(|| kept + 1.0).is_err());
}

#[test]
fn symbolic_extents_are_computed_and_checked() {
    let call = plugin().call("kit.rows.default").arg("x", input("f32[b, n, 2*n]"));
    let lowered = call.gives("f32[b, 2*n*n]").lower().expect("a lowered call");
    let ops = lowered.ops();
    assert!(ops.contains(&"Shape".to_owned()) && ops.last().is_some_and(|op| op == "Reshape"), "{ops:?}");
    let x = Tensor::f32([1, 2, 4], (0..8_u8).map(f32::from));
    let outputs = lowered.run(&[("x", &x)]).expect("numbers");
    assert_eq!(outputs[0].shape(), [1, 8]);
    let x = Tensor::f32([1, 2, 3], [0.0; 6]);
    assert_eq!(lowered.run(&[("x", &x)]), Err("axis 2 of input `x` must be 4, it is 3".to_owned()));
}

#[test]
fn bodies_of_control_flow_are_shown_and_run() {
    let x = Tensor::f32([2], [1.0, -2.0]);
    let call = plugin().call("kit.branch.default").arg("x", &x).arg("flag", input("bool[]"));
    let lowered = call.gives("f32[2]").lower().expect("a lowered call");
    assert_eq!(lowered.ops(), ["If"]);
    assert!(lowered.to_text().contains("= Neg(%x)"), "{}", lowered.to_text());
    for (flag, expected) in [(true, [-1.0, 2.0]), (false, [1.0, -2.0])] {
        let flag = Tensor::bool([], [flag]);
        let outputs = lowered.run(&[("flag", &flag)]).expect("numbers");
        assert_close(&outputs[0], &Tensor::f32([2], expected), Tolerance::EXACT);
    }
}

#[test]
fn local_functions_are_shown_and_run_and_see_nothing_from_outside() {
    let call = plugin().call("kit.swish.default").arg("x", input("f32[n]")).arg("beta", 2.0);
    let lowered = call.gives("f32[n]").lower().expect("a lowered call");
    assert_eq!(lowered.ops(), ["kit::Swish"]);
    assert!(lowered.to_text().contains("function kit::Swish(beta) {"), "{}", lowered.to_text());
    let outputs = lowered.run(&[("x", &Tensor::f32([2], [0.0, 1.0]))]).expect("numbers");
    assert_close(&outputs[0], &Tensor::f32([2], [0.0, 0.880_797]), Tolerance::default());
    let leak = plugin().call("kit.leak.default").arg("x", input("f32[n]")).gives("f32[n]").lower();
    let refusal = leak.expect_err("a refusal");
    assert!(refusal.message.contains("the host refused a node `Neg`"), "{refusal}");
}

#[test]
fn constants_can_be_read_and_inputs_cannot() {
    let call = |shift: Argument| {
        let call = plugin().call("kit.sizes.default").arg("x", input("f32[n]")).arg("shift", shift);
        call.gives("symint(n + 3)").gives("f32[n]").lower()
    };
    let lowered = call(constant(Tensor::i64([1], [3]))).expect("a lowered call");
    let outputs = lowered.run(&[("x", &Tensor::f32([4], [0.0; 4]))]).expect("numbers");
    assert_eq!(outputs[0], Tensor::i64([], [7]));
    let refusal = call(input("i64[1]")).expect_err("a refusal");
    assert!(refusal.message.ends_with("argument `shift` is not a constant"), "{refusal}");
}

#[test]
fn what_goes_wrong_is_what_the_user_is_told() {
    let call = |target: &str| plugin().call(target).arg("x", input("f32[n]")).gives("f32[n]");
    let fails = |call: Call, code: Code, message: &str, help: &str| {
        let failure = call.lower().expect_err("it is not lowered");
        assert_eq!(failure.code, code, "{failure}");
        assert!(failure.message.contains(message) && failure.help.contains(help), "{failure}");
    };
    let scaled = || call("kit.scaled.default");
    let refused = Code::LOWER_REFUSED;
    fails(
        scaled().arg("mode", "plus"),
        refused.clone(),
        "argument `mode`: `plus` is not expressed",
        "use `times`",
    );
    fails(scaled().arg("factor", "two"), refused, "argument `factor`: expected a float, found a string", "");
    fails(call("kit.panics.default"), Code::PLUGIN_PANIC, "out of cheese", "");
    // Nothing else is known of the operator: the program may as well be wrong.
    fails(
        call("kit.wrong.default"),
        Code::READ_CONTRADICTION,
        "returned i64, but the program states f32",
        "",
    );
    let setup = Code::LOWER_ARGUMENT;
    let odd = "the schema of `kit.scaled.default` has no argument `z`";
    fails(scaled().arg("z", 1), setup.clone(), odd, "");
    let bare = plugin().call("kit.scaled.default").gives("f32[n]");
    fails(bare, setup.clone(), "`kit.scaled.default` needs an argument `x`", "");
    let silent = plugin().call("kit.relu.default").arg("self", input("f32[n]"));
    fails(silent, setup.clone(), "state the type of each result", "");
    fails(call("kit.relu.default").gives("f32["), setup, "has no argument", "");
    fails(call("kit.nobody.default"), Code::LOWER_UNSUPPORTED, "`kit.nobody.default` has no lowering", "");
}

#[test]
fn parameters_that_no_schema_has_are_found() {
    let found = std::panic::catch_unwind(|| plugin().check_schemas()).expect_err("a problem");
    let text = found.downcast_ref::<String>().expect("a text");
    assert_eq!(text, "`kit.typo.default` has no argument `facter`; its schema has x, factor");
}

/// The arguments of a call of `aten`, its result types and its results.
type Known = (&'static str, Vec<(&'static str, Argument)>, &'static str, Tensor);

/// The evaluator against numbers that are known: calls of PyTorch's operators.
#[test]
fn calls_of_aten_compute_what_pytorch_computes() {
    let aten = Plugin::attach(&onnxport_aten::ROOT);
    let ramp = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        Tensor::f32(shape, (0..count).map(|n| n as f32))
    };
    let x = || ("self", ramp(&[2, 3]).into());
    let known: Vec<Known> = vec![
        ("aten.t.default", vec![x()], "f32[3, 2]", Tensor::f32([3, 2], [0.0, 3.0, 1.0, 4.0, 2.0, 5.0])),
        ("aten.sum.dim_IntList", vec![x(), ("dim", [1_i64].into())], "f32[2]", Tensor::f32([2], [3.0, 12.0])),
        (
            "aten.mean.dim",
            vec![x(), ("dim", [0_i64].into()), ("keepdim", true.into())],
            "f32[1, 3]",
            Tensor::f32([1, 3], [1.5, 2.5, 3.5]),
        ),
        (
            "aten.slice.Tensor",
            vec![x(), ("dim", 1.into()), ("start", 1.into()), ("end", 3.into())],
            "f32[2, 2]",
            Tensor::f32([2, 2], [1.0, 2.0, 4.0, 5.0]),
        ),
        (
            "aten.cat.default",
            vec![("tensors", [ramp(&[1, 2]), ramp(&[1, 2])].into()), ("dim", 0.into())],
            "f32[2, 2]",
            Tensor::f32([2, 2], [0.0, 1.0, 0.0, 1.0]),
        ),
        (
            "aten.index_select.default",
            vec![x(), ("dim", 1.into()), ("index", Tensor::i64([2], [2, 0]).into())],
            "f32[2, 2]",
            Tensor::f32([2, 2], [2.0, 0.0, 5.0, 3.0]),
        ),
        (
            "aten.mm.default",
            vec![x(), ("mat2", ramp(&[3, 1]).into())],
            "f32[2, 1]",
            Tensor::f32([2, 1], [5.0, 14.0]),
        ),
        (
            "aten._softmax.default",
            vec![x(), ("dim", 1.into()), ("half_to_float", false.into())],
            "f32[2, 3]",
            Tensor::f32([2, 3], [0.090_030_6, 0.244_728_5, 0.665_241, 0.090_030_6, 0.244_728_5, 0.665_241]),
        ),
        (
            "aten.where.self",
            vec![
                ("condition", Tensor::bool([3], [true, false, true]).into()),
                ("self", ramp(&[3]).into()),
                ("other", Tensor::f32([1], [-1.0]).into()),
            ],
            "f32[3]",
            Tensor::f32([3], [0.0, -1.0, 2.0]),
        ),
        (
            "aten.gelu.default",
            vec![("self", Tensor::f32([2], [-1.0, 0.5]).into())],
            "f32[2]",
            Tensor::f32([2], [-0.158_655_25, 0.345_731_23]),
        ),
        (
            "aten.floor_divide.default",
            vec![("self", Tensor::i64([2], [7, -7]).into()), ("other", Tensor::i64([2], [2, 2]).into())],
            "i64[2]",
            Tensor::i64([2], [3, -4]),
        ),
        (
            "aten.constant_pad_nd.default",
            vec![x(), ("pad", [1_i64, 0].into()), ("value", 9.0.into())],
            "f32[2, 4]",
            Tensor::f32([2, 4], [9.0, 0.0, 1.0, 2.0, 9.0, 3.0, 4.0, 5.0]),
        ),
        (
            "aten.cumsum.default",
            vec![x(), ("dim", 1.into())],
            "f32[2, 3]",
            Tensor::f32([2, 3], [0.0, 1.0, 3.0, 3.0, 7.0, 12.0]),
        ),
        ("aten.argmax.default", vec![x(), ("dim", 1.into())], "i64[2]", Tensor::i64([2], [2, 2])),
    ];
    for (target, arguments, gives, expected) in known {
        let mut call = aten.call(target).gives(gives);
        for (name, argument) in arguments {
            call = call.arg(name, argument);
        }
        let lowered = call.lower().unwrap_or_else(|failure| panic!("{target}: {failure}"));
        let outputs = lowered.run(&[]).unwrap_or_else(|why| panic!("{target}: {why}\n{}", lowered.to_text()));
        assert_close(&outputs[0], &expected, Tolerance::default());
    }
}
