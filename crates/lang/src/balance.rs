//! Is every unknown determined? Matching of equations with unknowns, and the parts where it fails.
//!
//! The incidence counts an unknown and its derivatives as one. A maximum matching is found by
//! Hopcroft and Karp's method (1973); alternating paths from the unmatched sides give the
//! over- and underdetermined parts (Dulmage and Mendelsohn, 1958).

use crate::components::sentence;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::{Model, Origin, Submodel, Symbol};
use daelight_expr::{ExprId, FastMap, Walker};

const NONE: usize = usize::MAX;

/// A part of the model with too many or too few equations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Equations of the part, in [`Model::equations`].
    pub equations: Vec<usize>,
    /// Unknowns of the part, in [`Model::unknowns`].
    pub unknowns: Vec<usize>,
}

/// The structural balance of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// The unknown that each equation is matched with.
    pub matched: Vec<Option<usize>>,
    /// Connected parts with more equations than unknowns.
    pub overdetermined: Vec<Part>,
    /// Connected parts with fewer equations than unknowns.
    pub underdetermined: Vec<Part>,
}

impl Balance {
    /// Whether equations and unknowns match one to one.
    pub fn is_balanced(&self) -> bool {
        self.overdetermined.is_empty() && self.underdetermined.is_empty()
    }
}

/// Decides which parts of the model have too many or too few equations.
///
/// This is structure only: equations that contradict or repeat each other are not seen.
pub fn balance(model: &Model) -> Balance {
    balance_of(&model.incidence(), model.unknowns.len())
}

/// Decides the same from the unknowns that occur in each equation, all below `n_unknowns`.
pub fn balance_of(rows: &[Vec<usize>], n_unknowns: usize) -> Balance {
    let (row_match, column_match) = maximum_matching(rows, n_unknowns);
    let columns = transpose(rows, n_unknowns);

    // Overdetermined: from unmatched equations to their unknowns, and on to the equations matched
    // with those. Underdetermined: the same with the sides exchanged.
    let over_rows = reach(rows, &column_match, unmatched(&row_match));
    let over_columns = matched_of(&over_rows, &row_match, n_unknowns);
    let under_columns = reach(&columns, &row_match, unmatched(&column_match));
    let under_rows = matched_of(&under_columns, &column_match, rows.len());

    Balance {
        overdetermined: components(rows, &columns, &over_rows, &over_columns),
        underdetermined: components(rows, &columns, &under_rows, &under_columns),
        matched: row_match
            .into_iter()
            .map(|column| (column != NONE).then_some(column))
            .collect(),
    }
}

fn unmatched(matching: &[usize]) -> Vec<usize> {
    (0..matching.len())
        .filter(|&node| matching[node] == NONE)
        .collect()
}

/// Nodes of one side that alternating paths reach from `starts`.
fn reach(edges: &[Vec<usize>], other_match: &[usize], starts: Vec<usize>) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    let mut stack = starts;
    for &start in &stack {
        reached[start] = true;
    }
    while let Some(node) = stack.pop() {
        for &other in &edges[node] {
            let next = other_match[other];
            if next != NONE && !reached[next] {
                reached[next] = true;
                stack.push(next);
            }
        }
    }
    reached
}

/// The partners of a set of nodes.
fn matched_of(set: &[bool], matching: &[usize], n_other: usize) -> Vec<bool> {
    let mut partners = vec![false; n_other];
    for (node, &inside) in set.iter().enumerate() {
        if inside && matching[node] != NONE {
            partners[matching[node]] = true;
        }
    }
    partners
}

