//! Tests of a comparer against the host's own measures.
//!
//! ```ignore
//! let found = onnxport_testkit::comparer::Suite::of(&my_plugin::ROOT, "mine", &[])?.run();
//! assert!(found.failures.is_empty(), "{found}");
//! ```

mod drawn;

use std::fmt;

use onnxport_core::compare::{Comparer, Comparison, Difference, Spread, Tolerance, compare};
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::Host;
use onnxport_core::tensor::DType;
use onnxport_sdk::abi::PluginRoot;

use drawn::{Draw, pack};

/// The absolute tolerance of the widest comparison. A tensor of zeros has a hundredth of it: 0.75, which every float
/// but powers of two has.
const WIDEST: f64 = 75.0;

/// The suite, and the comparer that it looks at.
pub struct Suite {
    comparer: Comparer,
    /// The element types that are looked at: all of them, unless the caller takes some away.
    pub dtypes: Vec<DType>,
    /// The elements of a tensor that is only made piece by piece: beyond `2^32` where that is quick enough.
    pub huge: u64,
}

/// The findings of a suite.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many pairs of tensors were compared.
    pub cases: u64,
    /// The element types that the comparer says it does not compare.
    pub refused: Vec<DType>,
    /// Differences from the host's measure.
    pub failures: Vec<String>,
    /// The largest error of a mean, a root of a mean or a cosine, relative to the tolerance.
    pub worst: f64,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, refused, failures, worst } = self;
        writeln!(f, "{cases} pairs, {} differ; sums err by {worst:.3} of the bound at most", failures.len())?;
        if !refused.is_empty() {
            let names: Vec<&str> = refused.iter().map(|dtype| dtype.as_str()).collect();
            writeln!(f, "not compared: {}", names.join(", "))?;
        }
        failures.iter().take(20).try_for_each(|failure| writeln!(f, "{failure}"))
    }
}

/// A pair of tensors.
struct Pair {
    what: String,
    dtype: DType,
    shape: Vec<u64>,
    got: Vec<u8>,
    expected: Vec<u8>,
}

impl Suite {
    /// The suite for the comparer of a plugin.
    ///
    /// # Errors
    /// When the plugin does not attach, or the comparer cannot be opened here.
    pub fn of(root: &'static PluginRoot, id: &str, options: &[(&str, &str)]) -> Result<Self, Diagnostic> {
        let host = Host::new(&[root]).map_err(|report| {
            let first = report.diagnostics.into_iter().next();
            first.unwrap_or_else(|| Diagnostic::error(Code::INTERNAL, "the plugin does not attach"))
        })?;
        let dtypes = DType::ALL.iter().copied().filter(|dtype| *dtype != DType::String).collect();
        Ok(Self { comparer: Comparer::open(&host, id, options)?, dtypes, huge: 1 << 20 })
    }

    /// Compares everything.
    pub fn run(&self) -> Outcome {
        let mut outcome = Outcome::default();
        for dtype in self.dtypes.iter().copied() {
            let one = vec![0; dtype.byte_len(1).unwrap_or(0) as usize];
            let tried = self.comparer.compare("y", dtype, &[1], &one, &one, Tolerance::EXACT);
            if tried.is_err_and(|problem| problem.code == Code::VERIFY_NO_EXECUTOR) {
                outcome.refused.push(dtype);
                continue;
            }
            for pair in pairs(dtype) {
                for tolerance in
                    [Tolerance::EXACT, Tolerance::of(dtype), Tolerance { rtol: 1e-2, atol: WIDEST }]
                {
                    self.whole(&pair, tolerance, &mut outcome);
                }
            }
            self.cut(dtype, &mut outcome);
        }
        if self.dtypes.contains(&DType::U8) {
            self.stream(&mut outcome);
        }
        outcome
    }

