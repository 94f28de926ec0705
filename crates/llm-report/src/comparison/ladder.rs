//! Sizes of a ladder: the rules that made them, and the law of their losses.

use super::variant::{SIZE, Variant, each_once};
use crate::bilingual::Bilingual;
use crate::data::{Climbed, FoundLaw, LawPoint, SizeLaw};
use llm_core::base::Message;
use llm_core::message;
use llm_lens::law::{Expected, FEWEST_SIZES, Law, NoLaw, SizeLosses};
use llm_run::ladder::{Ladder, Rung, WIDTH_PER_LAYER};
use llm_run::numbers::short;

/// How far beyond the largest size a law is drawn and asked.
const BEYOND: f64 = 10.0;
/// Points of a curve.
const POINTS: usize = 41;

/// The rules in words.
pub fn rules(of: &Ladder) -> [Message; 3] {
    let Ladder { tokens_per_parameter, usual_width, optimizer } = of;
    [
        message!(
            "A size of L layers is {}·L wide and has L heads; what no rule moves is the same for all.",
            WIDTH_PER_LAYER
        ),
        message!(
            "Tokens that each learns: {} for each of its N parameters of the blocks, the tables and the output head \
             not counted; {steps} and {epochs} are the most.",
            *tokens_per_parameter
        ),
        message!(
            "Its rate is the usual one for its steps, times √({} / width); the optimizer is {}.",
            *usual_width,
            optimizer.clone()
        ),
    ]
}

/// A size with what was measured of it.
pub(super) struct Measured<'a> {
    pub(super) variant: &'a Variant,
    /// The losses of its seeds.
    pub(super) losses: Vec<f64>,
    /// Whether all runs are done, and none ran away.
    pub(super) is_whole: bool,
}

/// The laws of the sizes, one for each combination of other settings. No loss is below `floor`.
pub(super) fn climbed(of: &Ladder, all: &[Measured<'_>], floor: Option<f64>) -> Climbed {
    let others = |of: &Measured<'_>| -> Vec<_> {
        let settings = of.variant.settings.iter();
        settings.filter(|(name, _)| name != SIZE).map(|(_, value)| value.clone()).collect()
    };
    let combinations = each_once(all.iter().map(others));
    let law = |combination: Vec<String>| {
        let these: Vec<_> = all.iter().filter(|of| others(of) == combination).collect();
        size_law(combination.join("/"), &these, floor.unwrap_or(0.0))
    };
    Climbed {
        ladder: of.clone(),
        rules: rules(of).into_iter().map(Bilingual::from).collect(),
        laws: combinations.into_iter().map(law).collect(),
    }
}