/// Splits a part into pieces that share no unknown.
fn components(
    rows: &[Vec<usize>],
    columns: &[Vec<usize>],
    in_rows: &[bool],
    in_columns: &[bool],
) -> Vec<Part> {
    let mut row_seen = vec![false; rows.len()];
    let mut column_seen = vec![false; columns.len()];
    let mut parts = Vec::new();
    let starts = (0..rows.len())
        .filter(|&row| in_rows[row])
        .map(|row| (row, true))
        .chain(
            (0..columns.len())
                .filter(|&column| in_columns[column])
                .map(|column| (column, false)),
        );
    for start in starts {
        let (node, is_row) = start;
        if if is_row {
            row_seen[node]
        } else {
            column_seen[node]
        } {
            continue;
        }
        let mut part = Part {
            equations: Vec::new(),
            unknowns: Vec::new(),
        };
        let mut stack = vec![start];
        while let Some((node, is_row)) = stack.pop() {
            let seen = if is_row {
                &mut row_seen[node]
            } else {
                &mut column_seen[node]
            };
            if std::mem::replace(seen, true) {
                continue;
            }
            if is_row {
                part.equations.push(node);
                stack.extend(
                    rows[node]
                        .iter()
                        .filter(|&&c| in_columns[c])
                        .map(|&c| (c, false)),
                );
            } else {
                part.unknowns.push(node);
                stack.extend(
                    columns[node]
                        .iter()
                        .filter(|&&r| in_rows[r])
                        .map(|&r| (r, true)),
                );
            }
        }
        part.equations.sort_unstable();
        part.unknowns.sort_unstable();
        parts.push(part);
    }
    parts
}

fn transpose(rows: &[Vec<usize>], n_columns: usize) -> Vec<Vec<usize>> {
    let mut columns = vec![Vec::new(); n_columns];
    for (row, list) in rows.iter().enumerate() {
        for &column in list {
            columns[column].push(row);
        }
    }
    columns
}

/// Partners of rows and of columns in a matching of greatest size.
fn maximum_matching(rows: &[Vec<usize>], n_columns: usize) -> (Vec<usize>, Vec<usize>) {
    let mut row_match = vec![NONE; rows.len()];
    let mut column_match = vec![NONE; n_columns];
    // A greedy start, equations with few unknowns first, leaves little to do.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| rows[row].len());
    for row in order {
        if let Some(&column) = rows[row]
            .iter()
            .find(|&&column| column_match[column] == NONE)
        {
            row_match[row] = column;
            column_match[column] = row;
        }
    }
    let mut level = vec![NONE; rows.len()];
    let mut next = vec![0; rows.len()];
    while layer(rows, &row_match, &column_match, &mut level) {
        next.fill(0);
        for row in 0..rows.len() {
            if row_match[row] == NONE {
                augment(
                    rows,
                    row,
                    &mut row_match,
                    &mut column_match,
                    &mut level,
                    &mut next,
                );
            }
        }
    }
    (row_match, column_match)
}

/// Breadth-first distances from the unmatched rows; whether an unmatched column was reached.
fn layer(
    rows: &[Vec<usize>],
    row_match: &[usize],
    column_match: &[usize],
    level: &mut [usize],
) -> bool {
    level.fill(NONE);
    let mut queue: Vec<usize> = unmatched(row_match);
    for &row in &queue {
        level[row] = 0;
    }
    // Rows beyond the layer that first meets an unmatched column are on no shortest path.
    let mut last = NONE;
    let mut head = 0;
    while head < queue.len() {
        let row = queue[head];
        head += 1;
        if level[row] > last {
            break;
        }
        for &column in &rows[row] {
            let other = column_match[column];
            if other == NONE {
                last = level[row];
            } else if level[other] == NONE {
                level[other] = level[row] + 1;
                queue.push(other);
            }
        }
    }
    last != NONE
}

/// Follows the layers from one row to an unmatched column and exchanges the matching along the way.
fn augment(
    rows: &[Vec<usize>],
    start: usize,
    row_match: &mut [usize],
    column_match: &mut [usize],
    level: &mut [usize],
    next: &mut [usize],
) {
    let mut path = vec![start];
    while let Some(&row) = path.last() {
        let Some(&column) = rows[row].get(next[row]) else {
            level[row] = NONE;
            path.pop();
            continue;
        };
        next[row] += 1;
        let other = column_match[column];
        if other == NONE {
            // The column chosen last by each row of the path is its new partner.
            for &row in &path {
                let column = rows[row][next[row] - 1];
                row_match[row] = column;
                column_match[column] = row;
            }
            return;
        }
        if level[other] != NONE && level[other] == level[row] + 1 {
            path.push(other);
        }
    }
}

/// Most equations and unknowns that one message lists.
const LISTED: usize = 9;

