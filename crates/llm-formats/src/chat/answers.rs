//! Which part of a conversation that is written down is an answer.

use super::line::{ASSISTANT, Turn};
use super::template::{DAY, Template};
use crate::error::shown;
use llm_core::base::Message;
use llm_core::message;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

/// Turns of a conversation whose answers are found one by one; in longer ones like ones are taken to
/// be written alike.
const FEW: usize = 16;
/// Turns that are written down to find the answers of one conversation.
const MOST_WRITTEN: usize = 1_000_000;
/// Stands at the end of what is said, in no text.
const MARK: char = '\u{10fffd}';

/// A conversation as a model reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenDown {
    /// The rendered text.
    pub text: String,
    /// Where in it the answers stand, each with what ends it: byte ranges, in order.
    pub answers: Vec<Range<usize>>,
}

/// Writes a conversation down, and finds its answers: answer i begins where the template leaves off
/// when it asks for one after the turns before it, and ends where the conversation up to it ends.
///
/// # Errors
/// Why the template refuses it, or which turn it does not write down as it is.
pub fn written_down(template: &Template, turns: &[Turn]) -> Result<WrittenDown, Message> {
    if let Some(turn) = turns.iter().find(|turn| !template.knows(&turn.role)) {
        return Err(message!(
            "the chat template does not know the role '{}' (system, user, assistant)",
            shown(&turn.role)
        ));
    }
    let text = template.render(turns, false)?;
    // An answer may be written without its reasoning.
    let is_lost = |turn: &&Turn| turn.role != ASSISTANT && !text.contains(turn.content.trim());
    if let Some(turn) = turns.iter().find(is_lost) {
        return Err(message!("the chat template leaves out what {} says", shown(&turn.role)));
    }
    let written = Written { template, turns, text: &text, ends: OnceCell::new() };
    let alike = if turns.len() > FEW { written.alike()? } else { None };
    let answers = alike.map_or_else(|| written.one_by_one(), Ok)?;
    Ok(WrittenDown { text, answers })
}

/// What the template writes after an answer, such as `<|im_end|>` and a line break: who writes it
/// has said all.
///
/// # Errors
/// Why the template refuses a question and its answer.
pub fn end_of_answer(template: &Template) -> Result<String, Message> {
    const SAID: &str = "An answer.";
    let turns = [Turn::new("user", "A question."), Turn::new(ASSISTANT, SAID)];
    let text = template.render(&turns, false)?;
    Ok(text.rfind(SAID).map_or("", |at| &text[at + SAID.len()..]).to_string())
}

/// What the template writes where an answer is asked for, such as `<|im_start|>assistant`; nothing
/// for one that does not ask.
///
/// # Errors
/// Why the template refuses a question.
pub fn begin_of_answer(template: &Template) -> Result<String, Message> {
    let turns = [Turn::new("user", "A question.")];
    let [asked, not] = [true, false].map(|answer| template.render(&turns, answer));
    let (asked, not) = (asked?, not?);
    Ok(asked.strip_prefix(not.as_str()).unwrap_or(&asked).to_string())
}

/// What there is to know of a template before conversations are learned with it.
pub fn remarks(template: &Template) -> impl Iterator<Item = Message> {
    let nothing = |found: Result<String, Message>| found.is_ok_and(|text| text.trim().is_empty());
    let remarks = [
        template.asks_for_the_date().then(|| message!("the date in them is always {}", DAY)),
        nothing(begin_of_answer(template)).then(|| {
            message!("the chat template begins an answer with nothing (add_generation_prompt)")
        }),
        nothing(end_of_answer(template)).then(|| {
            message!(
                "the chat template ends an answer with no token: put {{{{ eos_token }}}} there"
            )
        }),
    ];
    remarks.into_iter().flatten()
}

/// A conversation, its text, and where in the text what is said ends.
struct Written<'c> {
    template: &'c Template,
    turns: &'c [Turn],
    text: &'c str,
    /// The ends of answers and of the turns before them; nothing where the template does not leave what
    /// is said as it is.
    ends: OnceCell<Option<Vec<usize>>>,
}

