//! Expands writes that a schema does not declare, and in-place operators without a functional twin, to
//! operators that the functionaliser knows. The programs that begin with `writes`, beside the schemas, define
//! the expansions.

use rustc_hash::FxHashMap;

use super::edit::{Editor, each_nested, substitute};
use super::expand::{expand, fit};
use super::{Context, with_symbols};
use crate::diagnose::Code;
use crate::program::{Body, Program};
use crate::sym::Symbols;

pub(super) fn run(program: &mut Program, cx: &mut Context<'_>) {
    with_symbols(program, |body, symbols| spell(body, symbols, cx));
}

fn spell(body: &mut Body, symbols: &mut Symbols, cx: &mut Context<'_>) {
    for call in &mut body.calls {
        each_nested(call, &mut |nested| spell(nested, symbols, cx));
    }
    let schemas = cx.schemas;
    if body.calls.iter().all(|call| schemas.writes(&call.target).is_ok_and(|found| found.is_empty())) {
        return;
    }
    let (mut editor, calls) = Editor::rewrite(body);
    let mut replaced = FxHashMap::default();
    for mut call in calls {
        call.args.iter_mut().for_each(|arg| substitute(&mut arg.arg, &replaced));
        let schema = schemas.get(&call.target);
        let writes = schemas.writes(&call.target).unwrap_or_else(|error| {
            let message = format!("the writes of `{}` cannot be parsed: {error}", call.target);
            cx.error(Code::NORMALISE_MUTATION, message, call.origin);
            Vec::new()
        });
        let fitting = writes
            .into_iter()
            .find_map(|template| Some((template, fit(template, &call, schema, &editor.values)?)));
        let Some((template, arguments)) = fitting else {
            editor.calls.push(call);
            continue;
        };
        match expand(template, arguments, &call, schemas, symbols, &mut editor) {
            Ok(expansion) => {
                editor.calls.extend(expansion.calls);
                replaced.extend(expansion.replaced);
            }
            Err(reason) => {
                let message = format!("the writes of `{}` cannot be expressed: {reason}", call.target);
                cx.error(Code::NORMALISE_MUTATION, message, call.origin);
                editor.calls.push(call);
            }
        }
    }
    body.outputs.iter_mut().for_each(|output| substitute(output, &replaced));
    editor.finish(body);
}
