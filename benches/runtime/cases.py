"""Operators, and the plain forms that they stand for, as texts in ONNX's syntax."""

from __future__ import annotations

from dataclasses import dataclass

from . import steps


@dataclass(frozen=True)
class Case:
    """An operator: `given` are inputs, `weights` initializers; both forms make `y`."""

    given: str
    weights: str
    fused: str
    plain: str
    sizes: tuple[str, ...] = ("prompt", "token")
    opset: int = 23


def norm(scale: str) -> str:
    """Return an RMS normalisation of `s`, written out."""
    return f"""
        q = Mul(s, s)
        l = Constant<value_ints=[-1]>()
        m = ReduceMean(q, l)
        e = Constant<value_float=0.00001>()
        a = Add(m, e)
        r = Sqrt(a)
        n = Div(s, r)
        y = Mul(n, {scale})"""


ROWS = "float[1,S,768] x"
EMBEDDED = (
    "float[30000,768] words, float[512,768] places, float[2,768] kinds, float[768] w, float[768] b"
)
HEADS = "float[1,12,S,64] q, float[1,12,L,64] k, float[1,12,L,64] v"
FLAT = "float[1,S,768] q, float[1,L,768] k, float[1,L,768] v"
PLAIN = """
        f = Constant<value_float=0.125>()
        kt = Transpose<perm=[0,1,3,2]>(kh)
        s0 = MatMul(qh, kt)
        s = Mul(s0, f)
        p = Softmax(s)
        o = MatMul(p, vh)"""
SPLIT = """
        h = Constant<value_ints=[0,0,12,64]>()
        q4 = Reshape(q, h)
        qh = Transpose<perm=[0,2,1,3]>(q4)
        k4 = Reshape(k, h)
        kh = Transpose<perm=[0,2,1,3]>(k4)
        v4 = Reshape(v, h)
        vh = Transpose<perm=[0,2,1,3]>(v4)"""
JOINED = """
        ot = Transpose<perm=[0,2,1,3]>(o)
        j = Constant<value_ints=[0,0,768]>()
        y = Reshape(ot, j)"""
# A rotary embedding as modules write it: the halves swapped, the upper one negated.
HALVES = """
        i0 = Constant<value_ints=[0]>()
        i1 = Constant<value_ints=[32]>()
        i2 = Constant<value_ints=[64]>()
        ax = Constant<value_ints=[-1]>()
        lower = Slice(x, i0, i1, ax)
        upper = Slice(x, i1, i2, ax)
        minus = Neg(upper)
        swapped = Concat<axis=-1>(minus, lower)
        cc = Concat<axis=-1>(cos, cos)
        ss = Concat<axis=-1>(sin, sin)"""
ROTATED = f"""{HALVES}
        a = Mul(x, cc)
        b = Mul(swapped, ss)
        y = Add(a, b)"""
# The same in half precision, where cosines and sines are cast.
ROTATED_HALF = f"""{HALVES}
        ch = Cast<to=10>(cc)
        sh = Cast<to=10>(ss)
        a = Mul(x, ch)
        b = Mul(swapped, sh)
        half = Add(a, b)
        y = Cast<to=1>(half)"""
GROUPED = """
        kk = Concat<axis=2>(pk, k)
        vv = Concat<axis=2>(pv, v)
        f = Constant<value_float=0.125>()
        qs = Mul(q, f)
        g = Constant<value_ints=[0,4,4,64]>()
        rows = Reshape(qs, g)
        kt = Transpose<perm=[0,1,3,2]>(kk)
        m = MatMul(rows, kt)
        w = Constant<value_ints=[0,16,1,0]>()
        s = Reshape(m, w)
        sb = Add(s, bias)
        p = Softmax(sb)
        z = Constant<value_ints=[0,4,4,0]>()
        p4 = Reshape(p, z)
        o = MatMul(p4, vv)
        oo = Reshape(o, w)
        y = Identity(oo)"""
OWN = """
        kk = Concat<axis=2>(pk, k)
        vv = Concat<axis=2>(pv, v)
        f = Constant<value_float=0.125>()
        qs = Mul(q, f)
        kt = Transpose<perm=[0,1,3,2]>(kk)
        s = MatMul(qs, kt)
        sb = Add(s, bias)
        p = Softmax(sb)
        o = MatMul(p, vv)
        y = Identity(o)"""


