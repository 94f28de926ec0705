//! `runs`: what there is, how far it is, what came of it.

use crate::args::{RunsArgs, RunsOrder};
use crate::console::{columns, json_line, note, print, show};
use crate::error::{Result, RunError, sentence};
use crate::messages::{Tell, said};
use llm_core::base::escape::one_line;
use llm_core::base::{Message, thousands};
use llm_core::message;
use llm_messages::columns::{left, width as wide};
use llm_report::{RunFolder, below, fitted, state_label};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Prints the list.
///
/// # Errors
/// [`RunError::Input`] for a folder that cannot be looked into; when standard output fails.
pub fn runs(args: &RunsArgs) -> Result<()> {
    let usual = [PathBuf::from("runs")];
    let mut found: Vec<RunFolder> = Vec::new();
    for folder in if args.folders.is_empty() { &usual[..] } else { &args.folders } {
        // No run was started here yet.
        if args.folders.is_empty() && folder.symlink_metadata().is_err() {
            continue;
        }
        let paths = below(folder, left_out)?;
        found.extend(paths.iter().map(|path| RunFolder::read(path)));
    }
    match args.sort.unwrap_or(RunsOrder::Name) {
        RunsOrder::Name => {}
        // Nats of tokens that stand for different texts do not compare, bits of bytes do.
        RunsOrder::Loss => found.sort_by(|a, b| {
            let key = |run: &RunFolder| {
                [run.info.bits_per_byte(), run.info.lowest_loss()]
                    .map(|x| x.unwrap_or(f64::INFINITY))
            };
            let ([bits, nats], [others_bits, others_nats]) = (key(a), key(b));
            bits.total_cmp(&others_bits).then(nats.total_cmp(&others_nats))
        }),
        RunsOrder::Date => found.sort_by(|a, b| b.info.started.cmp(&a.info.started)),
    }
    if args.json {
        return print(found.iter().map(|run| json_line(&object(run))).collect::<String>());
    }
    if found.is_empty() {
        note(
            "no runs here; a training run makes one below the folder 'runs', or in that of --out, which runs FOLDER lists",
        );
    }
    show(&table(&found, columns()))
}

/// Says which folder could not be looked into.
pub(super) fn left_out(e: RunError) {
    note(message!("left out: {}", sentence(&e)));
}

fn object(run: &RunFolder) -> Value {
    let mut object = json!(run.info);
    object["path"] = json!(run.path.to_string_lossy());
    object["state"] = json!(run.state());
    object["lowest_loss"] = json!(run.info.lowest_loss());
    object["bits_per_byte"] = json!(run.info.bits_per_byte());
    object
}

/// A column: its name, whether numbers stand in it, and how soon it goes where there is no room; 0:
/// never.
const COLUMNS: [(&str, bool, u8); 9] = [
    ("run", false, 0),
    ("state", false, 5),
    ("steps", true, 6),
    ("val loss", true, 0),
    ("bits/byte", true, 4),
    ("parameters", true, 3),
    ("L C H T", false, 2),
    ("data", false, 7),
    ("began (UTC)", false, 1),
];
/// The column that is cut before another one goes, and no shorter than this.
const CUT: (usize, usize) = (7, 12);

fn table(runs: &[RunFolder], room: usize) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let lowest = |run: &RunFolder| {
        let judged_on = |run: &RunFolder| (run.info.judged_on.clone(), run.info.data.clone());
        let same = |other: &&RunFolder| judged_on(other) == judged_on(run);
        let losses = runs.iter().filter(same).filter_map(|other| other.info.lowest_loss());
        let several = runs.iter().filter(same).count() > 1;
        several && run.info.lowest_loss().is_some_and(|own| losses.fold(own, f64::min) == own)
    };
    let mut cells: Vec<[String; COLUMNS.len()]> = vec![COLUMNS.map(|(name, ..)| said(name))];
    cells.extend(runs.iter().map(|run| cells_of(run, lowest(run))));
    let width = |cells: &[[String; COLUMNS.len()]], i: usize| {
        cells.iter().map(|row| wide(&row[i])).max().unwrap_or(0)
    };
    let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
    let needed = |shown: &[usize], cut: bool| {
        let of =
            |&i: &usize| width(&cells, i).min(if cut && i == CUT.0 { CUT.1 } else { usize::MAX });
        shown.iter().map(of).sum::<usize>() + 2 * (shown.len() - 1)
    };
    for sooner in 1..=COLUMNS.iter().fold(0, |most, column| most.max(column.2)) {
        if needed(&shown, true) > room {
            shown.retain(|&i| COLUMNS[i].2 != sooner);
        }
    }
    let over = needed(&shown, false).saturating_sub(room);
    let most = width(&cells, CUT.0).saturating_sub(over).max(CUT.1);
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|i| if i == CUT.0 { width(&cells, i).min(most) } else { width(&cells, i) })
        .collect();
    let line = |row: &[String; COLUMNS.len()]| {
        let cell = |&i: &usize| {
            let text = fitted(&row[i], widths[i]);
            if COLUMNS[i].1 { text } else { left(text.trim_start(), widths[i]) }
        };
        shown.iter().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    let mut text: String = cells.iter().map(line).collect();
    if runs.iter().any(lowest) {
        text.tell("* lowest validation loss of the runs on the same data\n");
    }
    text
}

