enable f16;
enable wgpu_cooperative_matrix;
const UNIT: u32 = 16u;
alias Left = coop_mat16x16<f16, A>;
alias Right = coop_mat16x16<f16, B>;
alias Sums = coop_mat16x16<f32, C>;
