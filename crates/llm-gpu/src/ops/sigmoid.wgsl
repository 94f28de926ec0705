// σ. An argument beyond ±60 would overflow in exp; σ is 0 or 1 there to the last bit of an f32.
fn sigmoid(z: f32) -> f32 { return 1.0 / (1.0 + exp(-clamp(z, -60.0, 60.0))); }
