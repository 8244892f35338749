"""The kinds of statements that programs are drawn from."""

from __future__ import annotations

from torch import Tensor

from tests.python.generated.scope import NothingFits, Scope, expression, kind


@expression(2)
def elementwise(s: Scope) -> str:
    x = s.floats()
    return (
        s.pointwise(x, s.like(x)) if x in s.values[0] and s.rng.random() < 0.5 else s.pointwise(x)
    )


@expression(2)
def broadcast(s: Scope) -> str:
    a, b = s.tensor(), s.tensor()
    return s.pick(f"{a} + {b}", f"{a} * {b}", f"torch.where({a} > 0.3, {a}, {b})", f"{a} - {b}")


@expression()
def compared(s: Scope) -> str:
    a = s.tensor()
    return s.pick(f"{a} > 0.3", f"{a} <= {s.like(a)}", f"{a} != 0", f"{a} == {s.tensor()}")


@expression()
def cast(s: Scope) -> str:
    kind = s.pick("float32", "float64", "int64", "int32", "bool", "float16")
    return f"{s.tensor()}.to(torch.{kind})"


@expression(2)
def reduced(s: Scope) -> str:
    x = s.floats(1)
    axis, keep = s.axis(x), s.pick("", ", keepdim=True")
    return s.pick(
        f"{x}.sum({axis}{keep})",
        f"{x}.mean({axis}{keep})",
        f"{x}.amax({axis}{keep})",
        f"{x}.sum()",
        f"{x}.mean()",
        f"{x}.cumsum({axis})",
        f"torch.softmax({x}, {axis})",
        f"{x}.sort({axis}).values",
        f"torch.logsumexp({x}, {axis}{keep})",
        f"{x}.var({axis}, unbiased=False{keep})",
        f"({x} > 0.3).any({axis})",
        f"({x} > 0.3).sum({axis})",
        f"{x}.topk(2, {axis}).values",
        f"{x}.abs().cummax({axis}).values",
        f"{x}.prod({axis})",
    )


@expression()
def product(s: Scope) -> str:
    x = s.floats(2)
    y = s.floats(2)
    return s.pick(f"{x} @ {x}.transpose(-1, -2)", f"{x} @ {y}", f"{x} @ {y}.transpose(-1, -2)")


@expression(5)
def view(s: Scope) -> str:
    x = s.tensor(1)
    a, b, k = s.axis(x), s.axis(x), s.number(1, 3)
    return s.pick(
        f"{x}.transpose({a}, {b})",
        f"{x}.unsqueeze({a})",
        f"{x}.squeeze({a})",
        f"{x}.narrow({a}, {k - 1}, 2)",
        f"{x}.narrow({a}, 1, {x}.shape[{a}] - {k})",
        f"{x}.select({a}, {s.number(-2, 2)})",
        f"{x}[{k}:]",
        f"{x}[:-{k}]",
        f"{x}[{s.pick('', '1')}::{k + 1}]",
        f"{x}[..., {k}:]",
        f"{x}[..., :{s.size()}]",
        f"{x}[{s.number(-2, 2)}]",
        f"{x}[None, ..., {k - 1}]",
        f"{x}.unsqueeze(0).expand({k + 1}, *{x}.shape)",
        f"{x}.reshape(-1)",
        f"{x}.reshape({x}.shape[0], -1)",
        f"{x}.reshape(-1, {x}.shape[-1])",
        f"{x}.flatten()",
        f"{x}.unflatten({a}, (-1, 2))",
        f"{x}.view(-1, 2)",
        f"{x}.view(-1)",
        f"{x}.chunk(2, {a})[{k % 2}]",
        f"{x}.split(2, {a})[0]",
        f"{x}.tensor_split(2, {a})[{k % 2}]",
        f"{x}.unfold({a}, 2, {s.number(1, 2)})",
        f"{x}.unfold({a}, 3, 1)",
        f"{x}.diagonal()",
        f"{x}.movedim(0, -1)",
        f"{x}.T",
        f"{x}.unbind(0)[{s.number(-1, 1)}]",
        f"{x}.view_as({x})",
        f"{x}.detach()",
        f"{x}.contiguous()",
    )


