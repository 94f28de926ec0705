//! How a model has conversations written down.
//!
//! The template is Jinja's, rendered by minijinja in the way in which `transformers` renders it:
//! blocks leave no line behind, methods of Python's strings are there, and so is
//! `raise_exception`. The day of today (`strftime_now`) is not: what a run learns must not depend on
//! when it began. Templates that ask for it have a fixed day instead.

use super::line::{ASSISTANT, Turn};
use crate::tokenizers::{kept, usual_template};
use llm_core::Result;
use llm_core::base::Message;
use llm_core::message;
use llm_core::tokenizer::{END_OF_TEXT, Tokenizer};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, context};
use minijinja_contrib::pycompat::unknown_method_callback;

/// Steps that a template may take, and as many more for each turn: a hundred times what those of
/// known models need.
const FUEL: u64 = 200_000;

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
    /// Whether it is the model's own, and not the usual one.
    pub is_own: bool,
}

impl Template {
    /// The template of a model with this tokenizer; ChatML for one without.
    ///
    /// # Errors
    /// [`llm_core::Error::Tokenizer`] for a template that is no Jinja.
    pub fn of(tokenizer: &dyn Tokenizer) -> Result<Template> {
        let kept = kept(tokenizer)?;
        let end = tokenizer.end_of_text().map(|_| END_OF_TEXT.to_string());
        let eos = kept.eos.or(end).unwrap_or_default();
        let bos = kept.bos.unwrap_or_else(|| eos.clone());
        let is_own = kept.chat_template.is_some();
        let source = match kept.chat_template {
            Some(own) => own,
            None => usual_template(tokenizer)?.into(),
        };
        let made = Template::new(source, bos, eos, is_own);
        made.map_err(|why| llm_core::Error::tokenizer(tokenizer.name(), why))
    }

    fn new(source: String, bos: String, eos: String, is_own: bool) -> Result<Template, Message> {
        let mut jinja = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        jinja.set_syntax(syntax.map_err(|e| message!("{}", said(&e)))?);
        jinja.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        jinja.set_unknown_method_callback(unknown_method_callback);
        jinja.add_function("raise_exception", |why: String| -> Result<String, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, why))
        });
        let added = jinja.add_template_owned(NAME, without_marks(&source));
        added.map_err(|e| message!("its chat template is no Jinja: {}", said(&e)))?;
        Ok(Template { jinja, source, bos, eos, is_own })
    }

    /// The turns as the model has them; with `answer` also what stands before the answer that
    /// comes next.
    ///
    /// # Errors
    /// Why the template refuses them, or does not come to an end.
    pub fn render(&self, turns: &[Turn], answer: bool) -> Result<String, Message> {
        let mut jinja = self.jinja.clone();
        jinja.set_fuel(Some(FUEL.saturating_mul(turns.len() as u64 + 1)));
        let template = jinja.get_template(NAME).map_err(|e| message!("{}", said(&e)))?;
        let values = context! {
            messages => Serde(turns), add_generation_prompt => answer,
            tools => (), documents => (), bos_token => self.bos.clone(), eos_token => self.eos.clone(),
        };
        template.render(values).map_err(|e| match e.kind() {
            ErrorKind::OutOfFuel => message!("the chat template does not come to an end"),
            _ => message!("the chat template refuses it: {}", said(&e)),
        })
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
}

/// What minijinja says, in a line.
fn said(e: &minijinja::Error) -> String {
    let kind = || e.kind().to_string();
    let said = e.detail().map_or_else(kind, ToString::to_string);
    llm_core::base::escape::one_line(&said).chars().take(200).collect()
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
