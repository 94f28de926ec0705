//! Sizes of a ladder: the rules that made them, and the law of their losses.

use super::variant::{SIZE, Variant};
use crate::bilingual::Bilingual;
use crate::data::{Climbed, Compared, FoundLaw, LawPoint, SizeLaw};
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
            "Each learns {} tokens for each of its N parameters of the blocks, the tables and the output head \
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
    pub(super) row: &'a Compared,
    /// Whether all of its runs are done, and none ran away.
    pub(super) is_whole: bool,
}

/// The laws of the sizes, one for each combination of other settings. No loss is below `floor`.
pub(super) fn climbed(of: &Ladder, all: &[Measured<'_>], floor: Option<f64>) -> Climbed {
    let others = |of: &Measured<'_>| -> Vec<_> {
        let settings = of.variant.settings.iter();
        settings.filter(|(name, _)| name != SIZE).map(|(_, value)| value.clone()).collect()
    };
    let combinations = super::results::each_once(all.iter().map(others));
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
        losses: of.row.loss.clone(),
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
