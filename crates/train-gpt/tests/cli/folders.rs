//! A run's folder: what is in it already, what a kill left there, and where it goes meanwhile.

use crate::sandbox;
use std::fs;
use workspace_tests::cli_support::TINY;
#[cfg(unix)]
use {
    std::process::Command,
    workspace_tests::cli_support::{Running, Sandbox},
};

const DATA: [&str; 4] = ["--data", "text.txt", "--gen", "0"];

/// A run without an end in the folder `run`, which was saved once.
#[cfg(unix)]
fn started(sandbox: &Sandbox) -> Running {
    let often = ["--save-every", "50", "--eval-every", "50", "--log-every", "0"];
    let words = ["--steps", "10000000", "--out", "run"];
    let mut run = sandbox.start(&[&TINY[..], &DATA, &often, &words].concat());
    run.wait_for("saved checkpoint");
    run
}

/// The log holds every step from the first on, and the checkpoint goes on after it.
#[cfg(unix)]
fn has_every_step(sandbox: &Sandbox, folder: &str) {
    let log = fs::read_to_string(sandbox.path(folder).join("metrics.csv")).unwrap();
    let steps = log.lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned());
    assert!(steps.enumerate().all(|(i, step)| step == (i + 1).to_string()), "{log}");
    let on = ["--load", folder, "--out", folder, "--steps", "1"];
    let outcome = sandbox.ok(&[&on[..], &DATA].concat());
    assert!(!outcome.stderr.contains("a new one is begun"), "{outcome}");
}

#[test]
fn what_is_not_known_to_be_the_runs_own_is_not_replaced() {
    let sandbox = sandbox();
    let whole = ["--steps", "2", "--gen", "3", "--keep", "1", "--out", "whole"];
    sandbox.train(&[&DATA[..2], &whole].concat());
    let whole = sandbox.path("whole");
    let files: Vec<_> = sandbox.everything().into_iter().filter(|f| f.1.is_some()).collect();
    let mut tried = 0;
    for (path, bytes) in files {
        let Ok(name) = path.strip_prefix(&whole) else { continue };
        if name.ends_with("last") {
            continue; // that is a run, which is another refusal
        }
        tried += 1;
        let theirs = sandbox.path(format!("theirs-{tried}"));
        fs::create_dir_all(theirs.join("ckpt")).unwrap();
        fs::write(theirs.join(name), bytes.unwrap()).unwrap();
        let out = theirs.to_str().unwrap();
        let new = ["--data", "text.txt", "--steps", "1", "--out", out];
        sandbox.refuses(&[&TINY[..], &new].concat(), 73, &[name.to_str().unwrap(), "--out"]);
        let on = ["--load", "whole", "--data", "text.txt", "--steps", "1", "--out", out];
        sandbox.refuses(&on, 73, &[name.to_str().unwrap(), "--out"]);
        // An empty one is nobody's.
        fs::write(theirs.join(name), b"").unwrap();
        sandbox.train(&[&DATA[..], &new[2..]].concat());
    }
    assert_eq!(tried, 10); // all but `last`
}

#[test]
fn a_run_that_was_killed_before_its_first_save_is_not_replaced() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "10000000", "--save-every", "0", "--out", "run"];
    let words = [&TINY[..], &words].concat();
    let mut run = sandbox.start(&words);
    run.wait_for("step 10 ");
    // Rows wait for a second before they are written.
    let log = sandbox.path("run/metrics.csv");
    while fs::read_to_string(&log).unwrap().lines().count() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run.kill();
    run.end();
    fs::remove_file(sandbox.path("run/ckpt/last.lock")).unwrap();
    sandbox.refuses(&words, 73, &["run/", "ckpt/last", "--out"]);
    // One that has done no step has nothing to lose.
    let header = fs::read_to_string(&log).unwrap().lines().next().unwrap().to_string() + "\n";
    fs::write(&log, header).unwrap();
    fs::write(sandbox.path("run/metrics.jsonl"), "").unwrap();
    for name in ["best", "best.json"] {
        let _ = fs::remove_file(sandbox.path("run/ckpt").join(name));
    }
    sandbox.ok(&[&words[..], &["--dry-run"]].concat());
    fs::write(sandbox.path("run/report.html"), "mine").unwrap();
    sandbox.refuses(&words, 73, &["run/config.toml", "--out"]);
}

/// What somebody put into a run's folder under a name of the run is kept when the run goes on, or
/// gets its page.
#[test]
fn what_is_somebody_else_s_in_a_run_s_folder_is_kept() {
    let sandbox = sandbox();
    let run = ["--steps", "2", "--gen", "3", "--keep", "1", "--out", "run"];
    sandbox.train(&[&DATA[..2], &run].concat());
    let names = ["report.html", "loss.svg", "run.json", "samples.jsonl", "ckpt/best.json"];
    let on = ["--load", "run", "--steps", "1", "--gen", "3"];
    let said = sandbox.ok(&on);
    assert!(!said.stderr.contains("kept as"), "{said}");
    for theirs in ["thesis", "{\"program\": 1}", "<svg/>"] {
        for name in names {
            fs::write(sandbox.path("run").join(name), theirs).unwrap();
        }
        sandbox.refuses(&["report", "run"], 73, &["report.html", "--html"]);
        sandbox.ok(&on).says(&["is not of this program: kept as"]);
        for name in names {
            let folder = sandbox.path("run");
            let aside = (1..10).map(|n| folder.join(format!("{name}.old-{n}")));
            let kept =
                |path: std::path::PathBuf| fs::read_to_string(path).is_ok_and(|t| t == theirs);
            assert!(aside.into_iter().any(kept), "{name} {theirs}");
            assert_ne!(fs::read_to_string(folder.join(name)).unwrap(), theirs);
        }
        sandbox.ok(&["report", "run"]);
    }
}

