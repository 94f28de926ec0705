//! Texts at which writing ends.

/// Looks for the texts in what comes piece by piece, and holds back what may be the beginning of
/// one.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    texts: Vec<Vec<u8>>,
    held: Vec<u8>,
}

impl Stops {
    /// Waits for any of these; empty ones are left out.
    pub fn new(texts: impl IntoIterator<Item = Vec<u8>>) -> Stops {
        let texts = texts.into_iter().filter(|text| !text.is_empty()).collect();
        Stops { texts, held: Vec::new() }
    }

    /// Waits for one more.
    pub fn and(mut self, text: Vec<u8>) -> Stops {
        self.texts.extend(Some(text).filter(|text| !text.is_empty()));
        self
    }

    /// What is certain not to be part of a stop, and whether one was complete: then everything
    /// before it came out, and nothing more follows.
    pub fn push(&mut self, bytes: &[u8]) -> (Vec<u8>, bool) {
        self.held.extend_from_slice(bytes);
        // The one that is complete first, however the text comes; of those the longest.
        let places = self.texts.iter().filter_map(|text| {
            let found = self.held.windows(text.len()).position(|window| window == text.as_slice());
            found.map(|place| (place + text.len(), place))
        });
        if let Some((_, place)) = places.min() {
            self.held.truncate(place);
            return (std::mem::take(&mut self.held), true);
        }
        let open = self.texts.iter().map(|text| longest_beginning(text, &self.held)).max();
        let rest = self.held.split_off(self.held.len() - open.unwrap_or(0));
        (std::mem::replace(&mut self.held, rest), false)
    }

    /// What was held back, when nothing more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// Length of the longest real beginning of `text` that `bytes` end with.
fn longest_beginning(text: &[u8], bytes: &[u8]) -> usize {
    let most = bytes.len().min(text.len() - 1);
    (1..=most).rev().find(|&n| bytes.ends_with(&text[..n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(texts: &[&str], pieces: &[&str]) -> (String, bool) {
        let mut stops = Stops::new(texts.iter().map(|text| text.as_bytes().to_vec()));
        let mut out = Vec::new();
        for piece in pieces {
            let (bytes, stop) = stops.push(piece.as_bytes());
            out.extend(bytes);
            if stop {
                return (String::from_utf8(out).unwrap(), true);
            }
        }
        out.extend(stops.finish());
        (String::from_utf8(out).unwrap(), false)
    }

    #[test]
    fn stops_are_found_across_pieces_and_left_out() {
        let found = |text: &str| (text.to_string(), true);
        assert_eq!(run(&["END"], &["the E", "N", "D of"]), found("the "));
        for pieces in [&["xabc"][..], &["xab", "c"], &["x", "a", "b", "c"]] {
            assert_eq!(run(&["b", "abc"], pieces), found("xa"));
            assert_eq!(run(&["abc", "bc"], pieces), found("x"));
        }
        assert_eq!(run(&["aab"], &["a", "a", "a", "b"]), found("a"));
        assert_eq!(run(&["END", ""], &["the E", "N"]), ("the EN".into(), false));
        assert_eq!(run(&[], &["all", " of it"]), ("all of it".into(), false));
    }

    /// ASCII in pieces of a given number of letters.
    fn cut_up(text: &str, cut: usize) -> Vec<&str> {
        (0..text.len()).step_by(cut).map(|i| &text[i..text.len().min(i + cut)]).collect()
    }

    proptest! {
        /// However the text is cut, what comes out is what stands before the first stop.
        #[test]
        fn cuts_do_not_matter(text in "[ab]{0,30}", stop in "[ab]{1,4}", cut in 1usize..5) {
            let (out, found) = run(&[&stop], &cut_up(&text, cut));
            prop_assert_eq!(found, text.contains(&stop));
            prop_assert_eq!(out, text.split(&stop).next().unwrap());
        }

        #[test]
        fn cuts_do_not_matter_to_several(text in "[ab]{0,30}", stops in ["[ab]{1,4}", "[ab]{1,4}"], cut in 1usize..5) {
            let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
            prop_assert_eq!(run(&stops, &cut_up(&text, cut)), run(&stops, &[&text]));
        }
    }
}