fn cells_of(run: &RunFolder, is_lowest: bool) -> [String; COLUMNS.len()] {
    let info = &run.info;
    let loss = info.lowest_loss().map_or("–".into(), |loss| format!("{loss:.4}"));
    let data = match &run.learned {
        Some(path) => one_line(path), // nothing of ours
        None => said(Message::words(one_line(
            info.data.split([',', ':', ';']).next().unwrap_or_default(),
        ))),
    };
    let sizes = [info.n_layers, info.d_model, info.n_heads, info.seq_len];
    [
        one_line(&run.path.display().to_string()),
        said(state_label(run.state())),
        format!("{}/{}", thousands(info.step), thousands(info.steps)),
        format!("{loss}{}", if is_lowest { "*" } else { " " }),
        info.bits_per_byte().map_or("–".into(), |bits| format!("{bits:.3}")),
        if info.parameters == 0 { "–".into() } else { thousands(info.parameters) },
        sizes.map(|n| n.to_string()).join(" "),
        data,
        info.started.get(..16).unwrap_or_default().replace('T', " "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::train::Best;
    use llm_run::log::{RunInfo, RunState};

    fn run(name: &str, data: &str, loss: f64) -> RunFolder {
        let info = RunInfo {
            state: RunState::Done,
            data: data.into(),
            started: "2026-11-22T17:40:01Z".into(),
            step: 1500,
            steps: 1500,
            best: Some(Best { step: 1, val_loss: loss }),
            ..RunInfo::default()
        };
        RunFolder { path: name.into(), info, ..RunFolder::default() }
    }

    /// The label puts a name into quotes, and a name may have some of its own.
    #[test]
    fn the_name_of_a_file_is_shown_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let shown = |data: &str, config: &str| {
            run("", data, 0.5).info.write(folder.path()).unwrap();
            std::fs::write(folder.path().join("config.toml"), config).unwrap();
            cells_of(&RunFolder::read(folder.path()), false)[7].clone()
        };
        let config = "[data]\ndata = [\"it's, 'x'.txt\"]\n";
        assert_eq!(shown("'it's, 'x'.txt', 4 kB", config), "it's, 'x'.txt");
        assert_eq!(shown("'texts' (2 files), 4 kB", "[data]\ndata = [\"texts\"]\n"), "texts");
        assert_eq!(shown("2 files, 4 kB", "[data]\ndata = [\"a\", \"b\"]\n"), "2 files");
        assert_eq!(shown("built-in stories: all", ""), "built-in stories");
    }

    #[test]
    fn a_list_fits_the_terminal() {
        let text = "'a rather long name of a text file.txt', 4 kB";
        let runs = [
            run("runs/001", text, 0.5),
            run("runs/002", text, 0.25),
            run("runs/003", "b, x", 0.75),
        ];
        for room in [60, 80, 120, 200] {
            let list = table(&runs, room);
            let longest = list.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= room, "{room}: {longest}\n{list}");
            let lines: Vec<&str> = list.lines().collect();
            assert!(lines[1].contains("0.5000") && lines[2].contains("0.2500*"), "{list}");
            assert!(!lines[3].contains('*'), "{list}");
        }
        assert!(table(&runs, 120).contains("2026-11-22 17:40"));
        assert_eq!(table(&[], 80), "");
    }
}