fn size_law(of: String, all: &[&Measured<'_>], floor: f64) -> SizeLaw {
    let mut rungs: Vec<(&Rung, &Measured<'_>)> =
        all.iter().filter_map(|of| Some((of.variant.rung.as_ref()?, *of))).collect();
    rungs.sort_by_key(|(rung, _)| rung.block_parameters);
    let point = |(rung, of): &(&Rung, &Measured<'_>)| LawPoint {
        size: rung.size.clone(),
        n: rung.block_parameters,
        losses: of.losses.clone(),
    };
    let points: Vec<_> = rungs.iter().map(point).collect();
    let sizes = points.iter().map(|of| SizeLosses { n: of.n as f64, losses: of.losses.clone() });
    let sizes: Vec<_> = sizes.collect();
    let found =
        bears(&rungs).and_then(|()| Law::fit(&sizes, floor).map_err(|why| refused(why, &points)));
    let named = |name: Message, of_other: fn(String) -> Message| match of.as_str() {
        "" => name,
        other => of_other(other.into()),
    };
    let (law, said) = match (&found, rungs.last()) {
        (Ok(law), Some((largest, _))) => {
            let name = named(message!("Law"), |other| message!("Law of {}", other));
            let runs = points.iter().map(|of| of.losses.len()).sum();
            let drawn = drawn(law, &points);
            (Some(drawn.clone()), words(name, law, &drawn, largest, [points.len(), runs]))
        }
        (Err(why), _) => {
            let name = named(message!("No law"), |other| message!("No law of {}", other));
            (None, vec![message!("{}: {}.", name, why.clone())])
        }
        (Ok(_), None) => (None, Vec::new()),
    };
    SizeLaw { of, points, law, said: said.into_iter().map(Bilingual::from).collect() }
}

/// Whether all runs are there, and follow one rule.
fn bears(rungs: &[(&Rung, &Measured<'_>)]) -> Result<(), Message> {
    if let Some((rung, _)) = rungs.iter().find(|(_, of)| !of.is_whole) {
        return Err(message!("runs of {} diverged or are not done", rung.size.clone()));
    }
    let limited = rungs.iter().filter(|(rung, _)| rung.is_limited).count();
    if limited > 0 && limited < rungs.len() {
        return Err(message!(
            "the limit of steps ended some sizes before their tokens and others not; leave it out, or let it end all"
        ));
    }
    Ok(())
}

fn refused(why: NoLaw, points: &[LawPoint]) -> Message {
    let size = |at: usize| points[at].size.clone();
    match why {
        NoLaw::FewSizes => message!("{} sizes, and it takes {}", points.len(), FEWEST_SIZES),
        NoLaw::Rises { at } => {
            message!("the loss of {} is not below that of {}", size(at), size(at - 1))
        }
        NoLaw::Flat => message!(
            "the interval of its exponent includes 0; more seeds, or sizes further apart, would tell"
        ),
        NoLaw::Steep => message!(
            "the interval of its exponent has no upper end, as the larger sizes hardly differ; more seeds, or sizes \
             further apart, would tell"
        ),
    }
}

fn drawn(law: &Law, points: &[LawPoint]) -> FoundLaw {
    let ends = [points.first(), points.last()].map(|of| of.map_or(1.0, |of| of.n as f64));
    let [low, high] = [ends[0].ln(), (BEYOND * ends[1]).ln()];
    let at = |n: f64| {
        let Expected { loss, interval: [low, high] } = law.at(n);
        [n, loss, low, high]
    };
    let n = |i: usize| (low + (high - low) * i as f64 / (POINTS - 1) as f64).exp();
    FoundLaw {
        floor: law.floor,
        scale: law.scale,
        exponent: law.exponent,
        exponent_interval: law.interval,
        by_sizes: law.by_sizes,
        curve: (0..POINTS).map(|i| at(n(i))).collect(),
        ten_times: at(BEYOND * ends[1]),
    }
}

fn words(
    name: Message,
    law: &Law,
    drawn: &FoundLaw,
    largest: &Rung,
    [sizes, runs]: [usize; 2],
) -> Vec<Message> {
    let floor = if law.floor > 0.0 { format!("{:.3} + ", law.floor) } else { String::new() };
    let formula = format!("{floor}{}·N^-{:.3}", short(law.scale as f32), law.exponent);
    let more = match largest.is_limited {
        true => {
            message!("ten times the parameters of {}, with as many tokens", largest.size.clone())
        }
        false => message!("ten times the parameters of {}, and the tokens", largest.size.clone()),
    };
    let ([low, high], [_, loss, least, most]) = (law.interval, drawn.ten_times);
    let mut said = vec![
        message!(
            "{}: validation loss ≈ {} (exponent {:.3} to {:.3}); {}: {:.3}, {:.3} to {:.3}.",
            name,
            formula,
            low,
            high,
            more,
            loss,
            least,
            most
        ),
        message!(
            "It is fitted to {} runs by least squares; the intervals are of 95 %, if losses follow such a law beyond \
             these sizes and runs scatter alike.",
            runs
        ),
    ];
    if sizes == FEWEST_SIZES {
        said.push(message!(
            "With three sizes the law's floor is taken to be {:.3}; a fourth would find it.",
            law.floor
        ));
    }
    if law.by_sizes {
        said.push(message!(
            "The sizes lie further from the curve than their seeds explain: the intervals are by how far."
        ));
    }
    let passes = BEYOND * largest.passes;
    if !largest.is_limited && passes > 1.0 {
        said.push(message!(
            "Ten times the tokens are {:.1} passes over this text, of which the law knows nothing: it is that of a \
             longer text.",
            passes
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of() -> Ladder {
        Ladder { tokens_per_parameter: 10.0, usual_width: 128, optimizer: "muon".into() }
    }

    fn variant(layers: u64, other: Option<&str>) -> Variant {
        let (size, d_model) = (layers.to_string(), 32 * layers);
        let other = other.map(|value| ("clip".to_string(), value.to_string()));
        let block_parameters = 12 * layers * d_model * d_model;
        let tokens = 10 * block_parameters;
        Variant {
            settings: other.into_iter().chain([(SIZE.to_string(), size.clone())]).collect(),
            n_heads: layers as usize,
            head_dim: 32,
            parameters: block_parameters,
            steps: tokens / 768,
            tokens_per_step: 768,
            rung: Some(Rung {
                size,
                layers,
                d_model,
                n_heads: layers,
                block_parameters,
                parameters: block_parameters,
                steps: tokens / 768,
                learned: tokens,
                passes: tokens as f64 / 1e6,
                lr: 4e-3,
                is_limited: false,
            }),
        }
    }

    /// The losses of a planted law, three seeds of each size.
    fn row(of: &Variant, floor: f64) -> Vec<f64> {
        let n = of.parameters as f64;
        let seed = |noise: f64| floor + 14.0 * n.powf(-0.27) + noise;
        [-0.004, 0.001, 0.003].map(seed).to_vec()
    }

    fn laws(variants: &[Variant], rows: &[Vec<f64>], whole: &[bool]) -> Vec<SizeLaw> {
        let all = variants.iter().zip(rows).zip(whole);
        let measured = |((variant, losses), whole): ((_, &Vec<f64>), &bool)| Measured {
            variant,
            losses: losses.clone(),
            is_whole: *whole,
        };
        let all = all.map(measured);
        climbed(&rules_of(), &all.collect::<Vec<_>>(), None).laws
    }

    /// What is said of sizes without other settings.
    fn said(variants: &[Variant], whole: &[bool]) -> Vec<String> {
        let rows: Vec<_> = variants.iter().map(|of| row(of, 1.0)).collect();
        let laws = laws(variants, &rows, whole);
        assert_eq!(laws.len(), 1);
        laws[0].said.iter().map(|of| of.en.clone()).collect()
    }

    #[test]
    fn a_law_is_one_line_and_a_curve() {
        let variants: Vec<_> = [3, 1, 4, 2].map(|layers| variant(layers, None)).into();
        let lines = said(&variants, &[true; 4]);
        let begin = "Law: validation loss ≈ ";
        assert!(lines[0].starts_with(begin) && lines[0].contains("·N^-0.2"), "{}", lines[0]);
        assert!(
            lines[0].contains("; ten times the parameters of 4, and the tokens: 1."),
            "{lines:?}"
        );
        assert!(lines[1].contains("12 runs"), "{lines:?}");
        assert!(lines[2].contains("are 78.6 passes over this text"), "{lines:?}");
        let rows: Vec<_> = variants.iter().map(|of| row(of, 1.0)).collect();
        let law = &laws(&variants, &rows, &[true; 4])[0];
        let sizes: Vec<_> = law.points.iter().map(|of| of.size.as_str()).collect();
        assert_eq!(sizes, ["1", "2", "3", "4"]);
        let found = law.law.as_ref().unwrap();
        let (first, last) = (found.curve[0], found.curve[POINTS - 1]);
        assert!(
            (first[0] / 12_288.0 - 1.0).abs() < 1e-9 && (last[0] / 7_864_320.0 - 1.0).abs() < 1e-9
        );
        assert!(found.curve.iter().all(|[_, loss, low, high]| low <= loss && loss <= high));
        let truth = 1.0 + 14.0 * 7_864_320f64.powf(-0.27);
        assert!(found.ten_times[2] <= truth && truth <= found.ten_times[3], "{found:?}");
        let zh = &law.said[0].zh;
        assert!(zh.starts_with("定律：验证损失") && !zh.contains('{'), "{zh}");
    }

    #[test]
    fn what_bears_no_law_is_named() {
        let of = |depths: &[u64]| depths.iter().map(|n| variant(*n, None)).collect::<Vec<_>>();
        assert_eq!(said(&of(&[1, 2]), &[true; 2]), ["No law: 2 sizes, and it takes 3."]);
        let three = said(&of(&[1, 2, 3]), &[true; 3]);
        assert!(three.last().is_some_and(|line| line.contains("passes")), "{three:?}");
        assert!(three.iter().any(|line| line.contains("floor is taken to be 0.000")), "{three:?}");
        let cut = said(&of(&[1, 2, 3, 4]), &[true, true, false, true]);
        assert_eq!(cut, ["No law: runs of 3 diverged or are not done."]);
        let mut limited = of(&[1, 2, 3, 4]);
        limited[3].rung.as_mut().unwrap().is_limited = true;
        assert!(said(&limited, &[true; 4])[0].contains("the limit of steps ended some sizes"));
        limited.iter_mut().for_each(|of| of.rung.as_mut().unwrap().is_limited = true);
        let all = said(&limited, &[true; 4]);
        assert!(all[0].contains("with as many tokens") && all.len() == 2, "{all:?}");
        let variants = of(&[1, 2, 3, 4]);
        let mut rows: Vec<_> = variants.iter().map(|of| row(of, 1.0)).collect();
        rows[2] = rows[0].clone();
        let law = &laws(&variants, &rows, &[true; 4])[0];
        assert!(law.law.is_none());
        assert_eq!(law.said[0].en, "No law: the loss of 3 is not below that of 2.");
    }

    #[test]
    fn every_other_setting_has_a_law_of_its_own() {
        let of = |other| (1..=4).map(move |layers| variant(layers, Some(other)));
        let variants: Vec<_> = of("0").chain(of("1")).collect();
        let floor = |of: &Variant| if of.settings[0].1 == "0" { 0.5 } else { 1.5 };
        let rows: Vec<_> = variants.iter().map(|of| row(of, floor(of))).collect();
        let laws = laws(&variants, &rows, &[true; 8]);
        let names: Vec<_> = laws.iter().map(|law| law.of.as_str()).collect();
        assert_eq!(names, ["0", "1"]);
        let floors: Vec<_> = laws.iter().map(|law| law.law.as_ref().unwrap().floor).collect();
        assert!((floors[1] - floors[0] - 1.0).abs() < 0.01, "{floors:?}");
        assert!(laws[1].said[0].en.starts_with("Law of 1: "));
    }
}
