//! Numbers as a person types them.

use llm_core::base::escape::clipped;
use std::time::Duration;

/// A number as one types it: `0.001`, `1e20` and not a row of zeros.
pub fn typed(x: f32) -> String {
    let usual = x == 0.0 || (1e-5..1e6).contains(&x.abs());
    if usual { x.to_string() } else { format!("{x:e}") }
}

/// [`typed`] with three digits that count: the course of a rate gives many.
pub fn short(x: f32) -> String {
    format!("{x:.2e}").parse().map_or_else(|_| typed(x), typed)
}

/// A length of time as people type it: `90`, `90s`, `10m`, `1.5h`, `1h30m`.
///
/// # Errors
/// A sentence, for whoever reads flags to print.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{}' is no length of time; examples: 90s, 10m, 1h30m", clipped(text));
    let is_unit = |c: char| !c.is_ascii_digit() && c != '.';
    let mut seconds = 0.0;
    for part in text.trim().split_inclusive(is_unit) {
        let number = part.trim_end_matches(is_unit);
        let unit = match &part[number.len()..] {
            "s" | "" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(wrong()),
        };
        seconds += unit * number.parse::<f64>().map_err(|_| wrong())?;
    }
    let length = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if length.is_zero() { Err(wrong()) } else { Ok(length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type() {
        let seconds = |text| duration(text).map(|d| d.as_secs_f64());
        for (text, want) in
            [("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("1h30m", 5400.0), ("1d", 86_400.0)]
        {
            assert_eq!(seconds(text), Ok(want), "{text}");
        }
        for text in ["", "0", "s", "h1", "1x", "-5", "1e400", "..", "1h ago"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