#[test]
fn what_killed_saves_left_goes_with_the_next_run_in_the_folder() {
    let sandbox = sandbox();
    sandbox.train(&[&DATA[..], &["--steps", "2", "--out", "run"]].concat());
    let left = [
        "run/ckpt/.best.tmp-aB3dE6",
        "run/ckpt/.best.json.tmp-aB3dE6",
        "run/ckpt/.last.tmp-aB3dE6",
        "run/ckpt/.step-00000002.tmp-aB3dE6",
        "run/.config.toml.tmp-aB3dE6",
        "run/.loss.svg.tmp-aB3dE6",
        "run/.metrics.csv.tmp-aB3dE6",
        "run/.metrics.jsonl.tmp-aB3dE6",
        "run/.report.html.tmp-aB3dE6",
        "run/.samples.jsonl.tmp-aB3dE6",
    ];
    let theirs = ["run/.best.tmp-aB3dE6", "run/ckpt/.best.tmp-notes", "run/.thesis.tmp-aB3dE6"];
    left.iter().chain(&theirs).for_each(|name| sandbox.write(name, b"half"));
    // A run elsewhere does not own the folder.
    let on = ["--load", "run", "--data", "text.txt", "--steps", "1", "--gen", "0"];
    sandbox.ok(&[&on[..], &["--save", "elsewhere"]].concat());
    assert!(left.iter().all(|name| sandbox.path(name).exists()));
    sandbox.ok(&[&on[..], &["--out", "run"]].concat());
    for name in left {
        assert!(!sandbox.path(name).exists(), "{name} is still there");
    }
    theirs.iter().for_each(|name| assert_eq!(sandbox.read(name), b"half"));
}

