//! Answers that are written, and their numbers.

use regex::Regex;
use std::sync::LazyLock;

/// Texts at which an answer ends.
pub(super) const STOPS: [&str; 3] = ["Question:", "</s>", "<|im_end|>"];

/// The number behind the mark that answers end with.
static STRICT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"#### (\-?[0-9\.\,]+)").ok());
/// Any number: the last one counts.
static FLEXIBLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(-?[$0-9.,]{2,})|(-?[0-9]+)").ok());

/// Whether what was written is the answer, by both ways to find it in there.
pub(super) fn matches(text: &str, gold: &str) -> [(&'static str, bool); 2] {
    let strict = || STRICT.as_ref()?.captures(text)?.get(1);
    let flexible = || FLEXIBLE.as_ref()?.find_iter(text).last();
    let gold = bare(gold);
    let is = |found: Option<regex::Match<'_>>| found.is_some_and(|of| bare(of.as_str()) == gold);
    [(super::shapes::STRICT, is(strict())), (super::shapes::FLEXIBLE, is(flexible()))]
}

/// An answer as it is compared: without commas, dollar signs, all up to its last mark and a full stop at its end, in
/// small letters. As regular expressions, in this order: `,`, `\$`, `(?s).*#### ` and `\.$`.
fn bare(text: &str) -> String {
    let text = text.replace([',', '$'], "");
    let text = text.rsplit_once("#### ").map_or(&*text, |(_, number)| number);
    let (text, end) = text.strip_suffix('\n').map_or((text, ""), |text| (text, "\n"));
    (text.strip_suffix('.').unwrap_or(text).to_owned() + end).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_as_they_are_written() {
        let both = |text: &str, gold: &str| matches(text, gold).map(|(_, is)| is);
        for (text, gold, strict, flexible) in [
            (" 3 + 4 = 7\n#### 7", "so\n#### 7", true, true),
            ("#### 1,007.", "#### 1007", true, true),
            ("it is $18.", "#### 18", false, true),
            ("#### -3 and 4", "#### -3", true, false),
            ("#### x", "#### x", false, false),
            ("", "#### 0", false, false),
            ("no number", "#### 0", false, false),
            ("#### 3\n#### 4", "#### 3", true, false),
            ("7..", "#### 7.", false, false), // one full stop is taken away
            ("5\n", "#### 5\n", false, false), // the gold one keeps its line break
            ("a 1.5", "1.5", false, true),
            ("a - 5", "5", false, true),
            ("a -5", "5", false, false),
        ] {
            assert_eq!(both(text, gold), [strict, flexible], "{text:?} {gold:?}");
        }
    }
}
