//! Where each value of a run lies in one block of memory, before anything is computed.

/// How many claims are placed at most: placing compares them with each other.
pub(crate) const MOST: usize = 1 << 14;

/// Memory that a run asks for, as a rehearsal of it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// A multiple of the alignment of addresses.
    pub(crate) bytes: u64,
    /// When it is taken. Times are counted over all that is taken and given.
    pub(crate) from: u64,
    /// When it is given back, after which it is free.
    pub(crate) to: u64,
}

impl Claim {
    fn meets(&self, other: &Self) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// The places of claims, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) claims: Vec<Claim>,
    /// Where each one begins.
    pub(crate) offsets: Vec<u64>,
    /// The size of the block.
    pub(crate) bytes: u64,
    /// The most bytes that are taken at once: no block can be smaller.
    pub(crate) live: u64,
}

impl Layout {
    /// Places claims so that none that are taken at once overlap. The largest are placed first, each into the smallest
    /// gap that holds it; a second try begins with the longest claims. The smaller block counts.
    pub(crate) fn for_claims(claims: Vec<Claim>) -> Self {
        let live = live(&claims);
        let by = |key: &dyn Fn(&Claim) -> (u64, u64)| {
            let mut order: Vec<usize> = (0..claims.len()).collect();
            order.sort_by_key(|at| (std::cmp::Reverse(claims.get(*at).map(key)), *at));
            placed(&claims, &order)
        };
        let large = by(&|claim| (claim.bytes, claim.to - claim.from));
        let (offsets, bytes) = if large.1 == live {
            large
        } else {
            let long = by(&|claim| (claim.to - claim.from, claim.bytes));
            if long.1 < large.1 { long } else { large }
        };
        Self { claims, offsets, bytes, live }
    }
}

/// The most bytes that are taken at once.
fn live(claims: &[Claim]) -> u64 {
    let mut events: Vec<(u64, bool, u64)> =
        claims.iter().flat_map(|c| [(c.from, true, c.bytes), (c.to, false, c.bytes)]).collect();
    // At the same time, ends are ordered before starts.
    events.sort_unstable();
    let (mut now, mut most) = (0_u64, 0);
    for (_, begins, bytes) in events {
        now = if begins { now.saturating_add(bytes) } else { now.saturating_sub(bytes) };
        most = most.max(now);
    }
    most
}

/// The offsets of claims that are placed one after the other, and the size of the block.
fn placed(claims: &[Claim], order: &[usize]) -> (Vec<u64>, u64) {
    let mut offsets = vec![0; claims.len()];
    // Placed blocks, by offset.
    let mut known: Vec<(u64, Claim)> = Vec::with_capacity(claims.len());
    let mut bytes = 0;
    for at in order {
        let Some(claim) = claims.get(*at) else { continue };
        let offset = gap(&known, claim);
        if let Some(slot) = offsets.get_mut(*at) {
            *slot = offset;
        }
        bytes = bytes.max(offset.saturating_add(claim.bytes));
        let place = known.partition_point(|(before, _)| *before <= offset);
        known.insert(place, (offset, *claim));
    }
    (offsets, bytes)
}

/// The beginning of the smallest gap for a claim between the claims at the same time; else their end.
fn gap(known: &[(u64, Claim)], claim: &Claim) -> u64 {
    let (mut best, mut end) = (None, 0_u64);
    for (offset, other) in known.iter().filter(|(_, other)| other.meets(claim)) {
        let room = offset.saturating_sub(end);
        if room >= claim.bytes && best.is_none_or(|(least, _)| room < least) {
            best = Some((room, end));
        }
        end = end.max(offset.saturating_add(other.bytes));
    }
    best.map_or(end, |(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(bytes: u64, from: u64, to: u64) -> Claim {
        Claim { bytes, from, to }
    }

    #[test]
    fn what_was_given_back_is_taken_again() {
        let layout = Layout::for_claims(vec![claim(4, 0, 2), claim(6, 1, 4), claim(4, 2, 5), claim(2, 3, 6)]);
        assert_eq!((layout.bytes, layout.live), (12, 12));
        assert_eq!(layout.offsets, [6, 0, 6, 10]);
    }

    #[test]
    fn the_smallest_gap_is_taken() {
        // Two gaps, of 5 and of 3, between three that stay.
        let stay = [claim(9, 0, 9), claim(5, 0, 2), claim(8, 0, 9), claim(3, 0, 2), claim(7, 0, 9)];
        let known: Vec<(u64, Claim)> = [0, 9, 14, 22, 25].into_iter().zip(stay).collect();
        assert_eq!(gap(&known, &claim(3, 3, 4)), 22);
        assert_eq!(gap(&known, &claim(4, 3, 4)), 9);
        assert_eq!(gap(&known, &claim(6, 3, 4)), 32);
    }

    #[test]
    fn nothing_takes_nothing() {
        assert_eq!(Layout::for_claims(Vec::new()), Layout::default());
    }

    /// Numbers that are drawn, always the same ones.
    fn draw(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    /// Of 2,000 drawn sets of claims, none has two that are taken at once in one place, and no block is larger than 1.5
    /// times the memory taken at once, or than all claims together.
    #[test]
    fn drawn_claims_do_not_overlap_and_take_little_more_than_they_must() {
        let mut state = 7;
        let mut worst = 1.0_f64;
        for _ in 0..2_000 {
            let count = 1 + draw(&mut state, 60);
            let claims: Vec<Claim> = (0..count)
                .map(|_| {
                    let from = draw(&mut state, 100);
                    let longest = [4, 20, 100][draw(&mut state, 3) as usize];
                    let largest = [4, 64][draw(&mut state, 2) as usize];
                    let length = 1 + draw(&mut state, longest);
                    claim(256 * (1 + draw(&mut state, largest)), from, from + length)
                })
                .collect();
            let layout = Layout::for_claims(claims);
            for (i, (a, one)) in layout.claims.iter().zip(&layout.offsets).enumerate() {
                assert!(one + a.bytes <= layout.bytes);
                for (b, other) in layout.claims.iter().zip(&layout.offsets).take(i) {
                    let apart = one + a.bytes <= *other || other + b.bytes <= *one;
                    assert!(apart || !a.meets(b), "{a:?} at {one}, {b:?} at {other}");
                }
            }
            let most = (0..200).map(|now| {
                let taken = layout.claims.iter().filter(|c| c.from <= now && now < c.to);
                taken.map(|c| c.bytes).sum::<u64>()
            });
            assert_eq!(most.max(), Some(layout.live));
            assert!(layout.bytes <= layout.claims.iter().map(|c| c.bytes).sum());
            worst = worst.max(layout.bytes as f64 / layout.live as f64);
        }
        assert!(worst <= 1.5, "{worst}");
    }
}
