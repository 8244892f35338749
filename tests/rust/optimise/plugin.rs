//! Rules and passes for the tests. Operators of the domain `t` stand where a rule is to be tried.

use onnxport_sdk::prelude::*;

rules! {
    /// Two transposes in a row are one.
    transpose_transpose:
        Transpose(Transpose(x, perm = p), perm = q) => Transpose(x, perm = compose(p, q));

    /// A relu of a relu is a relu.
    relu_relu: Relu(Relu(x)) => Relu(x);

    /// Adding zeros changes nothing where the shape stays.
    add_zero: commutative Add(x, 0) if same_shape(matched, x) => x;

    /// A quotient of a value by itself is written as ones.
    quotient_of_itself: Div(x, x) => "t"::Ones(x);

    /// A sum with an inner sum: the inner one may stand on either side.
    three_terms: commutative Add(commutative Add(x, const b), const c) => Sum(x, b, c);

    /// The patch has another element type.
    wrong_dtype: "t"::WrongDtype(x) => Cast(x, to = 7);

    /// The patch has another rank.
    wrong_shape: "t"::WrongShape(x) => Reshape(x, { cx.ints(&[-1]) });

    /// The patch is of an operator that the opset does not have.
    not_yet: "t"::NotYet(x) => Gelu(x);

    /// The patch lacks a required attribute.
    no_attribute: "t"::NoAttribute(x) => Cast(x);

    /// The patch reads the values that it replaces.
    reads_itself: "t"::ReadsItself(x) => read_the_root;

    /// The patch has too few outputs.
    one_of_two: "t"::OneOfTwo(x) => Relu(x);

    /// Two outputs for two.
    two_of_two: "t"::TwoOfTwo(x) => both(cx, x);

    /// The patch needs another version of a domain.
    other_version: "t"::OtherVersion(x) => { cx.op_in("t", 2, "New").input(x).one() };

    /// Does not apply, and says why.
    never: "t"::Never(x) => refuses;

    /// Does not apply, and says so with a code of its own.
    coded: "t"::Coded(x) => refuses_with_a_code;

    /// Asks about a node that is not there.
    stale: "t"::Stale(x) => { cx.op(op::Relu).input(cx.graph().inputs()[0]).maybe(None).one() };

    /// A choice that goes through an operator of another domain.
    through: "t"::Through(choice @ If(_, ..)) => choice;

    /// Ping becomes pong.
    ping: "t"::Ping(x) => "t"::Pong(x);

    /// Pong becomes ping.
    pong: "t"::Pong(x) => "t"::Ping(x);

    /// An operand that may be left out.
    optional: "t"::Optional(x, y?) => Clip(x, y);

    /// Attributes that must have a value, or may be absent.
    attributes:
        "t"::Attributes(x, axis = 1, alpha = 0.5, mode = "up", sizes = [1, 2], keep = 1?) => Relu(x);

    /// The second output of a node.
    second_output: Identity("t"::Halves(x).1) => "t"::Second(x);

    /// An inner node whose value others may read, too.
    shared: "t"::Outer(shared "t"::Inner(x)) => Relu(x);

    /// Further inputs and attributes do not matter.
    open: "t"::Open(x, ..) => Relu(x);

    /// Tried after the other one for the same operator.
    low (priority = -1): "t"::Both(x) => Tanh(x);

    /// Tried first.
    high (priority = 1): "t"::Both(x) => Relu(x);

    /// Right at early opsets only.
    early (opset = ..=18): "t"::Early(x) => Relu(x);

    /// Reads a value outside the match.
    looks_back: "t"::Back(x) => before(cx, x);

    /// No longer reads a shared value.
    leaves_the_hub: "t"::Hub(x, _) => Tanh(x);

    /// A number as its type rounds it, and one within a tolerance.
    numbers: "t"::Numbers(x, 0.7071067811865476, 0.8 ~ 0.005, alpha = 1.702 ~ 0.01) => Relu(x);

    /// One operator or another.
    alternatives: "t"::Either((Sqrt(x) | ordered Pow(x, 0.5) | Cast(x, to = to))) => "t"::Base(x, to = to);

    /// A sum may stand around the exponential, and a cast around that.
    may_be_missing: "t"::Maybe(maybe Cast(maybe Add(Exp(x), b), to = _to)) => "t"::Found(x, b);

    /// Attributes that are not given have their defaults.
    defaults: "t"::Defaults(Gemm(x, w, alpha = 1.0, transA = 0, transB = transposed)) if transposed.int() == Some(0)
        => MatMul(x, w);

    /// Sizes that are the same.
    extents: "t"::Extents(x: [B, _, N], y: [.., N]) if B != N => Transpose(x, perm = [0, 1, 2]);

    /// A part that is read twice.
    parts:
        let centred = Sub(x, "t"::Mean(x));
        Div(centred, "t"::Spread(centred)) => "t"::Normalised(x);

    /// Two outputs of one node.
    both_halves: let halves = "t"::Halves(x); Add(halves, halves.1) => "t"::Whole(x);

    /// Products of one value are one product.
    two_products: (MatMul(x, const a), MatMul(x, const b)) if matched.roots().len() == 2 => packed(cx, x, a, b);

    /// A norm and the sum that it is of.
    skip_norm: let sum = Add(x, skip); ("t"::Norm(sum), sum) => skip_norm(cx, x, skip);

    /// The attributes of a node, but for one.
    copies: pool @ MaxPool("t"::Moved(x), strides = _s?, ..) => MaxPool(x, strides = [2, 2], ..pool);

    /// Applies to its own result.
    grows: "t"::Grows(x) => "t"::Grows("t"::Grows(x));

    /// Applies to the result of `wanes`, which applies to the result of this rule.
    waxes: "t"::Waxes(x) => "t"::Wanes("t"::Waxes(x));

    /// The other half.
    wanes: "t"::Wanes(x) => "t"::Waxes(x);

    /// Panics.
    panics: "t"::Panics(x) => out_of_tea;
}

