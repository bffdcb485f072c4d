//! The stiff problems that every solver is tried on first: by default settings, against values that others published.
//!
//! Values: F. Mazzia and C. Magherini, Test Set for Initial Value Problem Solvers, 2008; those of the ordinary differential
//! equations agree with SciPy's Radau at rtol 3e-13 to 12 digits. Robertson at 1e6 and E5 at 1e5 come from the latter alone
//! (13 digits stable between rtol 1e-12 and 3e-13).

mod common;

use common::{Case, library_names};
use daelight_integrate::implicit::{self, Method};
use daelight_integrate::{Statistics, StopReason};

const ROBERTSON: [f64; 3] = [
    2.031_483_925_010e-3,
    8.142_277_783_505e-9,
    9.979_685_079_327e-1,
];
const ROBERTSON_LATE: [f64; 3] = [
    0.208_334_014_970_125_5e-7,
    0.833_336_077_033_471_3e-13,
    0.999_999_979_166_505_0,
];
const OREGONATOR: [f64; 3] = [
    1.000_814_870_318_523,
    1_228.178_521_549_917,
    132.055_494_284_670_6,
];
const HIRES: [f64; 8] = [
    0.737_131_257_332_566_8e-3,
    0.144_248_572_631_618_5e-3,
    0.588_872_974_096_757_5e-4,
    0.117_565_134_328_314_9e-2,
    0.238_635_619_883_133_1e-2,
    0.623_896_825_274_279_6e-2,
    0.284_999_839_518_576_9e-2,
    0.285_000_160_481_423_1e-2,
];
const VAN_DER_POL: [f64; 2] = [1.706_167_732_170_483, -0.892_809_701_024_797_5];
const E5: [f64; 4] = [
    7.481_320_823_597e-6,
    2.373_478_156_687e-12,
    2.212_358_668_774e-12,
    1.611_194_871_742e-13,
];
const POLLUTION: [f64; 20] = [
    0.564_625_548_002_276_9e-1,
    0.134_248_413_042_233_9,
    0.413_973_433_109_942_7e-8,
    0.552_314_020_748_435_9e-2,
    0.201_897_726_230_219_6e-6,
    0.146_454_186_349_396_6e-6,
    0.778_424_911_899_796_4e-1,
    0.324_507_535_339_601_8,
    0.749_401_338_388_040_6e-2,
    0.162_229_315_730_156_1e-7,
    0.113_586_383_325_707_5e-7,
    0.223_050_597_572_135_9e-2,
    0.208_716_288_279_863_0e-3,
    0.139_692_101_684_015_8e-4,
    0.896_488_485_689_829_5e-2,
    0.435_284_636_933_010_3e-17,
    0.689_921_969_626_340_5e-2,
    0.100_780_303_736_594_6e-3,
    0.177_214_651_396_998_4e-5,
    0.568_294_329_231_639_2e-4,
];
const RING_MODULATOR: [f64; 15] = [
    -0.233_905_735_848_674_5e-1,
    -0.736_748_548_554_082_5e-2,
    0.258_295_670_929_116_9,
    -0.406_446_572_128_345_0,
    -0.403_945_566_514_979_4,
    0.260_796_676_542_294_3,
    0.110_676_186_126_997_5,
    0.293_990_434_243_559_6e-6,
    -0.284_002_993_364_232_9e-7,
    0.726_719_826_726_455_3e-3,
    0.792_948_719_696_084_0e-3,
    -0.725_528_349_569_896_5e-3,
    -0.794_140_196_852_652_1e-3,
    0.708_849_541_697_611_4e-4,
    0.239_005_907_523_657_0e-4,
];
const AKZO_NOBEL: [f64; 6] = [
    0.115_079_492_066_170_2,
    0.120_383_147_156_771_5e-2,
    0.161_156_288_740_797_4,
    0.365_615_642_124_928_3e-3,
    0.170_801_088_526_440_4e-1,
    0.487_353_131_030_745_5e-2,
];

/// Part of the tolerance that one step of the series has under the automatic choice.
const SERIES: f64 = 0.01;

/// A model beside this file.
fn written(name: &str) -> Case {
    let path = format!("{}/tests/stiff/{name}.mo", env!("CARGO_MANIFEST_DIR"));
    Case::text(&std::fs::read_to_string(path).expect("the model is there"))
}

