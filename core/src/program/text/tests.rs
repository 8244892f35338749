use super::super::Program;

const EVERYTHING: &str = r#"torch "2.15.0" schema 8 20
symbol s77 2..100 hint 3
symbol u0 0..
guard "L['x'].size()[0] <= \"100\"\n"
tensor fc1.weight: f32[4, 4]
tensor "odd name": i64[]
in_spec "[1, {}]"
graph {
  input %p_w: f32[4, 4]{1, 4} = parameter fc1.weight
  input %b: f32[4] = buffer c
  input %b2: f32[4] = buffer d nonpersistent
  input %c: i64[] = tensor_constant "odd name"
  input %o: custom("__torch__.Foo") = custom_object obj
  input %t: token = token
  input %x: f32[s77, 4] = user
  input none = constant as y
  input 3 = constant as k
  input %n: symint(u0) = user as n0
  aten._assert_async.msg(self=%x, "a \\ b")
  %add: f32[s77 + 1, (s77//2)*u0, 4] = mylib.f.default(%x, other=1.0, x=[1, none, %n], d={"k": true, "l": [%x]}) @ layer1.0 at "model.py":12
  %a: f32[2], none, [%e: i64[2], none] = mylib.g.default(a=-inf, b=NaN, c=complex(1.0, -2.5), d=bf16, e=device("cuda:0"), f=layout("torch.strided"), g=format("torch.channels_last"), h=op("aten.add.Tensor"), i=dtype(17), j=-3, k=1e-5) @ at "a.py":3
  %f: symfloat, %s: symbool = call "weird op!"()
  %cond: f32[2] = higher_order.cond(%s, graph true_graph_0 {
    input %x: f32[2]
    %add: f32[2] = aten.add.Tensor(self=%x, other=1)
    output %add
  }, graph "false graph" {
    input %x: f32[2]
    input 4
    output %x
    output none
  }, [%a])
  output %add = user
  output %cond = loss
  output none = user
  output %a = state buffer c of %b
  output %e = gradient p
  output %t = token
}
"#;

#[test]
fn everything_is_printed_as_it_was_read() {
    let program = Program::parse(EVERYTHING).unwrap();
    let text = program.to_text();
    assert_eq!(text, EVERYTHING);
    assert_eq!(Program::parse(&text).unwrap().to_text(), text);
}

#[test]
fn sums_do_not_depend_on_the_order_of_first_use() {
    let text = "graph {\n  input %x: f32[s1] = user\n  input %y: f32[s0 + s1, s0 + 1] = user\n}\n";
    assert_eq!(Program::parse(text).unwrap().to_text(), text);
}

#[test]
fn errors_are_located() {
    let at = |text: &str| Program::parse(text).unwrap_err().to_string();
    assert_eq!(at("graph {\n  output %x = user\n}"), "2:12: `%x` is not defined");
    assert_eq!(at("graph {\n  %x: f32[2] = f(self=%x)\n}"), "2:25: `%x` is not defined");
    assert_eq!(at("graph {\n  input %x: f33[2] = user\n}"), "2:16: `f33` is not an element type");
    assert!(at("graph {\n input %x: f32[] = user\n input %x: f32[] = user }").contains("twice"));
    assert!(at("graph {").contains("expected"));
    assert!(at("graph { input \"abc").contains("does not close"));
    assert!(at(&format!("graph {{ input {}", "[".repeat(100_000))).contains("nested too deeply"));
}
