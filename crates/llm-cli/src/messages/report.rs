//! Labels of the facts on a page, and what is not on it.

use crate::lang::{Bilingual, Lang};
use llm_stories::FactKind;

super::messages! {
    program() "Program", "程序";
    data() "Data", "数据";
    tokenizer() "Tokenizer", "分词器";
    model() "Model", "模型";
    parameters() "Parameters", "参数量";
    recipe() "Recipe", "训练设置";
    learning(batch, rate, warmup, clip, decay, betas, dropout)
        "{batch} · lr {rate} · warm-up {warmup} · clip {clip} · weight decay {decay} · β {betas} · dropout {dropout}",
        "{batch} · 学习率 {rate} · 预热 {warmup} · 裁剪 {clip} · 权重衰减 {decay} · β {betas} · dropout {dropout}";
    seed() "Seed", "随机种子";
    threads() "Threads", "线程";
    steps() "Steps", "步数";
    tokens() "Tokens", "词元数";
    seconds() "Time of this command", "本次命令用时";
    training_loss() "Training loss, smoothed", "训练损失（平滑）";
    validation_loss() "Validation loss at the end", "结束时的验证损失";
    on_all(loss, unit, tokens)
        "{loss} nats / {unit}, on all {tokens} tokens of the unseen text",
        "{loss} 奈特 / {unit}，在未见文本的全部 {tokens} 个词元上";
    on_some(loss, unit, tokens)
        "{loss} nats / {unit}, on {tokens} tokens of the unseen text",
        "{loss} 奈特 / {unit}，在未见文本的 {tokens} 个词元上";
    bits_per_byte() "Bits per byte", "每字节比特数";
    top_1() "Top-1", "首选命中率";
    checkpoints() "Checkpoints", "检查点";
    facts_right() "Facts right on unseen stories", "未见故事中答对的事实";
    one_place() "… that depend on one place", "……取决于一处";
    two_places() "… that depend on two places", "……取决于两处";
    by_kind() "… by kind", "……按种类";
    thing() "thing", "物品";
    found() "found-item", "找到的东西";
    spot() "spot", "藏东西的地方";
    pronoun() "he-she", "他或她";
    receiver() "receiver", "收到东西的人";
    holder() "who-has", "东西在谁那里";
    other_person() "other-person", "另一个人";
    other_item() "other-item", "另一件东西";
    without_reading()
        "… without reading: most frequent / last mentioned word",
        "……不读上文：最常见的词 / 最后提到的词";
    heads_too_large()
        "What its heads do is not measured here, the model is too large for that; inspect heads does it.",
        "模型太大，这里没有测量每个头做什么；可以用 inspect heads 测量。";
    attention_not_shown()
        "The attention of this model is not shown: this kind does not show its weights.",
        "这里不显示这个模型的注意力：这种注意力不展示它的权重。";
    attention_too_large()
        "The attention of this model is not shown: the model is too large for that.",
        "模型太大，这里不显示它的注意力。";
}

/// What a kind of fact is called; in English as in tables and files.
pub(crate) fn kind(kind: FactKind) -> Bilingual {
    match kind {
        FactKind::Thing => thing(),
        FactKind::Found => found(),
        FactKind::Spot => spot(),
        FactKind::Pronoun => pronoun(),
        FactKind::Receiver => receiver(),
        FactKind::Holder => holder(),
        FactKind::OtherPerson => other_person(),
        FactKind::OtherItem => other_item(),
    }
}

/// The same in the language that was chosen.
pub(crate) fn kind_said(of: FactKind) -> String {
    kind(of).text(Lang::chosen())
}

/// A loss with its unit, and on how much unseen text it was measured.
pub(crate) fn measured(loss: &str, unit: &str, tokens: &str, is_all: bool) -> Bilingual {
    if is_all { on_all(loss, unit, tokens) } else { on_some(loss, unit, tokens) }
}
