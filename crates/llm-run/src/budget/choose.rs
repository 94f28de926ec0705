//! What a run should be, from its text, its time and the speed of the machine. No clock, no file.

use crate::defaults::{PERIODIC_TOKENS, final_tokens};

/// A size of the model, and of the steps that it learns in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// L.
    pub layers: u64,
    /// C.
    pub d_model: u64,
    /// H.
    pub heads: usize,
    /// T.
    pub seq_len: u64,
    /// B.
    pub batch: u64,
    /// Steps in the time that there is from which on it is better than a smaller size.
    pub from: u64,
    /// Whether it is so only where the smaller one has read the text as often as is good, with time left.
    pub if_spare: bool,
}

const fn size([layers, d_model, seq_len, batch]: [u64; 4], heads: usize, from: u64) -> Size {
    Size { layers, d_model, heads, seq_len, batch, from, if_spare: false }
}

const fn if_spare(size: Size) -> Size {
    Size { if_spare: true, ..size }
}

/// The sizes, from the smallest: what is small does more steps, and learns more while these are few. In as
/// many seconds as two blocks take for 300 steps, one of width 64 came to 1.46 bits a byte of source code and
/// they to 1.64; in those of 750 steps of one wide block this one to 1.31, the narrow one to 1.39; in those of
/// 1,700 steps of two wide blocks these to 1.25, one to 1.35. Four of width 192 came in ten passes over 1 MB of
/// plays to 2.06, four of 128 to 2.07, in half the time. Six of 192 with longer windows
/// are far behind at 700 steps, and good at 4,500, see docs/size_and_time.md.
pub const SIZES: [Size; 6] = [
    size([1, 64, 64, 12], 4, 0),
    size([1, 128, 64, 12], 4, 700),
    size([2, 128, 64, 12], 4, 1300),
    size([4, 128, 64, 12], 4, 2000),
    if_spare(size([4, 192, 64, 12], 6, 4000)),
    size([6, 192, 128, 16], 6, 4000),
];

/// Bytes of a text from which on a learned vocabulary is worth its tables: at 100 kB of plays both come to
/// 2.35 bits a byte, at 300 kB a vocabulary is a tenth of a bit ahead.
pub(super) const FEWEST_BYTES_FOR_BPE: u64 = 100_000;
/// Tokens of that vocabulary.
pub const VOCAB_SIZE: usize = 2048;
/// Passes over the text up to which nothing has to be dropped: beside the decay of many passes, a dropout of a
/// tenth cost 0.03 bits a byte in five, and made no difference in ten.
const WITHOUT_DROPOUT: f64 = 8.0;
/// Passes from which on a run has more weight decay: it helps nothing in two, and in five as much as in ten.
const WITH_LITTLE_DECAY: f64 = 3.0;
/// Weight decay of more passes than that: with it, four wide blocks came in five passes over plays to 2.08 bits a
/// byte and in ten to 2.07, with the usual tenth to 2.12 and 2.12; in eight passes over source code to 1.14 and
/// 1.20. Twice as much came to 2.11 in ten.
const DECAY_OF_MANY: f32 = 0.8;
/// Passes over the text up to which a dropout of a tenth is enough.
const WITH_LITTLE: f64 = 16.0;
/// Passes over a text in tokens of a learned vocabulary after which a run gets worse, with dropout too: 100 kB
/// came to 1.71 and 1.77 bits a byte after nine and ten, to 1.77 after fourteen, to 1.82 after nineteen.
pub(super) const MOST_PASSES_LEARNED: f64 = 10.0;
/// Passes over a text in bytes or characters, from which a pass teaches less, after which a run gets worse.
pub(super) const MOST_PASSES: f64 = 40.0;
/// Tokens that are scored in the time in which one is learned, at least.
const SCORED_PER_LEARNED: f64 = 2.0;
/// Fewer steps than this teach nothing.
pub const FEWEST_STEPS: u64 = 50;