@expression(3)
def moved(s: Scope) -> str:
    x = s.tensor(1)
    y, a, k = s.like(x), s.axis(x), s.number(1, 3)
    return s.pick(
        f"torch.cat([{x}, {y}], {a})",
        f"torch.stack([{x}, {y}], {a})",
        f"torch.stack([{x}, {x}], {a}).flatten(0, 1)",
        f"{x}.flip({a})",
        f"{x}.roll({k}, {a})",
        f"{x}.repeat(2, *[1] * ({x}.dim() - 1))",
        f"{x}.repeat_interleave(2, {a})",
        f"F.pad({x}, (1, {k}))",
        f"F.pad({x}, (0, (-{x}.shape[-1]) % 4))",
        f"{x}.index_select({a}, torch.tensor([0, 1, 1]))",
        f"{x}[torch.tensor([1, 0])]",
        f"{x}[:, torch.tensor([0, -1])]",
        f"{x}.gather({a}, torch.zeros_like({x}, dtype=torch.int64))",
        f"{x}.tril()",
        f"{x}.clone()",
        f"torch.zeros_like({x})",
        f"torch.ones({x}.shape[0], 2)",
        f"{x}.new_full(({s.size()},), 1)",
        f"torch.arange({s.size()})",
        f"torch.arange({s.size()}) * 2 + {x}.shape[0]",
        f"torch.zeros({s.size()}, {s.size()})",
        f"torch.linspace(0, 1, {s.size()})",
        f"torch.eye({s.size()})",
        f"torch.full(({s.size()},), 0.5)",
    )


@expression(2)
def combined(s: Scope) -> str:
    x, y = s.floats(1), s.floats(1)
    a, k = s.axis(x), s.number(1, 3)
    return s.pick(
        f"F.layer_norm({x}, {x}.shape[-1:])",
        f"F.interpolate({x}.reshape(1, 1, -1), scale_factor={k}, mode='nearest')",
        f"F.interpolate({x}.reshape(1, 1, -1), size={y}.shape[-1], mode='linear')",
        f"F.avg_pool1d({x}.reshape(1, 1, -1), {k}, stride=2)",
        f"F.max_pool1d({x}.reshape(1, 1, -1), 2, ceil_mode=True)",
        f"F.conv1d({x}.reshape(1, 1, -1), torch.ones(1, 1, {k}), padding=1)",
        f"F.adaptive_avg_pool1d({x}.reshape(1, 1, -1), 2)",
        f"torch.einsum('i,j->ij', {x}.reshape(-1), {y}.reshape(-1))",
        f"{x}.scatter_add(0, torch.zeros_like({x}, dtype=torch.int64), {x})",
        f"{x}.masked_scatter({x} > 0.3, {x}.flip(0))",
        f"torch.bucketize({x}, torch.tensor([-1.0, 0.0, 1.1]))",
        f"{x}.split([1, {x}.shape[{a}] - 1], {a})[1]",
        f"{x}.tile(2, 1)",
        f"{x}.expand_as({y})",
        f"{x}[: {y}.shape[0]] + {y}[: {x}.shape[0]]",
        f"{x}[-{y}.shape[0] :]",
        f"torch.cat([{x}.reshape(-1), {y}.reshape(-1)])[: {s.size()}]",
        f"F.pad({x}.reshape(1, 1, -1), (1, 1), mode='reflect')",
        f"F.pad({x}.reshape(1, 1, -1), (1, 1), mode='circular')",
        f"{x}.cumprod({a})",
        f"torch.tril(torch.ones({x}.shape[-1], {y}.shape[-1]))",
        f"{x}.reshape(2, -1)",
        f"{x}.view({x}.shape[0], -1, {x}.shape[-1])",
        f"{x}.logcumsumexp({a})",
        f"torch.meshgrid({x}.reshape(-1), {y}.reshape(-1), indexing='ij')[0]",
        f"torch.diff({x}, dim={a})",
        f"torch.outer({x}.reshape(-1), {y}.reshape(-1)).argmax(-1) * 0",
    )


@expression()
def indexed(s: Scope) -> str:
    x = s.tensor(1)
    index = s.any(lambda v: isinstance(v, Tensor) and "int64" in str(v.dtype))
    return s.pick(
        f"{x}[{index}.clamp(-1, 0)]",
        f"{x}[..., {index}.clamp(-1, 0)]",
        f"F.one_hot({index}.clamp(0, 2), 3)",
        f"{x}.index_select(0, {index}.reshape(-1) * 0)",
    )


@kind(6)
def in_place(s: Scope) -> str:
    x = s.tensor()
    y = s.tensor()
    part = _part(s, x)
    return s.pick(
        f"{part}.add_({y})",
        f"{part}.add_(1)",
        f"{part}.mul_(0.5)",
        f"{part}.copy_({y})",
        f"{part}.fill_({s.number(-2, 2)})",
        f"{part}.zero_()",
        f"{part}.clamp_(-1, 1)",
        f"{part}.sub_({part}.clone())",
        f"{part}.masked_fill_({part} > 0.3, 0)",
        f"{part}.relu_()",
        f"{part}.tanh_()",
        f"{part}.copy_({part}.flip(0))",
    )


