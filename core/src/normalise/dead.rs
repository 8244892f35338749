//! Removes calls with unused results. After functionalisation no call has another effect, as far as schemas
//! tell: for an operator without one, such as an `out` overload, that is not known.

use super::Context;
use super::edit::{each_nested, is_builtin, parts};
use crate::diagnose::{Code, Diagnostic};
use crate::program::{Arg, Body, Call, Output, Program};

pub(super) fn run(program: &mut Program, cx: &mut Context<'_>) {
    sweep(&mut program.body, cx);
}

fn sweep(body: &mut Body, cx: &mut Context<'_>) {
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
            each_nested(&mut call, &mut |nested| sweep(nested, cx));
            body.calls.push(call);
        } else if may_write(&call, cx) {
            let message =
                format!("`{}` may write to its arguments, but its schema is not known", call.target);
            let diagnostic = Diagnostic::error(Code::NORMALISE_MUTATION, message)
                .at(call.origin)
                .note("nothing uses its results")
                .help("remove the call, or use the out-of-place operator");
            cx.diagnostics.push(diagnostic);
        }
    }
    body.calls.reverse();
}

/// Whether the call may have effects besides its results. Calls without results and those whose names
/// indicate effects were refused before.
fn may_write(call: &Call, cx: &Context<'_>) -> bool {
    !is_builtin(&call.target)
        && !cx.schemas.contains(&call.target)
        && !parts(&call.target).1.ends_with('_')
        && call.outputs.iter().any(|o| *o != Output::None)
        && call.args.iter().any(|a| a.arg.as_value().is_some())
}
