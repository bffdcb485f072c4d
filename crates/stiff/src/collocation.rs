//! Coefficients of Radau IIA with three and five stages, (1), (3) and (8) of `docs/theory/implicit.md`.

/// Most stages.
pub(crate) const MOST: usize = 5;

/// A method of collocation in the eigenvectors of the inverse of its matrix.
#[derive(Debug)]
pub(crate) struct Coefficients {
    /// The points.
    pub c: &'static [f64],
    /// The real eigenvalue, and real and imaginary parts of the pairs, (3).
    pub gamma: f64,
    pub pairs: &'static [(f64, f64)],
    /// The error estimate's combination of the stages, (8).
    pub estimate: &'static [f64],
    /// The eigenvectors in real form, and the inverse of their matrix.
    pub t: &'static [&'static [f64]],
    pub t_inverse: &'static [&'static [f64]],
    /// The tolerance of the estimate, which is of lower order than the method, is 0.1 rtol to this power, (9).
    pub exponent: f64,
}

impl Coefficients {
    /// Number of stages.
    pub fn n(&self) -> usize {
        self.c.len()
    }

    /// A row of T L: the derivative of a stage, times h, from the transformed stages, (6).
    pub fn slopes(&self, stage: usize) -> [f64; MOST] {
        let row = self.t[stage];
        let mut slopes = [0.0; MOST];
        slopes[0] = row[0] * self.gamma;
        for (k, (alpha, beta)) in self.pairs.iter().enumerate() {
            let (re, im) = (row[2 * k + 1], row[2 * k + 2]);
            slopes[2 * k + 1] = re * alpha + im * beta;
            slopes[2 * k + 2] = im * alpha - re * beta;
        }
        slopes
    }
}

/// Three stages, order 5.
pub(crate) static THREE: Coefficients = Coefficients {
    c: &[0.155_051_025_721_682_2, 0.644_948_974_278_317_8, 1.0],
    gamma: 3.637_834_252_744_496,
    pairs: &[(2.681_082_873_627_752, 3.050_430_199_247_410_5)],
    estimate: &[-10.048_809_399_827_416, 1.382_142_733_160_749, -1.0 / 3.0],
    t: &[
        &[
            0.091_232_394_870_892_95,
            -0.141_255_295_020_954_2,
            -0.030_029_194_105_147_424,
        ],
        &[
            0.241_717_932_707_107,
            0.204_129_352_293_799_94,
            0.382_942_112_757_261_9,
        ],
        &[0.966_048_182_615_093, 1.0, 0.0],
    ],
    t_inverse: &[
        &[
            4.325_579_890_063_155,
            0.339_199_251_815_809_84,
            0.541_770_539_935_874_9,
        ],
        &[
            -4.178_718_591_551_905,
            -0.327_682_820_761_062_37,
            0.476_623_554_500_550_44,
        ],
        &[
            -0.502_872_634_945_786_8,
            2.571_926_949_855_605,
            -0.596_039_204_828_224_9,
        ],
    ],
    exponent: 2.0 / 3.0,
};

/// Five stages, order 9.
pub(crate) static FIVE: Coefficients = Coefficients {
    c: &[
        0.057_104_196_114_517_68,
        0.276_843_013_638_123_8,
        0.583_590_432_368_916_8,
        0.860_240_135_656_219_5,
        1.0,
    ],
    gamma: 6.286_704_751_729_276_5,
    pairs: &[
        (3.655_694_325_463_572, 6.543_736_899_360_077),
        (5.700_953_298_671_79, 3.210_265_600_308_549_7),
    ],
    estimate: &[
        -27.780_933_944_064_64,
        3.641_478_498_049_213,
        -1.252_547_721_169_118_7,
        0.592_003_167_184_542_8,
        -0.2,
    ],
    t: &[
        &[
            0.013_576_867_344_947_943,
            -0.010_242_047_817_908_826,
            0.047_673_877_290_295_72,
            -0.011_478_515_255_229_515,
            -0.014_019_858_892_875_41,
        ],
        &[
            0.001_617_900_401_719_087_5,
            0.050_172_864_517_371_06,
            -0.094_331_819_181_611_43,
            -0.007_668_830_749_180_163,
            0.024_708_578_426_518_527,
        ],
        &[
            0.079_157_853_347_447_21,
            -0.230_539_534_043_417_95,
            0.102_703_045_380_125_9,
            0.019_398_463_998_828_95,
            0.081_800_353_703_751_17,
        ],
        &[
            0.412_256_082_680_461_43,
            0.377_893_902_248_861_27,
            0.466_744_130_332_494_34,
            0.407_601_171_280_199_07,
            0.199_682_427_886_802_52,
        ],
        &[1.0, 1.0, 0.0, 1.0, 0.0],
    ],
    t_inverse: &[
        &[
            27.697_693_775_684_087,
            12.783_337_911_304_406,
            3.208_489_386_713_43,
            -0.951_490_412_248_916_2,
            0.741_550_496_025_989_7,
        ],
        &[
            5.344_186_437_834_912,
            4.593_615_567_759_161,
            -3.036_360_323_459_424_3,
            1.050_660_190_231_459,
            -0.272_778_611_864_296_25,
        ],
        &[
            3.748_059_807_439_805,
            -3.984_965_736_343_885,
            -1.044_415_641_608_018_8,
            1.184_098_568_137_948_6,
            -0.449_917_770_156_780_36,
        ],
        &[
            -33.041_880_213_519,
            -17.376_953_479_063_566,
            -0.172_129_063_254_005_57,
            -0.099_169_777_982_542_65,
            0.531_228_115_838_306_6,
        ],
        &[
            -8.611_443_979_875_292,
            9.699_991_409_528_808,
            1.914_728_639_696_874_3,
            2.418_692_006_084_94,
            -1.047_463_487_935_337_5,
        ],
    ],
    exponent: 0.7,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// With Z = T W, and stages of x = t^k for which Z_i = c_i^k and h X'_i = k c_i^(k-1), the slopes come out: the
    /// eigenvectors, their inverse and the points belong together. The estimate vanishes for these too.
    #[test]
    fn powers_up_to_the_number_of_stages_are_exact() {
        for method in [&THREE, &FIVE] {
            let n = method.n();
            for k in 1..=n {
                let z: Vec<f64> = method.c.iter().map(|c| c.powi(k as i32)).collect();
                let w: Vec<f64> = (0..n)
                    .map(|i| (0..n).map(|j| method.t_inverse[i][j] * z[j]).sum())
                    .collect();
                for (i, c) in method.c.iter().enumerate() {
                    let value: f64 = (0..n).map(|j| method.t[i][j] * w[j]).sum();
                    assert!((value - z[i]).abs() < 2e-14, "{n} {k} {i}: {value}");
                    let slope: f64 = method.slopes(i).iter().zip(&w).map(|(a, b)| a * b).sum();
                    let wanted = k as f64 * c.powi(k as i32 - 1);
                    assert!((slope - wanted).abs() < 2e-13, "{n} {k} {i}: {slope}");
                }
                let found: f64 = method.estimate.iter().zip(&z).map(|(e, z)| e * z).sum();
                let start = if k == 1 { 1.0 } else { 0.0 };
                assert!((found + start).abs() < 1e-13, "{n} {k}: {found}");
            }
        }
    }
}
