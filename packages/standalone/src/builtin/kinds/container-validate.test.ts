import assert from "node:assert/strict";
import { test } from "node:test";
import type { UnstructuredObject } from "@mooring/store";
import { defaultPod } from "./pod-defaults.ts";
import { validatePod } from "./pod-validate.ts";

type Fields = Record<string, unknown>;

const exec = { exec: { command: ["true"] } };
const tcp = { tcpSocket: { port: 1 } };

function pod(spec: Fields): UnstructuredObject {
  const made = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec,
  } as unknown as UnstructuredObject;
  defaultPod(made);
  return made;
}

const main = (more: Fields) => ({ name: "main", image: "host", ...more });
const errors = (spec: Fields) => validatePod(pod(spec)).map(({ field, body }) => `${field}: ${body}`);
const errorsOf = (more: Fields) => errors({ containers: [main(more)] });
const init = (more: Fields) =>
  errors({ containers: [main({})], initContainers: [{ ...main(more), name: "init" }] });

test("what a container is asked and what it does is said in one way, and not in several of which one would count", () => {
  const at = "spec.containers[0]";
  const field = { fieldRef: { fieldPath: "metadata.name" } };
  const both = { ...field, secretKeyRef: { name: "s", key: "k" } };
  const rows: [more: Fields, ...expected: string[]][] = [
    [{ livenessProbe: exec, readinessProbe: tcp, startupProbe: { grpc: { port: 1 } } }],
    [
      { livenessProbe: { ...exec, ...tcp } },
      `${at}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
    ],
    [{ readinessProbe: {} }, `${at}.readinessProbe: Required value: must specify a handler type`],
    [{ readinessProbe: { exec: {} } }, `${at}.readinessProbe.exec.command: Required value`],
    [
      { startupProbe: { ...exec, successThreshold: 2 } },
      `${at}.startupProbe.successThreshold: Invalid value: 2: must be 1`,
    ],
    [{ readinessProbe: { ...exec, successThreshold: 2 } }],
    [
      { readinessProbe: { ...exec, terminationGracePeriodSeconds: 5 } },
      `${at}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes`,
    ],
    [
      { lifecycle: { preStop: { ...exec, httpGet: { port: 1 } }, postStart: {} } },
      `${at}.lifecycle.postStart: Required value: must specify a handler type`,
      `${at}.lifecycle.preStop.httpGet: Forbidden: may not specify more than 1 handler type`,
    ],
    [
      { env: [{ name: "A", valueFrom: both }] },
      `${at}.env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time`,
    ],
    [
      { env: [{ name: "A", value: "a", valueFrom: field }] },
      `${at}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`,
    ],
    [
      { env: [{ name: "A", valueFrom: {} }] },
      `${at}.env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\`, \`secretKeyRef\` or \`fileKeyRef\``,
    ],
    [
      { envFrom: [{ configMapRef: { name: "c" }, secretRef: { name: "s" } }] },
      `${at}.envFrom: Invalid value: "": may not have more than one field specified at a time`,
    ],
    [
      { envFrom: [{ prefix: "P" }] },
      `${at}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``,
    ],
  ];
  for (const [more, ...expected] of rows) assert.deepEqual(errorsOf(more), expected, JSON.stringify(more));
});

test("an init container that ends before others begin is neither asked nor has moments of its life", () => {
  const why = "Forbidden: may not be set for init containers without restartPolicy=Always";
  for (const field of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    assert.deepEqual(init({ [field]: exec }), [`spec.initContainers[0].${field}: ${why}`]);
    assert.deepEqual(init({ [field]: exec, restartPolicy: "Always" }), []);
  }
  assert.deepEqual(init({ lifecycle: { preStop: exec } }), [`spec.initContainers[0].lifecycle: ${why}`]);
});

test("types of folders that are none, and tolerations that compare numbers, are refused", () => {
  const volume = (type: string) => ({
    containers: [main({})],
    volumes: [{ name: "v", hostPath: { path: "/a", type } }],
  });
  assert.deepEqual(errors(volume("Directory")), []);
  assert.match(
    errors(volume("Folder")).join(),
    /^spec\.volumes\[0\]\.hostPath\.type: Unsupported value: "Folder"/,
  );
  const tolerations = [{ key: "a", operator: "Gt", value: "1" }];
  assert.deepEqual(errors({ containers: [main({})], tolerations }), [
    'spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists"',
  ]);
});

test("a probe's 0 is what it is without a number", () => {
  const zeros = { timeoutSeconds: 0, periodSeconds: 0, successThreshold: 0, failureThreshold: 0 };
  const { spec } = pod({ containers: [main({ livenessProbe: { ...exec, ...zeros } })] });
  const [container] = (spec as { containers: Fields[] }).containers;
  assert.deepEqual(container?.["livenessProbe"], {
    ...exec,
    ...{ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
  });
});