@kind(5)
def assigned(s: Scope) -> str:
    x = s.tensor(1)
    y, k = s.tensor(), s.number(1, 3)
    return s.pick(
        f"{x}[{k}:] = {y}",
        f"{x}[{k}:] += {y}",
        f"{x}[:, {k - 1}] = {s.number(-2, 2)}",
        f"{x}[..., 0] *= 0.5",
        f"{x}[{s.pick('', '1')}::2] = {y}",
        f"{x}[0] = {y}",
        f"{x}[-1] += 1",
        f"{x}[1:] = {x}[:-1].clone()",
        f"{x}[{x} > 0.3] = 0",
        f"{x}[{x} > 0.3] += 1",
        f"assert {x}.shape[0] > 1\n{x}[torch.tensor([0, 1])] = {y}",
        f"assert {x}.shape[0] > 1\n{x}.index_put_((torch.tensor([0, 1]),), {x}.new_ones(()))",
        f"assert {x}.shape[0] > 1\n"
        f"{x}.index_put_((torch.tensor([1, 1]),), {x}.new_ones(()), accumulate=True)",
        f"assert {x}.shape[0] > 1\n"
        f"{x}.index_add_(0, torch.tensor([0, 1, 1]), {x}.new_ones((3, *{x}.shape[1:])))",
        f"{x}.index_fill_({s.axis(x)}, torch.tensor([1]), 2)",
        f"assert {x}.shape[0] > 1\n{x}.index_copy_(0, torch.tensor([0]), {x}[1:2])",
        f"{x}.scatter_(0, torch.zeros_like({x}, dtype=torch.int64), {x})",
        f"{x}[: {s.size()}] = 1",
        f"{x}.transpose(0, -1)[1:].mul_(0.5)",
        f"{x}.diagonal().fill_(1)",
        f"{x}.unfold(0, 2, 2).add_(1)",
        f"{x}.unsqueeze_(0)",
        f"{x}.t_()",
    )


@kind(3)
def state(s: Scope) -> str:
    own = [name for name in s.values[0] if name.startswith("self.")]
    if not own:
        raise NothingFits
    b, x = s.rng.choice(own), s.tensor()
    mean = f"{s.floats()}.mean()"
    return s.pick(
        f"{b}.add_(1)",
        f"{b} += {x}",
        f"{b}.add_({mean})",
        f"{b}.mul_(0.5).add_({mean})",
        f"{b}.copy_({x})",
        f"{b}[:1] = {mean}",
        f"{b}[1:] = {b}[:-1].clone()",
        f"{b}[..., -1] += 1",
        f"{b}.add_({x}.shape[-1])",
        f"{b}.copy_({b}.roll(1, 0) + 1)",
        f"{b}[..., : {x}.shape[-1]] = {x}[..., : {b}.shape[-1]]",
        f"{b}[: {x}.shape[0]] += 1",
        f"{b}.index_fill_(0, {b}.long().reshape(-1)[:1].clamp(0, 0), 3)",
        f"{b}.copy_(cond({b}.sum() > 3, lambda a: a * 0, lambda a: a + 1, ({b},)))",
        f"if {s.condition()}:\n    {b}.add_(2)",
    )


@kind(4)
def branch(s: Scope) -> str:
    x = s.floats()
    y = s.any(lambda v: isinstance(v, Tensor))
    one, other = f"{y} * 2", f"{y} - 1"
    if s.rng.random() < 0.6:
        return f"{s.new} = {one} if {s.condition()} else {other}"
    if x not in s.values[0]:
        raise NothingFits
    part = _part(s, x)
    return f"if {s.condition()}:\n    {part}.add_(1)\nelse:\n    {part}.mul_(0.5)"


@expression()
def size(s: Scope) -> str:
    return s.size()


@expression()
def loop(s: Scope) -> str:
    x = s.floats(1)
    return s.pick(
        f"sum({x} * i for i in range({s.number(1, 3)}))",
        f"torch.stack([{x} + i for i in range({s.number(1, 3)})])",
        f"sum(row for row in {x}[:2])",
    )


