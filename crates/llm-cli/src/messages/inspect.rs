//! Labels of pages about heads.

llm_report::bilingual! {
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
