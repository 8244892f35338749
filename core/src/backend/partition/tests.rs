use std::time::Duration;

use cpu_time::ThreadTime;

use super::{Group, NotConvex, Partition};

fn free(nodes: &[u32]) -> Vec<Group> {
    vec![Group { nodes: nodes.to_vec(), together: false }]
}

fn form(nodes: usize, edges: &[(u32, u32)], claimed: &[u32]) -> Vec<Vec<u32>> {
    let (regions, dropped) = Partition::new(nodes, edges).form(&free(claimed), true);
    assert!(dropped.is_empty());
    regions
}

/// Whether the graph in which every set is one node has no cycle.
fn acyclic(nodes: usize, edges: &[(u32, u32)], sets: &[Vec<u32>]) -> bool {
    let mut of: Vec<usize> = (0..nodes).collect();
    for set in sets {
        for node in set {
            of[*node as usize] = set[0] as usize;
        }
    }
    let mut waiting = vec![0; nodes];
    let mut after = vec![Vec::new(); nodes];
    for (a, b) in edges.iter().map(|(a, b)| (of[*a as usize], of[*b as usize])).filter(|(a, b)| a != b) {
        waiting[b] += 1;
        after[a].push(b);
    }
    let mut ready: Vec<usize> = (0..nodes).filter(|n| of[*n] == *n && waiting[*n] == 0).collect();
    let mut seen = 0;
    while let Some(node) = ready.pop() {
        seen += 1;
        for next in &after[node] {
            waiting[*next] -= 1;
            if waiting[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    seen == (0..nodes).filter(|n| of[*n] == *n).count()
}

/// A generator of numbers without patterns (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[test]
fn a_path_through_the_outside_splits_a_region() {
    // 0 → 1 → 3 and 0 → 2 → 3, where 2 is not claimed.
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3)];
    assert_eq!(form(4, &edges, &[0, 1, 3]), [vec![0, 1], vec![3]]);
    assert_eq!(form(4, &edges, &[0, 1, 2, 3]), [vec![0, 1, 2, 3]]);
}

#[test]
fn another_level_does_not_split_what_no_path_runs_around() {
    // 0 → 2 ← 1, where 1 is not claimed: 2 is one level up, and still belongs to 0.
    assert_eq!(form(3, &[(0, 2), (1, 2)], &[0, 2]), [vec![0, 2]]);
}

#[test]
fn two_regions_that_would_wait_for_each_other_stay_apart() {
    // 0 → 3 and 1 → 2 with claims {0, 2} and {1, 3}: each is convex, both together make a cycle.
    let edges = [(0, 3), (1, 2)];
    let group = |nodes: &[u32]| Group { nodes: nodes.to_vec(), together: true };
    let mut partition = Partition::new(4, &edges);
    let (regions, dropped) = partition.form(&[group(&[0, 2]), group(&[1, 3])], false);
    assert_eq!(regions, [vec![0, 2]]);
    assert_eq!(dropped, [NotConvex { group: 1, through: Some(0) }]);
}

#[test]
fn a_group_is_whole_or_dropped() {
    let edges = [(0, 1), (1, 2), (0, 2), (2, 3)];
    let groups = [
        Group { nodes: vec![0, 2], together: true },
        Group { nodes: vec![1], together: false },
        Group { nodes: vec![3], together: false },
    ];
    let (regions, dropped) = Partition::new(4, &edges).form(&groups, true);
    assert_eq!(dropped, [NotConvex { group: 0, through: Some(1) }]);
    assert_eq!(regions, [vec![1], vec![3]]);
}

#[test]
fn a_later_backend_respects_earlier_regions() {
    // 0 → 1, 2 → 3 and 0 → 3, where 1 and 2 are one region of an earlier backend: no path of the graph
    // runs around the edge from 0 to 3, but one through that region does.
    let edges = [(0, 1), (2, 3), (0, 3)];
    let mut partition = Partition::new(4, &edges);
    let together = Group { nodes: vec![1, 2], together: true };
    assert_eq!(partition.form(&[together], true).0, [vec![1, 2]]);
    assert_eq!(partition.form(&free(&[0, 3]), true).0, [vec![0], vec![3]]);
    assert_eq!(form(4, &edges, &[0, 3]), [vec![0, 3]]);
}

#[test]
fn nothing_and_everything() {
    assert!(form(0, &[], &[]).is_empty());
    assert!(form(3, &[(0, 1)], &[]).is_empty());
    assert_eq!(form(3, &[(0, 1)], &[0, 1, 2]), [vec![0, 1], vec![2]]);
    // An edge that stands twice, and claims that are not connected.
    assert_eq!(form(3, &[(0, 1), (0, 1)], &[0, 1]), [vec![0, 1]]);
}

#[test]
fn regions_of_random_graphs_are_convex_and_as_large_as_can_be() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..400 {
        let nodes = 2 + random.below(24);
        let mut edges = Vec::new();
        for to in 1..nodes {
            for _ in 0..random.below(4) {
                edges.push((random.below(to) as u32, to as u32));
            }
        }
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for node in 0..nodes as u32 {
            match random.below(4) {
                0 => {}
                1 => two.push(node),
                _ => one.push(node),
            }
        }
        let mut partition = Partition::new(nodes as usize, &edges);
        let (first, _) = partition.form(&free(&one), true);
        let (second, _) = partition.form(&free(&two), true);
        let all = [first.clone(), second.clone()].concat();
        assert!(acyclic(nodes as usize, &edges, &all), "round {round}: {edges:?} {all:?}");
        for (regions, others) in [(&first, &Vec::new()), (&second, &first)] {
            for (a, b) in (0..regions.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let linked = edges.iter().any(|(x, y)| {
                    let has = |r: &Vec<u32>, n: &u32| r.contains(n);
                    (has(&regions[a], x) && has(&regions[b], y))
                        || (has(&regions[b], x) && has(&regions[a], y))
                });
                let mut joined: Vec<Vec<u32>> = others.clone();
                let rest = regions.iter().enumerate().filter(|(i, _)| *i != a && *i != b);
                joined.extend(rest.map(|(_, region)| region.clone()));
                joined.push([regions[a].clone(), regions[b].clone()].concat());
                assert!(
                    !linked || !acyclic(nodes as usize, &edges, &joined),
                    "round {round}: {:?} and {:?} could be one; {edges:?}",
                    regions[a],
                    regions[b]
                );
            }
        }
        let mut again = Partition::new(nodes as usize, &edges);
        assert_eq!(again.form(&free(&one), true).0, first, "the same again");
    }
}

