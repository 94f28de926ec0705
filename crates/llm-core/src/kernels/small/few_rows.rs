//! Rows in groups that registers have room for.

/// Calls a function of some numbers of rows, the last of which is 1, for as many as there are: `sums`, and the inputs of each.
macro_rules! few_rows {
    ([$($size:literal)+], $sums:expr, $x:expr, $rows:expr, |$few:ident, $inputs:ident| $of:expr) => {{
        let (mut left, blocks, mut first) = ($sums, $x.len() / $rows, 0);
        macro_rules! of {
            ($n:literal) => {
                while let Some($few) =
                    left.split_off_mut(..$n).and_then(|few| few.first_chunk_mut::<$n>())
                {
                    let $inputs: [_; $n] =
                        std::array::from_fn(|row| &$x[(first + row) * blocks..][..blocks]);
                    first += $n;
                    $of;
                }
            };
        }
        $(of!($size);)+
    }};
}
pub(super) use few_rows;
