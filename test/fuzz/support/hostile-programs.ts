import type { Random } from "@mooring/store/testing";

/** What a program of a hostile container is made with. */
export interface Surroundings {
  /** On which it may listen; no other pod does. */
  port: number;
  /** A folder of the machine that no container may reach. */
  victim: string;
}

type Program = (random: Random, surroundings: Surroundings) => string;

const forever = "exec sleep 100000";
const perl = (text: string) => `perl -e '${text}'`;

/** Responses to a probe, as text that perl prints or as a loop that it runs. */
const RESPONSES = [
  'print $c "HTTP/1.1 200 OK\\r\\n\\r\\n"; print $c "x" x 65536 while 1;',
  'print $c "HTTP/1.1 100 Continue\\r\\n\\r\\n" x 2000 while 1;',
  'print $c "HTTP/1.1 102 Processing\\r\\na: b\\r\\n\\r\\n" x 2000 while 1;',
  'print $c "HTTP/1.1 200 OK\\r\\n"; print $c "x-$_: " . ("y" x 3000) . "\\r\\n" for 1 .. 1000000;',
  'print $c "HTTP/1.1 200 OK\\r\\n"; print $c "a:b\\r\\n" x 1000 while 1;',
  'print $c "HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"; print $c "1\\r\\nx\\r\\n" x 5000 while 1;',
  'print $c "HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1;" . ("e" x 65536); sleep 1000;',
  'print $c "HTTP/1.1 301 Moved\\r\\nLocation: http://127.0.0.1:1/\\r\\n\\r\\n";',
  'print $c "HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: x\\r\\nConnection: Upgrade\\r\\n\\r\\n"; print $c "x" x 65536 while 1;',
  'print $c "HTTP/1.1 99999999999999999999 \\xff\\xfe\\r\\n\\r\\n";',
  'print $c "HTTP/1.1 500 " . ("\\xf0\\x9f\\x98" x 100000) . "\\r\\n\\r\\n";',
  'print $c pack("C*", map { int rand 256 } 1 .. 100000);',
  'for (split //, "HTTP/1.1 200 OK\\r\\n\\r\\n") { print $c $_; select undef, undef, undef, 0.3 }',
  "sleep 1000;",
  "",
];

/** A program that takes a whole processor does so for some seconds: others are to be seen to go on, and not to be starved. */
const FOR_A_WHILE = "$SIG{ALRM} = sub { exit 3 }; alarm 5;";