def cached(heads: int, kept: int) -> str:
    """Return the attention of one token to itself and a cache, as ONNX Runtime's operator."""
    counts = f"num_heads={heads}, kv_num_heads={kept}, scale=0.125"
    operands = 'q3, k3, v3, pk, pv, past, total, "", "", "", bias'
    return f"""
        flat = Constant<value_ints=[0,1,{64 * heads}]>()
        less = Constant<value_ints=[0,1,{64 * kept}]>()
        wide = Constant<value_ints=[0,{heads},1,64]>()
        q3 = Reshape(q, flat)
        k3 = Reshape(k, less)
        v3 = Reshape(v, less)
        n = Shape<start=2, end=3>(pk)
        past = Cast<to=6>(n)
        one = Constant<value_ints=[1]>()
        t = Add(n, one)
        total = Cast<to=6>(t)
        o, kk, vv = com.microsoft.GroupQueryAttention<{counts}>({operands})
        y = Reshape(o, wide)"""


CONV = 'x, w<auto_pad="NOTSET", pads=[1,1,1,1]>'
IMAGE = "float[1,64,56,56] x"
GROUPS = "float[1,256,32,32] x"

CASES = {
    "com.microsoft.SkipLayerNormalization": Case(
        ROWS + ", float[1,S,768] k",
        "float[768] w, float[768] b",
        "y = com.microsoft.SkipLayerNormalization<epsilon=0.00001>(x, k, w, b)",
        "s = Add(x, k)\n y = LayerNormalization<epsilon=0.00001>(s, w, b)",
    ),
    "LayerNormalization of a Sum": Case(
        ROWS + ", float[1,S,768] k",
        "float[768] w, float[768] b",
        "s = Sum(x, k)\n y = LayerNormalization<epsilon=0.00001>(s, w, b)",
        "s = Add(x, k)\n y = LayerNormalization<epsilon=0.00001>(s, w, b)",
    ),
    "Gelu of a Sum": Case(
        "float[1,S,3072] x",
        "float[3072] b",
        "s = Sum(x, b)\n y = Gelu(s)",
        "s = Add(x, b)\n y = Gelu(s)",
    ),
    "Softplus, written out": Case(
        IMAGE,
        "",
        """a = Abs(x)
        n = Neg(a)
        e = Exp(n)
        o = Constant<value_float=1.0>()
        s = Add(e, o)
        l = Log(s)
        r = Relu(x)
        y = Add(r, l)""",
        "y = Softplus(x)",
        sizes=("prompt",),
    ),
    "Mish, written out": Case(
        IMAGE,
        "",
        """c = Constant<value_float=20.0>()
        m = Min(x, c)
        e = Exp(m)
        t = Constant<value_float=2.0>()
        a = Add(e, t)
        n = Mul(e, a)
        d = Add(n, t)
        q = Div(n, d)
        y = Mul(x, q)""",
        "y = Mish(x)",
        sizes=("prompt",),
    ),
    "MatMul for Einsum": Case(
        HEADS,
        "",
        "t = Transpose<perm=[0,1,3,2]>(k)\n y = MatMul(q, t)",
        'y = Einsum<equation="bhid,bhjd->bhij">(q, k)',
    ),
    "MatMul for Einsum, weight": Case(
        ROWS,
        "float[768,768] w",
        "y = MatMul(x, w)",
        'y = Einsum<equation="bid,df->bif">(x, w)',
    ),
    "DepthToSpace": Case(
        IMAGE,
        "",
        'y = DepthToSpace<blocksize=2, mode="CRD">(x)',
        """i = Constant<value_ints=[1,16,2,2,56,56]>()
        a = Reshape(x, i)
        b = Transpose<perm=[0,1,4,2,5,3]>(a)
        j = Constant<value_ints=[1,16,112,112]>()
        y = Reshape(b, j)""",
        sizes=("prompt",),
    ),
    "SpaceToDepth": Case(
        IMAGE,
        "",
        "y = SpaceToDepth<blocksize=2>(x)",
        """i = Constant<value_ints=[1,64,28,2,28,2]>()
        a = Reshape(x, i)
        b = Transpose<perm=[0,3,5,1,2,4]>(a)
        j = Constant<value_ints=[1,256,28,28]>()
        y = Reshape(b, j)""",
        sizes=("prompt",),
    ),
    "TopK of a sort": Case(
        ROWS,
        "",
        """k = Constant<value_ints=[8]>()
        y, i = TopK(x, k)""",
        """k = Constant<value_ints=[768]>()
        s, i = TopK(x, k)
        from = Constant<value_ints=[0]>()
        to = Constant<value_ints=[8]>()
        ax = Constant<value_ints=[-1]>()
        y = Slice(s, from, to, ax)""",
    ),
    "MatMul for Einsum, broadcast": Case(
        "float[1,12,S,64] x",
        "float[12,64,64] w",
        "t = Transpose<perm=[0,2,1]>(w)\n y = MatMul(x, t)",
        'y = Einsum<equation="bhsc,hkc->bhsk">(x, w)',
    ),
    "LSTM of 3 steps": Case(
        "float[3,S,256] x, float[S,256] h",
        steps.weights("LSTM"),
        steps.layer("LSTM"),
        steps.steps("LSTM", 3),
    ),
    "LSTM of 8 steps": Case(
        "float[8,S,256] x, float[S,256] h",
        steps.weights("LSTM"),
        steps.layer("LSTM"),
        steps.steps("LSTM", 8),
    ),
    "GRU of 3 steps": Case(
        "float[3,S,256] x, float[S,256] h",
        steps.weights("GRU"),
        steps.layer("GRU"),
        steps.steps("GRU", 3),
    ),
    "GRU of 8 steps": Case(
        "float[8,S,256] x, float[S,256] h",
        steps.weights("GRU"),
        steps.layer("GRU"),
        steps.steps("GRU", 8),
    ),
    "Mul for Pow 2": Case(
        "float[1,S,3072] x",
        "",
        "y = Mul(x, x)",
        "t = Constant<value_float=2.0>()\n y = Pow(x, t)",
    ),
    "Mul for Pow 3": Case(
        "float[1,S,3072] x",
        "",
        "q = Mul(x, x)\n y = Mul(x, q)",
        "t = Constant<value_float=3.0>()\n y = Pow(x, t)",
    ),
    "BatchNormalization": Case(
        IMAGE,
        "float[64] w, float[64] b",
        """m = Constant<value_floats=[0.0]>()
        n = Constant<value_ints=[64]>()
        z = Expand(m, n)
        v = Constant<value_floats=[1.0]>()
        u = Expand(v, n)
        y = BatchNormalization<epsilon=0.0>(x, w, b, z, u)""",
        """u = Constant<value_ints=[1,2]>()
        w3 = Unsqueeze(w, u)
        b3 = Unsqueeze(b, u)
        n = Mul(x, w3)
        y = Add(n, b3)""",
        sizes=("prompt",),
    ),
    "com.microsoft.EmbedLayerNormalization": Case(
        "int64[1,S] ids, int64[1,S] types",
        EMBEDDED,
        """i = Cast<to=6>(ids)
        t = Cast<to=6>(types)
        y, m = com.microsoft.EmbedLayerNormalization<epsilon=0.00001>(
            i, t, words, places, kinds, w, b)""",
        """a = Gather(words, ids)
        k = Gather(kinds, types)
        s = Add(a, k)
        from = Constant<value_ints=[0]>()
        to = Shape<start=1, end=2>(ids)
        p = Slice(places, from, to)
        e = Sum(s, p)
        y = LayerNormalization<epsilon=0.00001>(e, w, b)""",
    ),
    "com.microsoft.Attention": Case(
        ROWS,
        ", ".join(f"float[768,768] w{part}, float[768] b{part}" for part in "qkv"),
        """w = Concat<axis=1>(wq, wk, wv)
        b = Concat<axis=0>(bq, bk, bv)
        y = com.microsoft.Attention<num_heads=12>(x, w, b)""",
        """q0 = MatMul(x, wq)
        q = Add(q0, bq)
        k0 = MatMul(x, wk)
        k = Add(k0, bk)
        v0 = MatMul(x, wv)
        v = Add(v0, bv)
        y = com.microsoft.MultiHeadAttention<num_heads=12>(q, k, v)""",
    ),
    "GlobalAveragePool": Case(
        IMAGE,
        "",
        "y = GlobalAveragePool(x)",
        "a = Constant<value_ints=[2,3]>()\n y = ReduceMean(x, a)",
        sizes=("prompt",),
    ),
    "InstanceNormalization": Case(
        GROUPS,
        "float[256] w, float[256] b",
        "y = InstanceNormalization<epsilon=0.00001>(x, w, b)",
        """l = Constant<value_ints=[2,3]>()
        m = ReduceMean(x, l)
        c = Sub(x, m)
        q = Mul(c, c)
        v = ReduceMean(q, l)
        e = Constant<value_float=0.00001>()
        a = Add(v, e)
        r = Sqrt(a)
        d = Div(c, r)
        u = Constant<value_ints=[1,2]>()
        w3 = Unsqueeze(w, u)
        b3 = Unsqueeze(b, u)
        n = Mul(d, w3)
        y = Add(n, b3)""",
        sizes=("prompt",),
    ),
    "com.microsoft.MultiHeadAttention, bias": Case(
        FLAT + ", float[1,12,S,L] bias",
        "",
        'y = com.microsoft.MultiHeadAttention<num_heads=12>(q, k, v, "", "", bias)',
        SPLIT
        + PLAIN.replace("Softmax(s)", "Softmax(sb)").replace("p = ", "sb = Add(s, bias)\n p = ")
        + JOINED,
    ),
    "PRelu, written out": Case(
        IMAGE,
        "float[64,1,1] w",
        "z = Constant<value_float=0.0>()\n l = Less(x, z)\n m = Mul(x, w)\n y = Where(l, m, x)",
        "y = PRelu(x, w)",
        sizes=("prompt",),
    ),
    "com.microsoft.SkipSimplifiedLayerNormalization": Case(
        ROWS + ", float[1,S,768] k",
        "float[768] w",
        "y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon=0.00001>(x, k, w)",
        "s = Add(x, k)" + norm("w"),
    ),
    "SimplifiedLayerNormalization": Case(
        ROWS,
        "float[768] w",
        "y = SimplifiedLayerNormalization<epsilon=0.00001, axis=-1>(x, w)",
        "s = Identity(x)" + norm("w"),
    ),
    "RMSNormalization": Case(
        ROWS,
        "float[768] w",
        "y = RMSNormalization<epsilon=0.00001, axis=-1>(x, w)",
        "s = Identity(x)" + norm("w"),
    ),
    "com.microsoft.BiasGelu": Case(
        "float[1,S,3072] x",
        "float[3072] b",
        "y = com.microsoft.BiasGelu(x, b)",
        "s = Add(x, b)\n y = Gelu(s)",
    ),
    "com.microsoft.FastGelu": Case(
        "float[1,S,3072] x",
        "",
        "y = com.microsoft.FastGelu(x)",
        'y = Gelu<approximate="tanh">(x)',
    ),
    "com.microsoft.FastGelu, bias": Case(
        "float[1,S,3072] x",
        "float[3072] b",
        "y = com.microsoft.FastGelu(x, b)",
        's = Add(x, b)\n y = Gelu<approximate="tanh">(s)',
    ),
    "com.microsoft.Gelu": Case("float[1,S,3072] x", "", "y = com.microsoft.Gelu(x)", "y = Gelu(x)"),
    "Gelu": Case(
        "float[1,S,3072] x",
        "",
        "y = Gelu(x)",
        """r = Constant<value_float=1.4142135>()
        d = Div(x, r)
        e = Erf(d)
        o = Constant<value_float=1.0>()
        a = Add(e, o)
        m = Mul(x, a)
        h = Constant<value_float=0.5>()
        y = Mul(m, h)""",
    ),
    "Gelu, tanh": Case(
        "float[1,S,3072] x",
        "",
        'y = Gelu<approximate="tanh">(x)',
        """t = Constant<value_float=3.0>()
        c = Pow(x, t)
        k = Constant<value_float=0.044715>()
        d = Mul(c, k)
        e = Add(x, d)
        p = Constant<value_float=0.7978846>()
        f = Mul(e, p)
        g = Tanh(f)
        o = Constant<value_float=1.0>()
        a = Add(g, o)
        m = Mul(x, a)
        h = Constant<value_float=0.5>()
        y = Mul(m, h)""",
    ),
    "com.microsoft.QuickGelu": Case(
        "float[1,S,3072] x",
        "",
        "y = com.microsoft.QuickGelu<alpha=1.702>(x)",
        "c = Constant<value_float=1.702>()\n m = Mul(x, c)\n s = Sigmoid(m)\n y = Mul(x, s)",
    ),
    "com.microsoft.QuickGelu, alpha 1": Case(
        "float[1,S,3072] x",
        "",
        "y = com.microsoft.QuickGelu<alpha=1.0>(x)",
        "s = Sigmoid(x)\n y = Mul(x, s)",
    ),
    "Swish": Case(
        "float[1,S,3072] x",
        "",
        "y = Swish(x)",
        "s = Sigmoid(x)\n y = Mul(x, s)",
        opset=24,
    ),
    "HardSwish": Case(
        IMAGE,
        "",
        "y = HardSwish(x)",
        """a = Constant<value_float=3.0>()
        s = Add(x, a)
        z = Constant<value_float=0.0>()
        i = Constant<value_float=6.0>()
        c = Clip(s, z, i)
        m = Mul(x, c)
        y = Div(m, i)""",
        sizes=("prompt",),
    ),
    "Mish": Case(
        IMAGE,
        "",
        "y = Mish(x)",
        "s = Softplus(x)\n t = Tanh(s)\n y = Mul(x, t)",
        sizes=("prompt",),
    ),
    "Softplus": Case(
        IMAGE,
        "",
        "y = Softplus(x)",
        "e = Exp(x)\n o = Constant<value_float=1.0>()\n a = Add(e, o)\n y = Log(a)",
        sizes=("prompt",),
    ),
    "PRelu": Case(
        IMAGE,
        "float[64,1,1] w",
        "y = PRelu(x, w)",
        "r = Relu(x)\n n = Neg(x)\n p = Relu(n)\n m = Mul(p, w)\n y = Sub(r, m)",
        sizes=("prompt",),
    ),
    "LayerNormalization": Case(
        ROWS,
        "float[768] w, float[768] b",
        "y = LayerNormalization<epsilon=0.00001>(x, w, b)",
        """l = Constant<value_ints=[-1]>()
        m = ReduceMean(x, l)
        c = Sub(x, m)
        t = Constant<value_float=2.0>()
        q = Pow(c, t)
        v = ReduceMean(q, l)
        e = Constant<value_float=0.00001>()
        a = Add(v, e)
        r = Sqrt(a)
        d = Div(c, r)
        n = Mul(d, w)
        y = Add(n, b)""",
    ),
    "GroupNormalization": Case(
        GROUPS,
        "float[256] w, float[256] b",
        "y = GroupNormalization<epsilon=0.00001, num_groups=32>(x, w, b)",
        f"""g = Constant<value_ints=[0,32,-1]>()
        f = Reshape(x, g)
        u = Constant<value_floats=[{",".join(["1.0"] * 32)}]>()
        z = Constant<value_floats=[{",".join(["0.0"] * 32)}]>()
        i = InstanceNormalization<epsilon=0.00001>(f, u, z)
        h = Constant<value_ints=[1,256,32,32]>()
        n = Reshape(i, h)
        ax = Constant<value_ints=[1,2]>()
        w3 = Unsqueeze(w, ax)
        b3 = Unsqueeze(b, ax)
        m = Mul(n, w3)
        y = Add(m, b3)""",
        sizes=("prompt",),
    ),
    "com.microsoft.FusedMatMul": Case(
        "float[1,12,S,64] q, float[1,12,L,64] k",
        "",
        "y = com.microsoft.FusedMatMul<transB=1, alpha=0.125>(q, k)",
        """kt = Transpose<perm=[0,1,3,2]>(k)
        s = MatMul(q, kt)
        f = Constant<value_float=0.125>()
        y = Mul(s, f)""",
    ),
    "com.microsoft.FusedMatMul, weight": Case(
        ROWS,
        "float[3072,768] w",
        "y = com.microsoft.FusedMatMul<transB=1>(x, w)",
        "t = Transpose<perm=[1,0]>(w)\n y = MatMul(x, t)",
    ),
    "com.microsoft.FusedGemm": Case(
        "float[S,768] x",
        "float[3072,768] w, float[3072] b",
        'y = com.microsoft.FusedGemm<transB=1, activation="Relu">(x, w, b)',
        "g = Gemm<transB=1>(x, w, b)\n y = Relu(g)",
    ),
    "com.microsoft.FusedConv": Case(
        IMAGE,
        "float[64,64,3,3] w, float[64] b",
        'y = com.microsoft.FusedConv<pads=[1,1,1,1], activation="Relu">(x, w, b)',
        "c = Conv<pads=[1,1,1,1]>(x, w, b)\n y = Relu(c)",
        sizes=("prompt",),
    ),
    "com.microsoft.FusedConv, sum": Case(
        IMAGE + ", float[1,64,56,56] z",
        "float[64,64,3,3] w, float[64] b",
        'y = com.microsoft.FusedConv<pads=[1,1,1,1], activation="Relu">(x, w, b, z)',
        "c = Conv<pads=[1,1,1,1]>(x, w, b)\n s = Add(c, z)\n y = Relu(s)",
        sizes=("prompt",),
    ),
    "com.microsoft.MultiHeadAttention": Case(
        FLAT,
        "",
        "y = com.microsoft.MultiHeadAttention<num_heads=12>(q, k, v)",
        SPLIT + PLAIN + JOINED,
    ),
    "com.microsoft.MultiHeadAttention, cache": Case(
        "float[1,S,768] q, float[1,12,L,64] k, float[1,12,L,64] v",
        "",
        "y = com.microsoft.MultiHeadAttention<num_heads=12>(q, k, v)",
        SPLIT.replace("Reshape(k, h)", "Identity(k)")
        .replace("Reshape(v, h)", "Identity(v)")
        .replace("kh = Transpose<perm=[0,2,1,3]>(k4)", "kh = Identity(k4)")
        .replace("vh = Transpose<perm=[0,2,1,3]>(v4)", "vh = Identity(v4)")
        + PLAIN
        + JOINED,
    ),
    "Scale behind a Reshape": Case(
        "float[1,16,1,64] q, float[1,4,L,64] k",
        "",
        """g = Constant<value_ints=[0,4,4,64]>()
        rows = Reshape(q, g)
        f = Constant<value_float=0.125>()
        qs = Mul(rows, f)
        kt = Transpose<perm=[0,1,3,2]>(k)
        y = MatMul(qs, kt)""",
        """f = Constant<value_float=0.125>()
        qs = Mul(q, f)
        g = Constant<value_ints=[0,4,4,64]>()
        rows = Reshape(qs, g)
        kt = Transpose<perm=[0,1,3,2]>(k)
        y = MatMul(rows, kt)""",
        sizes=("early", "token", "late"),
    ),
    "com.microsoft.GroupQueryAttention": Case(
        "float[1,16,1,64] q, float[1,4,1,64] k, float[1,4,1,64] v, float[1,4,L,64] pk, "
        "float[1,4,L,64] pv, float[1,1,1,M] bias",
        "",
        cached(16, 4),
        GROUPED,
        sizes=("early", "token", "late"),
    ),
    "com.microsoft.GroupQueryAttention, own keys": Case(
        "float[1,12,1,64] q, float[1,12,1,64] k, float[1,12,1,64] v, float[1,12,L,64] pk, "
        "float[1,12,L,64] pv, float[1,1,1,M] bias",
        "",
        cached(12, 12),
        OWN,
        sizes=("early", "token", "late"),
    ),
    "Attention": Case(
        HEADS,
        "",
        "y = Attention(q, k, v)",
        "qh = Identity(q)\n kh = Identity(k)\n vh = Identity(v)" + PLAIN + "\n y = Identity(o)",
    ),
    "Attention, flat": Case(
        FLAT,
        "",
        "y = Attention<q_num_heads=12, kv_num_heads=12>(q, k, v)",
        SPLIT + PLAIN + JOINED,
    ),
    "RotaryEmbedding": Case(
        "float[1,12,S,64] x, float[1,S,32] cos, float[1,S,32] sin",
        "",
        "y = RotaryEmbedding(x, cos, sin)",
        ROTATED,
    ),
    "com.microsoft.RotaryEmbedding": Case(
        "float[1,12,S,64] x, int64[1] at",
        "float[S,32] cos, float[S,32] sin",
        "y = com.microsoft.RotaryEmbedding(x, at, cos, sin)",
        ROTATED,
    ),
    "com.microsoft.RotaryEmbedding, f16": Case(
        "float[1,12,S,64] wide, int64[1] at",
        "float[S,32] cos, float[S,32] sin",
        """
        x = Cast<to=10>(wide)
        c = Cast<to=10>(cos)
        s = Cast<to=10>(sin)
        half = com.microsoft.RotaryEmbedding(x, at, c, s)
        y = Cast<to=1>(half)""",
        "x = Cast<to=10>(wide)" + ROTATED_HALF,
    ),
}
