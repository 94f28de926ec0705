//! How a model has conversations written down.
//!
//! The template is Jinja's, rendered by minijinja in the way in which `transformers` renders it:
//! blocks leave no line behind, methods of Python's strings are there, and so is
//! `raise_exception`. The day of today (`strftime_now`) is always the same one: what a run learns
//! must not depend on when it began.
//!
//! A template is a program from outside: bounded in length before it is read (`source`), in what it makes
//! (`environment`), in steps and in time.

pub(super) use super::environment::DAY;
use super::environment::{FORMAT, NAMESPACE, TODAY, TOO_DEEP, by, environment};
use super::line::{ASSISTANT, Turn};
use super::source::bounded;
use crate::bpe::{AVAILABLE, UNAVAILABLE};
use crate::kept::chatml;
use crate::tokenizers::Besides;
use llm_core::Result;
use llm_core::base::{self, Message};
use llm_core::message;
use llm_core::tokenizer::{END_OF_TEXT, Tokenizer};
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, Value, context};
use serde_json::json;
use std::time::{Duration, Instant};

/// Steps that a template may take, and as many more for each turn and for 16 bytes that are said: a
/// hundred times what those of known models need. A step pays for 64 bytes that it makes.
const FUEL: u64 = 200_000;
const FUEL_OF_TURN: u64 = 2_000;
/// Microseconds that a template may take, as [`FUEL`]: some steps are longer than others.
const TIME: u64 = 500_000;
const TIME_OF_TURN: u64 = 1_000;
/// Bytes that may be said in a conversation.
const MOST_SAID: usize = 16 << 20;
/// What reading a template may take of the stack: Jinja's reader calls itself for each word.
const STACK: usize = 32 << 20;

/// Roles that every template is taken to know.
const ROLES: [&str; 4] = ["system", "user", ASSISTANT, "tool"];

const NAME: &str = "chat";

/// How conversations are written down for a model.
#[derive(Debug)]
pub struct Template {
    jinja: Environment<'static>,
    source: String,
    bos: String,
    eos: String,
    /// Why nothing is written with it.
    refused: Option<Message>,
    /// Whether what is said comes as a list of parts, as in templates for images too.
    in_parts: bool,
    /// Whether it is the model's own, and not the usual one.
    pub is_own: bool,
}

impl Template {
    /// The template of a model with this tokenizer; ChatML for one without.
    ///
    /// # Errors
    /// [`llm_core::Error::Tokenizer`] for a template that is no Jinja.
    pub fn of(tokenizer: &dyn Tokenizer) -> Result<Template> {
        Template::with(tokenizer, &Besides::of(tokenizer)?)
    }

    /// [`Template::of`] where it is known what the tokenizer has besides its vocabulary.
    pub(super) fn with(tokenizer: &dyn Tokenizer, besides: &Besides) -> Result<Template> {
        let kept = besides.kept.clone();
        let end = tokenizer.end_of_text().map(|_| END_OF_TEXT.to_string());
        let eos = kept.eos.or(end).unwrap_or_default();
        let bos = kept.bos.unwrap_or_else(|| eos.clone());
        let is_own = kept.chat_template.is_some();
        let usual = || chatml(besides.has_mark(), tokenizer.end_of_text().is_some()).into();
        let source = kept.chat_template.unwrap_or_else(usual);
        let made = Template::new(source, bos, eos, is_own);
        made.map_err(|why| llm_core::Error::tokenizer(tokenizer.name(), why))
    }

