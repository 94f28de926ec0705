// The number is what an activation's own number would have had of the loss: times its slope, at what it read.
fn finish(at: u32, v: f32) {
    let share = v * slope(d[at]);
    if p.add == 1u { c[at] += share; } else { c[at] = share; }
}
