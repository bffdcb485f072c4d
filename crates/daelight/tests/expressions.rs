//! Expressions in the columns of a table.

use daelight::add_expressions;
use daelight_show::Table;

fn table() -> Table {
    let names = ["time", "x", "der(x)", "p[1]", "p[2]", "q[3]", "x y"];
    let columns = [
        [0.0, 1.0],
        [4.0, -1.0],
        [2.0, 3.0],
        [3.0, 0.5],
        [4.0, 0.25],
        [1.0, 7.0],
        [0.0, 0.0],
    ];
    Table {
        names: names.map(str::to_string).to_vec(),
        columns: columns.map(|column| column.to_vec()).to_vec(),
    }
}

fn computed(expression: &str) -> Result<Vec<f64>, String> {
    let mut table = table();
    add_expressions(&mut table, &[expression.to_string()])?;
    Ok(table.column(expression).expect("a new column").to_vec())
}

#[test]
fn expressions_in_columns_have_their_values() {
    assert_eq!(
        computed("sqrt(p*p) - x"),
        Ok(vec![1.0, 0.5590169943749475 + 1.0])
    );
    assert_eq!(computed("2*x + time"), Ok(vec![8.0, -1.0]));
    assert_eq!(computed("-der(x)"), Ok(vec![-2.0, -3.0]));
    assert_eq!(computed("q[3]/p[2]"), Ok(vec![0.25, 28.0]));
    let roots = computed("sqrt(x)").expect("values");
    assert_eq!(roots[0], 2.0);
    assert!(roots[1].is_nan());
}

#[test]
fn wrong_expressions_are_told() {
    let told = |expression: &str, words: &[&str]| {
        let because = computed(expression).expect_err("wrong");
        for word in words {
            assert!(because.contains(word), "{expression}: {because}");
        }
    };
    told("x + foo", &["`foo` is not a column"]);
    told("x +", &["`x +`"]);
    told("q[1] + x", &["no column `q[1]`"]);
    told("der(p[1])", &["no column `der(p[1])`"]);
    told("x) = 1; (x", &["more than one expression"]);
    told("p + x*p + 1", &[]);
}

#[test]
fn names_of_columns_stay_names() {
    let mut with = table();
    let names = ["x", "p", "der(x)", "nothing"].map(str::to_string);
    assert_eq!(add_expressions(&mut with, &names), Ok(()));
    assert_eq!(with.names, table().names);
}
