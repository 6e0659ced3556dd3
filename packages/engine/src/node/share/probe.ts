import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { withTimeLimit } from "@mooring/store";
import type { ServerSocket } from "./config.ts";

const NFS_PROGRAM = 100_003;
const NFS_VERSION = 4;
const XID = 0x4d4f4f52;
const LAST_FRAGMENT = 0x8000_0000;

/**
 * True when an NFS server responds there: the call that does nothing (RFC 7530 section 15.1, in the frame of RFC
 * 5531 section 11) gets its reply within the time.
 */
export async function isServing({ address, port }: ServerSocket, milliseconds: number): Promise<boolean> {
  const socket = connect({ host: address, port });
  const signal = withTimeLimit(milliseconds);
  try {
    await once(socket, "connect", { signal });
    socket.write(nullCall());
    return isReply(await readReply(socket, signal));
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** xid, CALL, RPC version 2, program, version, procedure 0, no credentials, no verifier. */
function nullCall(): Buffer {
  const fields = [XID, 0, 2, NFS_PROGRAM, NFS_VERSION, 0, 0, 0, 0, 0];
  const call = Buffer.alloc(4 + fields.length * 4);
  call.writeUInt32BE((LAST_FRAGMENT | (fields.length * 4)) >>> 0);
  for (const [index, field] of fields.entries()) call.writeUInt32BE(field >>> 0, 4 + index * 4);
  return call;
}

/** Length, xid, REPLY, accepted. */
const REPLY_BYTES = 16;

async function readReply(socket: Socket, signal: AbortSignal): Promise<Buffer> {
  let read: Buffer = Buffer.alloc(0);
  while (read.length < REPLY_BYTES) {
    const [chunk]: Buffer[] = await once(socket, "data", { signal });
    if (chunk !== undefined) read = Buffer.concat([read, chunk]);
  }
  return read;
}

function isReply(reply: Buffer): boolean {
  return reply.readUInt32BE(4) === XID && reply.readUInt32BE(8) === 1 && reply.readUInt32BE(12) === 0;
}