/// A text, in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextLength {
    /// Training tokens.
    pub learned: f64,
    /// Validation tokens.
    pub unseen: f64,
    /// Steps between two measurements; 0: at the end alone.
    pub eval_every: u64,
    /// Passes over it that are worth their time.
    pub most_passes: f64,
}

/// A size that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Which of [`SIZES`].
    pub size: usize,
    /// A step, in seconds.
    pub step: f64,
    /// Tokens of a step.
    pub tokens: f64,
    /// Parameters of the model.
    pub parameters: u64,
}

/// What a run should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// Which of [`SIZES`].
    pub size: usize,
    /// Steps.
    pub steps: u64,
    /// Probability that a number is dropped.
    pub dropout: f32,
    /// Weight decay; `None`: the usual one.
    pub weight_decay: Option<f32>,
}

impl Trial {
    /// How long `steps` take, measurements included.
    pub fn seconds(&self, steps: u64, text: &TextLength) -> f64 {
        let scored = |most: f64| most.min(text.unseen);
        let learned = steps as f64 * self.tokens;
        let last = scored(final_tokens(learned as u64, self.parameters) as f64);
        let once = scored(PERIODIC_TOKENS as f64);
        let times = steps.saturating_sub(1).checked_div(text.eval_every).unwrap_or(0);
        // The last state may be the best: it is measured like the others too.
        let again = if last > once { once } else { 0.0 };
        let tokens = times as f64 * once + last + again;
        steps as f64 * self.step + tokens * self.step / (self.tokens * SCORED_PER_LEARNED)
    }

    /// The most steps that the text is good for.
    pub fn enough(&self, text: &TextLength) -> u64 {
        ((text.most_passes * text.learned / self.tokens).ceil() as u64).max(FEWEST_STEPS)
    }

    /// The most steps that fit, and that the text is good for.
    pub fn steps(&self, text: &TextLength, seconds: f64) -> u64 {
        let (mut fits, mut over) = (0, self.enough(text) + 1);
        while over - fits > 1 {
            let middle = fits + (over - fits) / 2;
            if self.seconds(middle, text) <= seconds {
                fits = middle;
            } else {
                over = middle;
            }
        }
        fits
    }

    /// Whether the time is enough for this size to be better than a smaller one, `before`.
    fn is_worth(&self, before: Option<&Trial>, text: &TextLength, seconds: f64) -> bool {
        let of = &SIZES[self.size];
        let read = |smaller: &Trial| smaller.steps(text, seconds) == smaller.enough(text);
        // The text's limit is none of the time's: more time never makes a model smaller.
        self.seconds(of.from, text) <= seconds && (!of.if_spare || before.is_some_and(read))
    }
}

