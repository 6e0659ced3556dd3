import { eventually } from "@mooring/store/testing";
import type { Command, Guest } from "../support/guest/guest.ts";
import { perl } from "./perl.ts";

/**
 * Writes `<writer> <number>` into one slot after the other, each on disk before it is acknowledged. It goes on when it fails, as a
 * machine does that does not know what has become of it: `refused` is each failure, `late` each write that was taken after one. With
 * a fourth argument it begins when the clock has made a leap, its device long open: as a machine does that stood still.
 */
const WRITE = String.raw`
use Fcntl; use IO::Handle;
my ($file, $name, $at, $idle) = @ARGV;
sysopen(my $f, $file, O_RDWR | O_SYNC) or die "open: $!";
STDOUT->autoflush(1);
if ($idle) {
  print "idle\n";
  for (my $seen = time; time - $seen < 10; select(undef, undef, undef, 0.01)) { $seen = time }
}
my ($n, $refused) = (1, 0);
for (;;) {
  my $record = pack('a4096', "$name $n\n");
  my $written = sysseek($f, ($at + $n - 1) * 4096, 0) && syswrite($f, $record);
  if (defined $written && $written == 4096) {
    print $refused ? "late $n\n" : "$n\n";
    $n++ unless $refused;
  } else {
    $refused++;
    print "refused $!\n";
  }
  select(undef, undef, undef, 0.01);
}
`;

/** Prints `<writer> <number of records>` for one writer after the other, and fails at a hole, or when one begins anew. */
const READ = String.raw`
open(my $f, '<', $ARGV[0]) or die "open: $!";
my ($name, $last) = ('', 0);
while (sysread($f, my $slot, 4096) == 4096) {
  my ($by, $n) = $slot =~ /^(\S+) (\d+)\n/ or last;
  if ($by eq $name) { $n == $last + 1 or die "$by $n after $last" }
  else { print "$name $last\n" if $last; $n == 1 or die "$by begins with $n" }
  ($name, $last) = ($by, $n);
}
print "$name $last\n" if $last;
`;

/** What is on a disk: who wrote how many records, in order. */
export type Stint = [writer: string, records: number];

/** Reads it on a guest. */
export async function readStints(guest: Guest, device: string): Promise<Stint[]> {
  const text = await guest.run(perl(READ, device));
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [writer = "", records] = line.split(" ");
      return [writer, Number(records)];
    });
}

/** A program on a guest that writes until it is ended, and prints the number of each write that is on disk. */
export class Writer {
  readonly name: string;
  readonly #guest: Guest;
  readonly #command: Command;

  constructor(guest: Guest, name: string, line: string) {
    this.name = name;
    this.#guest = guest;
    this.#command = guest.start(line);
  }

  /** The highest number whose write was acknowledged. */
  get acknowledged(): number {
    return Number(this.#command.lines.findLast((line) => /^\d+$/.test(line)) ?? 0);
  }

  get refused(): number {
    return this.#command.lines.filter((line) => line.startsWith("refused")).length;
  }

  get late(): number {
    return this.#command.lines.filter((line) => line.startsWith("late")).length;
  }

  /** Resolves when it has its device open, and waits. */
  async idles(): Promise<void> {
    await eventually(`${this.name} to wait`, async () => this.#command.lines.includes("idle"));
  }

  get ended(): boolean {
    return this.#command.code !== undefined;
  }

  /** Resolves when so many more writes are acknowledged, or refused. */
  async more(what: "acknowledged" | "refused", count: number): Promise<void> {
    const goal = this[what] + count;
    await eventually(
      `${count} more writes of ${this.name} to be ${what}`,
      async () => {
        if (this.ended) throw new Error(`it ended: ${this.#command.lines.slice(-3).join("; ")}`);
        return this[what] >= goal;
      },
      { withinMs: 600_000, lastSeen: () => this.#command.lines.slice(-5) },
    );
  }

  async stop(): Promise<void> {
    await this.#guest.run("pkill perl");
    await eventually(`${this.name} to end`, async () => this.ended);
  }
}

/** One that writes records on a device. */
export class RecordWriter extends Writer {
  /** `after`: records that are there already. */
  constructor(guest: Guest, name: string, device: string, after: readonly Stint[] = []) {
    const at = after.reduce((sum, [, records]) => sum + records, 0);
    super(guest, name, perl(WRITE, device, name, String(at)));
  }
}

/** One that has a device open, and writes records once its machine has stood still. */
export class IdleWriter extends Writer {
  constructor(guest: Guest, name: string, device: string) {
    super(guest, name, perl(WRITE, device, name, "0", "idle"));
  }
}
