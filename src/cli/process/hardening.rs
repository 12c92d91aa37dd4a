//! Protects this process from other processes of the same user: its memory and its environment.
//!
//! The kernel lets a user's processes inspect each other: `/proc/PID/mem`, `/proc/PID/environ`, ptrace, core
//! dumps. A process that is not dumpable is closed to all but root's. The environment is closed to root's as
//! well, and even before tau closes the rest: its text is moved out of the place that the kernel shows as
//! `/proc/PID/environ`.

use std::os::fd::{BorrowedFd, RawFd};

/// Closes the process, once, before there is another thread.
pub(crate) fn close_process() {
    #[cfg(target_os = "linux")]
    {
        // A refusal leaves no alternative; no kernel that has the call refuses it.
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
        environment::hide();
    }
}

/// Marks inherited descriptors other than the standard streams as close-on-exec, before there is another
/// thread: a command could write through such a descriptor to its file, despite any confinement.
#[allow(unsafe_code, reason = "descriptors that were inherited have no owner")]
pub(crate) fn keep_descriptors() {
    let list = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    for entry in std::fs::read_dir(list).into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok());
        let Some(number) = number.filter(|number| *number > 2) else { continue };
        // SAFETY: it was listed just now, and nothing closes it in the meantime.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC).ok();
    }
}

#[cfg(target_os = "linux")]
mod environment {
    use std::ffi::{CStr, c_char};

    use tau_tools::process::MARK;

    #[allow(unsafe_code, reason = "a variable of the C library")]
    unsafe extern "C" {
        /// The variables of this process, up to a null pointer. See environ(7).
        static mut environ: *mut *mut c_char;
    }

    /// Copies every variable elsewhere and blanks out its text, except the mark by which an outer tau
    /// recognises one that it runs as a command.
    #[allow(unsafe_code, reason = "no library moves the environment")]
    pub(crate) fn hide() {
        // SAFETY: no other thread runs yet that could read or change the environment. Each entry is a string
        // that ends with NUL, in writable memory of this process; the copies are never freed, like with
        // putenv(3).
        unsafe {
            let mut at = environ;
            while !at.is_null() && !(*at).is_null() {
                let text = CStr::from_ptr(*at);
                if !text.to_bytes().starts_with(MARK.as_bytes()) {
                    let (copy, length) = (text.to_owned().into_raw(), text.count_bytes());
                    std::ptr::write_bytes(*at, 0, length);
                    *at = copy;
                }
                at = at.add(1);
            }
        }
    }
}