fn same_shape(matched: &Matched<'_>, x: ValueRef<'_>) -> Res<()> {
    let sum = matched.root().output(0).and_then(ValueRef::shape);
    if sum.is_some() && sum == x.shape() {
        return Ok(());
    }
    Err("the sum has another shape than the operand".into())
}

fn packed<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, a: ValueRef<'h>, b: ValueRef<'h>) -> Vec<ValueRef<'h>> {
    let both = cx.op(op::Concat).input(a).input(b).axis(1).one();
    let product = cx.op(op::MatMul).input(x).input(both).one();
    cx.op(op::Split).input(product).axis(-1).num_outputs(2).many(2)
}

fn skip_norm<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, skip: ValueRef<'h>) -> Vec<ValueRef<'h>> {
    cx.op_in("t", 1, "SkipNorm").input(x).input(skip).many(2)
}

fn read_the_root<'h>(cx: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    let own = cx.matched().root().output(0).ok_or("the root has no output")?;
    Ok(cx.op(op::Relu).input(own).one())
}

fn both<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>) -> Vec<ValueRef<'h>> {
    vec![cx.op(op::Relu).input(x).one(), cx.op(op::Tanh).input(x).one()]
}

fn before<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>) -> ValueRef<'h> {
    let earlier = x.producer().and_then(|(node, _)| node.input(0)).unwrap_or(x);
    cx.op(op::Add).input(x).input(earlier).one()
}

fn refuses_with_a_code<'h>(_: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    Err(Refusal::new("its tables are of another version").code("E07"))
}

fn refuses<'h>(_: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    Err("not on a Friday".into())
}

fn out_of_tea<'h>(_: &Rewrite<'h>) -> Res<ValueRef<'h>> {
    panic!("out of tea")
}

/// The nodes of the operator `op` of the domain `t`.
fn marked<'h>(cx: &Edit<'h>, op: &str) -> Vec<NodeRef<'h>> {
    cx.graph().nodes().into_iter().filter(|node| node.is_in("t", op)).collect()
}

/// Every softplus becomes a logarithm of a sum.
#[pass(priority = 2)]
fn softplus(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "Softplus") {
        let (Some(x), Some(y)) = (node.input(0), node.output(0)) else { continue };
        cx.before(node);
        let exp = cx.op(op::Exp).input(x).one();
        let sum = cx.op(op::Add).input(exp).input(cx.float(1.0, DType::F32)).one();
        cx.replace_uses(y, cx.op(op::Log).input(sum).one())?;
        cx.remove(node)?;
        if node.exists() {
            return Err("the node is still there".into());
        }
    }
    Ok(())
}

/// A node goes behind another one, in front of its readers.
#[pass]
fn insert_behind(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "Behind") {
        let Some(y) = node.output(0) else { continue };
        cx.after(node);
        cx.replace_uses(y, cx.op(op::Relu).input(y).one())?;
        cx.set_attribute(node, "done", &Attribute::Int(1))?;
        cx.set_attribute(node, "gone", &Attribute::None)?;
        cx.note(node, "a relu was put behind it");
    }
    Ok(())
}

/// A node reads a value that is defined behind it.
#[pass]
fn breaks_the_order(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "Break") {
        let (_, last) = cx.graph().outputs().pop().ok_or("there is no output")?;
        cx.set_input(node, 0, Some(last))?;
    }
    Ok(())
}

/// A value is replaced by one of another type.
#[pass]
fn changes_a_type(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "ChangeType") {
        let (Some(x), Some(y)) = (node.input(0), node.output(0)) else { continue };
        cx.before(node);
        cx.replace_uses(y, cx.op(op::Cast).input(x).to(7).one())?;
    }
    Ok(())
}

/// An attribute makes an output of the model something else.
#[pass]
fn retypes_an_output(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "Retype") {
        for (reader, _) in node.output(0).ok_or("no output")?.uses() {
            cx.set_attribute(reader, "to", &Attribute::Int(7))?;
        }
    }
    Ok(())
}

/// Emits an operator with an input too many.
#[pass]
fn bad_operator(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "BadOperator") {
        let (Some(x), Some(y)) = (node.input(0), node.output(0)) else { continue };
        cx.before(node);
        cx.replace_uses(y, cx.op(op::Relu).input(x).input(x).one())?;
    }
    Ok(())
}

/// Removes a node whose output is still read.
#[pass]
fn removes_too_much(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "RemoveMe") {
        cx.remove(node)?;
    }
    Ok(())
}

/// Knows one version of a domain only.
#[pass(domain("u", 2..=3))]
fn knows_version_two(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "Behind") {
        cx.note(node, "it ran");
    }
    Ok(())
}

/// Runs when the rules are through.
#[pass(when = after_rules)]
fn after_the_rules(cx: &Edit<'_>) -> Res<()> {
    for node in marked(cx, "Count") {
        let relus = cx.graph().nodes().into_iter().filter(|n| n.is(op::Relu)).count();
        cx.set_attribute(node, "relus", &Attribute::Int(relus as i64))?;
    }
    Ok(())
}

onnxport_sdk::export_plugin! { id: "test", rules: true, passes: true }
