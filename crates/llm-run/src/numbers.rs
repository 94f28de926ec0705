//! Numbers as a person types them.

/// A number as one types it: `0.001`, `1e20` and not a row of zeros.
pub fn typed(x: f32) -> String {
    let usual = x == 0.0 || (1e-5..1e6).contains(&x.abs());
    if usual { x.to_string() } else { format!("{x:e}") }
}

/// [`typed`] with three digits that count: the course of a rate gives many.
pub fn short(x: f32) -> String {
    format!("{x:.2e}").parse().map_or_else(|_| typed(x), typed)
}