impl Balance {
    /// One message for each part, naming its equations and unknowns.
    pub fn diagnostics(&self, model: &Model) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        for part in self.overdetermined.iter().take(20) {
            diagnostics.push(describe(model, part, Code::Overdetermined, false));
        }
        for part in self.underdetermined.iter().take(20) {
            let has_other = !self.overdetermined.is_empty();
            diagnostics.push(describe(model, part, Code::Underdetermined, has_other));
        }
        let hidden = self.overdetermined.len().saturating_sub(20)
            + self.underdetermined.len().saturating_sub(20);
        if hidden > 0
            && let Some(last) = diagnostics.last_mut()
        {
            last.notes
                .push(format!("{hidden} more parts are over- or underdetermined"));
        }
        diagnostics
    }
}

/// One warning for each equation that says again what an earlier one says, sides exchanged or not.
///
/// The matching does not see it: where an equation stands twice another one is usually missing.
pub(crate) fn repeated(model: &Model) -> Vec<Diagnostic> {
    let mut first: FastMap<(ExprId, ExprId), usize> = FastMap::default();
    let mut diagnostics = Vec::new();
    for (number, equation) in model.equations.iter().enumerate() {
        let sides = (
            equation.left.min(equation.right),
            equation.left.max(equation.right),
        );
        let earlier = *first.entry(sides).or_insert(number);
        if earlier == number || diagnostics.len() == 20 {
            continue;
        }
        let earlier = &model.equations[earlier];
        let text = model.equation_text(equation);
        let message = format!("`{text}` repeats an equation");
        let mut diagnostic = Diagnostic::warning(Code::RepeatedEquation, equation.span, message);
        diagnostic.label = format!("the same as in {}", model.sources.place(earlier.span));
        diagnostics.push(diagnostic.help("remove it, or write the equation that was meant"));
    }
    diagnostics
}

fn plural(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    }
}

fn describe(model: &Model, part: &Part, code: Code, has_other: bool) -> Diagnostic {
    let (n, m) = (part.equations.len(), part.unknowns.len());
    let names = listed(
        part.unknowns
            .iter()
            .map(|&unknown| model.unknowns[unknown].name.clone()),
    );
    let span = match part.equations.first() {
        Some(&equation) => model.equations[equation].span,
        None => {
            let unknown = &model.unknowns[part.unknowns[0]];
            model.declarations[unknown.declaration].span
        }
    };
    let subject = if m == 0 {
        "no unknown".to_string()
    } else {
        format!("{}: {names}", plural(m, "unknown"))
    };
    let message = format!("{} for {subject}", plural(n, "equation"));
    // Free unknowns may be meant; equations that contradict each other are not.
    let mut diagnostic = match code {
        Code::Overdetermined => Diagnostic::error(code, span, message),
        _ => Diagnostic::warning(code, span, message),
    };
    diagnostic.label = match code {
        Code::Overdetermined => "more equations than unknowns".into(),
        _ if n == 0 => format!("`{names}` appears in no equation"),
        _ => "fewer equations than unknowns".into(),
    };
    // Any of them may be the one too many. Those with the fewest unknowns say most: it is often `x = 0`.
    let mut equations = part.equations.clone();
    let is_plain = model.components_in(&equations).is_empty();
    let n_shown = if is_plain { 2 * LISTED } else { LISTED };
    if n > n_shown && is_plain {
        let mut walker = Walker::new();
        equations.sort_by_cached_key(|&equation| {
            let residual = model.equations[equation].residual;
            walker.symbols(&model.graph, &[residual]).len()
        });
        equations[..n_shown].sort_unstable();
    }
    for &equation in equations.iter().take(n_shown) {
        let equation = &model.equations[equation];
        diagnostic.notes.push(format!(
            "{}: {}",
            model.sources.place(equation.span),
            model.equation_text(equation)
        ));
    }
    if n > n_shown {
        diagnostic
            .notes
            .push(format!("and {}", plural(n - n_shown, "more equation")));
    }
    if code == Code::Underdetermined {
        diagnostic.notes.extend(only_differentiated(model, part));
    }
    let help = help(model, part, code, n.abs_diff(m));
    match model.components_in(&part.equations).as_slice() {
        [] => diagnostic.help(help),
        components => among_components(model, part, components, diagnostic, has_other),
    }
}

