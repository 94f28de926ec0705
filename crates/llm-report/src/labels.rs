//! Labels of the facts on a page, what heads do, how a run stands, what is not on a page.

use crate::bilingual::Bilingual;
use llm_core::base::Message;
use llm_core::message;
use llm_core::optim::ScheduleKind;
use llm_lens::Role;
use llm_stories::FactKind;

crate::bilingual! {
    program() "Program", "程序";
    data() "Data", "数据";
    tokenizer() "Tokenizer", "分词器";
    model() "Model", "模型";
    parameters() "Parameters", "参数量";
    recipe() "Recipe", "训练设置";
    learning(batch, rate, warmup, clip, decay, betas, dropout)
        "{batch} · lr {rate} · warm-up {warmup} · clip {clip} · weight decay {decay} · β {betas} · dropout {dropout}",
        "{batch} · 学习率 {rate} · 预热 {warmup} · 裁剪 {clip} · 权重衰减 {decay} · β {betas} · dropout {dropout}";
    constant() "constant", "恒定";
    cosine() "cosine", "余弦";
    linear() "linear", "线性";
    wsd() "wsd", "平稳后下降";
    seed() "Seed", "随机种子";
    threads() "Threads", "线程";
    steps() "Steps", "步数";
    steps_of_each() "Steps of each run", "每次训练的步数";
    runs_done() "Runs done", "已完成的训练";
    varied() "Varied", "变化的设置";
    first_below(what) "{what} (below stand those of the first)", "{what}（下面是第一种的）";
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
    switched_off() "switched off", "已关闭";
    previous() "looks at the previous token", "看前一个词元";
    first()
        "looks at the first token, where little is to be had",
        "看第一个词元，那里没有多少信息";
    itself() "looks at the token itself", "看词元自己";
    word() "looks at the letters of its own word", "看自己所在词的字母";
    same() "looks at earlier mentions of the same word", "看同一个词先前出现的地方";
    after()
        "looks at what followed the same token before (induction)",
        "看同一词元先前出现之后的词元（归纳）";
    copy()
        "looks at tokens like the one that comes next (copying)",
        "看与下一个词元相同的词元（复制）";
    separator() "looks at spaces, punctuation and line ends", "看空格、标点和换行";
    answer()
        "looks the answer up: earlier mentions of the word to be told",
        "查找答案：将要说出的词先前出现的地方";
    ended_early(step, steps, en, zh)
        "{step} of {steps} steps are done: the run is {en}.",
        "{steps} 步中完成了 {step} 步：{zh}。";
    running() "running", "正在运行";
    done() "done", "已完成";
    stopped() "stopped", "提前停止";
    interrupted_state() "interrupted", "被中断";
    diverged() "diverged", "发散";
    failed() "failed", "失败";
    cut_off() "cut off", "被强行终止";
}

/// What a kind of fact is called; in English as in tables and files.
pub fn fact_label(kind: FactKind) -> Message {
    match kind {
        FactKind::Thing => message!("thing"),
        FactKind::Found => message!("found-item"),
        FactKind::Spot => message!("spot"),
        FactKind::Pronoun => message!("he-she"),
        FactKind::Receiver => message!("receiver"),
        FactKind::Holder => message!("who-has"),
        FactKind::OtherPerson => message!("other-person"),
        FactKind::OtherItem => message!("other-item"),
    }
}

/// What a head does that looks at such places.
pub fn role_label(role: Role) -> Bilingual {
    match role {
        Role::Previous => previous(),
        Role::First => first(),
        Role::Itself => itself(),
        Role::Word => word(),
        Role::Same => same(),
        Role::After => after(),
        Role::Copy => copy(),
        Role::Separator => separator(),
        Role::Answer => answer(),
    }
}

/// The course of a learning rate after the warm-up.
pub fn course_label(kind: ScheduleKind) -> Bilingual {
    match kind {
        ScheduleKind::Constant => constant(),
        ScheduleKind::Cosine => cosine(),
        ScheduleKind::Linear => linear(),
        ScheduleKind::Wsd => wsd(),
    }
}

/// How a run stands, by its name in run.json and in lists.
pub fn state_label(name: &str) -> Bilingual {
    match name {
        "running" => running(),
        "done" => done(),
        "stopped" => stopped(),
        "interrupted" => interrupted_state(),
        "diverged" => diverged(),
        "failed" => failed(),
        _ => cut_off(),
    }
}
