//! Several processes on a step.

use llm_core::base::{CrewError, Language};

/// Why members of a crew cannot go on together.
pub fn crew(e: &CrewError, language: &dyn Language) -> String {
    match e {
        CrewError::Size { size, micro_batches } => {
            CrewError::unfitting(*size, *micro_batches).said(language)
        }
        CrewError::Silent { member, seconds } => format!("进程 {member} 在 {seconds} 秒内没有回应"),
        CrewError::Gone { member } => format!("进程 {member} 不见了"),
        CrewError::Unequal { what, member } => {
            format!("进程 {member} 的{}与进程 0 不同", what.said(language))
        }
        CrewError::Engine { call, reason } => format!("{call} 失败：{}", reason.said(language)),
        other => other.to_string(),
    }
}
