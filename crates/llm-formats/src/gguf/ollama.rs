//! A chat template in Ollama's own language.
//!
//! Ollama does not run the Jinja in a file: it compares the text with some forty templates that it knows,
//! and where none is near it sends the bare question. So what the template writes around a system message, a
//! question and an answer is found by having it write some, put together again in the language of Go's
//! templates, and held against the template on further conversations.
//!
//! Reference: `docs/template.mdx` and `template/template.go` of Ollama.

use crate::chat::{Template, Turn};

/// What a template writes around what is said.
#[derive(Debug, PartialEq)]
struct Pieces {
    /// Before and after a system message at the beginning; nothing where it takes none.
    system: Option<[String; 2]>,
    /// At the beginning where no system message is.
    begin: String,
    user: [String; 2],
    answer: [String; 2],
    /// Before the answer that comes next.
    ask: String,
}

/// Turns by their roles, each with words of its own.
fn turns(roles: &[&str]) -> Vec<Turn> {
    let said = |(i, role): (usize, &&str)| Turn::new(role, format!("zq{i}{role}qz"));
    roles.iter().enumerate().map(said).collect()
}

/// The template in Ollama's language, and whether it has a place for a system message; nothing where what it
/// writes is not put together of what is said in order.
pub(super) fn template_of(template: &Template) -> Option<(String, bool)> {
    let pieces = pieces(template)?;
    let mut further = vec![
        vec!["user"],
        vec!["user", "assistant", "user"],
        vec!["user", "assistant", "user", "assistant", "user"],
    ];
    if pieces.system.is_some() {
        further.extend([vec!["system", "user"], vec!["system", "user", "assistant", "user"]]);
    }
    let same = |roles: &Vec<&str>| {
        let turns = turns(roles);
        template.render(&turns, true).is_ok_and(|text| text == pieces.put_together(&turns))
    };
    further.iter().all(same).then_some(())?;
    let text = pieces.in_ollama();
    let literal = [&pieces.begin, &pieces.ask].into_iter();
    let around = [&pieces.user, &pieces.answer].into_iter().chain(&pieces.system).flatten();
    let is_plain = |text: &String| !["{{", "}}", "\"\"\""].iter().any(|mark| text.contains(mark));
    literal.chain(around).all(is_plain).then_some((text, pieces.system.is_some()))
}

/// The pieces, by what the template writes of four short conversations.
fn pieces(template: &Template) -> Option<Pieces> {
    let three = turns(&["user", "assistant", "user"]);
    let (first, said, last) = (&three[0].content, &three[1].content, &three[2].content);
    let all = template.render(&three, true).ok()?;
    let alone = template.render(&three[..1], false).ok()?;
    let (before, after) = alone.split_once(first.as_str())?;
    let rest = all.strip_prefix(before)?.strip_prefix(first.as_str())?.strip_prefix(after)?;
    let (answer, rest) = rest.split_once(said.as_str())?;
    let (between, rest) = rest.split_once(last.as_str())?;
    let ask = rest.strip_prefix(after)?;
    // What ends the last answer ends others too, or else what stands before a question here and there is
    // what belongs to it.
    let two = template.render(&three[..2], false).ok()?;
    let (_, end) = two.split_once(said.as_str())?;
    let of_answer = between.strip_prefix(end).filter(|user| before.ends_with(user));
    let user = of_answer.unwrap_or_else(|| from_a_mark(common_end(before, between)));
    let system = with_system(template, user);
    Some(Pieces {
        system,
        begin: before.strip_suffix(user)?.into(),
        user: [user.into(), after.into()],
        answer: [answer.into(), between.strip_suffix(user)?.into()],
        ask: ask.into(),
    })
}

/// What is written around a system message, before what belongs to a question.
fn with_system(template: &Template, user: &str) -> Option<[String; 2]> {
    let two = turns(&["system", "user"]);
    let text = template.render(&two, false).ok()?;
    let (head, rest) = text.split_once(two[0].content.as_str())?;
    let (between, _) = rest.split_once(two[1].content.as_str())?;
    Some([head.into(), between.strip_suffix(user)?.into()])
}

/// The longest end that both texts have.
fn common_end<'t>(a: &'t str, b: &str) -> &'t str {
    let pairs = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b);
    let len: usize = pairs.map(|(a, _)| a.len_utf8()).sum();
    &a[a.len() - len..]
}

