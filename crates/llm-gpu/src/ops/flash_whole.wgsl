// Weights of an attention of which none are dropped.
fn know_forward() {}
fn know_backward() {}
fn mask(row: u32, j: u32) -> f32 { return 1.0; }
fn take_masks(row_0: u32, n: u32, j_0: u32, blocks: u32, t: u32) {}
fn mask_in_tile(r: u32, key: u32, j: u32, blocks: u32) -> f32 { return 1.0; }
