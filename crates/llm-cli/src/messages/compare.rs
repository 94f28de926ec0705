//! What may be said about models that differ in their number of heads, or in other settings.

use super::in_both;
use llm_core::base::thousands;
use llm_core::counted;
use llm_report::Bilingual;
use llm_stories::FactKind;

/// A quantity that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity<'a> {
    /// In nats for a token: lower is better.
    Loss,
    /// The share right, 0..=1.
    AllFacts,
    /// Of one kind.
    FactsOf(&'a str),
}

/// One of those that are compared, and the mean over its seeds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mean {
    pub name: Bilingual,
    pub value: f64,
}

/// How those that are compared differ in a quantity. The first is that with the fewest heads, or
/// that with the first values that were given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Difference {
    /// Not at all: this value with all of them and all seeds.
    Never(f64),
    /// The first is best; `beyond`: by more than the spread over the seeds.
    FirstIsBest { first: Mean, next: Mean, beyond: bool },
    /// Another one is better by more than the spread.
    Beyond { best: Mean, first: Mean },
    /// By no more than the spread.
    Within { best: Mean, first: Mean },
}

/// What follows from a comparison; `by_heads`: of numbers of heads and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Conclusion<'a> {
    /// Nothing yet.
    Incomplete { done: usize, planned: usize },
    /// Nothing about one kind, of which some runs ran away.
    Diverged { name: Bilingual, diverged: usize, of: usize },
    /// They did not learn from equally many tokens.
    Tokens { fewest: u64, most: u64 },
    /// Nothing from one seed.
    OneSeed,
    /// By which rule.
    Rule { seeds: usize, by_heads: bool },
    /// About one quantity.
    Found { quantity: Quantity<'a>, difference: Difference, seeds: usize, by_heads: bool },
    /// What it is no statement about.
    Limits,
}

llm_report::bilingual! {
    steps() "Steps of each run", "每次训练的步数";
    runs() "Runs done", "已完成的训练";
    loss() "Validation loss", "验证损失";
    all_facts() "All facts", "全部事实";
    facts_of(en, zh) "Facts of kind {en}", "“{zh}”类事实";
    beyond() "beyond", "超出";
    within() "within", "没有超出";
    incomplete(done, planned)
        "Incomplete: {done} of {planned} runs are done. Nothing is concluded.",
        "未完成：{planned} 次训练中完成了 {done} 次。不下结论。";
    ran_away(en, zh, diverged, of)
        "With {en} {diverged} of {of} runs diverged: it is not compared.",
        "{zh}：{of} 次训练中有 {diverged} 次发散，不参加比较。";
    tokens(fewest, most)
        "They did not learn from equally many tokens, but from {fewest} to {most}: that is a part of \
         every difference.",
        "它们学习的词元数不同，从 {fewest} 到 {most}：每项差异都有一部分来自这里。";
    one_seed()
        "One seed: nothing is known about the spread, so nothing is concluded.",
        "只有一个种子：不知道波动有多大，所以不下结论。";
    rule(seeds)
        "Rule: for each quantity, the number of heads with the best mean is compared with the \
         fewest heads (or, where these are the best, with the next); a difference counts when the \
         two ranges over {seeds} seeds do not overlap. The best is chosen after measuring, so \
         chance has several tries.",
        "规则：对每个量，把均值最好的头数与最少的头数相比（如果最少的就是最好的，则与其次的相比）；\
         只有当两者在 {seeds} 个种子上的取值范围不重叠时，才算有差异。最好的头数是测量之后挑出来的，\
         所以偶然性有不止一次机会。";
    rule_of_settings(seeds)
        "Rule: for each quantity, the setting with the best mean is compared with the first one \
         (or, where that is the best, with the next); a difference counts when the two ranges over \
         {seeds} seeds do not overlap. The best is chosen after measuring, so chance has several \
         tries.",
        "规则：对每个量，把均值最好的设置与第一个设置相比（如果第一个就是最好的，则与其次的相比）；\
         只有当两者在 {seeds} 个种子上的取值范围不重叠时，才算有差异。最好的设置是测量之后挑出来的，\
         所以偶然性有不止一次机会。";
    varied() "Varied", "变化的设置";
    first_below(what) "{what} (below stand those of the first)", "{what}（下面是第一种的）";
    number_of_heads() "number of heads", "头数";
    setting() "setting", "设置";
    nats(value) "{value} nats", "{value} 奈特";
    percent(value) "{value} %", "{value} %";
    limits()
        "This was measured with these settings, this data and these seeds, and says nothing about \
         others.",
        "以上只是在这些设置、这些数据和这些种子下测得的，不说明其他情况。";
}

