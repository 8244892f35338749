//! Denies system calls with seccomp: the network, other processes, the system's state, and metadata of files, which
//! Landlock does not protect.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use libc::c_long;
use onnxport_core::diagnose::Diagnostic;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter_all_threads,
};

use super::refused;

/// The calls that fail with `EPERM`.
const DENIED: &[c_long] = &[
    // The network, and the interface that would go around this list.
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    // Owners, permissions, times and attributes of files by their paths.
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_fchown,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // The state of the system, namespaces, and parts of the kernel that few programs need.
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mknodat,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Older forms of these calls, which only this architecture has.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_futimesat,
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_mknod,
    libc::SYS_utime,
    libc::SYS_utimes,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// The bit of system calls in the x32 ABI of an x86-64 kernel, whose numbers otherwise are the same.
const X32: c_long = 0x4000_0000;

/// The request to put characters into the input of a terminal, in `asm-generic/ioctls.h`.
const TIOCSTI: u64 = 0x5412;

/// Restricts all threads of this process, and all processes that it starts.
///
/// # Errors
/// `OP007` if the kernel lacks seccomp, or if this processor's system calls are not known.
pub(super) fn restrict() -> Result<(), Diagnostic> {
    let arch = TargetArch::try_from(ARCH)
        .map_err(|_| refused(format!("its system calls on {ARCH} are not known")))?;
    apply(arch).map_err(|error| refused(error.to_string()).help("it needs a kernel with seccomp"))
}

fn apply(arch: TargetArch) -> Result<(), seccompiler::Error> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    for call in DENIED.iter().chain(OLDER) {
        rules.insert(*call, Vec::new());
        if cfg!(target_arch = "x86_64") {
            rules.insert(call | X32, Vec::new());
        }
    }
    let types = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, TIOCSTI)?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![types])?]);
    // Without a path, the call changes the times of an open file.
    let names = SeccompCondition::new(1, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_utimensat, vec![SeccompRule::new(vec![names])?]);
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let program: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch)?.try_into()?;
    apply_filter_all_threads(&program)
}
