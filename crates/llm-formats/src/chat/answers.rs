//! Which part of a conversation that is written down is an answer.

use super::line::{ASSISTANT, Turn};
use super::template::Template;
use llm_core::base::Message;
use llm_core::message;
use std::ops::Range;

/// A conversation as a model reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenDown {
    /// It.
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
        let role = turn.role.escape_debug().to_string();
        return Err(message!(
            "the chat template does not know the role '{}' (system, user, assistant)",
            role
        ));
    }
    let text = template.render(turns, false)?;
    // An answer may be written without its reasoning.
    let is_lost = |turn: &&Turn| turn.role != ASSISTANT && !text.contains(turn.content.trim());
    if let Some(turn) = turns.iter().find(is_lost) {
        return Err(message!("the chat template leaves out what {} says", &turn.role));
    }
    let answers = (0..turns.len()).filter(|&i| turns[i].role == ASSISTANT);
    let answers = answers.map(|i| answer(template, turns, i, &text));
    Ok(WrittenDown { answers: answers.collect::<Result<_, _>>()?, text })
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

/// Where answer `i` stands in the conversation.
fn answer(
    template: &Template,
    turns: &[Turn],
    i: usize,
    text: &str,
) -> Result<Range<usize>, Message> {
    let apart = || {
        message!(
            "the chat template does not write the answer of message {} apart; learn all with \
             {loss_on} all",
            i + 1
        )
    };
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
            let content = &turns[i].content;
            let rest = &text[turns_before.len()..];
            let said = rest.find(content.as_str()).or_else(|| rest.find(content.trim()));
            common.min(turns_before.len() + said.ok_or_else(apart)?)
        }
    };
    let up_to = template.render(&turns[..=i], false)?;
    if text.starts_with(&up_to) && up_to.len() > start {
        return Ok(start..up_to.len());
    }
    // Answers that others follow are written in another way than the last one, such as without
    // their reasoning: then the end is where what it says is followed by what ends it.
    let said = turns[i].content.trim();
    let tail = up_to.rfind(said).map(|at| &up_to[at + said.len()..]).ok_or_else(apart)?;
    let end = text[start..].find(said).map(|at| start + at + said.len()).ok_or_else(apart)?;
    let common = common(tail, &text[end..]);
    match common.is_empty() && !tail.is_empty() {
        true => Err(apart()),
        false => Ok(start..end + common.len()),
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

    /// Qwen3's way: an empty thought before the last answer alone. And DeepSeek's: the thought is
    /// begun for the model, and left out of what was said before.
    #[test]
    fn thoughts_are_no_hindrance() {
        let last = template(
            "{% for m in messages %}{{ m.role }}:{% if loop.last and m.role == 'assistant' %}<t></t>{% endif %}\
             {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}",
        );
        assert_eq!(answers(&last, &conversation()), ["hat\n", "<t></t> log \n"]);
        let begun = template(
            "{% for m in messages %}{{ m.role }}:{{ m.content.split('</t>')[-1] }}\n{% endfor %}\
             {% if add_generation_prompt %}assistant:<t>{% endif %}",
        );
        assert_eq!(answers(&begun, &conversation()), ["hat\n", " log \n"]);
        let marked = [Turn::new("user", "a"), Turn::new("assistant", "<b>")];
        assert_eq!(answers(&begun, &marked), ["<b>\n"]);
        // Phi's: the end of the text stands after the last answer alone.
        let ended = template(
            "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}\
             {% if add_generation_prompt %}<|assistant|>{% else %}<|endoftext|>{% endif %}",
        );
        assert_eq!(answers(&ended, &conversation()), ["hat<|end|>", " log <|end|><|endoftext|>"]);
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