/** Programs that do what nobody should do, by name. */
export const PROGRAMS: Readonly<Record<string, Program>> = {
  "endless lines": (r) =>
    `yes '${r.one(["", "x", "\u202e\u0000"])}' | head -c ${r.between(20, 120)}M; ${forever}`,
  "endless bytes": () => `head -c 80M /dev/urandom & head -c 80M /dev/zero >&2; wait; ${forever}`,
  "single bytes": (r) =>
    perl(`$| = 1; for (1 .. ${r.between(20, 60)}000) { syswrite STDOUT, "\\n" } sleep 100000`),
  "truncates its log": (r) =>
    `for i in 1 2 3 4 5 6 7 8 9; do truncate -s ${r.one(["8T", "0", "70M"])} /proc/self/fd/1; echo x; truncate -s 0 /proc/self/fd/1; done; ${forever}`,
  "single bytes without a pause": () => perl(`${FOR_A_WHILE} syswrite STDOUT, "\\n" while 1`),
  "truncates its log without a pause": () =>
    perl(
      `${FOR_A_WHILE} open(my $log, "+<", "/proc/self/fd/1") or die; while (1) { truncate $log, 1 << 42; truncate $log, 0 }`,
    ),
  "messages without a pause": () =>
    perl(
      `${FOR_A_WHILE} open(my $m, ">", "/dev/termination-log") or die; while (1) { sysseek $m, 0, 0; syswrite $m, "x" x (2 << 20) }`,
    ),
  "long message": (r) =>
    `head -c ${r.between(1, 9)}M /dev/urandom >/dev/termination-log; exit ${r.below(256)}`,
  "sparse message": (r) => `truncate -s ${r.one(["1T", "8T"])} /dev/termination-log; exit ${r.below(3)}`,
  "long last line": () => "head -c 3000000 /dev/urandom; exit 1",
  forks: (r) => perl(`for (1 .. ${r.between(4, 8)}) { fork } sleep 100000`),
  "forks without end": () =>
    perl(
      '$SIG{CHLD} = "IGNORE"; while (1) { my $p = fork; exit if defined $p && $p == 0; select undef, undef, undef, 0.002 }',
    ),
  orphans: () =>
    perl("for (1 .. 60) { fork || do { fork || do { setpgrp; sleep 100000 }; exit } } sleep 100000"),
  "ends at once": (r) => `exit ${r.below(256)}`,
  "is killed": (r) => `kill -${r.one(["KILL", "SEGV", "ABRT", "TERM"])} $$; ${forever}`,
  "kills all": () => `kill -KILL -1; ${forever}`,
  "heeds no signal": () => "trap '' TERM INT HUP QUIT; while :; do sleep 0.1; done",
  "stops itself": () => `(kill -STOP -1); kill -STOP $$; ${forever}`,
  "odd names": (r) =>
    perl(
      `chdir "/volume"; for (1 .. ${r.between(100, 1500)}) { my $n = join "", map { my $b = int rand 256; chr($b == 47 || $b == 0 ? 10 : $b) } 1 .. 1 + int rand 255; if (rand() < 0.3) { mkdir $n } elsif (rand() < 0.2) { symlink "$n/..", $n } else { open my $f, ">", $n } } sleep 100000`,
    ),
  links: (_, { victim }) =>
    `cd /volume; for i in sub sub2 deep/a secret .; do mkdir -p deep; ln -sfn ${victim} $i; done; ln -sf /proc/self/root/ root; ln -sf ../../../../../../../../../../etc up; mkfifo pipe; ${forever}`,
  "replaces what is there": (_, { victim }) =>
    perl(
      `chdir "/volume"; mkdir "sub"; for (my $i = 0; ; $i++) { rename "sub", "old$i"; symlink "${victim}", "sub"; select undef, undef, undef, 0.001; unlink "sub"; rename "old$i", "sub" }`,
    ),
  "removes what is there": () =>
    perl(
      'chdir "/volume"; while (1) { rmdir "sub"; rmdir "sub2"; select undef, undef, undef, 0.01; mkdir "sub2" }',
    ),
  nests: (r) =>
    perl(
      `chdir "/volume"; my $n = "d" x ${r.between(1, 250)}; for (1 .. ${r.between(100, 900)}) { mkdir $n; chdir $n or last } sleep 100000`,
    ),
  "many files": (r) =>
    perl(`chdir "/volume"; for (1 .. ${r.between(1, 8)}000) { open my $f, ">", "f$_" } sleep 100000`),
  sockets: () =>
    perl(
      'use Socket; chdir "/volume"; for (1 .. 200) { socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind $s, sockaddr_un("s$_"); listen $s, 1; push @all, $s } sleep 100000',
    ),
  groups: () =>
    `find /sys/fs/cgroup -depth -type d -exec rmdir {} + ; for each in $(find /sys/fs/cgroup -name cgroup.procs); do echo 0 >$each; done; mount -o remount,rw /sys/fs/cgroup; ${forever}`,
  "fills its disk": (r) =>
    `head -c ${r.between(10, 60)}M /dev/zero >/volume/full; head -c 20M /dev/zero >/memory/full; ${forever}`,
  sparse: () => `truncate -s 7E /volume/large; truncate -s 100T /volume/sub/large; ${forever}`,
  "closes its output": () => `exec 1>&- 2>&- 0<&-; ${forever}`,
  descriptors: () => perl("while (1) { open my $f, q(<), q(/dev/null) or last; push @all, $f } sleep 100000"),
  responds: (r, { port }) =>
    perl(
      `use IO::Socket::INET; $SIG{CHLD} = $SIG{PIPE} = "IGNORE"; my $s = IO::Socket::INET->new(LocalPort => ${port}, Listen => 50, ReuseAddr => 1) or exit 1; while (1) { my $c = $s->accept or next; if (fork) { close $c; next } alarm 4; $c->autoflush(1); ${r.one(RESPONSES)} exit }`,
    ),
};

/** Programs of probes, hooks and clients. */
export const SHORT_PROGRAMS: readonly string[] = [
  "exit 0",
  "exit 1",
  "yes",
  "cat /dev/urandom",
  "head -c 300000 /dev/urandom; exit 7",
  "head -c 300000 /dev/urandom >&2",
  "exec sleep 100000",
  "(trap '' TERM; sleep 100000) & exit 0",
  "setsid sleep 100000 & setsid sleep 100000 & exit 1",
  "kill -KILL -1",
  "kill -STOP $$",
  "trap '' TERM INT; while :; do :; done",
  "ln -sfn / /volume/sub; rm -rf /volume/sub2",
  `perl -e 'for (1 .. 5) { fork } sleep 100000'`,
];
