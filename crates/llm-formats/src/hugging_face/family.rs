//! Which models of `transformers` there are: what they are called in a config.json.

/// A class of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Learned positions, layer norms, GELU.
    Gpt2,
    /// Rotary positions, grouped queries, root-mean-square norms, SwiGLU.
    Llama,
    /// [`Family::Llama`] with a window.
    Mistral,
    /// [`Family::Mistral`] with biases for queries, keys and values.
    Qwen2,
    /// [`Family::Mistral`] with normed queries and keys.
    Qwen3,
}

impl Family {
    /// Every family that is known here.
    pub const ALL: [Family; 5] =
        [Family::Gpt2, Family::Llama, Family::Mistral, Family::Qwen2, Family::Qwen3];

    /// The name in the field `model_type`.
    pub fn model_type(self) -> &'static str {
        match self {
            Family::Gpt2 => "gpt2",
            Family::Llama => "llama",
            Family::Mistral => "mistral",
            Family::Qwen2 => "qwen2",
            Family::Qwen3 => "qwen3",
        }
    }

    /// The class with the output head, then the one without.
    pub fn classes(self) -> [&'static str; 2] {
        match self {
            Family::Gpt2 => ["GPT2LMHeadModel", "GPT2Model"],
            Family::Llama => ["LlamaForCausalLM", "LlamaModel"],
            Family::Mistral => ["MistralForCausalLM", "MistralModel"],
            Family::Qwen2 => ["Qwen2ForCausalLM", "Qwen2Model"],
            Family::Qwen3 => ["Qwen3ForCausalLM", "Qwen3Model"],
        }
    }

    /// The family of this `model_type`.
    pub fn of(model_type: &str) -> Option<Family> {
        Family::ALL.into_iter().find(|family| family.model_type() == model_type)
    }
}
