//! `LinearAttention`.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::Call;
use super::text::Text;
use crate::ir::Function;

/// A scan along the sequence, with a matrix for each head of keys as its state, which is kept in float32.
pub(super) fn linear_attention(call: &Call<'_>) -> Option<Function> {
    let rule = call.text("update_rule")?;
    let decays = matches!(rule.as_str(), "gated" | "gated_delta");
    // ONNX takes a rule that it does not know for `gated_delta`, without the inputs of that.
    let corrects = matches!(rule.as_str(), "delta" | "gated_delta");
    if !decays && !corrects && rule != "linear" {
        return None;
    }
    let (queries, keys) = (call.int("q_num_heads")?, call.int("kv_num_heads")?);
    if queries <= 0 || keys <= 0 || queries % keys != 0 {
        return None;
    }
    let shared = queries > keys;
    let mut text = Text::for_call(call);
    text.set("group", queries / keys);
    text.add(
        "%NegOne1D = Constant() {value = tensor i64[1] [-1]}
        %One1D = Constant() {value = tensor i64[1] [1]}
        %HqConst = Constant() {value = tensor i64[1] [$q_num_heads]}
        %HkvConst = Constant() {value = tensor i64[1] [$kv_num_heads]}
        %BatchDim = Shape(%query) {end = 1, start = 0}
        %SeqLenDim = Shape(%query) {end = 2, start = 1}
        %QShape4D = Concat(%BatchDim, %SeqLenDim, %HqConst, %NegOne1D) {axis = 0}
        %QReshaped = Reshape(%query, %QShape4D)
        %Q4D = Transpose(%QReshaped) {perm = [1, 0, 2, 3]}
        %KVShape4D = Concat(%BatchDim, %SeqLenDim, %HkvConst, %NegOne1D) {axis = 0}
        %KReshaped = Reshape(%key, %KVShape4D)
        %K4D = Transpose(%KReshaped) {perm = [1, 0, 2, 3]}
        %VReshaped = Reshape(%value, %KVShape4D)
        %V4D = Transpose(%VReshaped) {perm = [1, 0, 2, 3]}",
    );
    text.add_if(
        decays,
        "%DecayReshaped = Reshape(%decay, %KVShape4D)
        %Decay4D = Transpose(%DecayReshaped) {perm = [1, 0, 2, 3]}",
    );
    text.add_if(
        corrects,
        "%BetaShape4D = Concat(%BatchDim, %SeqLenDim, %NegOne1D, %One1D) {axis = 0}
        %BetaReshaped = Reshape(%beta, %BetaShape4D)
        %Beta4D = Transpose(%BetaReshaped) {perm = [1, 0, 2, 3]}",
    );
    text.add(
        "%QLastDim = Shape(%query) {end = 3, start = 2}
        %VLastDim = Shape(%value) {end = 3, start = 2}
        %DkDim = Div(%QLastDim, %HqConst)
        %DvDim = Div(%VLastDim, %HkvConst)",
    );
    text.either(
        call.has(3),
        "%State0 = Cast(%past_state) {to = 1}",
        "%StateShape = Concat(%BatchDim, %HkvConst, %DkDim, %DvDim) {axis = 0}
        %State0 = ConstantOfShape(%StateShape)",
    );
    text.either(
        call.float("scale")? != 0.0,
        "%ScaleFactor = Constant() {value = tensor f32[] [$scale]}",
        "%DkScalar = Squeeze(%DkDim)
        %DkFloat = Cast(%DkScalar) {to = 1}
        %SqrtDk = Sqrt(%DkFloat)
        %ScaleFactor = Reciprocal(%SqrtDk)",
    );
    text.add_if(
        shared,
        "%GroupSize = Constant() {value = tensor i64[1] [$group]}
        %Two1D = Constant() {value = tensor i64[1] [2]}
        %StateExpandShape = Concat(%BatchDim, %HkvConst, %GroupSize, %DkDim, %DvDim) {axis = 0}
        %StateReadShape = Concat(%BatchDim, %HqConst, %DkDim, %DvDim) {axis = 0}",
    );
    text.add("%NegTwo1D = Constant() {value = tensor i64[1] [-2]}");
    scan(&mut text, decays, corrects, shared);
    text.add(
        "%OutputTransposed = Transpose(%OutputAccum) {perm = [1, 0, 2, 3]}
        %OutputShape3D = Concat(%BatchDim, %SeqLenDim, %NegOne1D) {axis = 0}
        %output = Reshape(%OutputTransposed, %OutputShape3D)",
    );
    text.set("like", if call.has(3) { "past_state" } else { "query" });
    text.add("%present_state = CastLike(%FinalState, %$like)");
    text.function(None, &["output", "present_state"])
}

