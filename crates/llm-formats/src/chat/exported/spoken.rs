//! What people say to each other, when, and what of it makes a conversation.

use crate::chat::line::{ASSISTANT, Turn};
use serde::Serialize;

/// A minute of the calendar; what is later is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub(super) year: u32,
    pub(super) month: u32,
    pub(super) day: u32,
    /// Minutes since midnight.
    pub(super) minute: u32,
}

impl Moment {
    /// The moment of `2023-12-31T21:15` and what follows.
    pub(super) fn of_iso(text: &str) -> Option<Moment> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute) = (number(11, 13)?, number(14, 16)?);
        let found = Moment { year, month, day, minute: hour * 60 + minute };
        (found.is_possible() && hour < 24 && minute < 60).then_some(found)
    }

    pub(super) fn is_possible(self) -> bool {
        (1..=12).contains(&self.month) && (1..=31).contains(&self.day)
    }

    /// Minutes since the first of March of the year 0.
    pub(super) fn minutes(self) -> i64 {
        let [year, month, day, minute] =
            [self.year, self.month, self.day, self.minute].map(i64::from);
        // The year begins in March, so that the odd day is its last one.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let leap = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        let days = year * 365 + leap + (153 * month + 2) / 5 + day - 1;
        days * 24 * 60 + minute
    }
}

/// A message of a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spoken {
    pub(super) when: Moment,
    pub(super) who: String,
    pub(super) text: String,
}

/// How many messages are in no conversation, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Pictures, sound, files: nothing was said with them.
    pub media: usize,
    /// What the app or a tool says, and not a person.
    pub system: usize,
    /// Taken back by who wrote them.
    pub deleted: usize,
    /// Answers that begin a conversation.
    pub unasked: usize,
    /// Questions that end one.
    pub unanswered: usize,
    /// Texts that are no conversation.
    pub texts: usize,
}

/// A conversation that begins with a question and ends with an answer; each message with whether it
/// is an answer. Those of one side in a row are one turn.
pub(super) fn conversation(
    said: impl IntoIterator<Item = (bool, String)>,
    left_out: &mut LeftOut,
) -> Option<Vec<Turn>> {
    let mut turns: Vec<(bool, String, usize)> = Vec::new();
    for (is_answer, text) in said {
        match turns.last_mut() {
            None if is_answer => left_out.unasked += 1,
            Some((of_answer, all, n)) if *of_answer == is_answer => {
                all.push('\n');
                all.push_str(&text);
                *n += 1;
            }
            _ => turns.push((is_answer, text, 1)),
        }
    }
    if let Some((_, _, n)) = turns.pop_if(|(is_answer, ..)| !*is_answer) {
        left_out.unanswered += n;
    }
    let turn = |(is_answer, text, _): (bool, String, usize)| {
        Turn::new(if is_answer { ASSISTANT } else { "user" }, text)
    };
    (!turns.is_empty()).then(|| turns.into_iter().map(turn).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_each_other() {
        let at = |text: &str| Moment::of_iso(text).unwrap().minutes();
        assert_eq!(at("2024-03-01T00:05:00") - at("2024-02-28T23:55"), 24 * 60 + 10);
        assert_eq!(at("2024-01-01T00:00") - at("2023-12-31T23:59:59.5+01:00"), 1);
        assert_eq!(at("2001-03-01T00:00") - at("1900-02-28T00:00"), 36_891 * 24 * 60);
        assert_eq!(at("0000-01-01T00:00"), -60 * 24 * 60);
        for text in ["", "2024-13-01T00:00", "2024-01-01T24:00", "2024-01-0é:00:00", "2024-01-01"]
        {
            assert_eq!(Moment::of_iso(text), None, "{text}");
        }
    }

    #[test]
    fn a_conversation_begins_with_a_question_and_ends_with_an_answer() {
        let mut left_out = LeftOut::default();
        let mut made = |said: &[(bool, &str)]| {
            conversation(said.iter().map(|(me, text)| (*me, text.to_string())), &mut left_out)
        };
        let said =
            [(true, "0"), (false, "a"), (false, "b"), (true, "c"), (false, "d"), (false, "e")];
        let turns = [Turn::new("user", "a\nb"), Turn::new("assistant", "c")];
        assert_eq!(made(&said).unwrap(), turns);
        assert_eq!([made(&[(true, "a")]), made(&[(false, "a")]), made(&[])], [None, None, None]);
        assert_eq!(left_out, LeftOut { unasked: 2, unanswered: 3, ..LeftOut::default() });
    }
}