    pub(crate) fn new(
        source: String,
        bos: String,
        eos: String,
        is_own: bool,
    ) -> Result<Template, Message> {
        if !AVAILABLE {
            return Err(UNAVAILABLE);
        }
        let readable = bounded(&without_marks(&source))?;
        let read = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            let mut jinja = environment()?;
            jinja.add_template_owned(NAME, readable)?;
            Ok(jinja)
        });
        let no = |why: String| message!("its chat template is no Jinja: {}", why);
        let read = read.map_err(|e| no(e.to_string()))?.join();
        let read = read.map_err(|_| no(String::new()))?;
        let jinja = read.map_err(|e: minijinja::Error| no(said(&e)))?;
        Ok(Template { jinja, source, bos, eos, refused: None, in_parts: false, is_own }.tried())
    }

    /// Tries it on a question: whether it has to come in parts to be written down, and whether it
    /// is refused once and for all.
    fn tried(mut self) -> Template {
        const SAID: &str = "A question.";
        let question = [Turn::new("user", SAID)];
        let writes = |template: &Template| match template.rendered(&question, true) {
            Ok(text) => Ok(text.contains(SAID)),
            Err(e) => Err(beyond(&e)),
        };
        match writes(&self) {
            Ok(true) => {}
            Ok(false) => {
                self.in_parts = true;
                self.in_parts = writes(&self) == Ok(true);
            }
            Err(beyond) => self.refused = beyond,
        }
        self
    }

    /// The turns as the model has them; with `answer` also what stands before the answer that
    /// comes next.
    ///
    /// # Errors
    /// Why the template refuses them, or does not come to an end, or writes nothing.
    pub fn render(&self, turns: &[Turn], answer: bool) -> Result<String, Message> {
        // Without BPE there is no template: then no interpreter is built in either.
        if !AVAILABLE {
            return Err(UNAVAILABLE);
        }
        let said_in_all: usize = turns.iter().map(|turn| turn.content.len()).sum();
        if said_in_all > MOST_SAID {
            let [len, most] = [said_in_all, MOST_SAID].map(|n| base::bytes(n as u64));
            return Err(message!("what is said in it is too long: {}, of at most {}", len, most));
        }
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        let written = self.rendered(turns, answer).map_err(|e| {
            beyond(&e).unwrap_or_else(|| message!("the chat template refuses it: {}", said(&e)))
        })?;
        match written.trim().is_empty() && !turns.is_empty() {
            true => Err(message!("the chat template writes nothing down")),
            false => Ok(written),
        }
    }

    fn rendered(&self, turns: &[Turn], answer: bool) -> Result<String, minijinja::Error> {
        let bytes: usize = turns.iter().map(|turn| turn.content.len()).sum();
        let (count, bytes) = (turns.len() as u64, bytes as u64);
        let mut jinja = self.jinja.clone();
        jinja.set_fuel(Some(FUEL + FUEL_OF_TURN * count + bytes / 16));
        let messages = match self.in_parts {
            false => Value::from(Serde(turns)),
            true => turns.iter().map(in_parts).collect(),
        };
        let values = context! {
            messages, add_generation_prompt => answer,
            tools => (), documents => (), bos_token => self.bos.clone(), eos_token => self.eos.clone(),
        };
        let time = Duration::from_micros(TIME + TIME_OF_TURN * count + bytes / 4);
        by(Instant::now() + time, || jinja.get_template(NAME)?.render(values))
    }

    /// Whether it reads this key of a message, such as `reasoning_content`.
    pub fn names(&self, key: &str) -> bool {
        let is_named = |before: char| {
            let name = format!("{before}{key}");
            self.source.match_indices(&name).any(|(at, found)| {
                let next = self.source[at + found.len()..].chars().next();
                match before {
                    '.' => !next.is_some_and(|c| c.is_alphanumeric() || c == '_'),
                    quote => next == Some(quote),
                }
            })
        };
        ['.', '\'', '"'].into_iter().any(is_named)
    }

    /// Whether it knows who speaks: a role that it does not name would be written down as if it
    /// did, or be left out.
    pub fn knows(&self, role: &str) -> bool {
        let quoted = |mark: char| self.source.contains(&format!("{mark}{role}{mark}"));
        ROLES.contains(&role) || quoted('\'') || quoted('"')
    }

    /// Whether it asks for the day of today, and is told a fixed one.
    pub fn asks_for_the_date(&self) -> bool {
        self.source.contains(TODAY)
    }
}

/// A turn as a template for images too has it.
fn in_parts(turn: &Turn) -> Value {
    let mut parts = turn.more.clone();
    parts.insert("role".into(), turn.role.as_str().into());
    parts.insert("content".into(), json!([{"type": "text", "text": turn.content}]));
    Value::from(Serde(parts))
}