impl Written<'_> {
    fn answers(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.turns.len()).filter(|&i| self.turns[i].role == ASSISTANT)
    }

    fn apart(&self, i: usize) -> Message {
        message!(
            "the chat template does not write the answer of message {} apart; learn all with \
             {loss_on} all",
            i + 1
        )
    }

    fn one_by_one(&self) -> Result<Vec<Range<usize>>, Message> {
        if self.answers().sum::<usize>() > MOST_WRITTEN / 2 {
            return Err(self.too_long());
        }
        self.answers().map(|i| self.answer(i)).collect()
    }

    fn too_long(&self) -> Message {
        message!(
            "the chat template writes each answer of its {} messages in another way; make several \
             conversations of it, or learn all with {loss_on} all",
            self.turns.len()
        )
    }

    /// The answers' places, found from a few of them: one whose surroundings are those of another one
    /// begins and ends as that one. Nothing where that cannot be told.
    fn alike(&self) -> Result<Option<Vec<Range<usize>>>, Message> {
        let Some(ends) = self.ends() else { return Ok(None) };
        let last = self.answers().next_back();
        let mut known: HashMap<_, Vec<(&str, &str)>> = HashMap::new();
        let mut answers = Vec::new();
        let mut written = 0;
        for i in self.answers() {
            let before = i.checked_sub(1);
            let from = before.map_or(0, |before| ends[before]);
            let role = |turn: Option<usize>| self.turns.get(turn?).map(|turn| turn.role.as_str());
            let said = self.turns[i].content.as_str();
            let space = &said[said.trim_end().len()..];
            // The first turns may have something before them.
            let like = (i.min(3), role(before), space, role(Some(i + 1)));
            let all = known.entry(like).or_default();
            let found = all.iter().find(|(head, tail)| {
                self.text[from..].starts_with(head) && self.text[ends[i]..].starts_with(tail)
            });
            let found = found.map(|(head, tail)| from + head.len()..ends[i] + tail.len());
            // Where most stands before it, the guess is tried.
            if let (Some(found), false) = (&found, Some(i + 2) == last) {
                answers.push(found.clone());
                continue;
            }
            written += i;
            if written > MOST_WRITTEN / 2 {
                return Err(self.too_long());
            }
            let answer = self.answer(i)?;
            if found.is_some_and(|found| found != answer) || answer.start < from {
                return Ok(None);
            }
            let Some(tail) = self.text.get(ends[i]..answer.end) else { return Ok(None) };
            all.push((&self.text[from..answer.start], tail));
            answers.push(answer);
        }
        Ok(Some(answers))
    }

    /// Where what is said ends, of each turn; 0 for those without a mark.
    fn ends(&self) -> Option<&Vec<usize>> {
        let find = || {
            let is_answer = |i: usize| self.turns.get(i).is_some_and(|turn| turn.role == ASSISTANT);
            let is_marked = |i: usize| is_answer(i) || is_answer(i + 1);
            let mut turns = self.turns.to_vec();
            let marked = turns.iter_mut().enumerate().filter(|(i, _)| is_marked(*i));
            marked.for_each(|(_, turn)| turn.content.insert(turn.content.trim_end().len(), MARK));
            let text = self.template.render(&turns, false).ok()?;
            let mut pieces = text.split(MARK);
            let (mut at, mut ends) = (0, vec![0; turns.len()]);
            for i in (0..turns.len()).filter(|&i| is_marked(i)) {
                let piece = pieces.next()?;
                at += self.text.get(at..)?.starts_with(piece).then_some(piece.len())?;
                let last = self.turns[i].content.trim_end().chars().next_back();
                last.is_none_or(|last| piece.ends_with(last)).then_some(())?;
                ends[i] = at;
            }
            let rest = pieces.next()?;
            (pieces.next().is_none() && self.text[at..] == *rest).then_some(ends)
        };
        self.ends.get_or_init(find).as_ref()
    }

    /// What is left of an answer of which the template has taken something away, such as a thought.
    fn left(&self, i: usize) -> Option<Range<usize>> {
        let end = self.ends()?[i];
        let said = self.turns[i].content.trim_end();
        let pairs = self.text[..end].chars().rev().zip(said.chars().rev());
        let len = pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum::<usize>();
        let left = self.text[end - len..end].trim_start();
        (!left.is_empty()).then_some(end - left.len()..end)
    }

    /// Where answer `i` stands in the conversation.
    fn answer(&self, i: usize) -> Result<Range<usize>, Message> {
        let Written { template, turns, text, .. } = self;
        let apart = || self.apart(i);
        let content = turns[i].content.as_str();
        let before = template.render(&turns[..i], true)?;
        let start = match text.starts_with(&before) {
            true => before.len(),
            // It asks for an answer with more than it writes before one, such as a first thought.
            false => {
                let turns_before = template.render(&turns[..i], false)?;
                let pairs = text.chars().zip(before.chars()).take_while(|(a, b)| a == b);
                let common: usize = pairs.map(|(a, _)| a.len_utf8()).sum();
                if !text.starts_with(&turns_before) || common < turns_before.len() {
                    return Err(apart());
                }
                // What is said may begin as that does.
                let found = || {
                    let rest = &text[turns_before.len()..];
                    let said = rest.find(content).or_else(|| rest.find(content.trim()));
                    said.map(|said| turns_before.len() + said)
                };
                let said = self.left(i).map(|left| left.start).or_else(found);
                common.min(said.ok_or_else(apart)?)
            }
        };
        let up_to = template.render(&turns[..=i], false)?;
        if text.starts_with(&up_to) && up_to.len() > start {
            return Ok(start..up_to.len());
        }
        // Answers that others follow are written in another way than the last one, such as without
        // their reasoning: then the end is where what it says is followed by what ends it.
        let after = |said: &str, end: usize| {
            let tail = up_to.rfind(said).map(|at| &up_to[at + said.len()..])?;
            let common = common(tail, &text[end..]);
            (!common.is_empty() || tail.is_empty()).then_some(start..end + common.len())
        };
        let said = content.trim();
        let range = match text[start..].find(said) {
            Some(at) => after(said, start + at + said.len()),
            None => self.left(i).and_then(|left| after(&text[left.clone()], left.end)),
        };
        range.filter(|range| range.start < range.end).ok_or_else(apart)
    }
}