#[cfg(target_os = "linux")] // only there an open folder says its name
#[cfg(unix)]
#[test]
fn a_run_goes_on_in_its_folder_under_a_new_name() {
    let sandbox = sandbox();
    let mut run = started(&sandbox);
    // At once, as no removal of a folder in use could be.
    fs::rename(sandbox.path("run"), sandbox.path("elsewhere")).unwrap();
    run.wait_for("'elsewhere' now");
    run.wait_for("saved checkpoint 'elsewhere/ckpt/last'");
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    outcome.says(&["--load elsewhere"]);
    assert!(!sandbox.path("run").exists(), "{outcome}");
    for name in ["loss.svg", "report.html", "ckpt/best.json"] {
        assert!(sandbox.path("elsewhere").join(name).exists(), "{name}");
    }
    assert!(!sandbox.path("elsewhere/ckpt/last.lock").exists());
    has_every_step(&sandbox, "elsewhere");
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_gone_is_made_again_and_beside_what_took_its_place() {
    for (taken, now) in [(false, "run"), (true, "run-2")] {
        let sandbox = sandbox();
        let mut run = started(&sandbox);
        run.signal("STOP");
        // Its threads stop one by one: until then each may make a file.
        while sandbox.path("run").exists() {
            let _ = fs::remove_dir_all(sandbox.path("run"));
        }
        if taken {
            fs::create_dir(sandbox.path("run")).unwrap();
            sandbox.write("run/thesis", b"years of work");
        }
        run.signal("CONT");
        run.wait_for(&format!("made again in '{now}'"));
        run.signal("INT");
        let outcome = run.end();
        assert_eq!(outcome.code, Some(130), "{outcome}");
        outcome.says(&[&format!("saved checkpoint '{now}/ckpt/last'"), &format!("--load {now}")]);
        sandbox.ok(&["generate", "--load", now, "-n", "1"]);
        if taken {
            assert_eq!(fs::read_dir(sandbox.path("run")).unwrap().count(), 1, "{outcome}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_checkpoint_folder_that_goes_away_takes_no_row_of_the_log_along() {
    let sandbox = sandbox();
    let mut run = started(&sandbox);
    fs::rename(sandbox.path("run/ckpt"), sandbox.path("elsewhere")).unwrap();
    run.signal("INT");
    let outcome = run.end();
    assert_eq!(outcome.code, Some(130), "{outcome}");
    assert!(sandbox.path("run/ckpt/last").exists());
    has_every_step(&sandbox, "run");
}

/// The checkpoint of a run's folder is not replaced by another run, nor by what is imported.
#[test]
fn the_checkpoint_of_another_run_is_not_replaced() {
    let sandbox = sandbox();
    sandbox.train(&["--data", "text.txt", "--steps", "2", "--out", "run", "--gen", "0"]);
    let last = sandbox.read("run/ckpt/last");
    let new = ["--data", "text.txt", "--steps", "1", "--gen", "0", "--save"];
    let tiny = &TINY[..];
    let needles = ["run/ckpt/last", "belongs to the run in 'run'"];
    sandbox.refuses(&[tiny, &new, &["run/ckpt/last"]].concat(), 73, &needles);
    sandbox.ok(&["export", "safetensors", "model.safetensors", "--load", "run"]);
    let import = ["import", "safetensors", "model.safetensors", "--save", "run/ckpt/last"];
    sandbox.refuses(&import, 73, &needles);
    assert!(sandbox.read("run/ckpt/last") == last);
    // The run itself may go on there, and other names are free.
    sandbox.ok(&["--load", "run", "--steps", "1", "--gen", "0", "--save", "run/ckpt/last"]);
    sandbox.ok(&[tiny, &new, &["run/ckpt/mine"]].concat());
}

/// A dry run says what would be refused, and makes nothing.
#[test]
fn a_dry_run_knows_that_a_folder_is_taken() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "2", "--gen", "0", "--out", "run"];
    sandbox.train(&words);
    let before = sandbox.everything();
    let dry = [&TINY[..], &words, &["--dry-run"]].concat();
    sandbox.refuses(&dry, 73, &["there is a run already"]);
    let free: Vec<_> = dry.iter().map(|w| if *w == "run" { "free" } else { w }).collect();
    sandbox.ok(&free).prints(&["time    about"]);
    assert!(sandbox.everything() == before);
    let unsaved = sandbox.ok(&[&free[..free.len() - 1], &["--no-save"]].concat());
    unsaved.says(&["--out has no effect with --no-save"]);
    assert!(sandbox.everything() == before);
}

/// What cannot be looked into is not told as absent.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_looked_into_is_named() {
    let sandbox = sandbox();
    sandbox.refuses(&["runs", "text.txt"], 66, &["text.txt", "not a directory"]);
    sandbox.refuses(&["report", "missing"], 66, &["missing", "no such file or directory"]);
    std::os::unix::fs::symlink("loop", sandbox.path("loop")).unwrap();
    sandbox.refuses(&["runs", "loop"], 66, &["loop", "too many levels of symbolic links"]);
    fs::create_dir_all(sandbox.path("run/ckpt")).unwrap();
    std::os::unix::fs::symlink("last", sandbox.path("run/ckpt/last")).unwrap();
    for words in [&["--load", "run", "--steps", "1"][..], &["generate", "--load", "run"]] {
        sandbox.refuses(words, 66, &["run/ckpt/last", "too many levels of symbolic links"]);
    }
}

/// A folder from elsewhere may hold links, to what is no run's: nothing is written through them.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_in_a_run_s_folder() {
    let sandbox = sandbox();
    let words = ["--steps", "2", "--gen", "3", "--keep", "1", "--out", "whole"];
    sandbox.train(&[&DATA[..2], &words].concat());
    let whole = sandbox.path("whole");
    let files: Vec<_> = sandbox.everything().into_iter().filter(|f| f.1.is_some()).collect();
    let names = files.iter().filter_map(|(path, _)| path.strip_prefix(&whole).ok());
    let names: Vec<_> = names.map(|name| name.to_str().unwrap().to_string()).collect();
    assert_eq!(names.len(), 11);
    for name in names.iter().map(String::as_str).chain(["ckpt", "ckpt/last.lock"]) {
        let mut copy = Command::new("cp");
        copy.args(["-R", "whole", "on"]).current_dir(sandbox.path(""));
        assert!(copy.status().unwrap().success());
        let (ours, theirs) = (sandbox.path("on").join(name), sandbox.path("theirs"));
        match ours.exists() {
            true => fs::rename(&ours, &theirs).unwrap(),
            false => fs::write(&theirs, b"").unwrap(),
        }
        std::os::unix::fs::symlink(&theirs, &ours).unwrap();
        fs::create_dir_all(sandbox.path("new/ckpt")).unwrap();
        let new = sandbox.path("new").join(name);
        if name == "ckpt" {
            fs::remove_dir(&new).unwrap();
        }
        std::os::unix::fs::symlink(sandbox.path("nothing"), new).unwrap();
        let before = sandbox.everything();
        sandbox.refuses(
            &["--load", "on", "--data", "text.txt", "--steps", "1"],
            73,
            &[name, "link"],
        );
        let begin = ["--data", "text.txt", "--steps", "1", "--out", "new"];
        sandbox.refuses(&[&TINY[..], &begin].concat(), 73, &[name, "link"]);
        if name == "report.html" {
            sandbox.refuses(&["report", "on"], 73, &[name, "link"]);
        }
        assert!(sandbox.everything() == before, "{name}");
        ["on", "new"].iter().for_each(|folder| fs::remove_dir_all(sandbox.path(folder)).unwrap());
        let _ = fs::remove_file(&theirs);
        let _ = fs::remove_dir_all(&theirs);
    }
}
