import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { type SpdyStream, serveSpdy } from "./spdy/connection.ts";

/** A client opens a stream for errors and one for the bytes, and means both as one. */
const PAIR_MS = 30_000;

/** How ports of the pod are reached, and until when. */
export interface ServedForwards {
  /** Connects to a port of the pod. What it throws is sent to the client as it is. */
  connect(port: number): Promise<Socket>;
  /** Ends all of it. */
  stop: AbortSignal;
}

/** Joins the connections that `kubectl port-forward` takes to ports of a pod. Resolves when nothing of it is left. */
export async function serveForwards(client: Duplex, { connect, stop }: ServedForwards): Promise<void> {
  const halves = new Map<string, SpdyStream>();
  const sockets = new Set<Socket>();
  const end = () => client.destroy();
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  try {
    await serveSpdy(client, (stream) => {
      const pair = pairUp(halves, stream);
      if (pair !== undefined) void forward(pair, connect, sockets);
    });
  } finally {
    stop.removeEventListener("abort", end);
    for (const socket of sockets) socket.destroy();
  }
}

interface Pair {
  port: number;
  error: SpdyStream;
  data: SpdyStream;
}

function pairUp(halves: Map<string, SpdyStream>, stream: SpdyStream): Pair | undefined {
  const type = stream.headers.get("streamtype");
  const port = Number(stream.headers.get("port"));
  const isPort = Number.isInteger(port) && port > 0 && port <= 65_535;
  if ((type !== "error" && type !== "data") || !isPort) {
    stream.destroy();
    return undefined;
  }
  // The client sends nothing on it, but its end.
  if (type === "error") stream.resume();
  const key = `${stream.headers.get("requestid") ?? ""} ${port}`;
  const other = halves.get(key);
  if (other === undefined || other.headers.get("streamtype") === type) {
    halves.set(key, stream);
    const late = setTimeout(() => stream.destroy(), PAIR_MS);
    stream.once("close", () => {
      clearTimeout(late);
      if (halves.get(key) === stream) halves.delete(key);
    });
    stream.once("paired", () => clearTimeout(late));
    return undefined;
  }
  halves.delete(key);
  other.emit("paired");
  return type === "error" ? { port, error: stream, data: other } : { port, error: other, data: stream };
}

async function forward(
  { port, error, data }: Pair,
  connect: (port: number) => Promise<Socket>,
  sockets: Set<Socket>,
): Promise<void> {
  let socket: Socket;
  try {
    socket = await connect(port);
  } catch (problem) {
    error.end(problem instanceof Error ? problem.message : String(problem));
    data.destroy();
    return;
  }
  sockets.add(socket);
  if (data.destroyed) socket.destroy();
  pipeline(data, socket, () => {});
  pipeline(socket, data, () => {
    sockets.delete(socket);
    socket.destroy();
    error.end();
  });
}
