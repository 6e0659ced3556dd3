import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { eventually } from "@mooring/store/testing";
import { encode, offsetOf } from "../group/support/records.ts";
import type { Guest } from "../support/guest/guest.ts";
import { perl } from "./perl.ts";

/** On a guest, in a control group of its own, as a workload is: writes what it is sent, and responds when that is on disk. */
const WRITE = `
use Fcntl; use IO::Socket::INET;
my ($file, $host, $port, $number) = @ARGV;
mkdir '/sys/fs/cgroup/writers';
open(my $group, '>', '/sys/fs/cgroup/writers/cgroup.procs') or die "group: $!";
syswrite($group, $$) or die "group: $!";
sysopen(my $f, $file, O_RDWR | O_CREAT | O_SYNC) or die "open: $!";
my $host_side = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port) or die "connect: $!";
syswrite($host_side, pack('N', $number));
while (read($host_side, my $bytes, 4100) == 4100) {
  my ($at, $record) = unpack('Na*', $bytes);
  sysseek($f, $at, 0) or die "seek: $!";
  syswrite($f, $record) == 4096 or die "write: $!";
  syswrite($host_side, 'k') or last;
}
`;

/** Where a writer writes, and on which guest. */
export interface Place {
  guest: Guest;
  path: string;
}

/** Writers on guests, in an order: each gets a record when it is on the disk of the one before. */
export class Ring {
  readonly #server: Server;
  readonly #sockets: Socket[] = [];
  readonly #places: readonly Place[];
  #turning: Promise<void> = Promise.resolve();
  #over = false;
  /** The last record that is on all disks. */
  acknowledged = 0;

  private constructor(server: Server, places: readonly Place[]) {
    this.#server = server;
    this.#places = places;
  }

  /** `address`: of this machine, that guests reach. */
  static async start(address: string, places: readonly Place[]): Promise<Ring> {
    const server = createServer({ noDelay: true }).listen(0, address);
    await once(server, "listening");
    const ring = new Ring(server, places);
    server.on("connection", (socket) => {
      socket.on("error", () => {});
      socket.once("data", (number: Buffer) => {
        ring.#sockets[number.readUInt32BE(0)] = socket;
      });
    });
    const bound = server.address();
    const port = typeof bound === "object" && bound !== null ? bound.port : 0;
    const commands = places.map(({ guest, path }, number) =>
      guest.start(perl(WRITE, path, address, String(port), String(number))),
    );
    await eventually(
      "all writers to have begun",
      async () => places.every((_, number) => ring.#sockets[number] !== undefined),
      { lastSeen: () => commands.map(({ lines }) => lines) },
    );
    ring.#turning = ring.#turn();
    // Whoever waits next gets what has ended it; until then none listens.
    ring.#turning.catch(() => {});
    await ring.advance(1);
    return ring;
  }

  async #turn(): Promise<void> {
    const readers = this.#sockets.map((socket) => socket[Symbol.asyncIterator]());
    for (let sequence = 1; ; sequence++) {
      for (const [number, reader] of readers.entries()) {
        const at = Buffer.alloc(4);
        at.writeUInt32BE(offsetOf(sequence));
        this.#sockets[number]?.write(Buffer.concat([at, encode(number, sequence)]));
        const { done } = await reader.next();
        if (this.#over) return;
        if (done) throw new Error(`writer ${number} has ended`);
      }
      this.acknowledged = sequence;
    }
  }

  /** Waits until so many more records are on all disks. */
  async advance(records: number): Promise<void> {
    const goal = this.acknowledged + records;
    await Promise.race([
      this.#turning,
      eventually(`${records} more records`, async () => this.acknowledged >= goal),
    ]);
  }

  async stop(): Promise<void> {
    this.#over = true;
    for (const socket of this.#sockets) socket.destroy();
    await this.#turning.catch(() => {});
    this.#server.close();
    for (const guest of new Set(this.#places.map((place) => place.guest)))
      await eventually(
        "the writers to have ended",
        async () => (await guest.run("cat /sys/fs/cgroup/writers/cgroup.procs")) === "",
      );
  }
}
