//! Which order is in use, and whether an instruction adds up in it.

use super::order::Order;
use std::sync::OnceLock;

/// The word of `LLM_BF16` that says no to the processor's unit.
pub const EMULATED: &str = "emulated";

static ORDER: OnceLock<Order> = OnceLock::new();

/// The order in use: [`available`], unless [`at_most`] came first.
pub fn order() -> Order {
    *ORDER.get_or_init(available)
}

/// What `LLM_BF16=pairs` or `tiles` asks for, else that of the fastest unit of this processor, pairs if
/// it has none: at every level of [`simd`](crate::kernels::simd) the same, so that processes agree.
pub fn available() -> Order {
    let asked = |order: &Order| words().any(|word| word == order.name());
    let own = || if has(Order::Tiles) { Order::Tiles } else { Order::Pairs };
    Order::ALL.into_iter().find(asked).unwrap_or_else(own)
}

/// Uses this order where the other comes after it, from now on, and says which one is in use: for
/// machines that are to compute the same bits. Too late when a product has been made already.
pub fn at_most(most: Order) -> Order {
    *ORDER.get_or_init(|| available().min(most))
}

/// Does this processor have an instruction for the order in use, and is it used? `LLM_BF16=emulated`
/// says no, for tests and measurements; so do levels of [`simd`](crate::kernels::simd) below AVX-512.
pub fn has_unit() -> bool {
    use crate::kernels::simd::{Level, level};
    static THERE: OnceLock<bool> = OnceLock::new();
    level() == Level::Avx512
        && *THERE.get_or_init(|| has(order()) && !words().any(|word| word == EMULATED))
}

/// The words of `LLM_BF16`, which commas part.
fn words() -> impl Iterator<Item = String> {
    let words = std::env::var("LLM_BF16").unwrap_or_default();
    words.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>().into_iter()
}

/// Whether the processor has an instruction for this order.
pub(super) fn has(order: Order) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        match order {
            Order::Pairs => super::avx512::is_there(),
            Order::Tiles => super::amx::is_there(),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = order;
        false
    }
}
