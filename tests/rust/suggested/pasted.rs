/// `shop::softcap(Tensor self, float cap, SymInt size) -> Tensor`
///
/// Here: self f32[n, 3], cap 30.0, size n; gives f32[n, 3].
#[lowering("shop.softcap.default")]
fn softcap(cx: &Lower, x: Value, cap: f64, size: SymInt) -> Res<Value> {
    let _ = (cx, x, cap, size);
    Err("`shop::softcap` is not written yet".into())
}

/// `shop::pick.out(Tensor x, int[] at, Tensor? mask, bool type, str mode) -> (Tensor, Tensor[])`
///
/// Here: x f32[n, 3], at [0, 1], type true, mode a text; gives f32[n], [f32[3], i64[]].
#[lowering("shop.pick.out")]
fn pick(cx: &Lower, x: Value, at: Vec<i64>, mask: Option<Value>, r#type: bool, mode: Str) -> Res<[Value; 2]> {
    let _ = (cx, x, at, mask, r#type, mode);
    Err("`shop::pick.out` is not written yet".into())
}
