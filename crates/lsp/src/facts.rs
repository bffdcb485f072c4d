//! What a model says of its names and equations, for hovering; all of it from the records of `check` and `analyze`.

use daelight::Place;
use daelight_lang::{DeclaredKind, Model, Origin, Span, shorten};
use std::collections::HashMap;
use std::time::Duration;

/// What is known of a text's model.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// By the name of the declaration.
    pub names: HashMap<String, NameFacts>,
    /// Equations of the text, by place.
    pub equations: Vec<EquationFacts>,
    /// The index and what else is known of the whole model.
    pub summary: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct NameFacts {
    pub unit: String,
    /// Value, start value or signal.
    pub value: String,
    /// Lines of the equations that it occurs in, from 1.
    pub lines: Vec<usize>,
    /// The block of equations that determines it, hidden constraints that it occurs in.
    pub analysed: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct EquationFacts {
    pub span: Span,
    /// What the lines of the text became: equations of arrays and loops are several.
    pub n_scalars: usize,
    pub analysed: Vec<String>,
}

/// How much of a list is shown.
const SHOWN: usize = 6;

impl Facts {
    /// What the model itself tells.
    pub fn of_model(model: &Model) -> Self {
        let incidence = model.incidence();
        let mut lines: Vec<Vec<usize>> = vec![Vec::new(); model.unknowns.len()];
        let mut by_place: HashMap<(u32, u32), usize> = HashMap::new();
        let mut facts = Facts::default();
        for (equation, unknowns) in model.equations.iter().zip(&incidence) {
            if equation.span.source.0 != 0 || matches!(equation.origin, Origin::Velocity { .. }) {
                continue;
            }
            let source = model.sources.get(equation.span.source);
            let (line, _) = source.line_column(equation.span.start);
            for &unknown in unknowns {
                lines[unknown].push(line);
            }
            let place = (equation.span.start, equation.span.end);
            let at = *by_place.entry(place).or_insert_with(|| {
                facts.equations.push(EquationFacts {
                    span: equation.span,
                    n_scalars: 0,
                    analysed: Vec::new(),
                });
                facts.equations.len() - 1
            });
            facts.equations[at].n_scalars += 1;
        }
        for declared in &model.declarations {
            let mut entry = NameFacts {
                unit: declared.unit.clone(),
                ..NameFacts::default()
            };
            let scalars: usize = declared.dims.iter().product();
            match declared.kind {
                DeclaredKind::Parameter | DeclaredKind::Constant => {
                    let values = model.parameters.iter().skip(declared.first).take(scalars);
                    let values: Vec<String> = values.map(|p| p.value.to_string()).collect();
                    entry.value = format!("value {}", list(&values));
                }
                DeclaredKind::Unknown => {
                    let unknowns = model.unknowns.iter().enumerate();
                    let unknowns = unknowns.skip(declared.first).take(scalars);
                    let mut starts = Vec::new();
                    for (at, unknown) in unknowns {
                        entry.lines.extend(&lines[at]);
                        let value = unknown.start.map(|start| model.parameter_value(start));
                        starts.extend(value.map(|value| {
                            let fixed = if unknown.fixed { ", fixed" } else { "" };
                            format!("{value}{fixed}")
                        }));
                    }
                    if !starts.is_empty() {
                        entry.value = format!("start {}", list(&starts));
                    }
                    entry.lines.sort_unstable();
                    entry.lines.dedup();
                }
                DeclaredKind::Input => {}
            }
            facts.names.insert(declared.name.clone(), entry);
        }
        facts
    }

    /// Adds what the analysis at the start tells, within a time.
    pub fn add_analysis(&mut self, model: &Model, budget: Duration) -> Option<()> {
        let system = daelight::system(model).ok()?;
        let place = Place {
            budget: Some(budget),
            ..Place::default()
        };
        let passport = daelight::analyze(&system, &place).ok()?;
        let record = daelight::record::analyze(&system, &passport, false);
        let index = match record.differentiation.index {
            Some(index) => format!("differentiation index {index}"),
            None => "differentiation index not decided".to_string(),
        };
        let free = match record.free.is_empty() {
            true => "nothing can be chosen freely".to_string(),
            false => format!("free: {}", record.free.join(", ")),
        };
        self.summary = Some(format!("{index}; {free}; {} at the start", record.verdict));
        if let Some(structure) = &record.structural {
            for (at, block) in structure.blocks.iter().enumerate() {
                let with = match block.equations.len() {
                    1 => String::new(),
                    n => format!(", {n} equations for {}", list(&block.unknowns)),
                };
                let words = format!("block {} of {}{with}", at + 1, structure.blocks.len());
                for unknown in &block.unknowns {
                    self.add_to_name(unknown, &format!("determined in {words}"));
                }
                for equation in &block.equations {
                    self.add_to_equation(model, equation, &words);
                }
            }
            let offsets = model.equations.iter().zip(&structure.equation_offsets);
            let mut told: HashMap<u32, usize> = HashMap::new();
            for (equation, &times) in offsets {
                let most = told.entry(equation.span.start).or_default();
                *most = (*most).max(times);
            }
            for equation in &mut self.equations {
                if let Some(times @ 1..) = told.get(&equation.span.start).copied() {
                    let words = format!("differentiated {times} times to determine all unknowns");
                    let words = words.replace("1 times", "once").replace("2 times", "twice");
                    equation.analysed.push(words);
                }
            }
        }
        for hidden in &record.hidden_constraints {
            let words = format!("hidden constraint `{}`", shorten(&hidden.text, 200));
            let mut told = false;
            for equation in &mut self.equations {
                let source = model.sources.get(equation.span.source);
                if source.line_column(equation.span.start).0 == hidden.line {
                    equation.analysed.push(words.clone());
                    told = true;
                }
            }
            if !told {
                self.add_to_equation(model, &hidden.from_equation, &words);
            }
            for unknown in &model.unknowns {
                if mentions(&hidden.text, &unknown.name) {
                    self.add_to_name(&unknown.name, &words);
                }
            }
        }
        Some(())
    }

    fn add_to_name(&mut self, name: &str, words: &str) {
        let name = name.strip_prefix("der(").unwrap_or(name);
        let end = name.find(['[', ')']).unwrap_or(name.len());
        if let Some(entry) = self.names.get_mut(&name[..end])
            && entry.analysed.len() < SHOWN
            && !entry.analysed.iter().any(|known| known == words)
        {
            entry.analysed.push(words.to_string());
        }
    }

    /// Adds words to the equation whose text this is.
    fn add_to_equation(&mut self, model: &Model, text: &str, words: &str) {
        let mut all = model.equations.iter();
        let Some(found) = all.find(|equation| model.equation_text(equation) == text) else {
            return;
        };
        let equations = self.equations.iter_mut();
        for entry in equations.filter(|entry| entry.span == found.span) {
            if entry.analysed.len() < SHOWN && !entry.analysed.iter().any(|known| known == words) {
                entry.analysed.push(words.to_string());
            }
        }
    }
}

/// The first items of a list.
pub fn list(items: &[String]) -> String {
    let mut text = items
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    if items.len() > SHOWN {
        text.push_str(&format!("; … ({} in all)", items.len()));
    }
    text
}

/// Whether a formula contains a name as a word of its own.
fn mentions(formula: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    formula.match_indices(name).any(|(at, _)| {
        let before = formula[..at].chars().next_back();
        let after = formula[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}
