import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import type { ExecSession } from "../../runtime/index.ts";
import type { TerminalSize } from "../../streams/client.ts";
import type { KubeletStreams } from "../api.ts";
import { programs, type Run, runner } from "../testing/kubectl.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const PODS = "/api/v1/namespaces/default/pods";
const sizes: TerminalSize[] = [];

/** A kubelet whose containers are this machine. */
const kubelet: KubeletStreams = {
  async exec({ command: [program = "", ...args], stdin }): Promise<ExecSession> {
    const child = spawn(program, args);
    if (!stdin) child.stdin.end();
    child.stdin.on("error", () => {});
    const exit = once(child, "exit").then(([code]) => Number(code ?? 137));
    return {
      ...{ stdin: child.stdin, stdout: child.stdout, stderr: child.stderr, exit },
      resize: (size) => void sizes.push(size),
      kill: async () => void child.kill("SIGKILL"),
    };
  },
  async *logs() {
    yield "one line\n";
  },
  forward: () => Promise.reject(new Error("nobody listens")),
  elsewhere: async () => undefined,
};

let server: TestServer;
let program: string;
let run: Run;
before(async () => {
  server = await startTestServer({ controllers: false, kubelet });
  program = (await programs()).kubectl;
  run = runner(program, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  const spec = { nodeName: "here", containers: [{ name: "c", image: "host" }] };
  const made = await server.http.post(PODS, { metadata: { name: "target" }, spec });
  assert.equal(made.status, 201, made.text);
});
after(() => server.stop());

const WAYS = [
  ["in a WebSocket", {}],
  ["over SPDY", { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false" }],
] as const;

for (const [how, env] of WAYS) {
  test(`kubectl exec ${how} has input, outputs apart, and the exit code`, async () => {
    const script = "cat; echo err >&2; exit 42";
    const input = randomBytes(3 << 20).toString("hex");
    const ran = await run(["exec", "-i", "target", "--", "sh", "-c", script], { env, input });
    assert.equal(ran.code, 42, ran.stderr);
    assert.match(ran.stderr, /^err\n(.*\n)*.*exit code 42/);
    assert.ok(ran.stdout === input, `${ran.stdout.length} bytes of ${input.length} came back`);
    const fine = await run(["exec", "target", "--", "true"], { env });
    assert.deepEqual([fine.code, fine.stdout], [0, ""], fine.stderr);
  });

  test(`kubectl exec ${how} sends the size of its terminal`, async () => {
    sizes.length = 0;
    const { kubeconfig } = server.api;
    const exec = `${program} --kubeconfig ${kubeconfig} exec -it target -- sh -c 'read line; exit 5'`;
    const child = spawn("script", ["-qec", `stty rows 37 cols 111; ${exec}`, "/dev/null"], {
      env: { ...process.env, HOME: server.folder, ...env },
    });
    const ended = once(child, "close");
    await eventually("the size", () => sizes.some(({ columns, rows }) => columns === 111 && rows === 37));
    child.stdin.write("\n");
    assert.deepEqual(await ended, [5, null]);
  });

  test(`kubectl attach ${how} shows what the container writes`, async () => {
    const ran = await run(["attach", "target"], { env });
    assert.match(ran.stdout, /one line\n/, ran.stderr);
  });
}

/** What a client of SPDY that offers these protocols receives. */
async function offer(protocols: string | undefined, upgrade = "SPDY/3.1") {
  const url = new URL(`${PODS}/target/exec?command=true&stdout=1`, server.api.url);
  const sent = request(url, {
    ...{ method: "POST", agent: false, ca: server.api.caPem },
    headers: {
      ...{ authorization: `Bearer ${server.api.token}`, connection: "Upgrade", upgrade },
      ...(protocols === undefined ? {} : { "x-stream-protocol-version": protocols }),
    },
  });
  sent.end();
  const [response, socket] = await Promise.race([once(sent, "upgrade"), once(sent, "response")]);
  socket?.destroy();
  const { statusCode, headers } = response as IncomingMessage;
  return { statusCode, headers, body: statusCode === 101 ? "" : await text(response as IncomingMessage) };
}

test("the first protocol that a client of SPDY prefers is taken, and others are refused as Kubernetes does", async () => {
  const all = "v5.channel.k8s.io, v4.channel.k8s.io,v3.channel.k8s.io";
  for (const [offered, taken] of [
    [all, "v4.channel.k8s.io"],
    ["v2.channel.k8s.io,v4.channel.k8s.io", "v2.channel.k8s.io"],
  ] as const) {
    const { statusCode, headers } = await offer(offered);
    assert.deepEqual([statusCode, headers["x-stream-protocol-version"]], [101, taken]);
  }
  const other = await offer("v9.channel.k8s.io");
  assert.equal(other.statusCode, 403);
  assert.match(String(other.headers["x-accepted-stream-protocol-versions"]), /v4.*v3.*v2/);
  assert.match(other.body, /unable to negotiate protocol/);
  assert.equal((await offer(undefined)).statusCode, 400);
  assert.equal((await offer(" , ")).statusCode, 400);
  assert.equal((await offer(all, "h2c")).statusCode, 400);
});
