//! The text next to the bar of a run.

llm_report::bilingual! {
    /// At every step: nothing is looked up for it.
    at_work(loss, val, rate) "loss {loss}{val}  {rate} tok/s", "损失 {loss}{val}  {rate} 词元/秒";
    on_the_way(loss) "  val {loss}", "  验证 {loss}";
}