/// Without the end of a mark whose beginning is not there.
fn from_a_mark(text: &str) -> &str {
    match (text.find('>'), text.find('<')) {
        (Some(end), start) if start.is_none_or(|start| end < start) => &text[end + 1..],
        _ => text,
    }
}

impl Pieces {
    /// A conversation as Ollama will write it.
    fn put_together(&self, turns: &[Turn]) -> String {
        let mut text = String::new();
        match (turns.first().filter(|turn| turn.role == "system"), &self.system) {
            (Some(turn), Some([before, after])) => {
                text.extend([before.as_str(), &turn.content, after]);
            }
            _ => text += &self.begin,
        }
        for turn in turns.iter().filter(|turn| turn.role != "system") {
            let [before, after] = if turn.role == "user" { &self.user } else { &self.answer };
            text.extend([before.as_str(), &turn.content, after]);
        }
        text + &self.ask
    }

    fn in_ollama(&self) -> String {
        let Pieces { system, begin, user, answer, ask } = self;
        let around = |[before, after]: &[String; 2]| format!("{before}{{{{ .Content }}}}{after}");
        let beginning = match system {
            Some([before, after]) => {
                let other =
                    if begin.is_empty() { String::new() } else { format!("{{{{ else }}}}{begin}") };
                format!("{{{{ if .System }}}}{before}{{{{ .System }}}}{after}{other}{{{{ end }}}}")
            }
            None => begin.clone(),
        };
        format!(
            "{beginning}{{{{ range .Messages }}}}{{{{ if eq .Role \"user\" }}}}{}\
             {{{{ else if eq .Role \"assistant\" }}}}{}{{{{ end }}}}{{{{ end }}}}{ask}",
            around(user),
            around(answer)
        )
    }
}

#[cfg(feature = "bpe")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizers::{talking, with_end_of_text};
    use llm_core::tokenizer::ByteTokenizer;
    use std::sync::Arc;

    fn of(source: &str) -> Option<(String, bool)> {
        let bytes = with_end_of_text(Arc::new(ByteTokenizer)).unwrap();
        let own = talking(bytes, Some(source.into()), false).unwrap();
        template_of(&Template::of(&*own).unwrap())
    }

    #[test]
    fn chatml_and_its_kin_are_put_together_again() {
        let (text, system) = of(crate::kept::CHATML).unwrap();
        assert!(system);
        assert_eq!(
            text,
            "{{ if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}\
             {{ range .Messages }}{{ if eq .Role \"user\" }}<|im_start|>user\n{{ .Content }}<|im_end|>\n\
             {{ else if eq .Role \"assistant\" }}<|im_start|>assistant\n{{ .Content }}<|im_end|>\n\
             {{ end }}{{ end }}<|im_start|>assistant\n"
        );
        // A text begins with a mark, marks end alike, and a question alone has a system message.
        let llama = "{{ bos_token }}{% if messages[0].role != 'system' %}<|h|>system<|/h|>Help.<|e|>{% endif %}\
                     {% for m in messages %}<|h|>{{ m.role }}<|/h|>{{ m.content }}<|e|>{% endfor %}\
                     {% if add_generation_prompt %}<|h|>assistant<|/h|>{% endif %}";
        let (text, _) = of(llama).unwrap();
        let begin = "<|endoftext|><|h|>system<|/h|>";
        assert!(
            text.starts_with(&format!("{{{{ if .System }}}}{begin}{{{{ .System }}}}<|e|>")),
            "{text}"
        );
        assert!(text.contains(&format!("{{{{ else }}}}{begin}Help.<|e|>{{{{ end }}}}")), "{text}");
        let no_system = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}\
                         {% endif %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>";
        assert!(!of(no_system).unwrap().1);
    }

    #[test]
    fn what_depends_on_the_place_is_not_taken_for_it() {
        for source in [
            "{% for m in messages %}{{ loop.index }}{{ m.content }}\n{% endfor %}>",
            "{% for m in messages | reverse %}<{{ m.role }}>{{ m.content }}\n{% endfor %}>",
            "{% for m in messages %}{{ '{{' }}{{ m.role }}:{{ m.content }}\n{% endfor %}a:",
        ] {
            assert_eq!(of(source), None, "{source}");
        }
    }
}
