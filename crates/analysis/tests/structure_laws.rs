//! Laws of transversals and offsets on random signature matrices: each run has the same cases.

use daelight_analysis::structure::{SignatureMatrix, Structure};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

type Entries = Vec<(usize, usize, u32)>;

/// The same cases in every run: the seed is 11, thirty-two times.
fn run(cases: u32, test: impl Fn(Case) -> Result<(), TestCaseError>) {
    println!("seed: 11, thirty-two times");
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]))
        .run(&cases_up_to_twelve(), test)
        .unwrap_or_else(|failure| panic!("{failure}"));
}

/// A random matrix, sparse or full, and a shuffle of its rows and columns.
#[derive(Clone, Debug)]
struct Case {
    n: usize,
    entries: Entries,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

fn cases_up_to_twelve() -> impl Strategy<Value = Case> {
    (1usize..=12, 1u32..=12, 0u32..=4).prop_flat_map(|(n, density, highest)| {
        let cell = (0u32..12, 0..=highest);
        let cells = proptest::collection::vec(cell, n * n);
        // Most cases get a transversal to begin with.
        let planted = proptest::collection::vec(0..=highest, n);
        let order: Vec<usize> = (0..n).collect();
        (
            cells,
            planted,
            0u32..8,
            Just(order.clone()).prop_shuffle(),
            Just(order).prop_shuffle(),
        )
            .prop_map(move |(cells, planted, plant, rows, columns)| {
                let mut entries: Entries = cells
                    .iter()
                    .enumerate()
                    .filter(|(_, (chance, _))| *chance < density)
                    .map(|(cell, &(_, order))| (cell / n, cell % n, order))
                    .collect();
                if plant > 0 {
                    let places = rows.iter().zip(&columns).zip(&planted);
                    entries.extend(places.map(|((&row, &column), &order)| (row, column, order)));
                }
                Case {
                    n,
                    entries,
                    rows,
                    columns,
                }
            })
    })
}

fn structure(n: usize, entries: &Entries) -> Option<Structure> {
    let signature = SignatureMatrix::from_entries(n, n, entries.clone()).expect("inside");
    Structure::of_signature(signature).ok()
}

/// The orders as a full table.
fn table(n: usize, entries: &Entries) -> Vec<Vec<Option<u32>>> {
    let mut table = vec![vec![None; n]; n];
    for &(row, column, order) in entries {
        let cell: &mut Option<u32> = &mut table[row][column];
        *cell = (*cell).max(Some(order));
    }
    table
}

/// The highest value over all permutations: best[S] is that of the first |S| rows on the columns S.
fn highest_value(table: &[Vec<Option<u32>>]) -> Option<u64> {
    let n = table.len();
    let mut best: Vec<Option<u64>> = vec![None; 1 << n];
    best[0] = Some(0);
    for set in 0usize..1 << n {
        let row = set.count_ones() as usize;
        let Some(value) = best[set] else { continue };
        if row == n {
            continue;
        }
        for (column, order) in table[row].iter().enumerate() {
            if let Some(order) = *order
                && set & (1 << column) == 0
            {
                let next = &mut best[set | (1 << column)];
                *next = (*next).max(Some(value + u64::from(order)));
            }
        }
    }
    best[(1 << n) - 1]
}

/// Pryce's iteration as it stands in the paper.
fn by_iteration(table: &[Vec<Option<u32>>], structure: &Structure) -> (Vec<usize>, Vec<usize>) {
    let n = table.len();
    let mut c = vec![0usize; n];
    loop {
        let d: Vec<usize> = (0..n)
            .map(|j| {
                let column = (0..n).filter_map(|i| table[i][j].map(|order| order as usize + c[i]));
                column.max().expect("the transversal meets every column")
            })
            .collect();
        let next: Vec<usize> = (0..n)
            .map(|i| {
                let j = structure.transversal().unknown(i);
                d[j] - table[i][j].expect("on the transversal") as usize
            })
            .collect();
        if next == c {
            return (c, d);
        }
        c = next;
    }
}

#[test]
fn no_permutation_has_a_higher_value() {
    run(2000, |case| {
        let table = table(case.n, &case.entries);
        let found = structure(case.n, &case.entries);
        let value = found
            .as_ref()
            .map(|structure| structure.transversal().value());
        prop_assert_eq!(value, highest_value(&table));
        let Some(structure) = found else {
            return Ok(());
        };
        let transversal = structure.transversal();
        let mut sum = 0;
        for (row, orders) in table.iter().enumerate() {
            let column = transversal.unknown(row);
            prop_assert_eq!(transversal.equation(column), row);
            sum += u64::from(orders[column].expect("an entry"));
        }
        prop_assert_eq!(sum, transversal.value());
        Ok(())
    });
}

#[test]
fn offsets_are_valid_and_none_can_be_lowered() {
    run(2000, |case| {
        let table = table(case.n, &case.entries);
        let Some(structure) = structure(case.n, &case.entries) else {
            return Ok(());
        };
        let (c, d) = (&structure.offsets().equation, &structure.offsets().variable);
        let valid = |c: &[usize], d: &[usize]| {
            (0..case.n).all(|i| {
                (0..case.n).all(|j| table[i][j].is_none_or(|order| d[j] >= c[i] + order as usize))
            })
        };
        prop_assert!(valid(c, d));
        prop_assert_eq!(c.iter().min(), Some(&0));
        let freedom = d.iter().sum::<usize>() - c.iter().sum::<usize>();
        prop_assert_eq!(freedom as u64, structure.n_degrees_of_freedom());
        let iterated = by_iteration(&table, &structure);
        prop_assert_eq!((c, d), (&iterated.0, &iterated.1));
        // Lowering what hangs together by zero slack is the only way down; it must fail somewhere too.
        for i in 0..case.n {
            if c[i] > 0 {
                let (mut lower_c, mut lower_d) = (c.clone(), d.clone());
                lower_c[i] -= 1;
                lower_d[structure.transversal().unknown(i)] -= 1;
                let alone = valid(&lower_c, &lower_d);
                prop_assert!(!alone, "equation {} can be lowered", i);
            }
        }
        Ok(())
    });
}

#[test]
fn permuting_equations_and_unknowns_permutes_the_answer() {
    run(1000, |case| {
        let moved: Entries = case
            .entries
            .iter()
            .map(|&(row, column, order)| (case.rows[row], case.columns[column], order))
            .collect();
        let (Some(before), Some(after)) =
            (structure(case.n, &case.entries), structure(case.n, &moved))
        else {
            prop_assert!(structure(case.n, &case.entries).is_none());
            prop_assert!(structure(case.n, &moved).is_none());
            return Ok(());
        };
        prop_assert_eq!(before.structural_index(), after.structural_index());
        prop_assert_eq!(before.n_degrees_of_freedom(), after.n_degrees_of_freedom());
        let mut blocks = Vec::new();
        for i in 0..case.n {
            let (row, column) = (case.rows[i], case.columns[i]);
            let (c, d) = (&before.offsets().equation, &before.offsets().variable);
            prop_assert_eq!(c[i], after.offsets().equation[row]);
            prop_assert_eq!(d[i], after.offsets().variable[column]);
            prop_assert_eq!(before.unknown_indices()[i], after.unknown_indices()[column]);
            blocks.push((before.block_of_equation(i), after.block_of_equation(row)));
        }
        // The same equations form a block, whatever the order of the blocks.
        blocks.sort_unstable();
        blocks.dedup();
        prop_assert_eq!(blocks.len(), before.blocks().len());
        prop_assert_eq!(blocks.len(), after.blocks().len());
        Ok(())
    });
}

#[test]
fn blocks_cover_all_and_depend_on_earlier_ones_only() {
    run(1000, |case| {
        let Some(structure) = structure(case.n, &case.entries) else {
            return Ok(());
        };
        let mut equations: Vec<usize> = Vec::new();
        let mut unknowns: Vec<usize> = Vec::new();
        for block in structure.blocks() {
            prop_assert_eq!(block.equations.len(), block.unknowns.len());
            equations.extend(&block.equations);
            unknowns.extend(&block.unknowns);
        }
        equations.sort_unstable();
        unknowns.sort_unstable();
        let all: Vec<usize> = (0..case.n).collect();
        prop_assert_eq!(&equations, &all);
        prop_assert_eq!(&unknowns, &all);
        for equation in 0..case.n {
            for unknown in structure.jacobian_row(equation) {
                prop_assert!(
                    structure.block_of_unknown(unknown) <= structure.block_of_equation(equation)
                );
            }
        }
        // No unknown needs more than the structural index, or 1 where that is 0.
        let most = structure.unknown_indices().iter().max();
        prop_assert!(most <= Some(&(structure.structural_index() + 1)));
        Ok(())
    });
}
