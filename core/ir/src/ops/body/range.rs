//! `Range`.

use super::call::Call;
use super::text::Text;
use crate::ir::Function;
use crate::tensor::DType;

/// Since opset 27: a loop of additions, for short floats in the type that `stash_type` names.
pub(super) fn range(call: &Call<'_>) -> Option<Function> {
    let mut text = Text::for_call(call);
    if matches!(call.dtype(0)?, DType::F16 | DType::BF16) {
        if !matches!(call.int("stash_type")?, 1 | 11) {
            return None;
        }
        text.add(
            "%start_s = Cast(%start) {to = $stash_type}
            %limit_s = Cast(%limit) {to = $stash_type}
            %delta_s = Cast(%delta) {to = $stash_type}
            %sub_result = Sub(%limit_s, %start_s)
            %div_result = Div(%sub_result, %delta_s)
            %ceil_result = Ceil(%div_result)
            %ceil_relu = Relu(%ceil_result)
            %n = Cast(%ceil_relu) {to = 7}
            %loop_cond = Cast(%ceil_relu) {to = 9}
            %variadic_output, %output_s = Loop(%n, %loop_cond, %start_s) {body = {
              input %i: i64[]
              input %cond_in: bool[]
              input %prev
              %cond_out = Identity(%cond_in)
              %current = Add(%prev, %delta_s)
              %range = Identity(%prev)
              output %cond_out
              output %current
              output %range
            }}
            %output = Cast(%output_s) {to = $type0}",
        );
    } else {
        text.add(
            "%sub_result = Sub(%limit, %start)
            %sub_result_casted = Cast(%sub_result) {to = 1}
            %delta_casted = Cast(%delta) {to = 1}
            %div_result = Div(%sub_result_casted, %delta_casted)
            %ceil_result = Ceil(%div_result)
            %ceil_result_relu = Relu(%ceil_result)
            %ceil_result_relu_int = Cast(%ceil_result_relu) {to = 7}
            %ceil_result_relu_bool = Cast(%ceil_result_relu) {to = 9}
            %variadic_output, %output = Loop(%ceil_result_relu_int, %ceil_result_relu_bool, %start) {body = {
              input %i: i64[]
              input %cond: bool[]
              input %prev
              %cond_out = Identity(%cond)
              %current = Add(%prev, %delta)
              %range = Identity(%prev)
              output %cond_out
              output %current
              output %range
            }}",
        );
    }
    text.function(None, &["output"])
}
