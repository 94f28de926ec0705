// y = max(x, 0)²;  dx = dy·2·max(x, 0).
fn value(x: f32) -> f32 { let r = max(x, 0.0); return r * r; }
fn slope(x: f32) -> f32 { return 2.0 * max(x, 0.0); }
