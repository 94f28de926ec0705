//! The settings in a run's folder.

use std::path::Path;
use toml::{Table, Value};

/// The settings in a run's folder. A person may have changed them: what cannot be read says nothing.
pub fn config(run: &Path) -> Option<Table> {
    config_text(run)?.parse().ok()
}

/// The settings in a run's folder, as they are written.
pub fn config_text(run: &Path) -> Option<String> {
    let path = run.join("config.toml");
    // Nothing that a program waits at.
    if !path.is_file() {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

/// The value of a key in settings, in whatever table it stands.
pub fn setting<'a>(config: &'a Table, key: &str) -> Option<&'a Value> {
    config.values().find_map(|table| table.as_table()?.get(key))
}

/// The value of a key that is a whole number.
pub fn whole_setting(config: &Table, key: &str) -> Option<u64> {
    u64::try_from(setting(config, key)?.as_integer()?).ok()
}
