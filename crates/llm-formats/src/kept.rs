//! What belongs to a tokenizer and is next to its tokenizer.json elsewhere: kept in a checkpoint,
//! and written out again.

use serde::{Deserialize, Serialize};

/// Marks of turns in ChatML: tokens of their own in a vocabulary that is learned for conversations.
pub const MARKS: [&str; 2] = ["<|im_start|>", "<|im_end|>"];

/// The format of a model that has no template of its own: ChatML.
pub(crate) const CHATML: &str = "{% for message in messages %}\
    {{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}\
    {% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// ChatML for a vocabulary without its marks: an answer ends with the one token that ends a text, at
/// which every program stops.
const CHATML_OF_LETTERS: &str = "{% for message in messages %}\
    {{ '<|im_start|>' + message['role'] + '\n' + message['content'] }}\
    {% if message['role'] == 'assistant' %}{{ eos_token }}{% else %}{{ '<|im_end|>' }}{% endif %}\
    {{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// ChatML for a vocabulary that has its marks, or not, and a token that ends a text, or not.
pub(crate) fn chatml(marked: bool, ended: bool) -> &'static str {
    if ended && !marked { CHATML_OF_LETTERS } else { CHATML }
}

/// Texts as they are in tokenizer_config.json.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// The token that begins a text, where it is not the one that ends one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bos: Option<String>,
    /// How a conversation is written down for the model, in the language of templates (Jinja).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_template: Option<String>,
    /// The token that ends a text, where it is not [`END_OF_TEXT`](llm_core::tokenizer::END_OF_TEXT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eos: Option<String>,
}

impl Kept {
    /// Whether the template is the usual one.
    pub fn is_chatml(&self) -> bool {
        self.chat_template.as_deref().is_some_and(|own| [CHATML, CHATML_OF_LETTERS].contains(&own))
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Kept::default()
    }
}