    fn whole(&self, pair: &Pair, tolerance: Tolerance, outcome: &mut Outcome) {
        let Pair { what, dtype, shape, got, expected } = pair;
        let ours = compare(*dtype, shape, got, expected, tolerance);
        let theirs = self.comparer.compare(what, *dtype, shape, got, expected, tolerance);
        outcome.hold(&format!("{what}, rtol {:e}, atol {:e}", tolerance.rtol, tolerance.atol), &ours, theirs);
    }

    /// Wrong elements beside the borders of chunks.
    fn cut(&self, dtype: DType, outcome: &mut Outcome) {
        let count = 3072;
        let mut draw = Draw::new(dtype);
        let codes: Vec<u64> = (0..count).map(|_| draw.near_one()).collect();
        let expected = pack(dtype, &codes);
        let step = dtype.byte_len(1024).unwrap_or(0) as usize;
        let parts = if dtype.is_complex() { 2 } else { 1 };
        let expected = if dtype.is_complex() { [expected.clone(), expected].concat() } else { expected };
        for wrong in [0, 1023, 1024, 2047, 2048, 3071] {
            let mut got = expected.clone();
            // The lowest bit of an element, which makes its neighbour of it.
            let bit = wrong * dtype.bits() as usize / parts;
            got[bit / 8] ^= 1 << (bit % 8);
            let (shape, tolerance) = ([count], Tolerance::EXACT);
            let mut ours = Comparison::new(dtype, &shape, tolerance);
            let theirs = (|| {
                let theirs = self.comparer.begin("cut", dtype, &shape, tolerance)?;
                expected.chunks(step).try_for_each(|chunk| theirs.scan(chunk))?;
                let mut chunks = got.chunks(step).zip(expected.chunks(step));
                chunks.try_for_each(|(got, expected)| theirs.chunk(got, expected))?;
                theirs.finish(|_| [String::new(), String::new()])
            })();
            expected.chunks(step).for_each(|chunk| ours.scan(chunk));
            let chunks = got.chunks(step).zip(expected.chunks(step));
            chunks.for_each(|(got, expected)| ours.chunk(got, expected));
            let mut ours = ours.finish();
            if let Some(first) = &mut ours.first {
                (first.got, first.expected) = Default::default();
            }
            outcome.hold(&format!("{dtype}: element {wrong} beside a border"), &ours, theirs);
        }
    }

    /// A tensor that nobody holds whole, with one wrong element at its end.
    fn stream(&self, outcome: &mut Outcome) {
        const PIECE: usize = 1 << 20;
        let pieces = self.huge.div_ceil(PIECE as u64).max(2);
        let count = pieces * PIECE as u64;
        let expected: Vec<u8> = (0..PIECE).map(|n| (n % 251) as u8).collect();
        let mut last = expected.clone();
        last[PIECE - 1] ^= 1;
        let found = (|| {
            let running = self.comparer.begin("stream", DType::U8, &[count], Tolerance::EXACT)?;
            (0..pieces).try_for_each(|_| running.scan(&expected))?;
            (1..pieces).try_for_each(|_| running.chunk(&expected, &expected))?;
            running.chunk(&last, &expected)?;
            running.finish(|_| [String::new(), String::new()])
        })();
        outcome.cases += 1;
        match found {
            Ok(found) => {
                let at = found.first.as_ref().map(|first| first.index.clone());
                if (found.wrong, &at, found.elements) != (1, &Some(vec![count - 1]), count) {
                    let what = format!("{} wrong of {}, the first at {at:?}", found.wrong, found.elements);
                    outcome.failures.push(format!("a stream of {count} bytes, the last one wrong: {what}"));
                }
            }
            Err(problem) => outcome.failures.push(format!("a stream of {count} bytes: {}", problem.message)),
        }
    }
}

