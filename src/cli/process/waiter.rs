//! The process that the shell waits for, while another one has the screen.
//!
//! A program can give the shell its prompt back only by ending. So the screen is in a child of the process
//! that the shell started, which does nothing but wait, pass signals on and end as its child does; when the
//! session is left running in the background, the waiting process ends, and the child continues in a session of
//! its own. If the child is killed, the waiting process gives the terminal back first. It costs one fork, before there
//! is a second thread and before anything was read.

#[cfg(target_os = "linux")]
pub(crate) use linux::{can_leave, divide, leave};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{can_leave, divide, leave};

/// Where the death of a parent is not reported: the screen is in the only process, and cannot be left.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    pub(crate) fn divide() {}

    pub(crate) fn can_leave() -> bool {
        false
    }

    pub(crate) fn leave(_next: Option<&str>) {}
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "fork, and waiting for signals with their senders, have no safe form")]
mod linux {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::sync::OnceLock;

    use crate::tui::modes::{self, SetModes};
    use crate::tui::output;
    use nix::libc;
    use rustix::process::{Signal, getpid, getppid, kill_process, set_parent_process_death_signal, setsid};

    /// Maximum length of a session's id with the address of its server and a line break, in bytes.
    const MAX_ID: usize = 8_192;

    /// The child's end of the connection to the waiting process.
    static WAITER: OnceLock<UnixStream> = OnceLock::new();

    /// Divides the process; returns in the child, or where the system refuses, in the only process. Needs to be
    /// called before there is a second thread.
    pub(crate) fn divide() {
        let Ok((here, there)) = UnixStream::pair() else { return };
        let parent = getpid();
        share_modes();
        // SAFETY: there is only one thread, so no lock and no allocation of another one is cut off.
        match unsafe { libc::fork() } {
            0 => {
                drop(here);
                // A waiting process that is killed takes the screen along, as if there were one process.
                let _ = set_parent_process_death_signal(Some(Signal::KILL));
                if getppid() != Some(parent) {
                    std::process::exit(128 + libc::SIGKILL);
                }
                let _ = WAITER.set(there);
            }
            child if child > 0 => {
                drop(there);
                wait(child, here)
            }
            _ => {}
        }
    }

    /// Keeps the modes that the child sets on the terminal where both processes see them.
    fn share_modes() {
        // SAFETY: a new mapping, never unmapped, large and aligned enough, whose zeros are a valid value.
        unsafe {
            let (size, access) = (size_of::<SetModes>(), libc::PROT_READ | libc::PROT_WRITE);
            let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
            let memory = libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0);
            if memory != libc::MAP_FAILED {
                modes::share(&*memory.cast::<SetModes>());
            }
        }
    }

    /// Whether the shell's prompt can be given back.
    pub(crate) fn can_leave() -> bool {
        WAITER.get().is_some()
    }

    /// Leaves the terminal: this process continues without it, in a session of its own. The waiting process
    /// ends, or becomes the screen of the live session with the id `next`.
    pub(crate) fn leave(next: Option<&str>) {
        let Some(mut waiter) = WAITER.get() else { return };
        let parent = getppid();
        let _ = set_parent_process_death_signal(None);
        let _ = setsid();
        // The waiting process may have ended with the terminal.
        let _ = waiter.write_all(format!("{}\n", next.unwrap_or_default()).as_bytes());
        if let Some(parent) = parent {
            let _ = kill_process(parent, Signal::CHILD);
        }
    }

    /// Ends, or becomes the screen of another live session, as the child has said; returns if it has said
    /// nothing yet.
    fn obey(leaving: &mut UnixStream) {
        let mut said = [0; MAX_ID];
        let length = leaving.read(&mut said).unwrap_or_default();
        let said = said.get(..length).and_then(|said| std::str::from_utf8(said).ok());
        let Some(next) = said.and_then(|said| said.strip_suffix('\n')) else { return };
        if !next.is_empty()
            && let Ok(program) = std::env::current_exe()
        {
            // SAFETY: a system call that reads a value of this function.
            unsafe {
                let mut none: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut none);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            }
            let error = std::process::Command::new(program).args(["attach", next]).exec();
            crate::process::exit::warn(&format!("cannot open the session: {error}"));
            std::process::exit(1);
        }
        std::process::exit(0);
    }

    /// Waits for the child, and ends as it does.
    fn wait(child: libc::pid_t, mut leaving: UnixStream) -> ! {
        let _ = leaving.set_nonblocking(true);
        // SAFETY: system calls that write to values of this function.
        unsafe {
            let (mut all, mut info): (libc::sigset_t, libc::siginfo_t) = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
            // The child may have ended before.
            let mut number = libc::SIGCHLD;
            loop {
                if number == libc::SIGCHLD {
                    obey(&mut leaving);
                    let mut status = 0;
                    if libc::waitpid(child, &raw mut status, libc::WNOHANG) == child {
                        end(status);
                    }
                } else if number > 0 && info.si_code <= 0 && is_news(number, child) {
                    // The kernel's own signals, about the terminal, reach the child as well.
                    libc::kill(child, number);
                }
                number = libc::sigwaitinfo(&raw const all, &raw mut info);
            }
        }
    }

    /// Whether the child has not had this signal, and its consequence, together with this process: the sender may have
    /// meant both. This process may be stopped by the child, and continued, before it passes on the request to stop.
    fn is_news(number: libc::c_int, child: libc::pid_t) -> bool {
        match number {
            // In the background, it has to know that the terminal is not its own.
            libc::SIGCONT => is_stopped(child) || output::is_of_others(),
            libc::SIGTSTP => !is_continued(),
            _ => true,
        }
    }

    /// Whether this process was continued since it took its last signal.
    fn is_continued() -> bool {
        // SAFETY: system calls on a value of this function, for which zeros are valid.
        unsafe {
            let mut pending: libc::sigset_t = std::mem::zeroed();
            libc::sigpending(&raw mut pending) == 0
                && libc::sigismember(&raw const pending, libc::SIGCONT) == 1
        }
    }

    /// Whether the child is stopped. A shell continues both processes, the newer one first; a second signal would make the
    /// child draw the screen a second time, below the first.
    fn is_stopped(child: libc::pid_t) -> bool {
        let Ok(id) = libc::id_t::try_from(child) else { return false };
        let options = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: a system call that writes to a value of this function, for which zeros are valid.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, id, &raw mut info, options) == 0 && info.si_pid() == child
        }
    }

    /// Ends as a child with this status did. A killed one has left the terminal as it was using it.
    fn end(status: libc::c_int) -> ! {
        if libc::WIFSIGNALED(status) {
            modes::restore();
        }
        // SAFETY: system calls without pointers to other memory.
        unsafe {
            if libc::WIFSIGNALED(status) {
                let number = libc::WTERMSIG(status);
                libc::signal(number, libc::SIG_DFL);
                let mut none: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut none);
                libc::kill(libc::getpid(), number);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
                libc::_exit(128_i32.wrapping_add(number));
            }
            libc::_exit(libc::WEXITSTATUS(status))
        }
    }
}
