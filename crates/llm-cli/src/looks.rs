//! What was given in the place of what a verb reads, and which verb reads it.

use llm_core::base::Message;
use llm_core::message;
use llm_formats::first_look::Look;

/// What was given, and what takes it.
pub(crate) fn instead(look: Look) -> Message {
    match advice(look) {
        None => message!("it is {}", look.message()),
        Some(advice) => message!("it is {}; {}", look.message(), Message::from(advice)),
    }
}

fn advice(look: Look) -> Option<&'static str> {
    Some(match look {
        Look::Checkpoint | Look::Run => "--load takes it",
        Look::Checkpoints(_) => "name one of them",
        Look::Gguf => "import gguf reads it",
        Look::GgufPart(..) => "llama-gguf-split --merge makes one file of all parts",
        Look::Safetensors => {
            "import hf reads the folder of a model of Hugging Face's, import safetensors a file that \
             export safetensors wrote"
        }
        Look::HuggingFace => "import hf reads it",
        Look::Adapter => {
            "import peft reads it with the model in --base, and --adapter takes it beside the model in --load"
        }
        Look::PyTorch => {
            "tools/nano_gpt_checkpoint.py makes a folder for import hf of a checkpoint of nanoGPT's"
        }
        Look::SentencePiece => "such tokenizers are not read",
        Look::Pointer => "git lfs pull fetches the file",
        Look::WebPage => "a server may have sent it in the place of a file",
        Look::Json => {
            "import hf reads the folder of a model of Hugging Face's, --config a file of TOML"
        }
        Look::Python => "docs/from_nano_gpt.md has a line that makes settings of nanoGPT's",
        _ => return None,
    })
}