impl Outcome {
    /// Compares the comparer's results with the host's measure.
    fn hold(&mut self, what: &str, ours: &Difference, theirs: Result<Difference, Diagnostic>) {
        self.cases += 1;
        let theirs = match theirs {
            Ok(theirs) => theirs,
            Err(problem) => {
                self.failures.push(format!("{what}: {}", problem.message));
                return;
            }
        };
        let (Some(ours_spread), Some(their_spread)) = (&ours.spread, &theirs.spread) else {
            self.failures.push(format!("{what}: the histogram of differences is missing"));
            return;
        };
        // Sums may be made in another order; the rest is exact.
        let spread = Some(Spread { mean: ours_spread.mean, ..their_spread.clone() });
        let rest = Difference { rms: ours.rms, cosine: ours.cosine, spread, ..theirs.clone() };
        if rest != *ours {
            self.failures.push(format!("{what}:\n  {rest:?}\n  instead of\n  {ours:?}"));
        }
        let bound = bound(ours.elements);
        let relative = |ours: f64, theirs: f64| {
            // The smallest number, to which a root or a quotient is rounded.
            let allowed = bound * ours.abs() + f64::from_bits(1);
            if ours == theirs { 0.0 } else { (ours - theirs).abs() / allowed }
        };
        let errors = [
            relative(ours_spread.mean, their_spread.mean),
            relative(ours.rms, theirs.rms),
            (ours.cosine - theirs.cosine).abs() / bound,
        ];
        for (name, error) in
            ["the mean", "the root of the mean of squares", "the cosine"].into_iter().zip(errors)
        {
            // A NaN is not within either.
            if !(0.0..=1.0).contains(&error) {
                self.failures.push(format!("{what}: {name} errs by {error} of what is allowed"));
            }
            self.worst = self.worst.max(error);
        }
    }
}

/// How far sums of so many elements may be from each other: each side errs by no more than a rounding for each element
/// of a block of 1024, and for each block; a cosine is made of three sums.
fn bound(elements: u64) -> f64 {
    8.0 * (1024.0 + elements as f64 / 1024.0) * f64::EPSILON
}

/// The pairs of tensors of a type.
fn pairs(dtype: DType) -> Vec<Pair> {
    let mut draw = Draw::new(dtype);
    let mut pairs = Vec::new();
    let mut add = |what: &str, shape: &[u64], got: Vec<u64>, expected: Vec<u64>| {
        let (got, expected) = (pack(dtype, &got), pack(dtype, &expected));
        pairs.push(Pair { what: format!("{dtype}: {what}"), dtype, shape: shape.to_vec(), got, expected });
    };
    let width = if dtype.is_complex() { 2 } else { 1 };
    add("nothing", &[0, 3], Vec::new(), Vec::new());
    for rank in [0, 3] {
        add("one element", &vec![1; rank], vec![draw.near_one(); width], vec![draw.any(); width]);
    }
    let special = draw.special();
    let (mut got, mut expected) = (Vec::new(), Vec::new());
    for a in &special {
        for b in &special {
            got.push(*a);
            expected.push(*b);
        }
    }
    if got.len() % 2 == 1 {
        got.push(special[0]);
        expected.push(special[0]);
    }
    let count = (got.len() / width) as u64;
    add("every pair of what is special", &[count], got.clone(), expected.clone());
    add("what is special, equal", &[count], got.clone(), got);
    let many = 12 * 1031 * width;
    let shape = [12, 1031];
    add("any bits", &shape, (0..many).map(|_| draw.any()).collect(), (0..many).map(|_| draw.any()).collect());
    let near: Vec<u64> = (0..many).map(|_| draw.near_one()).collect();
    let neighbours = near.iter().map(|code| draw.neighbour(*code)).collect();
    add("neighbours", &shape, neighbours, near.clone());
    let limit = draw.limit();
    let beside = vec![limit, limit + 1, limit.saturating_sub(1), 0];
    add("at the limit of what is allowed", &[4 / width as u64], beside, vec![0; 4]);
    add("zeros and numbers", &shape, vec![0; many], near.clone());
    let mut large = near.clone();
    large[many / 2] = draw.large();
    add("a large element", &shape, near, large);
    pairs
}