/// What both begin with, up to the end of a mark where they part: after the last answer another mark
/// may stand than after one that is followed by a question, and both may begin with `<|`.
fn common<'t>(a: &'t str, b: &str) -> &'t str {
    let pairs = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    let common = &a[..pairs.map(|(a, _)| a.len_utf8()).sum()];
    if common.len() == a.len() {
        return common;
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '>' | ']');
    common.rfind(ends).map_or("", |at| &common[..=at])
}

#[cfg(feature = "bpe")]
#[cfg(test)]
mod tests {
    use super::super::template::tests::{chatml, template};
    use super::*;

    fn conversation() -> Vec<Turn> {
        let said = [
            ("system", "Rhyme."),
            ("user", "cat"),
            ("assistant", "hat"),
            ("user", "dog"),
            ("assistant", " log "),
        ];
        said.map(|(role, content)| Turn::new(role, content)).to_vec()
    }

    fn answers(template: &Template, turns: &[Turn]) -> Vec<String> {
        let WrittenDown { text, answers } = written_down(template, turns).unwrap();
        answers.into_iter().map(|range| text[range].to_string()).collect()
    }

    #[test]
    fn answers_stand_where_they_are_asked_for() {
        assert_eq!(answers(&chatml(), &conversation()), ["hat<|im_end|>\n", " log <|im_end|>\n"]);
        assert_eq!(end_of_answer(&chatml()).unwrap(), "<|im_end|>\n");
        // The marks of a turn stand around it; what is said is stripped.
        let marks = template(
            "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]\
             {% elif m.role == 'system' %}<<{{ m.content }}>>{% else %} {{ m.content | trim }}{{ eos_token }}{% endif %}{% endfor %}",
        );
        assert_eq!(answers(&marks, &conversation()), [" hat</s>", " log</s>"]);
    }

    /// Qwen3's way: an empty thought before the last answer alone. DeepSeek's: the thought is
    /// begun for the model, and left out of what was said before. Phi's: the end of the text stands
    /// after the last answer alone. And one that ends an answer with a space.
    fn templates() -> [Template; 4] {
        [
            "{% for m in messages %}{{ m.role }}:{% if loop.last and m.role == 'assistant' %}<t></t>{% endif %}\
             {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}",
            "{% for m in messages %}{{ m.role }}:{{ m.content.split('</t>')[-1].strip() }}\n{% endfor %}\
             {% if add_generation_prompt %}assistant:<t>{% endif %}",
            "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
             {% if add_generation_prompt %}<|assistant|>{% else %}<|endoftext|>{% endif %}",
            "{% for m in messages %}{{ m.role }}:{{ m.content }} {% endfor %}\
             {% if add_generation_prompt %}assistant:{% endif %}",
        ]
        .map(template)
    }

