"""Recurrent layers beside their steps, written out as PyTorch's cells are."""

from __future__ import annotations

HIDDEN = 256
# Where gates of PyTorch stand in the order of ONNX.
ORDERS = {"LSTM": "iofg", "GRU": "zrn"}
GATES = {"LSTM": "ifgo", "GRU": "rzn"}


def weights(kind: str) -> str:
    """Return the common part of both forms."""
    rows = len(GATES[kind]) * HIDDEN
    return f"float[{rows},{HIDDEN}] w, float[{rows},{HIDDEN}] r, float[{rows}] b, float[{rows}] c"


def layer(kind: str) -> str:
    """Return the layer as one operator, its gates in the order of ONNX."""
    parts = "".join(
        f"{', '.join(name + gate for gate in GATES[kind])} "
        f"= Split<axis=0, num_outputs={len(GATES[kind])}>({name})\n"
        f"{name}s = Concat<axis=0>({', '.join(name + gate for gate in ORDERS[kind])})\n"
        for name in "wrbc"
    )
    options = f"hidden_size={HIDDEN}" + (", linear_before_reset=1" if kind == "GRU" else "")
    state = "h0, h0" if kind == "LSTM" else "h0"
    made = "a, q, p" if kind == "LSTM" else "a, q"
    return f"""{parts}
        z = Constant<value_ints=[0]>()
        one = Constant<value_ints=[1]>()
        w1 = Unsqueeze(ws, z)
        r1 = Unsqueeze(rs, z)
        bc = Concat<axis=0>(bs, cs)
        b1 = Unsqueeze(bc, z)
        h0 = Unsqueeze(h, z)
        {made} = {kind}<{options}>(x, w1, r1, b1, "", {state})
        y = Squeeze(a, one)""".replace('""', "")


def steps(kind: str, count: int) -> str:
    """Return so many steps, whose states are joined."""
    text = "z = Constant<value_ints=[0]>()\n"
    state, cell = "h", "h"
    for at in range(count):
        text += f"""
            t{at} = Constant<value_int={at}>()
            x{at} = Gather(x, t{at})
            gx{at} = Gemm<transB=1>(x{at}, w, b)
            gh{at} = Gemm<transB=1>({state}, r, c)"""
        text += (lstm if kind == "LSTM" else gru)(at, state, cell)
        state, cell = f"h{at}", f"c{at}"
        text += f"\nu{at} = Unsqueeze({state}, z)\n"
    return text + f"y = Concat<axis=0>({', '.join(f'u{at}' for at in range(count))})"


def lstm(at: int, _: str, cell: str) -> str:
    """Return a step of an LSTM behind its products."""
    return f"""
            g{at} = Add(gx{at}, gh{at})
            i{at}, f{at}, n{at}, o{at} = Split<axis=1, num_outputs=4>(g{at})
            si{at} = Sigmoid(i{at})
            sf{at} = Sigmoid(f{at})
            tn{at} = Tanh(n{at})
            so{at} = Sigmoid(o{at})
            k{at} = Mul(sf{at}, {cell})
            m{at} = Mul(si{at}, tn{at})
            c{at} = Add(k{at}, m{at})
            tc{at} = Tanh(c{at})
            h{at} = Mul(so{at}, tc{at})"""


def gru(at: int, state: str, _: str) -> str:
    """Return a step of a GRU behind its products."""
    return f"""
            xr{at}, xz{at}, xn{at} = Split<axis=1, num_outputs=3>(gx{at})
            hr{at}, hz{at}, hn{at} = Split<axis=1, num_outputs=3>(gh{at})
            ar{at} = Add(xr{at}, hr{at})
            az{at} = Add(xz{at}, hz{at})
            sr{at} = Sigmoid(ar{at})
            sz{at} = Sigmoid(az{at})
            m{at} = Mul(sr{at}, hn{at})
            an{at} = Add(xn{at}, m{at})
            n{at} = Tanh(an{at})
            d{at} = Sub({state}, n{at})
            e{at} = Mul(sz{at}, d{at})
            h{at} = Add(n{at}, e{at})"""
