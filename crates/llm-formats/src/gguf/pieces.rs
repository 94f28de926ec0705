//! Which tensor of a file is which part of our parameters, by architecture: one list for both ways.
//!
//! A matrix is `[out, in]` there and `[in, out]` here. Queries, keys and values are columns of one
//! `w_qkv` here, and so are gate and value of a gated MLP of `w_fc`; a file of Llama has each alone.
//!
//! llama.cpp turns neighbours of a Llama's head as a pair, channels 2i and 2i + 1; here and in Hugging
//! Face's files a pair is i and i + D/2. So rows of queries and keys stand in another order there.

use super::file::Needed;
use llm_core::model::{Mlp, Norm};
use llm_core::{AttentionSpec, Config};

/// What llama.cpp calls a kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Learned positions, LayerNorm, GELU.
    Gpt2,
    /// Rotary positions, RMSNorm, SwiGLU, grouped queries.
    Llama,
    /// The same with normed queries and keys, and pairs that are D/2 apart.
    Qwen3,
}

impl Architecture {
    /// All that are known here.
    pub const ALL: [Architecture; 3] =
        [Architecture::Gpt2, Architecture::Llama, Architecture::Qwen3];

    /// Its name in `general.architecture`, and what its keys begin with.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Gpt2 => "gpt2",
            Architecture::Llama => "llama",
            Architecture::Qwen3 => "qwen3",
        }
    }

    /// The norm and the MLP of its blocks.
    pub(super) fn block(self) -> (Norm, Mlp) {
        match self {
            Architecture::Gpt2 => (Norm::Layer, Mlp::Gelu),
            Architecture::Llama | Architecture::Qwen3 => (Norm::Rms, Mlp::SwiGlu),
        }
    }
}

/// What a tensor is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// A bias or a gain: `[n]` in both.
    Vector,
    /// A row for each token or position, the same in both.
    Table,
    /// `[out, in]` there, columns of `[in, ours]` here.
    Matrix {
        /// Columns of ours.
        ours: usize,
    },
}

/// A tensor of a file, and where its numbers are in one of our parameters.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Name and shape there.
    pub(super) theirs: Needed,
    /// Our name.
    pub(super) ours: String,
    form: Form,
    /// The column, or number, of ours that it begins at.
    first: usize,
    /// D where rows of a head are in another order: pairs are neighbours there.
    neighbours: Option<usize>,
}

impl Piece {
    /// Whether it is a matrix of a layer, or one of the tables that texts begin and end with.
    pub(super) fn may_be_rounded(&self) -> bool {
        // llama.cpp reads positions as F32 whatever else a file holds.
        self.form != Form::Vector && self.ours != "wpe"
    }

    /// Whether it can be a part of a parameter of this shape.
    pub(super) fn fits(&self, ours: &[usize]) -> bool {
        let theirs = &self.theirs.shape;
        match (self.form, ours) {
            (Form::Vector, &[n]) => self.first + theirs[0] <= n,
            (Form::Table, ours) => ours == theirs,
            (Form::Matrix { ours: columns }, &[rows, n]) => {
                rows == theirs[1] && n == columns && self.first + theirs[0] <= n
            }
            _ => false,
        }
    }

    /// Our place of row r of theirs.
    fn place(&self, r: usize) -> usize {
        self.first
            + match self.neighbours {
                None => r,
                Some(d) => r - r % d + r % 2 * (d / 2) + r % d / 2,
            }
    }

    /// Puts rows of theirs, from a first one on, into our parameter.
    pub(super) fn put(&self, first: usize, rows: &[f32], ours: &mut [f32]) {
        match self.form {
            Form::Vector => {
                rows.iter().enumerate().for_each(|(r, x)| ours[self.place(r)] = *x);
            }
            Form::Table => {
                let start = first * self.theirs.shape[1];
                ours[start..start + rows.len()].copy_from_slice(rows);
            }
            Form::Matrix { ours: columns } => {
                let width = self.theirs.shape[1];
                let places: Vec<_> =
                    (0..rows.len() / width).map(|r| self.place(first + r)).collect();
                for (i, ours) in ours.chunks_exact_mut(columns).enumerate() {
                    for (place, row) in places.iter().zip(rows.chunks_exact(width)) {
                        ours[*place] = row[i];
                    }
                }
            }
        }
    }

