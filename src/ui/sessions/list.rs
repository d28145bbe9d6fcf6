//! The order of the picker's rows: by time, by nearness, or copies under what they came from.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::picker::{Row, Shown, Sort};

/// The rows that are wanted, in order. Linear but for one sort.
pub(super) fn arrange(rows: &[Row], wanted: impl Fn(&Row) -> bool, sort: Sort) -> Vec<Shown> {
    let mut chosen: Vec<usize> =
        (0..rows.len()).filter(|at| rows.get(*at).is_some_and(&wanted)).collect();
    let newest = |at: &usize| rows.get(*at).map(|row| Reverse(row.listed.last_activity_ms));
    let path = |at: &usize| rows.get(*at).map(|row| Reverse(&row.listed.path));
    let tier = |at: &usize| rows.get(*at).and_then(|row| row.tier);
    match sort {
        Sort::Relevance => {
            chosen
                .sort_by(|a, b| (tier(a), newest(a), path(a)).cmp(&(tier(b), newest(b), path(b))));
        }
        Sort::Recent | Sort::Threaded => {
            chosen.sort_by(|a, b| (newest(a), path(a)).cmp(&(newest(b), path(b))));
        }
    }
    if sort == Sort::Threaded {
        return threaded(rows, &chosen);
    }
    chosen.into_iter().map(|row| Shown { row, depth: 0 }).collect()
}

/// Copies under their origin, families by their latest activity. A file may name any origin: those
/// that go round in a circle stand at the end, each once.
fn threaded(rows: &[Row], chosen: &[usize]) -> Vec<Shown> {
    let listed = |at: usize| rows.get(at).map(|row| &row.listed);
    let places: HashMap<&str, usize> =
        chosen.iter().filter_map(|at| Some((listed(*at)?.path.to_str()?, *at))).collect();
    let origin = |at: usize| {
        let parent = listed(at)?.parent_session.as_deref()?;
        places.get(parent).copied().filter(|parent| *parent != at)
    };
    let mut copies: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for at in chosen {
        match origin(*at) {
            Some(parent) => copies.entry(parent).or_default().push(*at),
            None => roots.push(*at),
        }
    }
    let walk = |from: &[usize], copies: &HashMap<usize, Vec<usize>>| {
        let mut seen = vec![false; rows.len()];
        let mut order = Vec::with_capacity(chosen.len());
        let mut stack: Vec<Shown> =
            from.iter().rev().map(|row| Shown { row: *row, depth: 0 }).collect();
        while let Some(shown) = stack.pop() {
            let Some(seen) = seen.get_mut(shown.row).filter(|seen| !**seen) else { continue };
            *seen = true;
            order.push(shown);
            let below = copies.get(&shown.row).into_iter().flatten().rev();
            stack.extend(below.map(|row| Shown { row: *row, depth: shown.depth + 1 }));
        }
        order
    };
    // What hangs in a circle is below no root: the first of each circle becomes one.
    let begun = roots.iter().chain(chosen).copied().collect::<Vec<_>>();
    let order = walk(&begun, &copies);
    let mut latest: HashMap<usize, i64> = HashMap::new();
    for shown in order.iter().rev() {
        let own = listed(shown.row).map_or(0, |listed| listed.last_activity_ms);
        let newest = latest.get(&shown.row).copied().unwrap_or(i64::MIN).max(own);
        latest.insert(shown.row, newest);
        if let Some(parent) = origin(shown.row) {
            let of_parent = latest.entry(parent).or_insert(i64::MIN);
            *of_parent = (*of_parent).max(newest);
        }
    }
    let by_latest = |at: &usize| Reverse(latest.get(at).copied().unwrap_or(i64::MIN));
    roots.sort_by_key(by_latest);
    for below in copies.values_mut() {
        below.sort_by_key(by_latest);
    }
    let begun: Vec<usize> = roots.iter().chain(chosen).copied().collect();
    walk(&begun, &copies)
}
