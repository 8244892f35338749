//! Kernels that are broken on purpose: the suite that every comparer passes refuses each of them.

use onnxport_sdk::DType;
use onnxport_testkit::comparer::Suite;

use super::emulated::ROOT;

/// A change of `compare.cu` that somebody might make.
pub(super) struct Mutant {
    what: &'static str,
    /// An element type that shows it.
    dtype: DType,
    old: &'static str,
    new: &'static str,
}

impl Mutant {
    /// The kernels with this fault.
    pub(super) fn of(&self, source: &str) -> String {
        assert!(source.contains(self.old), "{}: there is no `{}`", self.what, self.old);
        source.replace(self.old, self.new)
    }
}

const fn mutant(what: &'static str, dtype: DType, old: &'static str, new: &'static str) -> Mutant {
    Mutant { what, dtype, old, new }
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("a NaN differs from a NaN", DType::F32, "g == e || (is_nan(g) && is_nan(e))", "g == e"),
    mutant("NaN is counted as infinite", DType::F16, "is_nan(g) || is_nan(e) ? NAN_ONCE : ", ""),
    mutant("infinities are finite", DType::F32, "(bits_of(x) >> 52 & 2047) != 2047", "!is_nan(x)"),
    mutant(
        "the last element is not compared",
        DType::I16,
        "* THREADS + here; at < count",
        "* THREADS + here; at + 1 < count",
    ),
    mutant(
        "elements are compared twice",
        DType::F32,
        "gridDim.x * THREADS, *part",
        "gridDim.x * THREADS / 2, *part",
    ),
    mutant(
        "an edge belongs to the decade below",
        DType::I64,
        "EDGES[middle] <= difference",
        "EDGES[middle] < difference",
    ),
    mutant("an edge is another number", DType::F32, "1e-3, 1e-2,", "1e-3, 2e-2,"),
    mutant("zeros of both signs are neighbours", DType::F16, "? -(long long)low", "? ~(long long)low"),
    mutant("signs of small floats are lost", DType::BF16, "bits_of(number) | sign", "bits_of(number)"),
    mutant("subnormal numbers are zero", DType::F8E5M2, "exponent = 1;", "mantissa = 0;"),
    mutant(
        "the last code of f8e4m3fn is a number",
        DType::F8E4M3FN,
        "SPECIAL == 1 && low",
        "SPECIAL == 3 && low",
    ),
    mutant("sums are those of f32", DType::F32, "tree[here] = sums[k]", "tree[here] = (float)sums[k]"),
    mutant("a tree leaves out half of the threads", DType::F32, "half = THREADS / 2", "half = THREADS / 4"),
    mutant("squares leave the range of f64", DType::F64, "size >= 1e-270 && size < 1e270", "1"),
    mutant(
        "a difference leaves the range of f64",
        DType::F64,
        "if (difference > HUGEST) difference = HUGEST;",
        "",
    ),
    mutant("a distance has a bit less", DType::U32, "bits + (x != 0)", "bits"),
    mutant("the first wrong element is that of its chunk", DType::U16, "first = base + at", "first = at"),
    mutant("the last wrong element is the first", DType::F32, "base + at < first", "1"),
    mutant(
        "the first wrong element is that of the last block",
        DType::I8,
        "next < found ? next : found",
        "next",
    ),
    mutant("small elements have a relative error", DType::F32, "if (magnitude(e) > atol)", "if (e != 0.0)"),
    mutant(
        "what the tolerance just allows is wrong",
        DType::F32,
        "difference > limit;",
        "difference >= limit;",
    ),
    mutant("an integer may be one further away", DType::I32, "(u64)limit : 0", "(u64)limit + 1 : 0"),
    mutant("zeros in both are counted", DType::F32, "(g == 0.0) != (e == 0.0)", "g == 0.0 || e == 0.0"),
    mutant(
        "integers have no sign",
        DType::I8,
        "(long long)((u64)code << (64 - BITS)) >> (64 - BITS)",
        "(long long)code",
    ),
    mutant("truth is 1", DType::Bool, "return code != 0;", "return code;"),
    mutant(
        "infinity is the largest element",
        DType::F16,
        "if (is_finite(size) && bits_of(size) > found)",
        "if (bits_of(size) > found)",
    ),
    mutant(
        "chunks replace each other",
        DType::U8,
        "u64 found = total[word];",
        "u64 found = word == FIRST ? ~0ull : 0;",
    ),
];

#[test]
fn broken_kernels_are_refused() {
    if let Err(why) = crate::compiled::can_compile() {
        return onnxport_harness::note(&why);
    }
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let mut suite = Suite::of(&ROOT, "emulated", &[("mutant", &number.to_string())]).unwrap();
        suite.dtypes = vec![mutant.dtype];
        let found = suite.run();
        println!("{}: {} failures in {} pairs", mutant.what, found.failures.len(), found.cases);
        assert!(found.refused.is_empty() && !found.failures.is_empty(), "{}", mutant.what);
    }
}
