//! The system calls that std does not offer: CPU pinning, readiness, CPU clock and system calls of
//! another process.
//! The driver has no other unsafe code.

use std::fs::File;
use std::io;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::time::Duration;

use crate::http::Connection;

/// Returns the CPUs that this process may use.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    // SAFETY: a cpu_set_t is plain bits, all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the pointer and the size describe `set`.
    check(unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) })?;
    // SAFETY: every index is below CPU_SETSIZE.
    Ok((0..libc::CPU_SETSIZE as usize)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect())
}

/// Moves the calling thread, and the processes it starts from now on, to one CPU.
pub fn pin_to(cpu: usize) -> io::Result<()> {
    // SAFETY: as in `allowed_cpus`.
    let mut set: libc::cpu_set_t = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: `cpu` comes from `allowed_cpus`, so it is below CPU_SETSIZE.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the pointer and the size describe `set`.
    check(unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) }).map(drop)
}

pub fn set_nonblocking(fd: BorrowedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as it is borrowed; these commands touch no memory.
    unsafe {
        let flags = check(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL))?;
        check(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)).map(drop)
    }
}

/// Result of `wait`. End of file and a broken pipe count as ready: the next call reports them.
#[derive(Default)]
pub struct Ready {
    pub to_read: bool,
    pub to_write: bool,
}

/// Waits until `read` can be read or `write`, if given, can be written.
pub fn wait(read: BorrowedFd, write: Option<BorrowedFd>, timeout: Duration) -> io::Result<Ready> {
    let mut fds = [
        libc::pollfd { fd: read.as_raw_fd(), events: libc::POLLIN, revents: 0 },
        // poll(2) skips negative descriptors.
        libc::pollfd {
            fd: write.map_or(-1, |fd| fd.as_raw_fd()),
            events: libc::POLLOUT,
            revents: 0,
        },
    ];
    let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the pointer and the count describe `fds`.
    match check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, milliseconds) }) {
        Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, "timed out waiting for the server")),
        Ok(_) => Ok(Ready { to_read: fds[0].revents != 0, to_write: fds[1].revents != 0 }),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(Ready::default()),
        Err(e) => Err(e),
    }
}

/// Waits until some of the connections are ready, and returns their indices. Ready means readable,
/// or writable if the connection has more to send.
pub fn wait_any(connections: &[Connection], timeout: Duration) -> io::Result<Vec<usize>> {
    let mut fds: Vec<_> = connections
        .iter()
        .map(|connection| libc::pollfd {
            fd: connection.as_fd().as_raw_fd(),
            events: libc::POLLIN | if connection.has_more_to_send() { libc::POLLOUT } else { 0 },
            revents: 0,
        })
        .collect();
    let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the pointer and the count describe `fds`.
    match check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, milliseconds) }) {
        Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, "timed out waiting for the server")),
        Ok(_) => Ok((0..fds.len()).filter(|&at| fds[at].revents != 0).collect()),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(Vec::new()),
        Err(e) => Err(e),
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
