import torch

from tests.python.ops.harness import case, f32, f64, suite

AUTO = torch.export.Dim.AUTO
NAN = float("nan")


def holes(*shape):
    """Return numbers of which some are NaN, and a row of nothing else."""
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(3))
    x[0] = NAN
    x[1, ::2] = NAN
    return x


FORMS = ("linear", "lower", "higher", "nearest", "midpoint")


test_ops = suite(
    __file__,
    [
        *(
            case(
                f"aten.{f.__name__}.scalar",
                lambda x, f=f, form=form: f(x, 0.3, 1, interpolation=form),
                x,
                id=form,
                dynamic=True,
            )
            for f, x in ((torch.quantile, f32(4, 7)), (torch.nanquantile, holes(4, 7)))
            for form in FORMS
        ),
        *(
            case(
                f"aten.{f.__name__}.default",
                lambda x, q, f=f, form=form: f(x, q, 0, keepdim=True, interpolation=form),
                x,
                torch.tensor([0.0, 0.25, 0.8, 1.0]),
                id=f"list-{form}",
            )
            for f, x in ((torch.quantile, f32(6, 3)), (torch.nanquantile, holes(6, 3)))
            for form in FORMS
        ),
        case("aten.quantile.scalar", lambda x: x.quantile(0.5), holes(4, 7), id="NaN"),
        case("aten.quantile.scalar", lambda x: x.quantile(0.9, keepdim=True), f64(4, 7), id="all"),
        case("aten.quantile.default", torch.quantile, f32(4, 7), torch.tensor([0.1, 0.6]), id="q"),
        case("aten.quantile.default", torch.quantile, f32(4, 7), torch.tensor(0.6), id="0-d q"),
        case(
            "aten.quantile.default",
            lambda x, q: x.quantile(q, 1),
            f32(4, 7, 2),
            torch.tensor([0.1, 0.6]),
            id="dynamic",
            dynamic=({0: AUTO, 1: AUTO}, None),
        ),
        case("aten.nanquantile.scalar", lambda x: x.nanquantile(0.5), holes(4, 7), id="all"),
    ],
)
