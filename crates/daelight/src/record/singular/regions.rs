//! Counts over parameters as records.

use daelight_show::record::{
    BoundsRecord, CountConditionRecord, QuantityRecord, RegionRecord, inequalities,
};
use daelight_singular::{AlgebraicNumber, Between, Conditions, Region, Regions, SingularAnswer};
use serde_json::{Map, Value};
use std::cmp::Ordering;

pub(super) fn condition_records(
    answer: &SingularAnswer,
    conditions: Option<&Conditions>,
) -> (Vec<CountConditionRecord>, Vec<QuantityRecord>) {
    let Some(conditions) = conditions else {
        return (Vec::new(), Vec::new());
    };
    let quantities: Vec<QuantityRecord> = (conditions.quantities.iter())
        .map(|quantity| QuantityRecord {
            quantity: answer.text(&quantity.polynomial),
            values: quantity.levels.iter().map(AlgebraicNumber::value).collect(),
            root_of: (quantity.levels.iter())
                .map(|level| level.minimal().text(|_, text| text.push('z')))
                .collect(),
        })
        .collect();
    let bounds = |bounds: &Between| {
        let quantity = &quantities[bounds.quantity];
        let value = |level: usize| quantity.values[level];
        BoundsRecord {
            quantity: quantity.quantity.clone(),
            above: bounds.above.map(value),
            below: bounds.below.map(value),
        }
    };
    let records = conditions.list.iter().map(|condition| {
        let any_of: Vec<Vec<BoundsRecord>> = (condition.any_of.iter())
            .map(|all| all.iter().map(bounds).collect())
            .collect();
        let texts: Vec<String> = any_of.iter().map(|all| inequalities(all, &|q| q)).collect();
        CountConditionRecord {
            at_least: condition.at_least,
            text: texts.join(", or "),
            any_of,
        }
    });
    (records.collect(), quantities)
}

pub(super) fn region_records(
    answer: &SingularAnswer,
    regions: &Regions,
    found: &[Region],
) -> Vec<RegionRecord> {
    let sign = |sign: &Ordering| match sign {
        Ordering::Less => "<",
        Ordering::Equal => "=",
        Ordering::Greater => ">",
    };
    found
        .iter()
        .map(|region| RegionRecord {
            signs: region.signs.iter().map(sign).collect(),
            sample: named(answer, regions, &region.sample_values()),
            count: region.count,
            cells: region.n_cells,
            has_solutions: region.has_solutions,
        })
        .collect()
}

/// Values of the symbols by their names.
pub(super) fn named(
    answer: &SingularAnswer,
    regions: &Regions,
    values: &[f64],
) -> Map<String, Value> {
    let name = |variable: usize| answer.ring.variables()[variable].name.clone();
    let pairs = regions.parameters.iter().zip(values);
    pairs.map(|(&v, &value)| (name(v), value.into())).collect()
}
