//! Which mistake is made: the one that `LLM_MISTAKE` names. `.ci/exercises` names each once.

/// Whether this is the one.
pub fn planted(name: &str) -> bool {
    std::env::var("LLM_MISTAKE").is_ok_and(|wanted| wanted == name)
}