    /// Takes rows of theirs, from a first one on, out of our parameter.
    pub(super) fn take(&self, first: usize, rows: &mut [f32], ours: &[f32]) {
        match self.form {
            Form::Vector => {
                rows.iter_mut().enumerate().for_each(|(r, x)| *x = ours[self.place(r)]);
            }
            Form::Table => {
                let start = first * self.theirs.shape[1];
                rows.copy_from_slice(&ours[start..start + rows.len()]);
            }
            Form::Matrix { ours: columns } => {
                let width = self.theirs.shape[1];
                let places: Vec<_> =
                    (0..rows.len() / width).map(|r| self.place(first + r)).collect();
                for (i, ours) in ours.chunks_exact(columns).enumerate() {
                    for (place, row) in places.iter().zip(rows.chunks_exact_mut(width)) {
                        row[i] = ours[*place];
                    }
                }
            }
        }
    }
}

/// All tensors of a model of these settings, in the order of a file.
pub(super) fn pieces(
    family: Architecture,
    config: &Config,
    attention: &AttentionSpec,
) -> Vec<Piece> {
    let (c, v) = (config.d_model, config.vocab_size);
    let mut list = List(Vec::new());
    list.table("token_embd.weight", "wte", [v, c]);
    if family == Architecture::Gpt2 {
        list.table("position_embd.weight", "wpe", [config.seq_len, c]);
    }
    for i in 0..config.n_layers {
        list.block(family, config, attention, i);
    }
    list.norm("output_norm", "lnf", c, family);
    if !config.tied_head {
        list.matrix("output.weight", "w_lm", [v, c], Columns::all(v));
    }
    list.0
}

/// Which columns of ours a matrix is.
#[derive(Clone, Copy)]
struct Columns {
    first: usize,
    /// Of all.
    of: usize,
    neighbours: Option<usize>,
}

impl Columns {
    fn all(of: usize) -> Columns {
        Columns { first: 0, of, neighbours: None }
    }
}

struct List(Vec<Piece>);

impl List {
    fn push(&mut self, theirs: &str, ours: &str, shape: Vec<usize>, form: Form, columns: Columns) {
        let theirs = Needed { name: theirs.into(), shape };
        let Columns { first, neighbours, .. } = columns;
        self.0.push(Piece { theirs, ours: ours.into(), form, first, neighbours });
    }

    fn table(&mut self, theirs: &str, ours: &str, shape: [usize; 2]) {
        self.push(theirs, ours, shape.into(), Form::Table, Columns::all(0));
    }

    fn vector(&mut self, theirs: &str, ours: &str, n: usize, columns: Columns) {
        self.push(theirs, ours, vec![n], Form::Vector, columns);
    }

    fn matrix(&mut self, theirs: &str, ours: &str, shape: [usize; 2], columns: Columns) {
        self.push(theirs, ours, shape.into(), Form::Matrix { ours: columns.of }, columns);
    }

    /// A matrix and, where there is one, its bias.
    fn linear(
        &mut self,
        theirs: &str,
        [weight, bias]: [&str; 2],
        shape: [usize; 2],
        columns: Columns,
        has_bias: bool,
    ) {
        self.matrix(&format!("{theirs}.weight"), weight, shape, columns);
        if has_bias {
            self.vector(&format!("{theirs}.bias"), bias, shape[0], columns);
        }
    }

    fn norm(&mut self, theirs: &str, ours: &str, n: usize, family: Architecture) {
        self.vector(&format!("{theirs}.weight"), &format!("{ours}_g"), n, Columns::all(n));
        if family == Architecture::Gpt2 {
            self.vector(&format!("{theirs}.bias"), &format!("{ours}_b"), n, Columns::all(n));
        }
    }

