import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { eventually } from "@mooring/store/testing";
import type { Machine } from "./machine.ts";

/**
 * Appends `<node> <number>` lines, each synced before it is acknowledged on stdout; ends with the first error. A third
 * argument is the seconds between two writes.
 */
export const WRITER = String.raw`
use IO::Handle;
my ($file, $node, $pause) = @ARGV;
open(my $f, '>>', $file) or die "open: $!";
STDOUT->autoflush(1);
for (my $n = 1; ; $n++) {
  my $record = "$node $n\n";
  my $written = syswrite($f, $record);
  defined $written && $written == length $record or die "write: $!";
  $f->sync or die "sync: $!";
  print "$n\n" or die "print: $!";
  select(undef, undef, undef, $pause) if $pause;
}
`;

/**
 * The same on a raw device, a slot of 4096 bytes per record, after what is there. It opens the device at once, and
 * begins when it works: as a virtual machine does that waits to take over. It takes its time: while a node is waited for
 * to be lost, the device must not become full.
 */
export const BLOCK_PROGRAM = String.raw`
use IO::Handle;
my ($file, $node) = @ARGV;
open(my $f, '+<', $file) or die "open: $!";
STDOUT->autoflush(1);
my $at = 0;
for (;;) {
  my $got = sysseek($f, $at, 0) && sysread($f, my $slot, 4096);
  if (!$got) { select(undef, undef, undef, 0.05); next }
  last if $slot !~ /^\w/;
  $at += 4096;
}
for (my $n = 1; ; $n++, $at += 4096) {
  my $record = pack('a4096', "$node $n\n");
  sysseek($f, $at, 0) or die "seek: $!";
  my $written = syswrite($f, $record);
  defined $written && $written == 4096 or die "write: $!";
  $f->sync or die "sync: $!";
  print "$n\n" or die "print: $!";
  select(undef, undef, undef, 0.002);
}
`;

const DUMP_PROGRAM = String.raw`
open(my $f, '<', $ARGV[0]) or die "open: $!";
while (sysread($f, my $slot, 4096)) {
  last unless $slot =~ /^(\w[^\n]*\n)/;
  print $1;
}
`;

/** The records on a raw device, as text. */
export function readRecords(machine: Machine, device: string): Promise<string> {
  return machine.run("perl", "-e", DUMP_PROGRAM, device);
}

/** A program on one machine that writes as fast as it can, and remembers what it was promised. */
export class Writer {
  readonly node: string;
  /** The highest number whose write was acknowledged. */
  acknowledged = 0;
  /** When the first and the last one were acknowledged, by this process's clock. */
  firstAt = Number.POSITIVE_INFINITY;
  lastAt = 0;
  complaint = "";
  readonly #child: ChildProcess;
  readonly ended: Promise<unknown>;

  constructor(machine: Machine, file: string, kind: "file" | "device" = "file") {
    this.node = machine.name;
    const program = kind === "file" ? WRITER : BLOCK_PROGRAM;
    this.#child = machine.spawn("perl", "-e", program, file, machine.name);
    this.ended = once(this.#child, "close");
    let rest = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      const last = lines.at(-1);
      if (last === undefined) return;
      this.acknowledged = Number(last);
      this.lastAt = performance.now();
      this.firstAt = Math.min(this.firstAt, this.lastAt);
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.complaint += text;
    });
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when so many more writes are acknowledged. */
  async progress(more: number): Promise<void> {
    const goal = this.acknowledged + more;
    await eventually(`writer on ${this.node} to get to ${goal}`, async () => {
      if (this.acknowledged >= goal) return true;
      if (!this.running) throw new Error(`the writer on ${this.node} ended: ${this.complaint}`);
      return false;
    });
  }

  async stop(): Promise<void> {
    if (this.running) this.#child.kill("SIGKILL");
    await this.ended;
  }
}

/** What one writer after the other has left in the file, in order. */
export interface Stint {
  node: string;
  /** Of the last record. */
  last: number;
}

/**
 * Reads the stamps: every writer's numbers are complete from 1 on, and no writer writes again after another one
 * has. Throws with the first line that breaks this. A line that the end of a machine has truncated does not count.
 */
export function stints(content: string): Stint[] {
  const found: Stint[] = [];
  for (const line of content.split("\n").slice(0, -1)) {
    const [node = "", text = ""] = line.split(" ");
    const number = Number(text);
    const current = found.at(-1);
    if (current?.node === node && number === current.last + 1) current.last = number;
    else if (number === 1 && current?.node !== node) found.push({ node, last: 1 });
    else throw new Error(`two writers, or a hole: ${JSON.stringify(line)} after ${JSON.stringify(current)}`);
  }
  return found;
}
