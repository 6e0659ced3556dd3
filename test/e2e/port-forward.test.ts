import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { afterFile } from "../support/at-end.ts";
import { KUBECTL } from "../support/kubectl.ts";
import { pod } from "../support/manifests.ts";
import { world } from "../support/world.ts";

const { up, kubectl, shows } = await world();

/** Sends back what it gets, to the end; its port is its first argument. */
const ECHO = `const server = require("node:net").createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
server.listen(0, process.argv[1], () => console.log("port=" + server.address().port));`;

const started: ChildProcess[] = [];
afterFile(() => {
  for (const child of started) child.kill("SIGKILL");
});

async function echo(name: string, address: string): Promise<number> {
  const script = `exec ${process.execPath} -e '${ECHO}' ${address}`;
  await kubectl.apply(JSON.stringify(pod("default", name, script)));
  await shows(["pod", name], "{.status.phase}", "Running");
  let port = 0;
  await eventually("the program to listen", async () => {
    port = Number(/port=(\d+)/.exec(await kubectl.run("logs", name))?.[1] ?? 0);
    return port > 0;
  });
  return port;
}

interface Forwarding {
  port: number;
  errors(): string;
  stop(): Promise<void>;
}

async function forward(name: string, port: number, env: NodeJS.ProcessEnv = {}): Promise<Forwarding> {
  const args = [
    "--kubeconfig",
    up.kubeconfig,
    "port-forward",
    `pod/${name}`,
    `:${port}`,
    "--address",
    "127.0.0.1",
  ];
  const child = spawn(KUBECTL, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  // It may end by itself: it does when a program of the pod has refused a connection.
  const ended = once(child, "exit");
  let out = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    out += String(chunk);
  });
  child.stderr.on("data", (chunk) => {
    errors += String(chunk);
  });
  const local = () => Number(/Forwarding from 127\.0\.0\.1:(\d+)/.exec(out)?.[1] ?? 0);
  await eventually("kubectl to listen", () => {
    assert.equal(child.exitCode, null, errors);
    return local() > 0;
  });
  return {
    port: local(),
    errors: () => errors,
    async stop() {
      child.kill("SIGINT");
      await ended;
    },
  };
}

/** Of the API server, which listens on the same network. */
async function serverPort(): Promise<number> {
  const server = /server: https:\/\/\S+:(\d+)/.exec(await readFile(up.kubeconfig, "utf8"));
  return Number(server?.[1] ?? assert.fail("the kubeconfig names no server"));
}

/** Everything that comes back for this. */
async function exchange(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  socket.end(bytes);
  return buffer(socket);
}

const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

const WAYS = [
  ["in a WebSocket", {}],
  ["over plain SPDY, as older ones ask", { KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" }],
] as const;

for (const [how, env] of WAYS) {
  test(`kubectl port-forward carries every byte both ways ${how}, on several connections at once`, async () => {
    const name = Object.keys(env).length === 0 ? "echo" : "older";
    const port = await echo(name, name === "echo" ? "127.0.0.1" : "::");
    const forwarding = await forward(name, port, env);
    const sent = [randomBytes(3 * 1024 * 1024), randomBytes(10), Buffer.alloc(0)];
    const got = await Promise.all(sent.map((bytes) => exchange(forwarding.port, bytes)));
    assert.deepEqual(got.map(sum), sent.map(sum));
    // A connection that its client gives up is no end of the others.
    const left = connect({ host: "127.0.0.1", port: forwarding.port });
    await once(left, "connect");
    left.resetAndDestroy();
    assert.equal(sum(await exchange(forwarding.port, sent[1] ?? Buffer.of())), sum(sent[1] ?? Buffer.of()));
    await forwarding.stop();
    await kubectl.run("delete", "pod", name, "--wait=false");
  });
}

test("only ports on which a program of the pod listens are reached, though all pods have the machine's network", async () => {
  await echo("alone", "127.0.0.1");
  const others = await serverPort();
  const forwarding = await forward("alone", others);
  assert.equal((await exchange(forwarding.port, Buffer.from("GET / HTTP/1.0\r\n\r\n"))).length, 0);
  // kubectl quotes what it receives.
  const output = new RegExp(`no program of pod \\\\?"alone\\\\?" listens on port ${others}`);
  await eventually("kubectl to print why", () => output.test(forwarding.errors()));
  await forwarding.stop();
});

test("who may read a pod may not thereby connect to it", async () => {
  await kubectl.run("create", "role", "forwards", "--verb=get", "--resource=pods/portforward,pods");
  await kubectl.run("create", "rolebinding", "forwards", "--role=forwards", "--user=reader");
  await assert.rejects(
    kubectl.run("port-forward", "pod/alone", ":80", "--as=reader"),
    /cannot create resource "pods\/portforward"/,
  );
});
