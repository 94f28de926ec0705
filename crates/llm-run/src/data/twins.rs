//! Pairs of unseen stories that differ in one fact, in tokens.

use llm_core::TokenId;
use llm_core::recipe::DataSource;
use llm_core::tokenizer::Tokenizer;
use llm_lens::Pair;
use llm_stories::{FactKind, story, twin};

/// Stories that are looked through for each pair that is asked for.
const TRIED: u64 = 40;

/// Most parameters of a model that is patched while its run, or the page of it, waits.
pub const LARGEST_PATCHED: u64 = 4_000_000;

/// [`twin_pairs`] of the stories after the last one of a run's data, which it never trained on; `None` where it
/// learned no stories.
pub fn unseen_twins(
    data: &DataSource,
    kind: FactKind,
    tokenizer: &dyn Tokenizer,
    seq_len: usize,
    most: usize,
) -> Option<Vec<Pair>> {
    let DataSource::Stories { seed, count, .. } = *data else { return None };
    Some(twin_pairs((seed, count), kind, tokenizer, seq_len, most))
}

/// At most `most` pairs that ask for a fact of this kind, from the stories of `seed` from number `from` on,
/// one from each: the text of a story up to the fact, and that of its twin. Left out are those that are
/// longer than `seq_len` tokens, or not equally long in tokens.
pub fn twin_pairs(
    (seed, from): (u64, u64),
    kind: FactKind,
    tokenizer: &dyn Tokenizer,
    seq_len: usize,
    most: usize,
) -> Vec<Pair> {
    let stories = from..from.saturating_add(TRIED * most as u64);
    let pairs = stories.filter_map(|index| {
        let story = story(seed, index);
        let of_kind = (0..story.facts.len()).filter(|fact| story.facts[*fact].kind == kind);
        let of_kind: Vec<usize> = of_kind.collect();
        // Another one of a story's facts each time.
        let fact = *of_kind.get(index as usize % of_kind.len().max(1))?;
        let twin = twin(&story, fact)?.story;
        let [clean, other] = [&story, &twin].map(|story| {
            let of = &story.facts[fact];
            question(&story.text, of.start, of.end, tokenizer)
        });
        let ((clean, answer), (other, its_own)) = (clean?, other?);
        let fits = clean.len() == other.len() && clean.len() <= seq_len;
        (fits && answer != its_own).then_some(Pair { clean, other, answers: [answer, its_own] })
    });
    pairs.take(most).collect()
}

/// The tokens before the word in `start..end`, and the first token of the word. A vocabulary may have the
/// space before a word as a part of its token.
fn question(
    text: &str,
    start: usize,
    end: usize,
    tokenizer: &dyn Tokenizer,
) -> Option<(Vec<TokenId>, TokenId)> {
    let whole = tokenizer.encode(text.get(..end)?.as_bytes()).ok()?;
    [start, start.checked_sub(1)?].into_iter().find_map(|cut| {
        let before = tokenizer.encode(text.get(..cut)?.as_bytes()).ok()?;
        let answer = *whole.strip_prefix(&before[..])?.first()?;
        (!before.is_empty()).then_some((before, answer))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::tokenizer::ByteTokenizer;

    #[test]
    fn pairs_are_equally_long_and_ask_for_other_letters() {
        for kind in FactKind::ALL {
            let pairs = twin_pairs((1, 5000), kind, &ByteTokenizer, 256, 20);
            assert_eq!(pairs.len(), 20, "{kind:?}");
            for Pair { clean, other, answers } in pairs {
                assert!(clean.len() == other.len() && clean != other && clean.len() <= 256);
                assert!(answers[0] != answers[1]);
            }
        }
        assert!(twin_pairs((1, 0), FactKind::Holder, &ByteTokenizer, 40, 20).is_empty());
    }
}
