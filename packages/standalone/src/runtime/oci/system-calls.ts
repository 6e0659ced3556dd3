const words = (text: string): string[] => text.trim().split(/\s+/);

/**
 * System calls that every container may make: they act on what it was given, and name nothing of the machine's. Also the
 * old and the 32 bit forms; the kernel has more every year, and no container may make a new one until it is listed here.
 */
export const HARMLESS: readonly string[] = words(`
  open openat openat2 creat close close_range read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2
  lseek _llseek readahead fadvise64 fadvise64_64 sendfile sendfile64 splice tee vmsplice copy_file_range
  stat stat64 lstat lstat64 fstat fstat64 newfstatat fstatat64 statx statfs statfs64 fstatfs fstatfs64 access faccessat
  faccessat2 readlink readlinkat getdents getdents64 getcwd chdir fchdir umask utime utimes utimensat utimensat_time64
  futimesat truncate truncate64 ftruncate ftruncate64 fallocate fsync fdatasync sync syncfs sync_file_range
  mkdir mkdirat rmdir rename renameat renameat2 link linkat unlink unlinkat symlink symlinkat mknod mknodat
  chmod fchmod fchmodat fchmodat2 chown chown32 fchown fchown32 lchown lchown32 fchownat
  getxattr lgetxattr fgetxattr setxattr lsetxattr fsetxattr listxattr llistxattr flistxattr removexattr lremovexattr
  fremovexattr getxattrat setxattrat listxattrat removexattrat name_to_handle_at statmount listmount cachestat
  flock fcntl fcntl64 dup dup2 dup3 pipe pipe2 ioctl select _newselect pselect6 pselect6_time64 poll ppoll ppoll_time64
  epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_wait epoll_wait_old epoll_pwait epoll_pwait2
  eventfd eventfd2 signalfd signalfd4 inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_mark
  io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents io_pgetevents_time64
  brk mmap mmap2 munmap mremap mprotect madvise mincore msync mlock mlock2 mlockall munlock munlockall mseal
  remap_file_pages membarrier memfd_create memfd_secret pkey_alloc pkey_free pkey_mprotect map_shadow_stack
  execve execveat exit exit_group fork vfork wait4 waitid waitpid kill tkill tgkill pause pidfd_open pidfd_send_signal
  getpid getppid gettid getpgid getpgrp setpgid getsid setsid prctl seccomp
  landlock_create_ruleset landlock_add_rule landlock_restrict_self process_mrelease
  getuid getuid32 geteuid geteuid32 getgid getgid32 getegid getegid32 getresuid getresuid32 getresgid getresgid32
  getgroups getgroups32 setuid setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32 setresuid setresuid32
  setresgid setresgid32 setfsuid setfsuid32 setfsgid setfsgid32 setgroups setgroups32 capget capset
  rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
  rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack sigprocmask sigreturn sigaction sigpending sigsuspend signal
  restart_syscall
  sched_yield sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam
  sched_getscheduler sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval
  sched_rr_get_interval_time64 getpriority setpriority ioprio_get ioprio_set nice getcpu rseq
  futex futex_time64 futex_wait futex_wake futex_requeue futex_waitv get_robust_list set_robust_list set_tid_address
  get_thread_area set_thread_area getrlimit setrlimit ugetrlimit prlimit64 getrusage times sysinfo uname getrandom
  time gettimeofday clock_gettime clock_gettime64 clock_getres clock_getres_time64 clock_nanosleep
  clock_nanosleep_time64 nanosleep adjtimex clock_adjtime clock_adjtime64 alarm getitimer setitimer
  timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64
  timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64
  socketpair bind listen accept accept4 connect shutdown getsockname getpeername getsockopt setsockopt
  send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg recvmmsg_time64 socketcall
  ipc shmget shmat shmctl shmdt semget semctl semop semtimedop semtimedop_time64 msgget msgctl msgsnd msgrcv
  mq_open mq_unlink mq_notify mq_getsetattr mq_timedsend mq_timedsend_time64 mq_timedreceive mq_timedreceive_time64
  ptrace process_vm_readv process_vm_writev
`);

/** Harmless ones of one architecture, as Node.js calls it. */
export const OF_ARCHITECTURE: Readonly<Record<string, readonly string[]>> = {
  x64: words("arch_prctl modify_ldt"),
  arm64: words("arm_fadvise64_64 arm_sync_file_range breakpoint cacheflush set_tls sync_file_range2"),
};

/** The calls that only a process with a capability needs. */
export const WITH_CAPABILITY: Readonly<Record<string, readonly string[]>> = {
  BPF: words("bpf"),
  DAC_READ_SEARCH: words("open_by_handle_at"),
  PERFMON: words("perf_event_open"),
  SYSLOG: words("syslog"),
  SYS_ADMIN: words(`
    bpf clone clone3 fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie mount mount_setattr move_mount open_tree
    perf_event_open quotactl quotactl_fd setdomainname sethostname setns syslog umount umount2 unshare pivot_root
  `),
  SYS_BOOT: words("reboot"),
  SYS_CHROOT: words("chroot"),
  SYS_MODULE: words("delete_module init_module finit_module"),
  SYS_NICE: words("get_mempolicy mbind set_mempolicy set_mempolicy_home_node"),
  SYS_PACCT: words("acct"),
  SYS_PTRACE: words("kcmp pidfd_getfd process_madvise"),
  SYS_RAWIO: words("iopl ioperm"),
  SYS_TIME: words("settimeofday stime clock_settime clock_settime64"),
  SYS_TTY_CONFIG: words("vhangup"),
};