/// The steps: the state decays, learns the value of the key, and is read by the query.
fn scan(text: &mut Text<'_, '_>, decays: bool, corrects: bool, shared: bool) {
    let more = |wanted: bool, name: &'static str| if wanted { name } else { "" };
    text.set("scanned_decay", more(decays, ", %Decay4D"));
    text.set("scanned_beta", more(corrects, ", %Beta4D"));
    text.set("scanned", 3 + i32::from(decays) + i32::from(corrects));
    text.add(
        "%FinalState, %OutputAccum = Scan(%State0, %Q4D, %K4D, %V4D$scanned_decay$scanned_beta) {num_scan_inputs = $scanned, body = {
          input %state_in
          input %q_t
          input %k_t
          input %v_t",
    );
    text.add_if(decays, "input %decay_t");
    text.add_if(corrects, "input %beta_t");
    text.add(
        "%q_t_f = Cast(%q_t) {to = 1}
        %k_t_f = Cast(%k_t) {to = 1}
        %v_t_f = Cast(%v_t) {to = 1}",
    );
    text.add_if(decays, "%decay_t_f = Cast(%decay_t) {to = 1}");
    text.add_if(corrects, "%beta_t_f = Cast(%beta_t) {to = 1}");
    text.add_if(
        decays,
        "%DecayExp = Exp(%decay_t_f)
        %DecayExpUnsq = Unsqueeze(%DecayExp, %NegOne1D)
        %DecayedState = Mul(%state_in, %DecayExpUnsq)",
    );
    text.set("kept", if decays { "DecayedState" } else { "state_in" });
    text.set("written", if corrects { "Delta" } else { "v_t_f" });
    text.add("%KtCol = Unsqueeze(%k_t_f, %NegOne1D)");
    text.add_if(
        corrects,
        "%StateT = Transpose(%$kept) {perm = [0, 1, 3, 2]}
        %Retrieved = MatMul(%StateT, %KtCol)
        %RetrievedSq = Squeeze(%Retrieved, %NegOne1D)
        %Diff = Sub(%v_t_f, %RetrievedSq)
        %Delta = Mul(%beta_t_f, %Diff)",
    );
    text.add(
        "%WriteRow = Unsqueeze(%$written, %NegTwo1D)
        %Outer = MatMul(%KtCol, %WriteRow)
        %state_out = Add(%$kept, %Outer)",
    );
    text.add_if(
        shared,
        "%StateUnsq = Unsqueeze(%state_out, %Two1D)
        %StateExpanded = Expand(%StateUnsq, %StateExpandShape)
        %StateForRead = Reshape(%StateExpanded, %StateReadShape)",
    );
    text.set("read", if shared { "StateForRead" } else { "state_out" });
    text.add(
        "%QtRow = Unsqueeze(%q_t_f, %NegTwo1D)
        %ReadOut = MatMul(%QtRow, %$read)
        %ReadSq = Squeeze(%ReadOut, %NegTwo1D)
        %output_t_f = Mul(%ScaleFactor, %ReadSq)
        %output_t = CastLike(%output_t_f, %q_t)
        output %state_out
        output %output_t
        }}",
    );
}