impl Conclusion<'_> {
    /// In words.
    pub(crate) fn text(&self) -> Bilingual {
        match self {
            Conclusion::Incomplete { done, planned } => incomplete(done, planned),
            Conclusion::Diverged { name: Bilingual { en, zh }, diverged, of } => {
                ran_away(en, zh, diverged, of)
            }
            Conclusion::Tokens { fewest, most } => tokens(thousands(*fewest), thousands(*most)),
            Conclusion::OneSeed => one_seed(),
            Conclusion::Rule { seeds, by_heads: true } => rule(seeds),
            Conclusion::Rule { seeds, by_heads: false } => rule_of_settings(seeds),
            Conclusion::Found { quantity, difference, seeds, by_heads } => {
                found(*quantity, difference, *seeds, *by_heads)
            }
            Conclusion::Limits => limits(),
        }
    }
}

/// `4 heads`.
pub(crate) fn heads(n: usize) -> Bilingual {
    in_both(counted!(n, "head"))
}

fn found(
    quantity: Quantity<'_>,
    difference: &Difference,
    seeds: usize,
    by_heads: bool,
) -> Bilingual {
    let Bilingual { en: name, zh } = match quantity {
        Quantity::Loss => loss(),
        Quantity::AllFacts => all_facts(),
        Quantity::FactsOf(name) => {
            let kind = FactKind::ALL.iter().find(|kind| kind.name() == name);
            let Bilingual { en, zh } =
                kind.map_or_else(|| name.into(), |kind| llm_report::fact_label(*kind));
            facts_of(en, zh)
        }
    };
    let shown = |x: f64| match quantity {
        Quantity::Loss => nats(format!("{x:.4}")),
        Quantity::AllFacts | Quantity::FactsOf(_) => percent(format!("{:.1}", 100.0 * x)),
    };
    let of = |mean: &Mean| {
        let (name, value) = (&mean.name, shown(mean.value));
        (name.en.clone(), name.zh.clone(), value.en, value.zh)
    };
    let what = if by_heads { number_of_heads() } else { setting() };
    match difference {
        Difference::Never(value) => {
            let Bilingual { en: value, zh: value_zh } = shown(*value);
            let each = if by_heads {
                "不论几个头、哪个种子"
            } else {
                "不论哪种设置、哪个种子"
            };
            Bilingual::new(
                format!("{name}: {value} with every {} and every seed.", what.en),
                format!("{zh}：{each}，都是 {value_zh}。"),
            )
        }
        Difference::FirstIsBest { first, next, beyond: is_beyond } => {
            let ((few, few_zh, low, low_zh), (others, others_zh, shown, shown_zh)) =
                (of(first), of(next));
            let how = if *is_beyond { beyond() } else { within() };
            Bilingual::new(
                format!(
                    "{name}: no {} has a better mean than {few}, {low}; the next, {others} with \
                     {shown}, is {} the spread of {seeds} seeds.",
                    what.en, how.en
                ),
                format!(
                    "{zh}：没有别的{}的均值好过 {low_zh}（{few_zh}）；其次是 {shown_zh}（{others_zh}），\
                     差异{} {seeds} 个种子的波动范围。",
                    what.zh, how.zh
                ),
            )
        }
        Difference::Beyond { best, first } => {
            let ((many, many_zh, high, high_zh), (few, few_zh, low, low_zh)) =
                (of(best), of(first));
            Bilingual::new(
                format!(
                    "{name}: {high} with {many} against {low} with {few}, a difference beyond the \
                     spread of {seeds} seeds."
                ),
                format!(
                    "{zh}：{high_zh}（{many_zh}），{low_zh}（{few_zh}），差异超出 {seeds} 个种子的波动范围。"
                ),
            )
        }
        Difference::Within { best, first } => {
            let ((many, many_zh, high, high_zh), (few, few_zh, low, low_zh)) =
                (of(best), of(first));
            Bilingual::new(
                format!(
                    "{name}: no difference beyond the spread of {seeds} seeds ({high} with {many}, \
                     {low} with {few})."
                ),
                format!(
                    "{zh}：没有超出 {seeds} 个种子波动范围的差异（{many_zh}：{high_zh}；{few_zh}：{low_zh}）。"
                ),
            )
        }
    }
}