    fn block(
        &mut self,
        family: Architecture,
        config: &Config,
        attention: &AttentionSpec,
        i: usize,
    ) {
        let theirs = |name: &str| format!("blk.{i}.{name}");
        let ours = |name: &str| format!("blocks.{i}.{name}");
        let (c, inner, hidden) = (config.d_model, config.inner(), config.hidden());
        self.norm(&theirs("attn_norm"), &ours("ln1"), c, family);
        let (h, g, d) = (attention.n_heads, attention.kv_heads(), attention.head_dim(c));
        let [qkv_bias, proj_bias] = attention.biases;
        let (w_qkv, b_qkv, of) = (ours("w_qkv"), ours("b_qkv"), attention.qkv_width(c));
        let qkv = [w_qkv.as_str(), &b_qkv];
        match family {
            Architecture::Gpt2 => {
                self.linear(&theirs("attn_qkv"), qkv, [of, c], Columns::all(of), qkv_bias);
            }
            Architecture::Llama | Architecture::Qwen3 => {
                let turned = (family == Architecture::Llama).then_some(d);
                for (name, first, heads, neighbours) in [
                    ("attn_q", 0, h, turned),
                    ("attn_k", h * d, g, turned),
                    ("attn_v", (h + g) * d, g, None),
                ] {
                    let columns = Columns { first, of, neighbours };
                    self.linear(&theirs(name), qkv, [heads * d, c], columns, qkv_bias);
                }
            }
        }
        if family == Architecture::Qwen3 {
            for (name, gain) in [("attn_q_norm", "q_g"), ("attn_k_norm", "k_g")] {
                let (name, gain) = (theirs(&format!("{name}.weight")), ours(gain));
                self.vector(&name, &gain, d, Columns::all(d));
            }
        }
        let proj = [ours("w_proj"), ours("b_proj")];
        let proj = [proj[0].as_str(), &proj[1]];
        self.linear(&theirs("attn_output"), proj, [c, h * d], Columns::all(c), proj_bias);
        self.norm(&theirs("ffn_norm"), &ours("ln2"), c, family);
        let (fc, out) = ([ours("w_fc"), ours("b_fc")], [ours("w_out"), ours("b_out")]);
        let (fc, out) = ([fc[0].as_str(), &fc[1]], [out[0].as_str(), &out[1]]);
        // Columns 0..I open the gate, I..2I go through it.
        let mut up = Columns::all(hidden);
        if config.mlp.row().gated {
            self.linear(&theirs("ffn_gate"), fc, [inner, c], up, config.mlp_bias);
            up.first = inner;
        }
        self.linear(&theirs("ffn_up"), fc, [inner, c], up, config.mlp_bias);
        let all = Columns::all(c);
        self.linear(&theirs("ffn_down"), out, [c, inner], all, config.mlp_bias);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_llama_head_by_hand() {
        // Two heads of 6 channels, behind 100 others: rows 0 and 1 are the pair (0, 3), and so on.
        let piece = Piece {
            theirs: Needed { name: "q".into(), shape: vec![12, 1] },
            ours: "w_qkv".into(),
            form: Form::Matrix { ours: 200 },
            first: 100,
            neighbours: Some(6),
        };
        let places: Vec<_> = (0..12).map(|r| piece.place(r)).collect();
        assert_eq!(places[..6], [100, 103, 101, 104, 102, 105]);
        assert_eq!(places[6..], [106, 109, 107, 110, 108, 111]);
        let ours: Vec<f32> = (0..200).map(|x| x as f32).collect();
        let mut rows = [0.0; 4];
        piece.take(4, &mut rows, &ours);
        assert_eq!(rows, [102.0, 105.0, 106.0, 109.0]);
        let mut again = vec![0.0; 200];
        piece.put(4, &rows, &mut again);
        assert_eq!((again[105], again[106], again[103]), (105.0, 106.0, 0.0));
    }
}
