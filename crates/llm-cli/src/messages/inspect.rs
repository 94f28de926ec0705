//! What heads do, and the labels of pages about them.

use crate::lang::Bilingual;
use llm_lens::Role;

super::messages! {
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
    measured_on() "Measured on", "测量所用";
    spread(mean, std, min, max)
        "mean {mean}, std {std}, {min} .. {max}",
        "均值 {mean}，标准差 {std}，{min} .. {max}";
    outputs_of(layer) "Outputs of layer {layer}", "第 {layer} 层的输出";
    heads_off() "Switched off", "关闭的头";
    loss_then() "Loss then", "此时的损失";
    facts_then() "Facts right then", "此时答对的事实";
    text() "Text", "文本";
    first_shown() "First token shown", "显示的第一个词元";
}

/// What a head does that looks at such places.
pub(crate) fn description(role: Role) -> Bilingual {
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
