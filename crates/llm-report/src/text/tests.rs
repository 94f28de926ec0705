//! What is in a page, and what can never be.

use super::*;
use crate::data::{
    AttentionMaps, Causes, Compared, Comparison, Curves, Fact, HeadRow, Lens, Pairs, Pruned,
    Pruning, Rewards,
};
use crate::runs::{OneRun, SeveralRuns};
use llm_run::log as run_log;
use llm_run::log::{AnswerMoment, Compared as ComparedPairs, Paired, Sample, ShownAnswer};
use serde_json::Value;

const HOSTILE: &str =
    "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> {{style}} \u{2028}";

/// Every section, with hostile text wherever text can be.
fn full() -> Page {
    let both = || Bilingual::new(HOSTILE, HOSTILE);
    let pruned = Pruned { layer: 0, head: 1, loss: 0.5, facts: Some(0.5) };
    Page {
        title: HOSTILE.into(),
        made_by: HOSTILE.into(),
        facts: vec![Fact::new(both(), HOSTILE)],
        curves: Some(Curves { train: vec![(1, 5.5), (2, 4.0)], ..Curves::default() }),
        rewards: Some(Rewards {
            reward: vec![(1, 0.5), (2, 1.0)],
            moments: vec![AnswerMoment {
                answers: vec![ShownAnswer::new(HOSTILE, HOSTILE, None)],
                ..AnswerMoment::default()
            }],
            ..Rewards::default()
        }),
        pairs: Some(Pairs {
            learned: [1, 2]
                .map(|step| Paired { step, unseen: false, of: ComparedPairs::default() })
                .into(),
            unseen: Vec::new(),
        }),
        samples: vec![Sample { step: 2, prompt: HOSTILE.into(), text: HOSTILE.into() }],
        attention: Some(AttentionMaps {
            tokens: vec![HOSTILE.into(), "<".into()],
            layers: vec![vec![vec![vec![1.0], vec![0.25, 0.75]]]],
        }),
        heads: vec![HeadRow {
            layer: 0,
            head: 0,
            scores: vec![("copy", 0.5)],
            role: both(),
            evidence: Some("copy"),
        }],
        even: vec![("copy", 0.25)],
        prune: Some(Pruning {
            loss: 0.4,
            facts: Some(0.9),
            alone: vec![pruned.clone()],
            greedy: vec![pruned],
        }),
        causes: Some(Causes { tried: 8, right: 8, parts: Vec::new(), moments: Vec::new() }),
        lens: Some(Lens {
            tokens: vec![HOSTILE.into()],
            layers: vec![vec![(HOSTILE.into(), 0.5)]; 2],
        }),
        compare: Some(Comparison {
            rows: vec![Compared { loss: vec![0.1], ..Compared::default() }],
            conclusion: vec![both()],
            ..Comparison::default()
        }),
        runs: Some(SeveralRuns {
            rows: vec![OneRun {
                name: HOSTILE.into(),
                settings: vec![HOSTILE.into()],
                val: vec![(1, 5.0)],
                state: both(),
                ..OneRun::default()
            }],
            differing: vec![HOSTILE.into()],
            groups: vec![both()],
        }),
        kinds: vec![("thing", both())],
        notes: vec![both()],
    }
}

/// The text between the marks, which must be there once.
fn between<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    assert_eq!(html.matches(from).count(), 1, "{from}");
    html.split_once(from).unwrap().1.split_once(to).unwrap().0
}

fn data(html: &str) -> Value {
    serde_json::from_str(between(html, "id=\"data\">", "</script>")).unwrap()
}