/// The largest size that learns enough in the time; the fewest steps of the smallest where there is no time
/// for any. Nothing without a trial.
pub fn choose(text: &TextLength, seconds: f64, trials: &[Trial]) -> Option<Chosen> {
    let before = |i: usize| i.checked_sub(1).and_then(|i| trials.get(i));
    let mut largest = trials.iter().enumerate().rev();
    let worth = largest.find(|(i, trial)| trial.is_worth(before(*i), text, seconds));
    let worth = worth.map(|(_, trial)| trial);
    let trial = worth.or(trials.first())?;
    let steps = trial.steps(text, seconds).max(FEWEST_STEPS);
    let passes = steps as f64 * trial.tokens / text.learned.max(1.0);
    let dropout = match passes {
        few if few <= WITHOUT_DROPOUT => 0.0,
        some if some <= WITH_LITTLE => 0.1,
        _ => 0.2,
    };
    let weight_decay = (passes > WITH_LITTLE_DECAY).then_some(DECAY_OF_MANY);
    Some(Chosen { size: trial.size, steps, dropout, weight_decay })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Trials of the sizes from the smallest, each slower than the one before.
    fn trials() -> impl Strategy<Value = Vec<Trial>> {
        (1e-4..2.0f64, proptest::collection::vec(1.0..8.0f64, 0..SIZES.len())).prop_map(
            |(first, times)| {
                let slower = times.iter().scan(first, |step, times| {
                    *step *= times;
                    Some(*step)
                });
                let steps = [first].into_iter().chain(slower).take(SIZES.len());
                let of = |(size, step): (usize, f64)| {
                    let Size { seq_len, batch, .. } = SIZES[size];
                    Trial { size, step, tokens: (seq_len * batch) as f64, parameters: 1 << 20 }
                };
                steps.enumerate().map(of).collect()
            },
        )
    }

    fn text() -> impl Strategy<Value = TextLength> {
        (1e3..1e9f64, 0.0..1e8f64, prop_oneof![Just(0), 10..1000u64]).prop_map(
            |(learned, unseen, eval_every)| TextLength {
                learned,
                unseen,
                eval_every,
                most_passes: MOST_PASSES,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_chosen_fits(text in text(), trials in trials(), seconds in 0.0..1e5f64) {
            let choice = choose(&text, seconds, &trials).unwrap();
            let trial = trials[choice.size];
            if trials[0].seconds(FEWEST_STEPS, &text) > seconds {
                prop_assert_eq!((choice.size, choice.steps), (0, FEWEST_STEPS));
                return Ok(());
            }
            prop_assert!(trial.seconds(choice.steps, &text) <= seconds);
            prop_assert!(choice.steps >= FEWEST_STEPS);
            // One step more would be too many for the time or for the text.
            let more = trial.seconds(choice.steps + 1, &text) > seconds;
            let passes = (choice.steps + 1) as f64 * trial.tokens / text.learned;
            prop_assert!(more || passes > MOST_PASSES || choice.steps == FEWEST_STEPS);
        }

        #[test]
        fn more_time_is_never_less(
            text in text(),
            trials in trials(),
            seconds in 0.0..1e4f64,
            more in 1.0..10.0f64,
        ) {
            let short = choose(&text, seconds, &trials).unwrap();
            let long = choose(&text, seconds * more, &trials).unwrap();
            prop_assert!(long.size >= short.size);
            if long.size == short.size {
                prop_assert!(long.steps >= short.steps && long.dropout >= short.dropout);
            }
        }
    }

    /// On the machine of docs/size_and_time.md, whose step of the small model took 80 ms.
    #[test]
    fn a_minute_ten_minutes_an_hour() {
        let trials = [
            (0, 0.013, 768.0),
            (1, 0.03, 768.0),
            (2, 0.045, 768.0),
            (3, 0.08, 768.0),
            (4, 0.16, 768.0),
            (5, 0.7, 2048.0),
        ];
        let trials =
            trials.map(|(size, step, tokens)| Trial { size, step, tokens, parameters: 1 << 20 });
        let length = |all: f64, most_passes| TextLength {
            learned: 0.9 * all,
            unseen: 0.1 * all,
            eval_every: 250,
            most_passes,
        };
        let of = |bytes: f64, minutes: f64| {
            let text = length(bytes / 2.5, MOST_PASSES_LEARNED);
            let Chosen { size, dropout, .. } = choose(&text, 54.0 * minutes, &trials).unwrap();
            (size, dropout)
        };
        assert_eq!(of(1e7, 0.2), (0, 0.0));
        assert_eq!(of(1e7, 1.0), (1, 0.0));
        assert_eq!(of(1e7, 10.0), (3, 0.0));
        assert_eq!(of(1e7, 60.0), (5, 0.0));
        // A short text is passed over many times.
        assert_eq!(of(1e6, 10.0), (3, 0.1));
        assert_eq!(of(1e6, 15.0), (4, 0.1));
        assert_eq!(of(1e7, 15.0), (3, 0.0));
        assert_eq!(of(1e5, 10.0).1, 0.1);
        let bytes = length(1e5, MOST_PASSES);
        assert_eq!(choose(&bytes, 540.0, &trials).unwrap().dropout, 0.2);
        let fewest = Chosen { size: 0, steps: FEWEST_STEPS, dropout: 0.0, weight_decay: None };
        assert_eq!(choose(&bytes, 0.5, &trials), Some(fewest));
        assert_eq!(choose(&bytes, 1.0, &[]), None);
    }
}