@expression(2)
def cond(s: Scope) -> str:
    x = s.floats()
    y = s.like(x) if x in s.values[0] else x
    predicate = s.pick(f"{x}.sum() > 0.3", s.condition(), f"({x} > 0.3).any()")
    if s.rng.random() < 0.3:
        start = "(torch.zeros((), dtype=torch.int64), a + 0)"
        inner = f"while_loop(lambda i, b: i < 2, lambda i, b: (i + 1, b * 0.5), {start})[1]"
        one = s.pick(inner, "cond(a.sum() > 1, lambda b: b + 1, lambda b: b - 1, (a,))")
        other = s.pick("a.flip(0)", f"a + {y}", "a.transpose(0, -1).relu().transpose(0, -1)")
        return f"cond({predicate}, lambda a: {one}, lambda a: {other}, ({x},))"
    if s.rng.random() < 0.5:
        one, other = s.pointwise("a"), s.pointwise("a")
        return f"cond({predicate}, lambda a: {one}, lambda a: {other}, ({x},))"
    one, other = s.pointwise("a", "b"), s.pointwise("b", "a")
    return f"cond({predicate}, lambda a, b: {one}, lambda a, b: {other}, ({x}, {y}))"


@expression(2)
def repeated(s: Scope) -> str:
    x = s.floats()
    start = "torch.zeros((), dtype=torch.int64)"
    end = s.pick(str(s.number(0, 3)), "(a.sum() > 0.3) + 1", f"{x}.shape[0]", "2")
    body = s.pointwise("a")
    condition = f"lambda i, a: i < {end}"
    return f"while_loop({condition}, lambda i, a: (i + 1, {body}), ({start}, {x} + 0))[1]"


@expression(2)
def scanned(s: Scope) -> str:
    x = s.floats(1)
    carry, out = s.pointwise("c", "e"), s.pointwise("e", "c")
    return s.pick(
        f"scan(lambda c, e: ({carry}, {out}), {x}[0] * 0, {x})[1]",
        f"scan(lambda c, e: ({carry}, {out}), {x}[0] * 0, {x})[0]",
        f"scan(lambda c, e: ({carry}, {out}), {x}[0] * 0, {x}, reverse=True)[1]",
        f"map(lambda e: {s.pointwise('e')}, {x})",
    )


@expression(3)
def unbacked(s: Scope) -> str:
    x = s.tensor(1)
    return s.pick(
        f"{x}.nonzero()",
        f"{x}[{x} > 0.3]",
        f"{x}[{x}.reshape({x}.shape[0], -1).sum(-1) > 0.3]",
        f"torch.masked_select({x}, {x} > 0.3)",
        f"{x}.nonzero().sum(0)",
        f"({x} > 0.3).nonzero()[:, 0] + {x}.shape[0]",
        f"torch.where({x} > 0.3)[0]",
        f"{x}.reshape(-1).unique()",
        f"{x}.repeat_interleave(torch.tensor([1, 2]), 0)"
        if s.rng.random() < 0.2
        else f"{x}.nonzero().float()",
    )


@kind(1.5)
def item(s: Scope) -> str:
    x = s.tensor()
    low, high = s.rng.choice([(0, 3), (1, 3), (2, 6)])
    value = f"{x}.sum().long().clamp({low}, {high}).item()"
    check = f"torch._check({s.new} >= {low})\ntorch._check({s.new} <= {high})"
    return f"{s.new} = {value}" + (f"\n{check}" if s.rng.random() < 0.8 else "")


@expression(2)
def counted(s: Scope) -> str:
    """Return something of a size that depends on values."""
    own = [name for name, v in s.values[0].items() if isinstance(v, int)]
    if not own:
        raise NothingFits
    k, x = s.rng.choice(own), s.tensor(1)
    return s.pick(
        f"torch.arange({k})",
        f"torch.zeros({k}, 2) + 1",
        f"{x}[:{k}]",
        f"{x}[{k}:]",
        f"{x}.narrow(0, 0, {k})",
        f"{x}.unsqueeze(0).expand({k}, *{x}.shape)",
        f"{x} * {k}",
        f"{x}[{k}]",
        f"F.pad({x}, (0, {k}))",
        f"{x} + torch.ones({k}).sum()",
    )


def _part(s: Scope, x: str) -> str:
    """Return a tensor, or a view of it."""
    rank = s.value(x).dim()
    if not rank or s.rng.random() < 0.3:
        return x
    k, axis = s.number(1, 2), s.axis(x)
    return s.pick(
        f"{x}[{k}:]",
        f"{x}[:{k}]",
        f"{x}[..., {k}:]",
        f"{x}[{s.pick('', '1')}::2]",
        f"{x}[..., -1]",
        f"{x}.transpose(0, -1)",
        f"{x}.narrow({axis}, 1, 2)",
        f"{x}.select({axis}, 0)",
        f"{x}.unsqueeze({axis})",
        f"{x}.view(-1)",
        f"{x}.diagonal()",
        f"{x}[:, 1:][..., 0]",
        f"{x}.movedim(0, -1)",
    )
