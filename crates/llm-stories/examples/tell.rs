//! Stories, one to a line, for other programs (`benches/adapters.py`): COUNT of them, of a seed, from
//! number FROM on.
//!
//! `cargo run --release -p llm-stories --example tell -- SEED FROM COUNT`

use std::error::Error;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<u64> =
        std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [seed, from, count] = words[..] else { return Err("SEED FROM COUNT".into()) };
    for number in from..from.saturating_add(count) {
        std::io::stdout().write_all(llm_stories::story(seed, number).text.as_bytes())?;
    }
    Ok(())
}