/// Unknowns of a part that occur as derivatives alone: nothing says what they are, and often that is the equation that is missing.
fn only_differentiated(model: &Model, part: &Part) -> Option<String> {
    let mut walker = Walker::new();
    let residuals: Vec<ExprId> = model.equations.iter().map(|e| e.residual).collect();
    let symbols = walker.symbols(&model.graph, &residuals).into_iter();
    let mut has_value = vec![false; model.unknowns.len()];
    let mut is_differentiated = has_value.clone();
    for symbol in symbols {
        if let Symbol::Unknown { unknown, order } = model.symbols.get(symbol) {
            match order {
                0 => has_value[unknown] = true,
                _ => is_differentiated[unknown] = true,
            }
        }
    }
    // Of several the model may mean that: a chain of integrators.
    let mut open = (part.unknowns.iter()).filter(|&&u| is_differentiated[u] && !has_value[u]);
    let name = &model.unknowns[*open.next()?].name;
    (open.next().is_none() && part.equations.len() > 1).then(|| {
        format!("`{name}` occurs as der({name}) alone: perhaps an equation that says what it is, such as `{name} = der(...)`, is missing")
    })
}

/// The same told in components: where they are declared, and what joins them.
fn among_components(
    model: &Model,
    part: &Part,
    components: &[&Submodel],
    mut diagnostic: Diagnostic,
    has_other: bool,
) -> Diagnostic {
    let is_over = diagnostic.code == Code::Overdetermined;
    let names = sentence(components, LISTED);
    let (first, rest) = diagnostic.message.split_once(" for ").unwrap_or_default();
    diagnostic.message = format!("{names}: {first} for {rest}");
    diagnostic.span = Some(components[0].span);
    let takes_part = |component: &Submodel| {
        let class = &component.class;
        format!("`{}` ({class}) takes part", component.path)
    };
    diagnostic.label = takes_part(components[0]);
    for component in components.iter().skip(1).take(LISTED - 1) {
        diagnostic = diagnostic.related(component.span, takes_part(component));
    }
    if let Some(connector) = model.open_connector(&part.equations) {
        return diagnostic.help(format!(
            "connect `{connector}`: nothing flows through a connector that is not connected"
        ));
    }
    if !is_over
        && !has_other
        && let Some(input) = model.open_input(&part.equations, &part.unknowns)
    {
        return diagnostic.help(format!(
            "connect `{input}`: it is an input, and nothing drives it"
        ));
    }
    if is_over && let Some(([a, b], spans)) = model.joined_outputs(&part.equations) {
        for span in spans {
            diagnostic = diagnostic.related(span, format!("joins `{a}` and `{b}`"));
        }
        return diagnostic.help(format!(
            "`{a}` and `{b}` are outputs, and each has its value already: connect one of them alone, or add the two by a component"
        ));
    }
    if is_over && let Some((component, span)) = model.joined_with_itself(&part.equations) {
        let path = &component.path;
        return diagnostic
            .related(span, format!("joins both sides of `{path}`"))
            .help(format!("take this connection out: it makes both sides of `{path}` equal, which its equations do not allow"));
    }
    if is_over {
        let between = "put a component between them that takes up the difference";
        return diagnostic.help(match model.closed_loop(&part.equations) {
            Some(around) => format!(
                "the connections close a loop through {}: take one of these out of it, or {between}",
                sentence(&around, LISTED)
            ),
            None => format!("these components determine the same values: remove one of them, or {between}"),
        });
    }
    diagnostic.help(match has_other {
        true => "correct the part with too many equations; this one follows from it",
        false => {
            "connect what is open, or add the equation or component that determines these unknowns"
        }
    })
}

fn help(model: &Model, part: &Part, code: Code, difference: usize) -> String {
    match code {
        Code::Overdetermined if let Some(input) = open_input(model, part) => format!(
            "remove {}, or leave out `input` of {input} so that they determine it",
            plural(difference, "equation")
        ),
        Code::Overdetermined if let Some(binding) = constant_binding(model, part) => format!(
            "`{binding}` holds at all times; write `(start = …)` if it is meant for the start"
        ),
        Code::Overdetermined if let Some((name, value)) = held_at_all_times(model, part) => {
            format!(
                "remove {}; `{name} = {value}` holds at all times: if it is meant for the start, declare `{name}(start = {value}, fixed = true)` instead",
                plural(difference, "equation")
            )
        }
        Code::Overdetermined if let Some(parameter) = set_parameter(model, part) => format!(
            "`{parameter}` is a parameter and has its value already: change it there, or declare `Real {parameter}`"
        ),
        Code::Overdetermined => format!(
            "remove {}, or declare what they should determine",
            plural(difference, "equation")
        ),
        _ => format!(
            "write {} more, or turn an unknown into a parameter",
            plural(difference, "equation")
        ),
    }
}

