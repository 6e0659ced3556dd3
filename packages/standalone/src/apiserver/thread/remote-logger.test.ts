import assert from "node:assert/strict";
import { test } from "node:test";
import { type Logger, StatusError, silentLogger } from "@mooring/store";
import type { FromThread } from "./protocol.ts";
import { remoteLogger, writeLog } from "./remote-logger.ts";

/** What the log of one thread gets of what another logs. */
function logged(log: (logger: Logger) => void): Record<string, unknown> {
  let written: Record<string, unknown> = {};
  const logger: Logger = {
    ...silentLogger,
    warn: (fields) => {
      written = { ...fields };
    },
  };
  const send = (message: FromThread) => {
    // As a message port copies it.
    const copy = structuredClone(message);
    if (copy.is === "log") writeLog(logger, copy);
  };
  log(remoteLogger(send));
  return written;
}

test("fields that cannot be sent to another thread are logged as text", () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  const fields = {
    work: () => 1,
    key: Symbol("k"),
    big: 12n,
    inside: { big: 1n },
    circle,
    size: 3,
    none: undefined,
  };
  const written = logged((logger) => logger.child({ whose: () => 2 }).warn(fields, "it happened"));
  assert.equal(written["size"], 3);
  assert.equal(written["big"], "12");
  assert.equal(written["key"], "Symbol(k)");
  for (const name of ["work", "inside", "circle", "whose"])
    assert.equal(typeof written[name], "string", name);
});

test("an error is logged as what it is: its name, its cause, and what it has besides", () => {
  const refused = new StatusError("Forbidden", "no", { name: "a", kind: "pods" });
  const err = Object.assign(new Error("cannot do it", { cause: refused }), { code: "EBUSY", retry: () => 1 });
  const written = logged((logger) => logger.warn({ err, refused }, "it failed"));
  const other = written["refused"] as StatusError;
  assert.ok(other instanceof Error);
  assert.equal(other.name, "StatusError");
  assert.equal(other.message, "no");
  assert.equal(other.reason, "Forbidden");
  assert.equal(other.code, 403);
  assert.deepEqual(other.details, { name: "a", kind: "pods" });
  assert.equal(other.stack, refused.stack);
  const { message, code, cause } = written["err"] as NodeJS.ErrnoException;
  assert.deepEqual([message, code], ["cannot do it", "EBUSY"]);
  assert.equal((cause as StatusError).name, "StatusError");
});
