//! Does the attention fit a model?

use crate::modern::Modern;
use crate::rotary::Rotary;
use llm_core::base::Message;
use llm_core::{Config, Error, Result, message};

impl Modern {
    /// Does it fit a model of these settings?
    pub(crate) fn fits(&self, config: &Config) -> Result<()> {
        /// Channels of all heads of queries.
        const MOST: usize = 4 * Config::MAX_D_MODEL;
        let (h, g, c) = (self.n_heads, self.kv_heads, config.d_model);
        if h == 0 || self.head_dim.is_none() && !c.is_multiple_of(h) {
            let possible = Message::list((1..=c).filter(|h| c.is_multiple_of(*h)));
            let reason = message!(
                "{} heads do not divide a width (d_model) of {}; possible are {}",
                h,
                c,
                possible
            );
            return Err(Error::config("heads", reason));
        }
        if g == 0 || !h.is_multiple_of(g) {
            let possible = Message::list((1..=h.min(MOST)).filter(|g| h.is_multiple_of(*g)));
            let reason = message!("{} do not divide {} heads; possible are {}", g, h, possible);
            return Err(Error::config("kv_heads", reason));
        }
        let d = self.heads(c).head_dim;
        if d == 0 || h.checked_mul(d).is_none_or(|joined| joined > MOST) {
            let reason =
                message!("{} heads of {} channels are none, or more than {} together", h, d, MOST);
            return Err(Error::config("head_dim", reason));
        }
        if let Some(Rotary { theta, width: said, scaling, .. }) = &self.rotary {
            let width = said.unwrap_or(d);
            if width == 0 || width > d || !width.is_multiple_of(2) {
                let reason =
                    message!("{} channels of a head of {} cannot be turned in pairs", width, d);
                let field = if said.is_some() { "rotary_dim" } else { "head_dim" };
                return Err(Error::config(field, reason));
            }
            if !(*theta > 1.0 && theta.is_finite()) {
                let reason = message!("{} is not a finite number above 1", *theta);
                return Err(Error::config("rope_theta", reason));
            }
            if let Some(reason) = scaling.and_then(|scaling| scaling.wrong()) {
                return Err(Error::config("rotary", reason));
            }
        }
        if self.window == Some(0) {
            return Err(Error::config(
                "window",
                message!("0 positions: a query sees at least its own"),
            ));
        }
        let want = config.n_layers.saturating_mul(h);
        if !self.head_mask.is_empty() && self.head_mask.len() != want {
            let reason = message!("{} entries for {} heads", self.head_mask.len(), want);
            return Err(Error::config("head_mask", reason));
        }
        Ok(())
    }
}