    #[test]
    fn thoughts_are_no_hindrance() {
        let [last, begun, ended, _] = templates();
        assert_eq!(answers(&last, &conversation()), ["hat\n", "<t></t> log \n"]);
        assert_eq!(answers(&begun, &conversation()), ["hat\n", "log\n"]);
        let marked = [Turn::new("user", "a"), Turn::new("assistant", "<b>")];
        assert_eq!(answers(&begun, &marked), ["<b>\n"]);
        // What is said also stands in the mark before it.
        let letter = [Turn::new("user", "b"), Turn::new("assistant", "a")];
        assert_eq!(answers(&begun, &letter), ["a\n"]);
        assert_eq!(answers(&ended, &conversation()), ["hat<|end|>", " log <|end|><|endoftext|>"]);
    }

    /// As answers were found before: the twin.
    fn one_by_one(template: &Template, turns: &[Turn]) -> Result<Vec<String>, Message> {
        let text = template.render(turns, false)?;
        let written = Written { template, turns, text: &text, ends: OnceCell::new() };
        let found = written.answers().map(|i| written.answer(i));
        found.map(|range| Ok(text[range?].to_string())).collect()
    }

    fn long(n: usize) -> Vec<Turn> {
        let says = |i: usize| {
            let (question, answer) =
                (["a", " b ", "c\n", "assistant"], [" dog", "emu \n", "<f>", "user:"]);
            let role = if i % 7 == 6 { "tool" } else { "user" };
            [(role, question[i % 4]), (ASSISTANT, answer[i * i % 4])]
        };
        let turns = (0..n).flat_map(says).map(|(role, said)| Turn::new(role, said));
        [Turn::new("system", "s")].into_iter().chain(turns).collect()
    }

    #[test]
    fn long_conversations_are_as_short_ones() {
        let templates = templates();
        for template in templates.iter().chain([&chatml()]) {
            for turns in [&long(20)[..], &long(20)[1..], &long(20)[..40]] {
                let wanted = one_by_one(template, turns).unwrap();
                assert_eq!(answers(template, turns), wanted, "{template:?}");
            }
        }
    }

    #[test]
    fn six_thousand_turns_are_read_in_a_few_renderings() {
        let turns = long(3000);
        assert_eq!(answers(&chatml(), &turns).len(), 3000);
        // One that writes what is said in another way, so that marks do not help.
        let other = template(
            "{% for m in messages %}{{ m.role }}:{{ m.content | replace('\u{10fffd}', '') }};{% endfor %}\
             {% if add_generation_prompt %}assistant:{% endif %}",
        );
        assert_eq!(answers(&other, &turns[..101]).len(), 50);
        let said = written_down(&other, &turns).unwrap_err().to_string();
        assert!(said.contains("each answer of its 6001 messages"), "{said}");
    }

    #[test]
    fn thoughts_that_are_taken_away_are_no_hindrance() {
        let templates = templates();
        let mut turns = conversation();
        turns[2].content = "<t>of a cat</t>\n\nhat".into();
        assert_eq!(answers(&templates[1], &turns)[0], "hat\n");
    }

    #[test]
    fn what_begins_an_answer_is_found() {
        assert_eq!(begin_of_answer(&chatml()).unwrap(), "<|im_start|>assistant\n");
        let bare = template("{% for m in messages %}{{ m.content }}\n{% endfor %}");
        assert_eq!(begin_of_answer(&bare).unwrap(), "");
        let said: Vec<_> = remarks(&bare).map(|remark| remark.to_string()).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[1].ends_with("with no token: put {{ eos_token }} there"), "{said:?}");
        assert_eq!(remarks(&chatml()).count(), 0);
    }

    #[test]
    fn what_would_be_lost_is_refused() {
        let refused = |template: &Template, turns: &[Turn]| {
            written_down(template, turns).unwrap_err().to_string()
        };
        let mut turns = conversation();
        let drops = template(
            "{% for m in messages %}{% if m.role != 'system' %}{{ m.content }}{% endif %}{% endfor %}",
        );
        assert!(refused(&drops, &turns).contains("leaves out what system says"));
        turns[1].role = "usr".into();
        assert!(refused(&chatml(), &turns).contains("does not know the role 'usr'"));
        let backwards = template("{% for m in messages | reverse %}{{ m.content }}{% endfor %}");
        let said = refused(&backwards, &conversation()[1..3]);
        assert!(said.contains("message 2"), "{said}");
    }
}
