// A workgroup of 64 for each row. Sums go by a tree over the 64, always the same one: the same bits on every run.
const W: u32 = 64u;
var<workgroup> part: array<f32, 64>;

fn sum_of(x: f32, t: u32) -> f32 {
    workgroupBarrier(); // who still reads the last sum is waited for
    part[t] = x;
    for (var half = W / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if t < half { part[t] += part[t + half]; }
    }
    workgroupBarrier();
    return part[0];
}

fn greatest_of(x: f32, t: u32) -> f32 {
    workgroupBarrier();
    part[t] = x;
    for (var half = W / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if t < half { part[t] = max(part[t], part[t + half]); }
    }
    workgroupBarrier();
    return part[0];
}