#[test]
fn hostile_text_stays_text() {
    let html = html(&full()).unwrap();
    assert_eq!(html.matches("<script").count(), 2);
    assert_eq!(html.matches("</script").count(), 2);
    assert_eq!(html.matches("<style").count(), 1);
    assert!(!html.contains("<img"));
    assert_eq!(html.matches("<!--").count(), 1, "the page's own mark");
    let data = data(&html);
    for place in [
        "/title",
        "/samples/0/text",
        "/attention/tokens/0",
        "/notes/0/zh",
        "/facts/0/value/en",
        "/runs/rows/0/name",
        "/runs/rows/0/settings/0",
        "/runs/differing/0",
    ] {
        assert_eq!(data.pointer(place).unwrap(), HOSTILE, "{place}");
    }
    for door in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function("]
    {
        assert!(!script().contains(door), "{door}");
    }
}

/// A name that two files give would be an error of the whole script.
#[test]
fn a_name_is_given_once() {
    let script = script();
    let mut names: Vec<_> = ["const ", "let ", "function ", "async function ", "class "]
        .iter()
        .flat_map(|word| script.lines().filter_map(move |line| line.strip_prefix(word)))
        .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
        .collect();
    let all = names.len();
    assert!(all > 80, "{all}");
    names.sort_unstable();
    let twice = names.windows(2).filter(|two| two[0] == two[1]).collect::<Vec<_>>();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(!script.contains("\nimport") && !script.contains("\nexport"));
}

#[test]
fn nothing_is_fetched_and_no_other_script_runs() {
    let html = html(&full()).unwrap();
    let policy = between(&html, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let page = html.replace("http://www.w3.org/2000/svg", "");
    for way_out in ["http:", "https:", "url(", "@import", "fetch(", "import(", "src=\"", "href=\""]
    {
        assert!(!page.replace("src=x", "").contains(way_out), "{way_out}");
    }
    let (_, nonce) = policy.split_once("script-src 'nonce-").unwrap();
    let nonce = nonce.split('\'').next().unwrap();
    assert_eq!((nonce.len(), html.matches(&format!("nonce=\"{nonce}\"")).count()), (64, 2));
}

#[test]
fn data_reads_back() {
    let data = data(&html(&full()).unwrap());
    assert_eq!(data["curves"]["train"], serde_json::json!([[1, 5.5], [2, 4.0]]));
    assert_eq!(data["attention"]["layers"], serde_json::json!([[[[10000], [2500, 7500]]]]));
    assert_eq!(data["heads"][0]["scores"], serde_json::json!([["copy", 0.5]]));
    assert_eq!(data["heads"][0]["evidence"], "copy");
    assert_eq!(data["even"], serde_json::json!([["copy", 0.25]]));
    assert_eq!(data["runs"]["rows"][0]["val"], serde_json::json!([[1, 5.0]]));
    assert!(data["runs"]["rows"][0]["best"].is_null());
    assert!(data["kinds"][0][1]["zh"].is_string());
}

/// A million steps, the text of the largest attention that a run's page shows, long samples.
#[test]
fn the_page_of_a_long_run_is_small() {
    let point = |i: usize| (1e6 * i as f64 / 1023.0, 1.0 + 1.0 / (i as f64 + 1.7));
    let all: Vec<_> = (0..1024).map(point).collect();
    let smooth = all.iter().step_by(2).copied().collect();
    let (train, val) = (all.clone(), all);
    let beside: Vec<_> = (0..320).map(point).collect();
    let log = run_log::Curves {
        train,
        smooth,
        val,
        lr: beside.clone(),
        grad_norm: beside.clone(),
        tokens_per_s: beside,
        vocab_size: 256,
        entropy_floor: Some(0.5),
    };
    let row = |i: usize| vec![1.0 / (i as f32 + 1.0); i + 1];
    let head = || (0..128).map(row).collect();
    let text = "a\u{1}猫".repeat(2730);
    let page = Page {
        curves: Some((&log).into()),
        attention: Some(AttentionMaps {
            tokens: vec!["\\xFF".into(); 128],
            layers: (0..3).map(|_| (0..6).map(|_| head()).collect()).collect(),
        }),
        samples: vec![Sample { step: 1, prompt: String::new(), text }; 24],
        ..Page::default()
    };
    let size = html(&page).unwrap().len();
    assert!(size < 1_500_000, "{size} bytes");
}

#[test]
fn a_page_of_nothing_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    write(&path, &Page::default()).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
    assert!(write(&dir.path().join("none/report.html"), &Page::default()).is_err());
}