/// Runs by choice; the end must be right within ten tolerances rtol (|x| + nominal), and the steps few.
fn check(case: &Case, to: Option<f64>, wanted: &[f64], rtols: &[f64], most_steps: usize) {
    let to = to.or(case.system.experiment().stop_time).expect("an end");
    for &rtol in rtols {
        let options = case.options(to, SERIES * rtol);
        let chosen =
            implicit::solve_by_choice(&case.problem, &case.start(0.0), &options, 1.0 / SERIES)
                .expect("it has a start");
        let label = format!("{} at {rtol:e}: {}", case.system.name(), chosen.why);
        println!("{label}: {:?}", chosen.run.statistics);
        assert_eq!(chosen.run.stop, StopReason::Finished, "{label}");
        let values = case.values(&chosen.run, to);
        let unknowns = case.system.unknowns().iter().zip(&values).zip(wanted);
        let error = unknowns
            .map(|((unknown, value), wanted)| {
                let unit = wanted.abs() + unknown.nominal.unwrap_or(1.0);
                (value - wanted).abs() / (rtol * unit)
            })
            .fold(0.0, f64::max);
        println!("    {error:.3} tolerances");
        assert!(error <= 10.0, "{label}: off by {error:.1} tolerances");
        let steps = chosen.run.statistics.steps;
        assert!(steps <= most_steps, "{label}: {steps} steps");
    }
}

#[test]
fn robertson_is_solved_to_1e6_and_1e11() {
    let rtols = [1e-4, 1e-6, 1e-7, 1e-8];
    check(&written("Robertson"), Some(1e6), &ROBERTSON, &rtols, 1_000);
    check(&written("Robertson"), None, &ROBERTSON_LATE, &rtols, 1_000);
}

#[test]
fn the_oregonator_is_solved() {
    check(
        &written("Oregonator"),
        None,
        &OREGONATOR,
        &[1e-4, 1e-6, 1e-8],
        4_000,
    );
}

#[test]
fn hires_is_solved() {
    check(&written("Hires"), None, &HIRES, &[1e-4, 1e-6, 1e-8], 1_000);
}

#[test]
fn van_der_pol_is_solved() {
    check(
        &written("VanDerPol"),
        None,
        &VAN_DER_POL,
        &[1e-4, 1e-6, 1e-8],
        4_000,
    );
}

#[test]
fn e5_is_solved() {
    check(&written("E5"), None, &E5, &[1e-4, 1e-6, 1e-8], 1_500);
}

#[test]
fn pollution_is_solved() {
    check(
        &written("Pollution"),
        None,
        &POLLUTION,
        &[1e-4, 1e-6, 1e-8],
        1_000,
    );
}

#[test]
fn akzo_nobel_is_solved() {
    let case = Case::library("akzo-nobel", &[]);
    check(&case, None, &AKZO_NOBEL, &[1e-4, 1e-6, 1e-8], 500);
}

#[test]
fn the_ring_modulator_is_solved() {
    check(
        &written("RingModulator"),
        None,
        &RING_MODULATOR,
        &[1e-4],
        150_000,
    );
}

/// Work in units of a step of the series, roughly: a jet, some residuals and a factorisation.
fn cost(work: &Statistics) -> f64 {
    0.5 * work.jets as f64 + 0.1 * work.residuals as f64 + 0.25 * work.factorizations as f64
}

/// Steps that a single method may take before it counts as hopeless.
const HOPELESS: usize = 20_000;

#[test]
fn the_choice_costs_little_more_than_the_best_method() {
    let mut cases: Vec<Case> = [
        "Robertson",
        "Oregonator",
        "Hires",
        "VanDerPol",
        "E5",
        "Pollution",
    ]
    .map(written)
    .into();
    let names = library_names();
    cases.extend(names.iter().filter_map(|name| Case::try_library(name).ok()));
    let mut worst = (0.0, String::new());
    for case in &cases {
        let to = case.system.experiment().stop_time.unwrap_or(1.0);
        for rtol in [1e-4, 1e-6, 1e-9] {
            let mut options = case.options(to, SERIES * rtol);
            let start = case.start(0.0);
            let chosen = implicit::solve_by_choice(&case.problem, &start, &options, 1.0 / SERIES);
            let Ok(chosen) = chosen else {
                continue;
            };
            options.max_steps = HOPELESS;
            let series = case.run_by(Method::Taylor, 0.0, &options);
            let mut coarse = case.options(to, rtol);
            coarse.max_steps = HOPELESS;
            let radau = case.run_by(Method::Radau, 0.0, &coarse);
            let best = [series, radau]
                .iter()
                .filter(|run| run.stop == chosen.run.stop)
                .map(|run| cost(&run.statistics))
                .fold(f64::INFINITY, f64::min);
            let ratio = cost(&chosen.run.statistics) / best;
            let label = format!("{} at {rtol:e}: {}", case.system.name(), chosen.why);
            println!("{ratio:.2} {label}");
            if ratio > worst.0 {
                worst = (ratio, label);
            }
        }
    }
    assert!(worst.0 <= 1.5, "{} for {}", worst.0, worst.1);
}