/// What is said of a template that goes beyond its bounds.
fn beyond(e: &minijinja::Error) -> Option<Message> {
    match (e.kind(), e.detail()) {
        (ErrorKind::OutOfFuel, _) => Some(message!("the chat template does not come to an end")),
        (_, Some(TOO_DEEP)) => Some(message!("the chat template nests lists too deeply")),
        (_, Some(NAMESPACE)) => Some(message!("the chat template puts a namespace into a value")),
        (_, Some(FORMAT)) => Some(message!("the chat template has format write down a list")),
        _ => None,
    }
}

/// What minijinja says, in a line.
fn said(e: &minijinja::Error) -> String {
    let kind = || e.kind().to_string();
    let said = e.detail().map_or_else(kind, ToString::to_string);
    base::escape::one_line(&said).chars().take(200).collect()
}

/// The template without the marks around answers (`{% generation %}`), which change nothing of what
/// is written and which only `transformers` knows.
fn without_marks(source: &str) -> String {
    let mut plain = source.to_string();
    for (word, instead) in [("endgeneration", "endif"), ("generation", "if true")] {
        for (before, after) in [("{% ", " %}"), ("{%- ", " %}"), ("{% ", " -%}"), ("{%- ", " -%}")]
        {
            let mark = format!("{before}{word}{after}");
            plain = plain.replace(&mark, &format!("{before}{instead}{after}"));
        }
    }
    plain
}

