//! The C++ original's 20-step regression, replayed: its generator, its initial weights and its
//! batches, our ops, gradients and AdamW. Its losses go from 6.09239 to 5.62375.

use llm_core::train::{OneProcess, Update, train_step};
use llm_core::{AdamW, Batch, Config, Hyperparameters, TinyGPT};

/// xorshift64* as the original uses it. Only here: the project itself draws from ChaCha.
struct Original(u64);

impl Original {
    fn new(seed: u64) -> Original {
        Original(if seed == 0 { 0x1234_5678 } else { seed })
    }

    fn u32(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(2_685_821_657_736_338_717) >> 32) as u32
    }

    /// 24 bits in 0..1.
    fn unit(&mut self) -> f32 {
        (self.u32() >> 8) as f32 / 16_777_216.0
    }

    /// Box-Muller, two numbers a time.
    fn normal(mut self, out: &mut [f32], std: f32) {
        for pair in out.chunks_mut(2) {
            let (u, v) = (self.unit().max(1e-7), self.unit());
            let (r, theta) = ((-2.0 * u.ln()).sqrt(), 2.0 * std::f32::consts::PI * v);
            for (x, z) in pair.iter_mut().zip([theta.cos(), theta.sin()]) {
                *x = r * z * std;
            }
        }
    }
}

#[test]
fn twenty_steps_of_the_original() {
    let (seed, c) = (7u64, 32usize);
    let data: Vec<u8> = (0..2048).map(|i| i as u8).collect();
    let mut model = TinyGPT::new(Config::new(256, 32, c, 1), 0).unwrap();
    let block = seed ^ 0x1000;
    for (name, p) in model.parameters_mut() {
        let (stream, fan_in) = match name.as_str() {
            "wte" => (seed ^ 0xA11CE, c),
            "wpe" => (seed ^ 0xBEEF, c),
            "w_lm" => (seed ^ 0xC0FFEE, c),
            "blocks.0.w_qkv" => (block ^ 1, c),
            "blocks.0.w_proj" => (block ^ 2, c),
            "blocks.0.w_fc" => (block ^ 3, c),
            "blocks.0.w_out" => (block ^ 4, 4 * c),
            _ => continue, // biases: 0
        };
        Original::new(stream).normal(p.data_mut(), 1.0 / (fan_in as f32).sqrt());
    }
    let mut adamw = AdamW::new(Hyperparameters::default()).unwrap();
    let mut rng = Original::new(seed ^ 0xDEAD_BEEF);
    let losses: Vec<f32> = (0..20)
        .map(|step| {
            let starts = [(); 2].map(|()| (rng.u32() % (2048 - 32)) as usize);
            let part = |moved: usize| -> Vec<u32> {
                starts
                    .iter()
                    .flat_map(|s| &data[s + moved..s + moved + 32])
                    .map(|&b| b.into())
                    .collect()
            };
            let batch = Batch::new(part(0), part(1), [2, 32]);
            let update = Update { step, lr: 1e-3, clip: 0.0 };
            train_step(&mut model, &mut adamw, [Ok(batch)], update, &mut OneProcess, &mut ())
                .unwrap()
                .loss
        })
        .collect();
    assert!((losses[0] - 6.09239).abs() < 2e-5, "{}", losses[0]);
    assert!((losses[19] - 5.62375).abs() < 2e-5, "{}", losses[19]);
}
