import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import type { Guest } from "../support/guest/guest.ts";
import { perl } from "./perl.ts";

/** Of the guest: nothing else listens there. */
const PORT = 7007;

/** On a guest: whoever connects to the port is connected with the socket. */
const FORWARD = `
use IO::Socket::INET; use IO::Socket::UNIX;
my ($port, $path) = @ARGV;
$0 = 'forward';
$SIG{CHLD} = 'IGNORE';
my $server = IO::Socket::INET->new(LocalPort => $port, Listen => 16, ReuseAddr => 1) or die "listen: $!";
sub copy { my ($from, $to) = @_; while (sysread($from, my $bytes, 65536)) { syswrite($to, $bytes) or last } shutdown($to, 1) }
while (my $here = $server->accept) {
  next if fork;
  my $there = IO::Socket::UNIX->new(Peer => $path) or exit;
  if (fork) { copy($here, $there) } else { copy($there, $here) }
  exit;
}
`;

/** Makes the socket `path` of the guest reachable as the socket `local` of this machine, until what is returned is called. */
export async function forwardSocket(
  { guest, address }: { guest: Guest; address: string },
  path: string,
  local: string,
): Promise<() => void> {
  guest.start(perl(FORWARD, String(PORT), path));
  const open = new Set<Socket>();
  const server = createServer((here) => {
    const there = createConnection(PORT, address);
    for (const [socket, other] of [
      [here, there],
      [there, here],
    ] as const) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(local);
  await once(server, "listening");
  return () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
}