/// The parameter that an equation without unknowns would set: `k = 5`.
fn set_parameter<'a>(model: &'a Model, part: &Part) -> Option<&'a str> {
    let [equation] = part.equations[..] else {
        return None;
    };
    let left = model.graph.as_symbol(model.equations[equation].left)?;
    match model.symbols.get(left) {
        Symbol::Parameter(index) => Some(&model.parameters[index].name),
        _ => None,
    }
}

/// An input without a value in the equations of a part: perhaps it is an unknown.
fn open_input<'a>(model: &'a Model, part: &Part) -> Option<&'a str> {
    let residuals: Vec<ExprId> = (part.equations.iter())
        .map(|&equation| model.equations[equation].residual)
        .collect();
    let symbols = Walker::new().symbols(&model.graph, &residuals);
    symbols
        .into_iter()
        .find_map(|id| match model.symbols.get(id) {
            Symbol::Input { input, .. } if model.inputs[input].definition.is_none() => {
                Some(model.inputs[input].name.as_str())
            }
            _ => None,
        })
}

/// An unknown whose derivative is in the model and that an equation holds at a number, which is often meant for the start.
fn held_at_all_times<'a>(model: &'a Model, part: &Part) -> Option<(&'a str, f64)> {
    let mut walker = Walker::new();
    let residuals: Vec<ExprId> = model.equations.iter().map(|e| e.residual).collect();
    let symbols = walker.symbols(&model.graph, &residuals);
    let is_differentiated = |unknown: usize| {
        let mut symbols = symbols.iter();
        symbols.any(|id| match model.symbols.get(*id) {
            Symbol::Unknown { unknown: of, order } => of == unknown && order > 0,
            _ => false,
        })
    };
    let equations = part
        .equations
        .iter()
        .map(|&equation| &model.equations[equation]);
    let mut written = equations.filter(|equation| matches!(equation.origin, Origin::Written));
    written.find_map(|equation| {
        let value = model.graph.as_constant(equation.right)?;
        match model.symbols.get(model.graph.as_symbol(equation.left)?) {
            Symbol::Unknown { unknown, order: 0 } if is_differentiated(unknown) => {
                Some((model.unknowns[unknown].name.as_str(), value))
            }
            _ => None,
        }
    })
}

/// A binding of an unknown to a number, which is often meant as its start value.
fn constant_binding(model: &Model, part: &Part) -> Option<String> {
    let equation = (part.equations.iter())
        .map(|&equation| &model.equations[equation])
        .find(|equation| {
            let is_binding = matches!(equation.origin, Origin::Binding);
            is_binding && model.graph.as_constant(equation.right).is_some()
        })?;
    Some(model.equation_text(equation))
}

fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let total = names.len();
    let mut shown: Vec<String> = names.take(LISTED).collect();
    if total > LISTED {
        shown.push(format!("… ({} more)", total - LISTED));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size of a largest matching, by trying everything.
    fn by_force(rows: &[Vec<usize>], row: usize, used: &mut Vec<bool>) -> usize {
        if row == rows.len() {
            return 0;
        }
        let mut best = by_force(rows, row + 1, used);
        for &column in &rows[row] {
            if !used[column] {
                used[column] = true;
                best = best.max(1 + by_force(rows, row + 1, used));
                used[column] = false;
            }
        }
        best
    }

    #[test]
    fn matchings_are_as_large_as_they_can_be() {
        let mut seed = 12345u64;
        let mut random = move |below: usize| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        for _ in 0..500 {
            let (n, m) = (1 + random(7), 1 + random(7));
            let rows: Vec<Vec<usize>> = (0..n)
                .map(|_| (0..m).filter(|_| random(3) == 0).collect())
                .collect();
            let (row_match, column_match) = maximum_matching(&rows, m);
            let size = row_match.iter().filter(|&&column| column != NONE).count();
            assert_eq!(size, by_force(&rows, 0, &mut vec![false; m]), "{rows:?}");
            for (row, &column) in row_match.iter().enumerate() {
                if column != NONE {
                    assert!(rows[row].contains(&column));
                    assert_eq!(column_match[column], row);
                }
            }
        }
    }
}
