enable f16;
enable wgpu_cooperative_matrix;
const UNIT: u32 = 8u;
alias Left = coop_mat8x8<f16, A>;
alias Right = coop_mat8x8<f16, B>;
alias Sums = coop_mat8x8<f32, C>;