fn timed(nodes: usize, edges: &[(u32, u32)], claimed: &[u32]) -> Vec<Vec<u32>> {
    let start = ThreadTime::now();
    let regions = form(nodes, edges, claimed);
    let took = start.elapsed();
    // CPU time, without optimisation; a quadratic algorithm would take minutes.
    assert!(took < Duration::from_secs(10), "{nodes} nodes took {took:?}");
    assert!(acyclic(nodes, edges, &regions));
    regions
}

const MANY: usize = 20_000;

#[test]
fn a_chain_of_20_000_nodes() {
    let edges: Vec<(u32, u32)> = (1..MANY as u32).map(|n| (n - 1, n)).collect();
    let all: Vec<u32> = (0..MANY as u32).collect();
    assert_eq!(timed(MANY, &edges, &all).len(), 1);
    let half: Vec<u32> = (0..MANY as u32).filter(|n| n % 10 != 9).collect();
    assert_eq!(timed(MANY, &edges, &half).len(), MANY / 10);
}

#[test]
fn a_chain_whose_first_node_feeds_every_other() {
    let mut edges: Vec<(u32, u32)> = (1..MANY as u32).map(|n| (n - 1, n)).collect();
    edges.extend((2..MANY as u32).map(|n| (0, n)));
    let half: Vec<u32> = (0..MANY as u32).filter(|n| n % 10 != 9).collect();
    // The first region has node 0; no other can join it.
    assert_eq!(timed(MANY, &edges, &half).len(), MANY / 10);
}

#[test]
fn a_grid_of_20_000_nodes() {
    let (width, height) = (100, 200);
    let at = |row: usize, column: usize| (row * width + column) as u32;
    let mut edges = Vec::new();
    for (row, column) in (0..height).flat_map(|r| (0..width).map(move |c| (r, c))) {
        if column + 1 < width {
            edges.push((at(row, column), at(row, column + 1)));
        }
        if row + 1 < height {
            edges.push((at(row, column), at(row + 1, column)));
        }
    }
    edges.sort_unstable();
    let all: Vec<u32> = (0..MANY as u32).collect();
    assert_eq!(timed(MANY, &edges, &all).len(), 1);
    let mut random = Random(7);
    let most: Vec<u32> = all.iter().copied().filter(|_| random.below(10) != 0).collect();
    let regions = timed(MANY, &edges, &most);
    assert!(regions.len() < most.len() / 4, "{} regions", regions.len());
    // A chequerboard has no neighbours to join.
    let black: Vec<u32> = all.iter().copied().filter(|n| (n / 100 + n % 100) % 2 == 0).collect();
    assert_eq!(timed(MANY, &edges, &black).len(), black.len());
}
