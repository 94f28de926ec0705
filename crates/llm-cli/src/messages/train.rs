//! What stands beside the bar of a run; for its page, why it ended before its last step, and how it
//! stands.

use crate::lang::Bilingual;

super::messages! {
    /// At every step: nothing is looked up for it.
    at_work(loss, val, rate) "loss {loss}{val}  {rate} tok/s", "损失 {loss}{val}  {rate} 词元/秒";
    on_the_way(loss) "  val {loss}", "  验证 {loss}";
    time_is_up(step)
        "Stopped at step {step}: --max-time was up.",
        "在第 {step} 步停止：--max-time 的时间到了。";
    no_progress(step)
        "Stopped at step {step}: the validation loss no longer fell (--patience).",
        "在第 {step} 步停止：验证损失不再下降（--patience）。";
    interrupted(step)
        "Interrupted at step {step}; --load goes on from there.",
        "在第 {step} 步被中断；可以用 --load 从那里继续。";
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

/// How a run stands, by its name in run.json and in lists.
pub(crate) fn state(name: &str) -> Bilingual {
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

/// That a run has not done all of its steps.
pub(crate) fn not_done(step: String, steps: String, how: &str) -> Bilingual {
    let Bilingual { en, zh } = state(how);
    ended_early(step, steps, en, zh)
}
