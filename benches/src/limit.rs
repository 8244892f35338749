//! A limit on the memory of a process, page cache included.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

/// A limited group of processes, which is removed with this.
#[derive(Debug)]
pub(crate) enum Limit {
    /// A control group: all pages count, those of files as well, until the kernel takes them back.
    Group(PathBuf),
    /// `RLIMIT_DATA`, in KiB: private memory only. For machines on which no group can be made.
    Data(u64),
}

impl Limit {
    /// A limit of this many bytes: a control group of version 2 or 1 where one can be made.
    pub(crate) fn of(bytes: u64) -> Self {
        let name = format!("onnxport-bench-{}", process::id());
        let versions = [
            ("/sys/fs/cgroup", "memory.max"),
            ("/sys/fs/cgroup/unified", "memory.max"),
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ];
        let make = |(root, file): (&str, &str)| -> io::Result<PathBuf> {
            let group = Path::new(root).join(&name);
            fs::create_dir(&group)?;
            if let Err(error) = fs::write(group.join(file), bytes.to_string()) {
                fs::remove_dir(&group)?;
                return Err(error);
            }
            Ok(group)
        };
        let group = versions.into_iter().find_map(|version| make(version).ok());
        group.map_or(Self::Data(bytes / 1024), Self::Group)
    }

    /// Returns the kind of limit.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Limit::Group(_) => "a control group",
            Limit::Data(_) => "RLIMIT_DATA",
        }
    }

    /// A command that runs `program` under the limit. Its process is the one of the program.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let enter = match self {
            Limit::Group(group) => format!("echo $$ > '{}/cgroup.procs'", group.display()),
            Limit::Data(kib) => format!("ulimit -d {kib}"),
        };
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{enter} && exec \"$@\""), "sh"]).arg(program);
        command
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        if let Limit::Group(group) = self {
            // Its processes are gone; its part of the page cache moves to its parent.
            let _ = fs::remove_dir(group);
        }
    }
}
