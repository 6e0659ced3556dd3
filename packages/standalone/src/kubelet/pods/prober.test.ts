import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { createProber } from "./prober.ts";

test("a probe whose period is 0 does not follow the one before it at once", async (t) => {
  let failures = 0;
  const prober = createProber(
    () => {},
    () => {
      failures += 1;
    },
  );
  t.after(() => prober.close());
  const container = {
    ...{ name: "main", image: "host" },
    readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 0, failureThreshold: 0, timeoutSeconds: 0 },
  };
  const exec = () => assert.fail("it runs nothing");
  prober.ensure("a", container, Date.now(), { host: "127.0.0.1", ports: [], exec });
  await eventually("the first one", () => failures > 0);
  // Each costs as much as a probe.
  for (let times = 0; times < 50; times += 1) {
    const socket = connect({ host: "127.0.0.1", port: 1 });
    await once(socket, "connect").catch(() => {});
  }
  assert.equal(failures, 1);
});

test("a command that cannot be started says nothing about the container, and one that fails does", async (t) => {
  const outcomes: string[] = [];
  const prober = createProber(
    () => {},
    (_, kind, outcome, message) => outcomes.push(`${kind} ${outcome}: ${message}`),
  );
  t.after(() => prober.close());
  const container = {
    ...{ name: "main", image: "host" },
    livenessProbe: { exec: { command: ["true"] }, periodSeconds: 0.001, failureThreshold: 1 },
  };
  let isStarted = false;
  const exec = async () => ({ exitCode: 1, started: isStarted, output: "no process", timedOut: false });
  prober.ensure("a", container, Date.now(), { host: "127.0.0.1", ports: [], exec });
  await eventually("five that cannot be started", () => outcomes.length >= 5);
  assert.equal(outcomes[0], "liveness errored: command could not be started: no process");
  assert.equal(prober.results("a", container).unhealthy, undefined);
  isStarted = true;
  await eventually("the container to be unhealthy", () => prober.results("a", container).unhealthy);
});
