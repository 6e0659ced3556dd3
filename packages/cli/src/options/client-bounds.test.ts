import assert from "node:assert/strict";
import { test } from "node:test";
import { CLIENT_BOUNDS } from "@mooring/standalone";
import { Command } from "commander";
import { type ClientBoundsOptions, clientBounds, withClientBounds } from "./client-bounds.ts";

function bounds(...args: string[]) {
  const command = withClientBounds(new Command("up"))
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  return clientBounds(command.parse(args, { from: "user" }).opts<ClientBoundsOptions>());
}

test("what clients may have open is as documented, or as it is configured", () => {
  assert.deepEqual(bounds(), CLIENT_BOUNDS);
  assert.deepEqual(
    bounds("--max-watches=5000", "--max-watches-per-user=1000", "--max-connections-per-user=7"),
    {
      lasting: { ofOne: 1000, all: 5000 },
      connections: { ofOne: 7, all: 1024 },
    },
  );
});

test("bounds that are none are refused", () => {
  for (const wrong of ["0", "-1", "1.5", "many", "10000000"])
    assert.throws(() => bounds(`--max-watches=${wrong}`), /a whole number from 1 to/, wrong);
  assert.throws(() => bounds("--max-watches=10"), /--max-watches-per-user is more than --max-watches/);
  assert.throws(() => bounds("--max-connections-per-user=2000"), /is more than --max-connections/);
});
