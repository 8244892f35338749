//! Removes calls whose results nobody uses. After functionalisation no call has another effect.

use super::Context;
use super::edit::each_nested;
use crate::program::{Arg, Body, Program};

pub(super) fn run(program: &mut Program, _: &mut Context<'_>) {
    sweep(&mut program.body);
}

fn sweep(body: &mut Body) {
    let mut used = vec![false; body.values.len()];
    let mark = |used: &mut Vec<bool>, arg: &Arg| {
        arg.each_value(&mut |v| {
            if let Some(flag) = used.get_mut(v.index()) {
                *flag = true;
            }
        });
    };
    for output in &body.outputs {
        mark(&mut used, output);
    }
    let calls = std::mem::take(&mut body.calls);
    for mut call in calls.into_iter().rev() {
        let mut live = false;
        for output in &call.outputs {
            output.each_value(&mut |v| live |= used.get(v.index()).copied().unwrap_or_default());
        }
        if live {
            for arg in &call.args {
                mark(&mut used, &arg.arg);
            }
            each_nested(&mut call, &mut sweep);
            body.calls.push(call);
        }
    }
    body.calls.reverse();
}
