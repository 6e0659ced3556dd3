import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Where the records, and the folder outside of all volumes with the acknowledgements, are in containers. */
export const DATA = "/data";
export const ACKS = "/acks";
const LENGTH = 128;

/**
 * Compares the records of a volume with what was written there, appends the result to `/acks/POD.result`, and, unless it is
 * to `audit` only, goes on: record after record, each on disk (fsync) before its number is acknowledged. argv: the
 * pod's name, the owner of the records, `write` or `audit`, how many have to be there, or `acks` for all that are
 * acknowledged. A write that fails is a result as well: the writer ends, and what it has acknowledged before stays so.
 */
const PROGRAM = String.raw`
use strict;
use IO::Handle;
use Fcntl;
use Errno;
$SIG{TERM} = sub { exit 0 };
my ($pod, $owner, $do, $wanted) = @ARGV;
my ($data, $acks) = ("/data/records", "/acks/acks");
sub result { open(my $f, '>>', "/acks/$pod.result") or die; print $f "@_\n"; close $f; exit 1 if $_[0] ne 'intact' }
sub record {
  my ($n) = @_;
  my $text = sprintf('%s %016d ', $owner, $n);
  $text . chr(97 + ($n * 7 + length $text) % 26) x (127 - length $text) . "\n";
}
sub acked { open(my $f, '<', $acks) or return 0; (<$f> // 0) + 0 }
my $done = acked();
$wanted = $done if $wanted eq 'acks';
my $found = 0;
if (open(my $f, '<', $data)) {
  my ($length, $bytes);
  while ($length = read($f, $bytes, 128)) {
    last if $length < 128;
    my $is = record($found + 1);
    if ($bytes ne $is) { last if $found >= $wanted; result("record", $found + 1, "of $wanted differs") }
    $found++;
  }
  result("read: $!") if !defined $length;
} elsif (!$!{ENOENT}) {
  result("open: $!");
}
result("only $found of $wanted records") if $found < $wanted;
result('intact');
exit 0 if $do eq 'audit';
sysopen(my $f, $data, O_WRONLY | O_CREAT, 0600) or result("open: $!");
open(my $folder, '<', '/data');
$folder->sync;
sysopen(my $a, $acks, O_WRONLY | O_CREAT, 0600) or result("acks: $!");
for (my $n = $done + 1; ; $n++) {
  sysseek($f, ($n - 1) * 128, 0);
  my $wrote = syswrite($f, record($n));
  result("write: $!") if !defined $wrote || $wrote < 128;
  $f->sync or result("fsync: $!");
  sysseek($a, 0, 0);
  syswrite($a, sprintf("%016d\n", $n));
  select(undef, undef, undef, 0.03);
}
`;

/** The command of a pod that writes records, or compares those of a restored volume. */
export function recordsCommand(pod: string, owner: string, least: number | "acks"): string[] {
  return ["perl", "-e", PROGRAM, pod, owner, least === "acks" ? "write" : "audit", String(least)];
}

/** How many records are acknowledged. `folder`: the one that containers see as {@link ACKS}. */
export async function acknowledged(folder: string): Promise<number> {
  return Number(await readFile(join(folder, "acks"), "utf8").catch(() => "0"));
}

/** What the containers of a pod have found, first to last; `intact` is how it should be. */
export async function resultsOf(folder: string, pod: string): Promise<string[]> {
  const text = await readFile(join(folder, `${pod}.result`), "utf8").catch(() => "");
  // Behind the last line break is one that is still being written.
  return text.split("\n").slice(0, -1);
}

function record(owner: string, number: number): string {
  const text = `${owner} ${String(number).padStart(16, "0")} `;
  return `${text.padEnd(LENGTH - 1, String.fromCharCode(97 + ((number * 7 + text.length) % 26)))}\n`;
}

/** What is wrong with a file of records of which so many are acknowledged; undefined: nothing. */
export async function inspect(file: string, owner: string, least: number): Promise<string | undefined> {
  const bytes = await readFile(file);
  if (bytes.length < least * LENGTH) return `${bytes.length} bytes, ${least * LENGTH} acknowledged`;
  for (let number = 1; number <= least; number += 1) {
    const found = bytes.toString("latin1", (number - 1) * LENGTH, number * LENGTH);
    if (found !== record(owner, number)) return `record ${number} of ${least} is ${JSON.stringify(found)}`;
  }
  return undefined;
}
