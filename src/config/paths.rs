//! Where things live: the platform's folders, or everything under `HARNESS_TUI_HOME`.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folders of the program. None is created by looking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    pub config: PathBuf,
    pub data: PathBuf,
    pub state: PathBuf,
}

impl Paths {
    /// `home` is the value of `HARNESS_TUI_HOME`; with it: `home/{config,data,state}`.
    ///
    /// # Errors
    /// When the user has no home folder and none was named.
    pub fn find(home: Option<OsString>) -> Result<Self, String> {
        if let Some(home) = home.filter(|home| !home.is_empty()) {
            let home = PathBuf::from(home);
            return Ok(Self {
                config: home.join("config"),
                data: home.join("data"),
                state: home.join("state"),
            });
        }
        let dirs = directories::ProjectDirs::from("", "", "harness-tui")
            .ok_or("cannot find a home folder: set HOME, or HARNESS_TUI_HOME to a folder")?;
        let user = directories::BaseDirs::new()
            .ok_or("cannot find a home folder: set HOME, or HARNESS_TUI_HOME to a folder")?;
        let plain = |folder: &str| user.home_dir().join(folder).join("harness-tui");
        // On macOS too the folders of the terminal world, unless the platform's own already exist.
        let choose = |own: PathBuf, folder: &str| {
            if cfg!(target_os = "macos") && !own.exists() { plain(folder) } else { own }
        };
        let state = dirs.state_dir().map_or_else(|| plain(".local/state"), PathBuf::from);
        Ok(Self {
            config: choose(dirs.config_dir().into(), ".config"),
            data: choose(dirs.data_dir().into(), ".local/share"),
            state,
        })
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }

    /// Where removed sessions lie until they are purged.
    pub fn trash(&self) -> PathBuf {
        self.data.join("trash")
    }

    pub fn auth_file(&self) -> PathBuf {
        self.data.join("auth.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_moves_everything() {
        let paths = Paths::find(Some("/h".into())).unwrap();
        assert_eq!(paths.config_file(), PathBuf::from("/h/config/config.toml"));
        assert_eq!(paths.sessions(), PathBuf::from("/h/data/sessions"));
        assert_eq!(paths.state, PathBuf::from("/h/state"));
    }
}