#[cfg(feature = "bpe")]
#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn template(source: &str) -> Template {
        Template::new(source.into(), "<s>".into(), "</s>".into(), true).unwrap()
    }

    pub fn chatml() -> Template {
        template(crate::kept::CHATML)
    }

    #[test]
    fn turns_are_written_down() {
        let turns = [Turn::new("system", "Be <brief>."), Turn::new("user", "1+1?")];
        let written = chatml().render(&turns, true).unwrap();
        let wanted = "<|im_start|>system\nBe <brief>.<|im_end|>\n<|im_start|>user\n1+1?<|im_end|>\n\
                      <|im_start|>assistant\n";
        assert_eq!(written, wanted);
        let marked = "{% for m in messages %}\n  {%- generation %}{{ m.content.strip() }}\
                      {% endgeneration %}{{ eos_token }}\n{% endfor %}";
        assert_eq!(template(marked).render(&turns, false).unwrap(), "Be <brief>.</s>\n1+1?</s>\n");
    }

    #[test]
    fn what_a_template_refuses_is_said() {
        let refuses = template("{{ raise_exception('after a user\nan assistant') }}");
        let said = refuses.render(&[Turn::new("user", "a")], false).unwrap_err().to_string();
        assert!(said.contains("refuses it: after a user an assistant"), "{said}");
        let loops = "{% macro f(n) %}{% for i in range(9000) %}{{ f(n) }}{% endfor %}{% endmacro %}\
                     {% for i in range(9000) %}{% for j in range(9000) %}{{ j }}{% endfor %}{% endfor %}";
        let said = template(loops).render(&[], false).unwrap_err().to_string();
        assert_eq!(said, "the chat template does not come to an end");
        let open = Template::new("{% for m in".into(), String::new(), String::new(), true);
        let said = open.unwrap_err().to_string();
        assert!(said.starts_with("its chat template is no Jinja: "), "{said}");
    }

    /// Each of them aborted, or took minutes.
    #[test]
    fn a_hostile_template_is_refused() {
        let set = "{% set ns = namespace(x=[1, 2, 3, 4]) %}";
        let grown = |step: &str, n: u32, then: &str| {
            format!(
                "{set}{{% for i in range({n}) %}}{{% set ns.x = {step} %}}{{% endfor %}}a{then}"
            )
        };
        let tags = |tag: &str, n: usize| tag.repeat(n);
        let macros = "{% macro f(n) %}{{ f([n, n]) }}{% endmacro %}{{ f([1]) }}";
        for (source, why) in [
            (
                "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}".into(),
                "puts a namespace into",
            ),
            (
                "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}".into(),
                "puts a namespace into",
            ),
            ("{{ '{:30000000000d}'.format(1) }}".into(), "come to an end"),
            ("{{ '{:.30000000000f}'.format(1.5) }}".into(), "come to an end"),
            ("{{ ('{0}' * 90000).format('a' * 90000) }}".into(), "come to an end"),
            ("{{ '%30000000000d' | format(1) }}".into(), "come to an end"),
            (grown("[ns.x]", 90000, ""), "nests lists too deeply"),
            (grown("{'a': ns.x}", 90000, "{{ ns.x }}"), "nests lists too deeply"),
            (grown("[ns.x] | batch(1)", 90000, "{{ ns.x | sort }}"), "nests lists too deeply"),
            (grown("ns.x + ns.x", 40, "{{ ns.x | list | length }}"), "come to an end"),
            (grown("[ns.x, ns.x]", 30, "{{ ns.x == ns.x | list }}"), "come to an end"),
            (grown("ns.x[1:] + [ns.x[::-1]]", 90000, ""), "come to an end"),
            (
                tags("{% for i in range(9000) %}", 3) + "a" + &tags("{% endfor %}", 3),
                "come to an end",
            ),
            (macros.into(), "come to an end"),
            ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}".into(), "recursion limit exceeded"),
            (
                format!(
                    "{set}{{% for i in range(9000) %}}{{% for j in range(9000) %}}{{% if [ns.x] * 1 %}}{{% endif %}}"
                ),
                "'*', which is not done",
            ),
        ] {
            let begun = Instant::now();
            let made = Template::new(source.clone(), String::new(), String::new(), true);
            let said = made.and_then(|made| made.render(&[Turn::new("user", "hi")], true));
            let said = said.unwrap_err().to_string();
            assert!(said.contains(why) && said.contains("chat template"), "{source}: {said}");
            assert!(begun.elapsed().as_secs() < 3, "{source}");
        }
    }

    #[test]
    fn none_is_nothing_to_go_through_and_every_day_is_the_same() {
        let none = "{% if tools is iterable and tools | length %}a{% endif %}\
                    {% if tools is sequence %}b{% endif %}{% if '' is sequence %}c{% endif %}";
        let asks = template(&format!(
            "{none}{{{{ strftime_now('%d %B %Y, %A, é%Q%%') }}}}{{{{ [1, {{'a': 'é'}}] | tojson }}}}"
        ));
        let wanted = "c26 July 2024, Friday, é%Q%[1, {\"a\": \"é\"}]";
        assert_eq!(asks.render(&[], false).unwrap(), wanted);
        assert!(asks.asks_for_the_date() && !chatml().asks_for_the_date());
    }

    #[test]
    fn what_is_said_comes_in_parts_where_it_is_lost_otherwise() {
        let parts = template(
            "{% for m in messages %}{{ m.role }}:{% for part in m.content %}{{ part.text }}{% endfor %};{% endfor %}",
        );
        let turns = [Turn::new("user", "a"), Turn::new("assistant", "b")];
        assert_eq!(parts.render(&turns, false).unwrap(), "user:a;assistant:b;");
    }

    #[test]
    fn what_is_nothing_or_too_much_is_said() {
        let nothing = template("{% if 0 %}x{% endif %}\n");
        let said = nothing.render(&[Turn::new("user", "a")], true).unwrap_err().to_string();
        assert_eq!(said, "the chat template writes nothing down");
        let long = [Turn::new("user", "a".repeat(MOST_SAID + 1))];
        let said = chatml().render(&long, true).unwrap_err().to_string();
        assert_eq!(said, "what is said in it is too long: 16.8 MB, of at most 16.8 MB");
        assert!(chatml().render(&[Turn::new("user", "a".repeat(MOST_SAID))], true).is_ok());
    }

    #[test]
    fn a_key_is_read_where_it_is_named() {
        let own = template("{{ m.thinking }}{{ m['name'] }}{{ enable_thought }}{{ m.thoughts }}");
        assert!(own.names("thinking") && own.names("name"));
        assert!(!own.names("thought") && !own.names("enable_thought") && !own.names("nam"));
    }

    #[test]
    fn a_role_is_known_where_it_is_named() {
        let own = template("{% if m.role == 'narrator' %}{% endif %}");
        assert!(own.knows("narrator") && own.knows("tool") && !own.knows("asistant"));
        assert!(!chatml().knows("narrator"));
    }
}
