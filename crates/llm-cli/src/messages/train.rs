//! Why a run ended before its last step, for its page.

super::messages! {
    time_is_up(step)
        "Stopped at step {step}: --max-time was up.",
        "在第 {step} 步停止：--max-time 的时间到了。";
    no_progress(step)
        "Stopped at step {step}: the validation loss no longer fell (--patience).",
        "在第 {step} 步停止：验证损失不再下降（--patience）。";
    interrupted(step)
        "Interrupted at step {step}; --load goes on from there.",
        "在第 {step} 步被中断；可以用 --load 从那里继续。";
}
