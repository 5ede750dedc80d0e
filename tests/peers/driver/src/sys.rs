//! System calls that std does not offer: CPU pinning, readiness, CPU clock and system calls of
//! another process. The driver has no other unsafe code.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Time without a byte after which a request counts as lost.
const SILENCE: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// Returns the CPUs that this process may use.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Moves the calling thread, and the processes it starts from now on, to one CPU.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Waits until some of these are ready. End of file and a broken pipe count as ready: the next call
/// reports them.
pub fn wait(fds: &mut [PollFd]) -> io::Result<()> {
    match retry_on_intr(|| poll(fds, Some(&SILENCE)))? {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "timed out waiting for the server")),
        _ => Ok(()),
    }
}

/// The CPU clock of a process: user and system time of all its threads, in nanoseconds.
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    pub fn of(pid: u32) -> io::Result<Self> {
        let mut id = 0;
        // SAFETY: `id` outlives the call.
        match unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &mut id) } {
            0 => Ok(Self(id)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    pub fn now(&self) -> io::Result<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` outlives the call.
        check(unsafe { libc::clock_gettime(self.0, &mut time) })?;
        Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
}

/// Counts the system calls of a process and of the threads that it starts from now on.
pub struct SyscallCounter(File);

impl SyscallCounter {
    /// Fails where the kernel does not let this user trace.
    pub fn of(pid: u32) -> io::Result<Self> {
        let id = std::fs::read_to_string("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id")?;
        // A perf_event_attr (perf_event_open(2)) of the first size: type and size, config, three
        // fields that are not used, flags, two fields that are not used.
        let mut attributes = [0u64; 8];
        attributes[0] = TRACEPOINT | (size_of_val(&attributes) as u64) << 32;
        attributes[1] = id.trim().parse().map_err(io::Error::other)?;
        attributes[5] = DISABLED | INHERIT;
        // SAFETY: the pointer and the size in it describe `attributes`.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                attributes.as_ptr(),
                pid,
                -1,
                -1,
                CLOSE_ON_EXEC,
            )
        };
        check(fd as i32)?;
        // SAFETY: the descriptor is new.
        Ok(Self(unsafe { File::from_raw_fd(fd as i32) }))
    }

    pub fn start(&self) -> io::Result<()> {
        self.control(ENABLE)
    }

    /// Stops counting and returns the number of system calls.
    pub fn stop(&self) -> io::Result<u64> {
        self.control(DISABLE)?;
        let mut count = [0; 8];
        (&self.0).read_exact(&mut count)?;
        Ok(u64::from_ne_bytes(count))
    }

    fn control(&self, command: libc::c_ulong) -> io::Result<()> {
        // SAFETY: these commands touch no memory.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), command as _, 0) }).map(drop)
    }
}

const TRACEPOINT: u64 = 2;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
